"""Reading results: run folders, sweeps, collections, corpora and scores files; imports no user code."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.files import (
    FILES,
    measure_records,
    name_by_folders,
    read_scores,
    records_of,
    run_seed_and_group,
    sources_of,
)
from ecsuite.eval.results.sources import CAPPED, CONFIG, CORPUS, METADATA, SWEEP, UNENDED, Source, Status
from ecsuite.files.format_numbers import without_format
from ecsuite.formats.directory import require_no_answers
from ecsuite.formats.strict_json import read_json
from ecsuite.runtime.errors import ConfigError

SEED = "training.seed"
"""Setting over which rows of tables are means."""
CHECKSUMS = ("data.", "code.")
"""Prefixes of checksums of data and code files, which distinguish runs whose files differ."""
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


def read_sources(paths: Iterable[str | Path], note: Callable[[str], object] = lambda _: None) -> list[Source]:
    """Read the sources at paths, without copies of run folders.

    The settings of the runs of one sweep are those that it varies; of other runs, and of several sweeps, those that
    differ between them (see `varied`), and the runs are in the order of these.

    Args:
        paths: Run folders, folders of sweeps, corpora, files of scores, and folders that hold these.
        note: Called with a line about copies that are left out.

    Raises:
        ConfigError: If there is nothing at a path, or a file can't be read.
        DamagedError: If a kept file was changed.
        FormatError: If a newer version wrote a file.
    """
    places = list(dict.fromkeys(map(Path, paths)))
    sources = without_copies([source for place in places for source in sources_at(place)], note)
    return sources if len(places) == 1 and _sweep_file(places[0]) is not None else in_order(varied(sources))


def read_runs(paths: Iterable[str | Path], note: Callable[[str], object] = lambda _: None) -> list[Source]:
    """Read the runs at paths, and corpora of scored collections with their system and name as settings.

    Args:
        paths: See `read_sources`.
        note: See `read_sources`.

    Raises:
        ConfigError: If a path holds neither, or a file can't be read.
    """
    runs: list[Source] = []
    sources = names_apart(each_corpus_once(read_sources(paths, note)))
    of_systems = any(source.system for source in sources)
    for source in sources:
        if source.is_run:
            runs.append(source)
        elif source.records:
            named = {"system": source.system} if of_systems else {}
            runs.append(replace(source, settings={**named, "corpus": source.name}))
    if not runs:
        where = ", ".join(map(str, paths))
        raise ConfigError(f"{where}: expected a run folder, a folder of runs, or the scores of a collection")
    return runs


def without_copies(sources: Sequence[Source], note: Callable[[str], object]) -> list[Source]:
    """Remove copies of run folders, which would count as further seeds; a note names some."""
    kept: dict[Any, Source] = {}
    copies: dict[Path, Source] = {}  # by folder, of which run
    for number, source in enumerate(sources):
        key: Any = number
        if source.is_run and source.file.name == SWEEP:  # whose names have a digest of all settings
            key = source.name, source.seed, repr([source.settings, source.measures, source.failure])
        elif source.is_run and source.group and (corpus := source.metadata.get("sha256")):
            key = source.group, source.seed, repr(corpus)
        first = kept.get(key, source)
        one, other = (first, source) if len(first.records) >= len(source.records) else (source, first)
        kept[key] = one
        if _folder(one).absolute() != _folder(other).absolute():  # and not named twice
            copies[_folder(other)] = one
    if copies:
        folder, run = next(iter(copies.items()))
        others = f" and {len(copies) - 1:,} more" if len(copies) > 1 else ""
        note(f"{folder}{others}: left out, as a copy of a run counts once, here {_folder(run)}")
    return list(kept.values())


def _folder(source: Source) -> Path:
    return source.folder or source.file


def each_corpus_once(sources: Iterable[Source]) -> list[Source]:
    """Merge sources of the same corpus whose scores stand in several files; runs stay.

    Sources with different signatures of the same score stay apart.
    """
    kept: list[Source] = []
    places: dict[object, int] = {}
    for source in sources:
        key = (source.corpus, source.how, source.name, source.system, source.digest)
        place = None if source.is_run or source.corpus is None else places.setdefault(key, len(kept))
        if place is None or place == len(kept):
            kept.append(source)
            continue
        signatures = {record.name: record.signature for record in kept[place].records}
        if any(
            signatures.get(record.name, record.signature) != record.signature for record in source.records
        ):
            kept.append(source)
            continue
        more = [record for record in source.records if record.name not in signatures]
        kept[place] = replace(kept[place], records=(*kept[place].records, *more))
    return kept


def names_apart(sources: Sequence[Source]) -> list[Source]:
    """Disambiguate equal names of sources that are no runs by their folders."""
    namesakes: dict[tuple[str, str | None], list[Source]] = {}
    for source in sources:
        if not source.is_run:
            namesakes.setdefault((source.name, source.system), []).append(source)
    return [
        replace(source, name=_name_among(source, namesakes.get((source.name, source.system), [])))
        for source in sources
    ]


def _name_among(source: Source, namesakes: Sequence[Source]) -> str:
    """Name of a source, with folders where a source with other content has the same name."""
    place = _place(source)
    others = {_place(other) for other in namesakes if not source.digest or other.digest != source.digest} - {
        place
    }
    name = name_by_folders(place, sorted(others)) if others and not source.is_run else None
    return name or source.name


def _place(source: Source) -> str:
    return str(source.corpus or source.file)


def sources_at(place: Path) -> list[Source]:
    """Read the sources at a path; settings are all of a run folder, and the varied ones of a sweep.

    Raises:
        ConfigError: See `read_sources`.
    """
    if (sweep := _sweep_file(place)) is not None:
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


def _sweep_file(place: Path) -> Path | None:
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
            read = [source for name in scored for source in sources_of(place / name, _read(place / name))]
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


def _read(file: Path) -> Any:
    """Content of a scores file, without its checksum."""
    return read_scores(file) if file.name == FILES[0] else read_json(file)


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
    [scored] = sources_of(file, _read(file) if scores is None else scores)
    source = replace(scored, name=folder.resolve().name, file=folder / CONFIG, is_run=True, folder=folder)
    training = source.metadata.get("training")
    training = training if isinstance(training, Mapping) else {}
    measures = {"measures": training, "extra_evaluations": source.metadata.get("extra_evaluations", {})}
    known = run_seed_and_group(folder)
    game, seed, group = (
        known if known is not None else (source.config.get("name"), source.config.get(SEED), "")
    )
    stopped, step = (
        training.get("stopped", None if (folder / METADATA).is_file() else UNENDED),
        training.get("step"),
    )
    return replace(
        source,
        records=(*_measures(folder, measures), *source.records),
        corpus=folder if (folder / CORPUS).is_file() else None,
        settings=source.config,
        game=game,
        seed=seed,
        group=group,
        status="diverged" if stopped == "diverged" else "capped" if stopped in (*CAPPED, UNENDED) else "done",
        stopped=stopped,
        failure=f"step {step}: the training diverged" if stopped == "diverged" else None,
    )


def _measures(folder: Path, training: Mapping[str, Any]) -> list[Score]:
    try:
        return measure_records(training)
    except (AttributeError, TypeError) as error:
        raise ConfigError(f"{folder}: can't be read as a run folder: {error}") from None


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
        later = _read(folder / FILES[0]).get("scores", []) if folder is not None else []
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
                seed=run.seed,
                group=f"{file} {sorted(map(str, run.settings.items()))}",
                sizes={},
                status=_status(run.failure, stopped),
                stopped=stopped,
                failure=run.failure,
                training=run.training,
                asked=tuple(content.metrics),
            )
        )
    return sources


def _status(failure: str | None, stopped: str | None) -> Status:
    if failure is not None:
        return "diverged" if NOT_FINITE.search(failure) else "failed"
    return "capped" if stopped in CAPPED else "done"


def _corpus_source(place: Path) -> Source:
    """Source of a corpus without scores."""
    folder = place if place.is_dir() else place.parent if place.name == CORPUS else None
    name = place.resolve().name if folder is None else folder.resolve().name
    return Source(name=name, file=place, folder=folder, corpus=place)


def varied(sources: Sequence[Source]) -> list[Source]:
    """Reduce the settings of runs to those that differ between them, without the seed.

    A setting that not all runs have, as an option of one kind of channel, counts where it differs between those that
    have it, or tells runs apart that nothing else does; so do the checksums of data and of users' files.
    """
    runs = [source for source in sources if source.is_run]
    is_one_sweep = len({run.file for run in runs}) == 1
    settings = {id(run): _settings_of(run, is_one_sweep=is_one_sweep) for run in runs}
    keys = dict.fromkeys(key for each in settings.values() for key in each)
    varying = [
        key for key in keys
        if not key.startswith(CHECKSUMS) and len({repr(each[key]) for each in settings.values() if key in each}) > 1
    ]  # fmt: skip
    further = [key for key in keys if key not in varying]
    told = _num_told_apart(settings.values(), varying)
    if _num_told_apart(settings.values(), [*varying, *further]) > told:
        for key in further:
            if (more := _num_told_apart(settings.values(), [*varying, key])) > told:
                varying, told = [*varying, key], more
    return [
        replace(source, settings={key: own[key] for key in varying if key in own})
        if (own := settings.get(id(source))) is not None
        else source
        for source in sources
    ]


def _settings_of(run: Source, *, is_one_sweep: bool) -> dict[str, Any]:
    """Settings of a run without its seed: of one sweep those that it varies, else all, with checksums of files."""
    own = dict(run.settings)
    if run.file.name == SWEEP and not is_one_sweep:
        own = run.config or {"name": run.game, **own}
    elif run.group.startswith("{"):
        config = json.loads(run.group)
        own |= {
            f"{section}.{name}": str(checksum)[:8]
            for section in ("data", "code")
            if isinstance(files := config.get(section), dict)
            for name, checksum in files.items()
        }
    return {key: value for key, value in own.items() if key != SEED}


def _num_told_apart(settings: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> int:
    """Number of groups into which these settings divide runs."""
    return len({repr([(key in each, each.get(key)) for key in keys]) for each in settings})


def in_order(sources: Sequence[Source]) -> list[Source]:
    """Sort runs by their settings, before the other sources."""
    keys = dict.fromkeys(key for source in sources if source.is_run for key in source.settings)
    runs = sorted(
        (source for source in sources if source.is_run),
        key=lambda run: [_order(run.settings.get(key)) for key in keys],
    )
    return [*runs, *(source for source in sources if not source.is_run)]


def _order(value: Any) -> tuple[str, float, str]:
    """Sort key: numbers by value, all else by its text."""
    return ("", value, "") if isinstance(value, int | float) else ("other", 0.0, str(value))
