"""`ecsuite sweep` of a study of a collection: its corpora are scored, and no game is trained."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecsuite.commands.collection_jobs import jobs_of, scores_of
from ecsuite.commands.corpus_options import CorpusOptions
from ecsuite.commands.plans import print_plan
from ecsuite.commands.scoring import Scored
from ecsuite.jobs.engines import Place
from ecsuite.runtime.errors import ConfigError


def sweep_collection(
    tree: Mapping[str, Any],
    source: str,
    *,
    place: Place,
    out: Path | None,
    plan: bool,
    retries: bool,
    quiet: bool,
    as_json: bool,
    unread: Mapping[str, bool],
) -> None:
    """Score the corpora of a study, or plan this.

    Args:
        tree: The content of the study.
        source: What messages call it.
        place: Where the jobs are computed.
        out: The folder; None: `runs/NAME`.
        plan: Whether the jobs are only listed.
        retries: See `run`.
        quiet: See `run`.
        as_json: Whether JSON is printed.
        unread: By options that only sweeps of games read, whether they are given.

    Raises:
        ConfigError: If the study is not valid, a corpus is missing, or such an option is given.
    """
    from ecsuite.eval.collections.report import FILES, report, write_csv
    from ecsuite.eval.collections.study import read_study
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.records.reading import STORE
    from ecsuite.eval.studies.running import run

    for option, is_given in unread.items():
        if is_given:
            raise ConfigError(f"{option}: not read by {source}, which trains no games")
    study = read_study(tree, source)
    folder = out or Path("runs") / study.name
    options, whole = Options(seed=study.seed), Scored(options=CorpusOptions())
    if plan:
        places = 1 if place.engine is not None else place.workers_for("cpu")
        jobs = jobs_of(study.members, study.metrics, options, whole)
        print_plan(jobs, cache=folder / STORE, as_json=as_json, num_places=places)
        return
    scored = run(
        lambda runner: scores_of(study.members, study.metrics, replace(options, runner=runner), whole),
        folder=folder / STORE,
        place=place,
        retries=retries,
        quiet=quiet,
        announces=not as_json,
    )
    data, table = (folder / name for name in FILES)
    write_csv(table, scored)
    report(scored, folder=folder).publish(out=data, picture=None, as_json=as_json)
