"""`ecsuite score`: compute the metrics of a corpus."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ecsuite.atomic_files import remove_abandoned
from ecsuite.commands.options import (
    Cache,
    Device,
    Json,
    Out,
    Plan,
    Preset,
    Protocol,
    Quiet,
    Seed,
    Seeds,
    Targets,
    Workers,
    advanced,
    require_read,
    xferbench_options,
)
from ecsuite.commands.running import print_plan, run_study
from ecsuite.components import split_names
from ecsuite.config import CorpusError
from ecsuite.eval.reports.canvas import require_matplotlib
from ecsuite.eval.reports.console import prepare_output_file

if TYPE_CHECKING:
    from ecsuite.corpus import Corpus

XFERBENCH = ("seed", "preset", "protocol", "targets", "seeds", "cache", "workers", "plan", "device")
"""The options that xferbench reads."""
SAMPLING = ("seed",)
"""The option that metrics with random draws read; the other options are read with any metric."""
UNSAMPLED = ("elcc",)
"""Metrics without random draws."""


def score(
    ctx: typer.Context,
    corpus: Annotated[Path, typer.Argument(help="A run folder, a corpus.jsonl, or a file of another tool.")],
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Names separated by commas, or `./mine.py:my_metric`; `all`, the default, trains no model; "
            "`+xferbench` adds one to all."
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Print every score with its details and signature.")
    ] = False,
    preset: Preset = "mini",
    protocol: Protocol = "strict",
    targets: Targets = None,
    seed: Seed = 0,
    seeds: Seeds = None,
    cache: Cache = Path("runs/xferbench"),
    workers: Workers = None,
    plan: Plan = False,
    pictures: Annotated[
        bool, advanced("--pictures", help="Draw pictures into the folder `pictures` beside the corpus.")
    ] = False,
    picture_folder: Annotated[
        Path | None, advanced(metavar="FOLDER", help="Draw pictures into this folder.")
    ] = None,
    out: Out = None,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Score a corpus: is it compositional, are words names, is it natural-like; a run keeps its scores.json."""
    from ecsuite.eval.metrics import METRICS, load_metric, metric_names
    from ecsuite.eval.reports.scorecard import read_scores, save_scores, score_corpus
    from ecsuite.foreign import trust

    names = metric_names(None if metrics is None else split_names(metrics))
    trust(names)
    for name in names:
        load_metric(name)
    reads = {name: SAMPLING for name in METRICS.parts if name not in UNSAMPLED} | {"xferbench": XFERBENCH}
    require_read(ctx, f"--metrics {metrics or 'all'}", names, reads)
    options = xferbench_options(ctx)
    if plan:
        from ecsuite.eval.xferbench.jobs import plan as plan_jobs
        from ecsuite.eval.xferbench.metric import study_of

        print_plan(plan_jobs(study_of(_read(corpus), options)).values(), cache=cache, as_json=as_json)
        return
    if out is not None:
        prepare_output_file(out)
    folder = corpus if corpus.is_dir() else corpus.parent
    has_scores = (folder / "metadata.json").is_file() and (corpus.is_dir() or corpus.name == "corpus.jsonl")
    if has_scores:
        read_scores(folder / "scores.json")  # one that cannot be read is refused before the computation
        remove_abandoned(folder, "scores.json")
    draws = pictures or picture_folder is not None
    if draws:
        require_matplotlib()
    messages = _read(corpus)
    scorecard = run_study(
        lambda runner: score_corpus(messages, names, replace(options, runner=runner)),
        cache=cache,
        workers=workers,
        quiet=quiet,
        announces=not as_json,
    )
    if has_scores:
        save_scores(folder / "scores.json", scorecard.to_json())
    scorecard.publish(out=out, as_json=as_json, is_full=every)
    if draws:
        from ecsuite.eval.reports.corpus_plots import draw_score

        drawn = draw_score(messages, picture_folder or folder / "pictures")
        nothing = "nothing to draw: the corpus has no concepts and is not in a run folder"
        line = f"Pictures: {', '.join(map(str, drawn))}" if drawn else nothing
        print(line, file=sys.stderr if as_json else sys.stdout)


def _read(path: Path) -> "Corpus":
    """The corpus of a path; `CorpusError` if its only message is empty, as in a file of an empty list."""
    from ecsuite.formats import read_corpus

    corpus = read_corpus(path)
    if len(corpus.messages) == 1 and not len(corpus.messages.values):
        raise CorpusError(f"{path}: its only message is empty: expected a message a line, such as [3, 1, 4]")
    return corpus
