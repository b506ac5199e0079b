"""Reading results: run folders, sweeps, collections, corpora and scores files; imports no user code."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from ecsuite.eval.results.files import (
    FILES,
    measure_records,
    read_scores,
    records_of,
    sources_of,
)
from ecsuite.eval.results.sources import CAPPED, CONFIG, CORPUS, INCOMPLETE, METADATA, SWEEP, UNENDED, Source
from ecsuite.files.format_numbers import without_format
from ecsuite.formats.directory import require_no_answers
from ecsuite.formats.strict_json import read_json
from ecsuite.runtime.errors import ConfigError

SEED = "training.seed"
"""Setting over which rows of tables are means."""
NOT_FINITE = re.compile(r"(?:is|are|was) not finite|the loss is -?(?:nan|inf)")
"""Pattern of failure messages of trainings that diverged."""


class _Run(msgspec.Struct):
    settings: dict[str, Any]
    seed: int
    folder: str
    training: dict[str, Any]
    scores: list[dict[str, Any]]
    failure: str | None = None


class _Sweep(msgspec.Struct):
    runs: list[_Run]
    metrics: list[str] = []
    set: dict[str, Any] = {}


def sources_at(place: Path) -> list[Source]:
    """Read the sources at a path; settings are all of a run folder, and the varied ones of a sweep.

    Raises:
        ConfigError: See `Results.read`.
    """
    if (sweep := sweep_file(place)) is not None:
        return _of_sweep(sweep)
    if place.is_dir():
        return _in_folder(place)
    if not place.exists():
        raise ConfigError(f"{place}: no such file or folder of results")
    if place.name == CORPUS and (place.parent / CONFIG).is_file():
        return [run_source(place.parent)]
    if place.suffix == ".json":
        return sources_of(place, read_json(place))
    return [_corpus_source(place)]


def sweep_file(place: Path) -> Path | None:
    """Path of sweep.json, given as such or by its folder; None if there is none."""
    file = place if place.name == SWEEP else place / SWEEP
    return file if file.is_file() else None


def _in_folder(folder: Path) -> list[Source]:
    """Read the runs, sweeps and scores of a folder and its subfolders; where there are none, its corpora."""
    sources: list[Source] = []
    for top, folders, files in os.walk(folder):
        place = Path(top)
        folders.sort()
        if SWEEP in files:
            sources += _of_sweep(place / SWEEP)
        elif CONFIG in files:
            sources.append(run_source(place))
        else:
            scored = [name for name in FILES if name in files]
            read = [
                source
                for name in scored
                for source in sources_of(
                    place / name, (read_scores if name == FILES[0] else read_json)(place / name)
                )
            ]
            if CORPUS in files and len(read) == 1:
                read = [replace(read[0], folder=place, corpus=place)]
            elif CORPUS in files and place == folder:
                read = [_corpus_source(place)]
            sources += read
            continue
        folders.clear()
    if sources:
        return sources
    corpora = sorted({file.parent for file in folder.glob(f"*/{CORPUS}")})
    scores = [
        source
        for file in sorted(folder.glob("*.json"))
        for source in sources_of(file, read_json(file))
        if source.records  # other JSON, such as the croissant.json of what was pulled, has none
    ]
    if not corpora and not scores:
        require_no_answers(folder)
        raise ConfigError(
            f"{folder}: no run, corpus or scores in it: expected a folder of `ecsuite sweep`, `train-game` or "
            "`grammar`, a corpus, or a file of `ecsuite score --out`"
        )
    return [*map(_corpus_source, corpora), *scores]


def run_source(folder: Path, scores: Any = None) -> Source:
    """Read a run folder as a source with all its settings.

    Args:
        folder: The run folder.
        scores: Its scores, as in a file of these; None: those that it keeps.

    Raises:
        ConfigError: If a file of it can't be read.
        DamagedError: If one was changed.
    """
    file = folder / FILES[0]
    [scored] = sources_of(file, read_scores(file) if scores is None else scores)
    source = replace(scored, name=folder.resolve().name, file=folder / CONFIG, is_run=True, folder=folder)
    training = source.metadata.get("training")
    training = training if isinstance(training, Mapping) else {}
    measures = {"measures": training, "extra_evaluations": source.metadata.get("extra_evaluations", {})}
    try:
        measured = measure_records(measures)
    except (AttributeError, TypeError) as error:
        raise ConfigError(f"{folder}: can't be read as a run folder: {error}") from None
    stopped, step = (
        training.get("stopped", None if (folder / METADATA).is_file() else UNENDED),
        training.get("step"),
    )
    return replace(
        source,
        records=(*measured, *source.records),
        corpus=folder if (folder / CORPUS).is_file() else None,
        settings=source.config,
        game=scored.game if scored.is_run else source.config.get("name"),
        seed=scored.seed if scored.is_run else source.config.get(SEED),
        group=scored.group,
        status="diverged" if stopped == "diverged" else "capped" if stopped in INCOMPLETE else "done",
        stopped=stopped,
        failure=f"step {step}: the training diverged" if stopped == "diverged" else None,
    )


def _of_sweep(file: Path) -> list[Source]:
    """Read the runs of a sweep file; run folders that were moved with it are found beside it."""
    tree = read_json(file)
    try:
        return sweep_sources(without_format("result", tree, file), file)
    except (msgspec.ValidationError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{file}: not the file of a sweep: {error}") from None


def sweep_sources(sweep: Mapping[str, Any], file: Path) -> list[Source]:
    """Sources of the runs of a sweep, from its JSON, with scores that were added to their folders later.

    Args:
        sweep: As of `Sweep.to_json`.
        file: Where it is or would be.
    """
    content = msgspec.convert(sweep, _Sweep)
    sources = []
    for run in content.runs:
        # That beside the file first: a copy of a sweep is read, and not what it is a copy of.
        places = (file.parent / "runs" / Path(run.folder).name, Path(run.folder))
        folder = next((place for place in places if place.is_dir()), None)
        later = read_scores(folder / FILES[0]).get("scores", []) if folder is not None else []
        scores = {(score.get("name"), score.get("signature")): score for score in [*later, *run.scores]}
        stopped = run.training.get("stopped")
        sources.append(
            Source(
                name=Path(run.folder).name,
                file=file,
                records=(*measure_records(run.training), *records_of(file, scores.values())),
                is_run=True,
                folder=folder or Path(run.folder),
                corpus=folder if folder is not None and (folder / CORPUS).is_file() else None,
                game=str(sweep.get("name", "")) or None,
                settings=run.settings,
                fixed=content.set,
                seed=run.seed,
                group=f"{file} {sorted(map(str, run.settings.items()))}",
                sizes={},
                status=("diverged" if NOT_FINITE.search(run.failure) else "failed")
                if run.failure is not None
                else "capped"
                if stopped in CAPPED
                else "done",
                stopped=stopped,
                failure=run.failure,
                training=run.training,
                asked=tuple(content.metrics),
            )
        )
    return sources


def _corpus_source(place: Path) -> Source:
    """Source of a corpus without scores."""
    folder = place if place.is_dir() else place.parent if place.name == CORPUS else None
    name = place.resolve().name if folder is None else folder.resolve().name
    return Source(name=name, file=place, folder=folder, corpus=place)
