"""Results of one score by source: the values of its seeds, gathered from the records of sources."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import Any

from ecsuite.eval.comparison.results import OF_A_SOURCE, UNSIGNED, Result
from ecsuite.eval.metrics.conclusions import passes_of
from ecsuite.eval.records.documents import FILES, XFERBENCH, name_by_folders, name_of_file
from ecsuite.eval.records.messages import Messages
from ecsuite.eval.records.reading import read_sources
from ecsuite.eval.records.source import MOST_SETTINGS, Record, Source
from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.tables.cells import value_text


def gather(paths: Iterable[Path | str], metric: str = XFERBENCH) -> list[Result]:
    """Read several files and folders; see `results_of`.

    Args:
        paths: See `read_sources`.
        metric: Name of the score.

    Raises:
        ConfigError: If a path cannot be read, a file has another format or no such score, or one seed of a source has
            two different scores; the message names the file.
    """
    return results_of(read_sources(paths), metric)


def results_of(sources: Iterable[Source], metric: str, *, merges_seeds: bool = True) -> list[Result]:
    """The results of sources; those of one source with different seeds are merged.

    Sources with equal names get names with as many parent folders as needed to be unique. A source may have a score
    with several signatures: if exactly one of these is that of a score of every source, the others are left out.

    Args:
        sources: See `read_sources`; runs that failed are left out.
        metric: Name of the score.
        merges_seeds: Whether runs of one game with different seeds are one source; else each folder is one.

    Raises:
        ConfigError: If a source has no such score, or one seed of a source has two different scores.
    """
    merged: dict[tuple[object, ...], list[tuple[Result, Path]]] = {}
    sources = list(sources)
    # A run that failed has no scores: others of its game have theirs, with fewer seeds.
    scored = [each for each in sources if each.failure is None or each.records_of(metric)]
    for source in scored or sources:
        for result in _results(source, metric):
            if not merges_seeds:
                result = replace(
                    result, name=_own_name(source), fingerprint=str(source.folder or source.file)
                )
            key = (result.name, result.fingerprint or result.source, result.signature, result.passes)
            merged.setdefault(key, []).append((result, source.file))
    settings = {source.group: _settings_of(source) for source in sources if source.is_run and source.group}
    results = [_merge(measured) for measured in merged.values()]
    return _with_different_names(_of_common_signature(results), settings)


def _own_name(source: Source) -> str:
    """The name of the folder of a source, or that of a file with a name of its own."""
    if source.folder is not None:
        return source.folder.resolve().name
    return source.file.resolve().parent.name if source.file.name in FILES else source.file.stem


def _results(source: Source, metric: str) -> list[Result]:
    """The results of one source, of each signature one."""
    records = source.records_of(metric)
    file = source.file if source.folder is None or not source.is_run else source.folder / FILES[0]
    if not records:
        raise _lacking(file, metric, [record.score for record in source.records if not record.is_measure])
    return [_result(source, record, file) for record in records]


def _lacking(file: Path, metric: str, scores: Sequence[str]) -> ConfigError:
    """The error for a source without a score."""
    others = shorten(", ".join(dict.fromkeys(scores)), 80, placeholder=" …")
    if metric == XFERBENCH and not scores:
        return ConfigError(
            f"{file}: expected `scores` of `ecsuite score --out`, or `by_target` of a results.json"
        )
    if metric == XFERBENCH:
        command = "`ecsuite score --metrics xferbench`"
        return ConfigError(
            f"{file}: no XferBench score in it; compute it with {command}, or choose one with --metric: {others}"
        )
    return ConfigError(f"{file}: no score {metric} in it" + (f"; it has {others}" if others else ""))


def _result(source: Source, record: Record, file: Path) -> Result:
    """A score: of XferBench, cross-entropies by target language for one or several seeds; else a number."""
    metric = record.score
    if record.value is None and record.reason:
        what = "XferBench score" if metric == XFERBENCH else f"score {metric}"
        raise ConfigError(f"{file}: the {what} is undefined: {record.reason}")
    parts = record.signature.split("|") if record.signature else []
    seeds = [_seed(part) for part in parts if part.startswith(("seed:", "seeds:"))]
    name, identity, interval = source.name, source.digest, None
    if metric == XFERBENCH:
        rows = _rows_of_xferbench(file, record, seeds)
    else:
        if record.value is None:
            raise ConfigError(f"{file}: {metric}: expected a number, got None")
        if source.game is not None and source.seed is not None and source.group:
            name, seed, identity = _name_of_run(source), source.seed, source.group
        elif seeds and seeds[0] is not None:
            seed = seeds[0]
        else:
            seed = source.seed if source.seed is not None else 0
        rows, interval = {seed: {metric: float(record.value)}}, record.ci95
    return Result(
        name=name,
        by_target=tuple(rows.values()),
        seeds=tuple(rows),
        signature="|".join(part for part in parts if part.partition(":")[0] not in OF_A_SOURCE) or UNSIGNED,
        source=str(source.corpus or (file if source.name == name_of_file(file) else source.name)),
        fingerprint=identity,
        ci95=interval,
        sizes=(next((part[2:] for part in parts if part.startswith("n:")), None),) * len(rows),
        corpora=(None if source.corpus is None else Messages(source.corpus, source.how),) * len(rows),
        passes=passes_of(str(record.signature)),
        is_run=source.game is not None or source.is_of_run,
    )


def _name_of_run(source: Source) -> str:
    """Its settings where these are few, else the name of its game."""
    return _settings_of(source) if 0 < len(source.settings) <= MOST_SETTINGS else str(source.game)


def _settings_of(source: Source) -> str:
    """The settings of a run in a name."""
    return ", ".join(
        f"{key.rpartition('.')[2]}={value_text(value)}" for key, value in source.settings.items()
    )


def _seed(part: str) -> int | None:
    """The number in a part of a signature; None if it is none, or more than one."""
    number = part.partition(":")[2]
    return int(number) if number.isdecimal() and len(number) < 20 else None


def _rows_of_xferbench(
    file: Path, record: Record, seeds: Sequence[int | None]
) -> dict[int, dict[str, float]]:
    """Cross-entropies by seed and target language."""
    by_seed = record.details.get("by_seed")
    if by_seed is not None:
        return _seed_rows(file, by_seed)
    [seed] = seeds if len(seeds) == 1 else [None]
    if record.signature and seed is None:
        got = shown(record.signature)
        raise ConfigError(f"{file}: expected a signature with one seed, or `by_seed`, got {got}")
    return {seed or 0: _targets(file, record.details)}


def _seed_rows(file: Path, by_seed: Any) -> dict[int, dict[str, float]]:
    """The cross-entropies of each seed."""
    rows = by_seed if isinstance(by_seed, list) else []
    seeds = [row.get("seed") if isinstance(row, dict) else None for row in rows]
    if not rows or not all(type(seed) is int for seed in seeds) or len(set(seeds)) < len(seeds):
        raise ConfigError(
            f"{file}: by_seed: expected a list of objects with `seed` and `by_target`, and unique seeds"
        )
    return {row["seed"]: _targets(file, row) for row in rows}


def _targets(file: Path, details: Mapping[str, Any]) -> dict[str, float]:
    """The cross-entropies of one seed."""
    by_target = details.get("by_target")
    if not isinstance(by_target, dict) or not by_target:
        raise ConfigError(f"{file}: expected `by_target`, the cross-entropy on each target language")
    for target, value in by_target.items():
        if type(value) not in (int, float) or not math.isfinite(value):
            raise ConfigError(f"{file}: by_target: expected a number for {target}, got {shown(value)}")
    return {target: float(value) for target, value in by_target.items()}


def _merge(measured: Sequence[tuple[Result, Path]]) -> Result:
    """Merge the results of one source; a file that was read twice counts once."""
    first = measured[0][0]
    places: dict[int, tuple[Result, int, Path]] = {}
    for result, file in measured:
        for place, values in enumerate(result.by_target):
            others = (other.by_target[at] for other, at, _ in places.values())
            if first.signature == UNSIGNED and any(values == known for known in others):
                continue
            seed = len(places) if first.signature == UNSIGNED else result.seeds[place]
            other, at, known_file = places.setdefault(seed, (result, place, file))
            if other.by_target[at] != values:
                raise ConfigError(
                    f"{first.name}: seed {seed} has different scores in {known_file} and {file}"
                )
    seeds = tuple(sorted(places))
    rows = [places[seed] for seed in seeds]
    return replace(
        first,
        by_target=tuple(result.by_target[place] for result, place, _ in rows),
        seeds=seeds,
        sizes=tuple(result.sizes[place] for result, place, _ in rows),
        corpora=tuple(result.corpora[place] for result, place, _ in rows),
        ci95=first.ci95 if len(seeds) == 1 else None,
    )


def _of_common_signature(results: Sequence[Result]) -> list[Result]:
    """The results of the only signature that every source has; all results if there is none or more than one."""
    by_source: dict[tuple[str, str], set[str]] = {}
    for result in results:
        by_source.setdefault((result.name, result.fingerprint or result.source), set()).add(result.signature)
    common = set.intersection(*by_source.values()) if by_source else set()
    return [result for result in results if len(common) != 1 or result.signature in common]


def _with_different_names(results: Sequence[Result], settings: Mapping[str, str]) -> list[Result]:
    """Make equal names unique: of a mean over seeds by its settings, which none of its folders has; else by folders.

    Args:
        results: The results.
        settings: Those of runs in a name, by the fingerprint of their result.
    """
    named = [
        replace(result, name=settings[result.fingerprint])
        if len(result.seeds) > 1
        and settings.get(result.fingerprint)
        and any(other.name == result.name and other.fingerprint != result.fingerprint for other in results)
        else result
        for result in results
    ]
    results = list(named)
    for index, result in enumerate(results):
        namesakes = [other for other in results if other is not result and other.name == result.name]
        same = [other for other in namesakes if other.signature == result.signature]
        if not same:
            continue  # results with different signatures are refused later, with a message that names the part
        name = name_by_folders(result.source, [other.source for other in same])
        if name is None:
            raise ConfigError(
                f"{result.name}: {result.source} has scores of different contents; remove the older scores"
            )
        named[index] = replace(result, name=name)
    return named
