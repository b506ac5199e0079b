"""Verify a source (run, corpus, scores file, sweep or collection), or plan a verification with its expected time."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options, Score, is_number
from ecsuite.eval.results.files import SEED, Messages, run_source, sizes_of, sources_at
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.sources import Source, read_config
from ecsuite.eval.results.verification.files import (
    NO_CHECKSUM,
    check_files,
    corpus_of,
    folder_of,
    has_metadata,
    is_damaged,
    sources_in,
)
from ecsuite.eval.results.verification.outcome import (
    EXACT,
    CheckedClaim,
    ClaimKind,
    Verification,
    VerifiedSource,
    compare_mappings,
    compare_values,
    differing_paths,
)
from ecsuite.eval.results.verification.recompute import (
    CHANCE,
    LANGUAGE,
    VerifyOptions,
    check_agents,
    check_scores,
    metric_of,
    platform_of,
)
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.scorecard import describe, score_corpus
from ecsuite.formats import read_corpus
from ecsuite.formats.directory import CORPUS, METADATA
from ecsuite.games.runs.result import METRICS
from ecsuite.games.runs.run import load_run
from ecsuite.games.runs.run_folder import CLOCK, CONFIG, SCORES, SWEEP, RunFolder
from ecsuite.games.training.trainer import FORWARD_SHARE
from ecsuite.parts.config import dotted_values
from ecsuite.parts.own_code import UntrustedError
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError
from ecsuite.runtime.time_left import duration_text
from ecsuite.tables.cells import count, nothing, text
from ecsuite.tables.table import Table, name_column, number_column, row_of

SIZES = ("num_messages", "num_empty", "num_symbols", "num_distinct_symbols")
"""Sizes in the metadata of a corpus that are verified."""
OTHERS = "the corpus has changed since it was scored"
"""Reason for scores whose corpus has another checksum now."""
MEASURED = 50
"""Number of messages on which the time of a metric is measured; it is assumed to grow with their number."""
SECONDS_OF_A_RUN = 0.5
"""Time in seconds to create a game and its agents."""
BYTES_PER_SECOND = 3e8
"""Speed of reading files and computing their checksums, in bytes per second."""


def verify_all(paths: Sequence[Path], options: VerifyOptions) -> Verification:
    """Check the files of sources, recompute their scores, and evaluate their agents again.

    Args:
        paths: Run folders, corpora, scores files, sweeps, and folders with several of these.
        options: Scope and device.

    Raises:
        ConfigError: If a path has none of these, or nothing to verify.
        UntrustedError: If a run names foreign parts that are not trusted.
    """
    sources: list[VerifiedSource] = []
    for path in paths:
        folder = folder_of(path)
        verified = _verify_several(path, options) if folder is None else [_verify_folder(folder, options)]
        if not any(
            each.failure or any(row.kind != "file" or row.verdict == "damaged" for row in each.rows)
            for each in verified
        ):
            raise ConfigError(
                f"{path}: nothing to verify: expected a trained run, a corpus with its metadata, or scores"
            )
        sources += verified
    return Verification(place=", ".join(map(str, paths)), sources=tuple(sources))


def _verify_several(path: Path, options: VerifyOptions) -> list[VerifiedSource]:
    """Verify the sources of a sweep, a collection, a scores file, or a folder with several of these."""
    verified = []
    of_one = options.without_progress
    sweep = path if path.name == SWEEP else path / SWEEP
    if sweep.is_file():
        rows = [row for row in check_files(sweep.parent) if row.name == SWEEP]
        verified.append(VerifiedSource(name=SWEEP, rows=tuple(rows)))
        if is_damaged(rows, SWEEP):
            return verified
    try:
        sources = Results(sources_at(path)).with_distinct_names()
    except DamagedError as error:  # one file is damaged: verify each folder alone
        row = CheckedClaim(kind="file", name="its figures", verdict="not verified", reason=str(error))
        verified = [replace(each, rows=(*each.rows, row)) for each in verified]
        parents = {file.parent for name in (CONFIG, METADATA) for file in path.rglob(name)}
        folders = sorted(folder for folder in parents if not folder.name.startswith("."))
        for number, folder in enumerate(folders):
            options.runner.progress(folder.name, number, len(folders))
            verified.append(_verify_folder(folder, of_one))
        return verified
    for number, source in enumerate(sources):
        options.runner.progress(source.name, number, len(sources))
        if source.failure is not None:
            rows = _check_failure(source)
            verified.append(
                VerifiedSource(name=source.title, rows=tuple(rows), failure=source.failure, seed=source.seed)
            )
        elif source.folder is not None and has_metadata(source.folder):
            verified.append(_verify_folder(source.folder, of_one, source))
        elif len(sources) > 1 and (missing := _missing(source)):
            kinds: dict[bool, ClaimKind] = {True: "evaluation", False: "score"}
            rows = [_unverifiable(kinds[each.is_measure], each, missing) for each in source.records]
            name = source.title if source.is_run else source.name
            verified.append(VerifiedSource(name=name, seed=source.seed, rows=tuple(rows)))
        else:
            verified.append(_verify_scores(source, of_one))
    return verified


def _verify_folder(folder: Path, options: VerifyOptions, of_sweep: Source | None = None) -> VerifiedSource:
    """Verify a run or a corpus by its folder.

    Args:
        folder: The folder.
        options: Scope and device.
        of_sweep: The run as in the sweep's file, with further claims; None for a folder alone.
    """
    rows = check_files(folder)
    name = folder.resolve().name if of_sweep is None else of_sweep.title
    seed = None if of_sweep is None else of_sweep.seed
    if is_damaged(rows, CONFIG, METADATA, SCORES):
        return VerifiedSource(name=name, seed=seed, rows=tuple(rows))
    own = run_source(folder)
    records = [*own.records]
    for claim in () if of_sweep is None else of_sweep.records:
        if not any(_covers(record, claim) for record in own.records):
            records.append(claim)
    scores = [record for record in records if not record.is_measure]
    of_corpus = {CORPUS, *own.metadata.get("sha256", {})}
    damaged = next((row.name for row in rows if row.verdict == "damaged" and row.name in of_corpus), None)
    corpus = read_corpus(folder) if damaged is None and RunFolder(folder).corpus.is_file() else None
    run, platform, tolerance = None, None, EXACT
    if RunFolder(folder).is_run:
        run = load_run(folder, trust_code=options.trust_code, note=options.note)
        platform = platform_of(own.metadata, run.experiment.training.precision, options.device)
        tolerance = platform.tolerance
        rows += _check_settings(own, of_sweep)
        if measures := [record for record in records if record.is_measure]:
            try:
                for row in check_agents(folder, run.experiment, own.metadata, measures, platform, corpus):
                    rows.append(row)
            except UntrustedError:
                raise
            except (ConfigError, DamagedError, CorpusError) as error:
                reason = str(error).removeprefix(f"{folder}: ")
                rows += [_unverifiable("evaluation", record, reason) for record in measures]
    if corpus is None:
        reason = f"{damaged} is damaged" if damaged else f"{CORPUS} is missing"
        rows += [_unverifiable("score", record, reason) for record in scores]
    else:
        content = corpus.content()
        here = (len(corpus.messages), int((content.lengths == 0).sum()), len(content.values))
        for size, number in zip(SIZES, (*here, len(content.distinct())), strict=True):
            if size in own.metadata:
                rows.append(compare_values("corpus", size, own.metadata[size], number))
        if _has_other_corpus(own, corpus):
            rows.append(CheckedClaim(kind="file", name=SCORES, verdict="differs", reason=OTHERS))
        rows += _check_sizes(own, corpus)
        if scores:
            rows += check_scores(corpus, scores, options, run=run, agents=tolerance)
    return VerifiedSource(name=name, seed=seed, rows=tuple(rows), platform=platform)


def _verify_scores(source: Source, options: VerifyOptions) -> VerifiedSource:
    """Verify a scores file with the corpus that it names.

    Raises:
        ConfigError: If the corpus is missing.
    """
    path = corpus_of(source)
    if path is None:
        raise ConfigError(f"{source.file}: {_missing(source)}")
    corpus = Messages(path, source.how).read()
    is_other = _has_other_corpus(source, corpus)
    row = CheckedClaim(
        kind="file",
        name=path.name,
        verdict="differs" if is_other else "identical" if source.digest else "not verified",
        reason=OTHERS if is_other else "" if source.digest else NO_CHECKSUM,
    )
    is_of_run = path.name == CORPUS and RunFolder(path.parent).is_run
    run = load_run(path.parent, trust_code=options.trust_code, note=options.note) if is_of_run else None
    rows = [row, *_check_sizes(source, corpus)]
    if source.records:
        rows += check_scores(corpus, source.records, options, run=run)
    return VerifiedSource(name=source.name, seed=source.seed, rows=tuple(rows))


def _covers(record: Score, claim: Score) -> bool:
    """Whether a record includes all of a sweep's record, which has fewer draws of the chance level."""
    one, other = (
        (each.figure, each.signature, each.value, each.ci95, each.is_measure) for each in (record, claim)
    )
    levels = claim.stored.get("chance"), record.stored.get("chance")
    differing = (differing_paths(*levels, EXACT), differing_paths(claim.details, record.details, EXACT))
    return one == other and not any(True for paths in differing for _ in paths)


def _unverifiable(kind: ClaimKind, record: Score, reason: str) -> CheckedClaim:
    """Make the row of a claim that can't be computed again."""
    return CheckedClaim(
        kind=kind,
        name=record.figure,
        verdict="unverifiable",
        claimed=record.value,
        reason=reason,
        signature=record.signature or None,
    )


def _check_sizes(source: Source, corpus: Corpus) -> list[CheckedClaim]:
    return compare_mappings(
        "corpus", "sizes", source.sizes, sizes_of(describe(corpus)) if source.sizes else {}
    )


def _has_other_corpus(source: Source, corpus: Corpus) -> bool:
    """Whether scores belong to other messages than a corpus, if both checksums are known."""
    digest = corpus.metadata.get("sha256")
    return bool(source.digest and digest) and source.digest != json.dumps(digest, sort_keys=True)


def _missing(source: Source) -> str:
    """Reason why a source can't be computed again; empty if its corpus exists."""
    if source.is_run and source.folder is not None and not source.folder.is_dir():
        return f"its folder {source.folder} is missing"
    if corpus_of(source):
        return ""
    return (
        "it does not name its corpus" if source.corpus is None else f"its corpus {source.corpus} is missing"
    )


def _check_settings(own: Source, of_sweep: Source | None) -> Iterator[CheckedClaim]:
    """Compare the settings in a run's metadata, and in the file of its sweep, with its config."""
    assert own.folder is not None
    config, copy = dotted_values(read_config(RunFolder(own.folder).config)), own.metadata.get("config")
    if isinstance(copy, Mapping):
        yield from compare_mappings("evaluation", "settings", dotted_values({**copy}), config)
    if of_sweep is not None:
        claimed = {key: _plain(value) for key, value in of_sweep.settings.items() if key in config}
        here = {key: _plain(config.get(key)) for key in claimed}
        claimed |= {SEED: of_sweep.seed, "stopped": of_sweep.stopped}
        claimed |= _facts_of_training(of_sweep.training, of_sweep.training)
        here |= {SEED: own.seed, **({} if own.stopped is None else {"stopped": own.stopped})}
        here |= _facts_of_training(own.metadata.get("training"), own.metadata)
        yield from compare_mappings("evaluation", "settings in the sweep", claimed, here)


def _plain(value: Any) -> Any:
    """Setting without options of a short name such as `reinforce,baseline=mean`, and without folders."""
    return value.partition(",")[0].rpartition("/")[2] if isinstance(value, str) else value


def _facts_of_training(training: Any, levels: Mapping[str, Any]) -> dict[str, Any]:
    """Steps of a training, its chance levels and its language scores, by name.

    Args:
        training: Mapping with the steps.
        levels: Mapping with `chance` and `metrics`.
    """
    steps = training if isinstance(training, Mapping) else {}
    facts = {name: steps[name] for name in ("step", "num_steps", "best_step") if name in steps}
    for key, prefix in (("chance", CHANCE), (METRICS, LANGUAGE)):
        if isinstance(values := levels.get(key), Mapping):
            facts |= {f"{prefix}{name}": value for name, value in values.items()}
    return facts


def _check_failure(source: Source) -> list[CheckedClaim]:
    """Check that a training failed as its sweep says, unless it was a score that failed."""
    failure, folder = str(source.failure), source.folder
    is_of_score = failure.startswith(tuple(f"{name}: " for name in source.asked))
    if folder is None or not RunFolder(folder).metadata.is_file() or is_of_score:
        return []
    here = {"stopped": run_source(folder).stopped}
    is_right = here["stopped"] == "diverged"
    return (
        []
        if is_right
        else compare_mappings("evaluation", "failure in the sweep", {"stopped": "failed"}, here)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSource:
    """Claims of a source to verify."""

    name: str
    """Name of the source."""
    figures: int
    """Number of figures of agents."""
    scores: int
    """Number of scores."""
    left_out: int
    """Number of scores that train models, which are left out or have no estimate."""
    seconds: float | None
    """Expected time of all other claims; None: unknown."""


def plan(paths: Sequence[Path], *, is_all: bool) -> Report:
    """Claims that `verify_all` would check, with the expected time.

    Args:
        paths: See `verify_all`.
        is_all: Whether scores that train models are also computed.

    Raises:
        ConfigError: See `verify_all`.
        DamagedError: If a file with claims is damaged.
    """
    speeds: dict[str, float] = {}
    planned = [_planned(source, speeds) for path in paths for source in sources_in(path)]
    known = [each.seconds for each in planned if each.seconds is not None]
    trained = sum(each.left_out for each in planned)
    line = f"about {duration_text(sum(known))}" if known else "no estimate of the time"
    if trained:
        fate = "which takes minutes to hours each" if is_all else "and are left out without --all"
        line += f"; scores that train models, {fate}: {trained}"
    columns = (
        name_column("source"),
        *(number_column(name) for name in ("figures", "scores", "trained", "time")),
    )
    rows = [
        row_of(
            each.name,
            count(each.figures),
            count(each.scores),
            count(each.left_out),
            nothing("unknown") if each.seconds is None else text(duration_text(each.seconds)),
        )
        for each in planned
    ]
    data = {
        "expected": {"seconds": sum(known), "by": "measurement"} if known else None,
        "sources": list(map(asdict, planned)),
    }
    return Report(tables=[Table(columns=columns, rows=rows)], notes=(line,), data=data)


def _planned(source: Source, speeds: dict[str, float]) -> PlannedSource:
    folder, options = source.folder, VerifyOptions()
    own = run_source(folder) if folder is not None and RunFolder(folder).metadata.is_file() else source
    figures = [record for record in own.records if record.is_measure]
    metrics = [metric_of(record, options) for record in own.records if not record.is_measure]
    trained = {metric for metric in metrics if metric is not None and find_metric(metric).shared.trains}
    corpus = corpus_of(source)
    seconds = 0.0
    if folder is not None and folder.is_dir():
        seconds = sum(file.stat().st_size for file in folder.iterdir() if file.is_file()) / BYTES_PER_SECOND
    if corpus is not None and metrics:
        measured = sorted({metric for metric in metrics if metric is not None} - trained)
        seconds += _seconds_of_scores(corpus, measured, speeds)
    of_agents = _seconds_of_agents(folder, own.metadata, figures) if figures else 0.0
    return PlannedSource(
        name=source.title,
        figures=len(figures),
        scores=len(metrics),
        left_out=sum(metric in trained for metric in metrics),
        seconds=None if of_agents is None else seconds + of_agents,
    )


def _seconds_of_scores(path: Path, metrics: Sequence[str], speeds: dict[str, float]) -> float:
    """Time of metrics in seconds, measured on a few messages, and assumed to grow with the number of messages."""
    corpus = read_corpus(path)
    number = len(corpus.messages)
    few = corpus.take(np.arange(min(number, MEASURED)))
    for name in metrics:
        if name not in speeds and not find_metric(name).shared.needs_agents:
            start = time.perf_counter()
            score_corpus(few, [name], Options())
            speeds[name] = (time.perf_counter() - start) / max(1, len(few.messages))
    return sum(speeds.get(name, 0.0) * find_metric(name).shared.size(number) for name in metrics)


def _seconds_of_agents(folder: Path | None, metadata: Any, figures: Sequence[Score]) -> float | None:
    """Time of the rounds of evaluation in seconds, from the training speed in the log; None without one."""
    try:
        assert folder is not None
        lines = RunFolder(folder).log.read_bytes().splitlines()
        speed = json.loads(lines[-1])[CLOCK]
        evaluation = metadata["config"]["evaluation"]
        rounds = len({str(record.unit) for record in figures}) * evaluation["num_valid"]
        rounds += metadata["num_messages"]
    except (AssertionError, OSError, ValueError, LookupError, TypeError):
        return None
    return SECONDS_OF_A_RUN + FORWARD_SHARE * rounds / speed if is_number(speed) and speed > 0 else None
