"""Reading of scores from files of `ecsuite score` and other commands, and of XferBench's from `results.json`.

A file has the scores of one source for one or several seeds; files of one source that differ only in seeds are merged
into one `Result`. The corpora of one game, trained with several seeds, are one source.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from textwrap import shorten
from typing import Any

from ecsuite.eval.comparison.results import OF_A_SOURCE, UNSIGNED, XFERBENCH, Result, source_name
from ecsuite.eval.metrics.preset_limits import passes_of
from ecsuite.eval.statistics.differences import Interval
from ecsuite.files.format_numbers import without_format
from ecsuite.formats.strict_json import read_json
from ecsuite.runtime.errors import ConfigError, shown

Document = tuple[Path, Any]
"""A file of scores, and its content."""
FILES = ("scores.json", "results.json")
"""File names that are searched for in a folder and its subfolders."""


def gather(paths: Iterable[Path | str], metric: str = XFERBENCH) -> list[Result]:
    """Read several files and folders; results of one source with different seeds are merged.

    Sources with equal names get names with as many parent folders as needed to be unique. A file may have scores of a
    metric with several signatures: if exactly one of these is that of a score of every source, the others are left out.

    Args:
        paths: Outputs of `ecsuite score --out`, or of a command whose JSON has `name` and the metric, such as
            `ecsuite translate`; for XferBench also a `results.json` with the keys of the reference program (`score`,
            `by_target`), with or without a signature; or folders with files named `scores.json` or `results.json`.
        metric: Name of the score.

    Raises:
        ConfigError: If a path cannot be read, a file has another format or no such score, or one seed of a source has
            two different scores; the message names the file.
    """
    return gather_from(documents(paths), metric)


def documents(paths: Iterable[Path | str]) -> list[Document]:
    """The score files of paths with their contents.

    Raises:
        ConfigError: If a path cannot be read.
    """
    return [(file, read_json(file)) for path in paths for file in _files(Path(path))]


def gather_from(documents: Iterable[Document], metric: str, *, merges_seeds: bool = True) -> list[Result]:
    """The results in several documents, see `gather`.

    Args:
        documents: Files with their contents.
        metric: Name of the score.
        merges_seeds: Whether runs of one game with different seeds are one source; else each folder is one.
    """
    merged: dict[tuple[object, ...], list[tuple[Result, Path]]] = {}
    for file, data in documents:
        for found in _read_file(file, data, metric):
            result = found if merges_seeds else replace(found, name=_folder_of(file), fingerprint=str(file))
            key = (result.name, result.fingerprint or result.source, result.signature, result.passes)
            merged.setdefault(key, []).append((result, file))
    results = [_merge(measured) for measured in merged.values()]
    return _with_different_names(_of_common_signature(results))


def _folder_of(file: Path) -> str:
    """The name of the folder of a score file, or that of a file with a name of its own."""
    return file.resolve().parent.name if file.name in FILES else file.stem


def _files(path: Path) -> list[Path]:
    """The result files of a path."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ConfigError(f"{path}: no such file or folder of results")
    found = sorted(file for name in FILES for file in path.rglob(name))
    if not found:
        raise ConfigError(
            f"{path}: no {' or '.join(FILES)} found; create one with `ecsuite score CORPUS --out FILE`"
        )
    return found


def _read_file(file: Path, data: Any, metric: str) -> Iterator[Result]:
    """The results of one file."""
    data = without_format("scores", data, file) if isinstance(data, dict) else {}
    corpus = data.get("corpus") if isinstance(data.get("corpus"), dict) else {}
    if isinstance(data.get("scores"), list):
        named = [each for each in data["scores"] if isinstance(each, dict)]
        scores = [each for each in named if each.get("name") == metric]
        if not scores:
            raise _lacking(file, metric, [str(each.get("name")) for each in named])
        for score in scores:
            if score.get("value") is None and score.get("reason"):
                what = "XferBench score" if metric == XFERBENCH else f"score {metric}"
                raise ConfigError(f"{file}: the {what} is undefined: {score['reason']}")
            yield _read_score(file, data | {"corpus": corpus}, score, metric)
    elif metric == XFERBENCH and "by_target" in data:
        score = {"details": data, "signature": data.get("signature")}
        yield _read_score(file, data | {"corpus": corpus}, score, metric)
    elif metric in data:
        score = {"value": data[metric], "signature": data.get("signature")}
        yield _read_score(file, data | {"corpus": {}}, score, metric)
    elif metric == XFERBENCH:
        raise ConfigError(
            f"{file}: expected `scores` of `ecsuite score --out`, or `by_target` of a results.json"
        )
    else:
        raise _lacking(file, metric, [name for name, value in data.items() if type(value) is float])


def _lacking(file: Path, metric: str, found: Sequence[str]) -> ConfigError:
    """The error for a file without a score."""
    known = shorten(", ".join(dict.fromkeys(found)), 80, placeholder=" …")
    if metric == XFERBENCH:
        other = f", or choose one with --metric: {known}" if known else ""
        command = "`ecsuite score --metrics xferbench`"
        return ConfigError(f"{file}: no XferBench score in it; compute it with {command}{other}")
    return ConfigError(f"{file}: no score {metric} in it" + (f"; it has {known}" if known else ""))


def _read_score(file: Path, data: Mapping[str, Any], score: Mapping[str, Any], metric: str) -> Result:
    """A score: of XferBench, cross-entropies by target language for one or several seeds; else a number."""
    corpus, signature = data["corpus"], score.get("signature")
    path, name = corpus.get("source_path"), _name(file, data)
    digests = corpus.get("sha256")
    identity = json.dumps(digests, sort_keys=True) if digests else ""
    parts = signature.split("|") if isinstance(signature, str) else []
    rest = [part for part in parts if part.partition(":")[0] not in OF_A_SOURCE]
    seeds = [_seed(part) for part in parts if part.startswith(("seed:", "seeds:"))]
    if metric == XFERBENCH:
        rows, ci95 = _rows_of_xferbench(file, score, seeds), None
    else:
        value: Any = score.get("value")
        if not _is_finite(value):
            raise ConfigError(f"{file}: {metric}: expected a number, got {shown(value)}")
        run, own = run_of(file), data.get("seed")
        if run is not None:
            name, seed, identity = run
        elif seeds and seeds[0] is not None:
            seed = seeds[0]
        else:
            seed = own if type(own) is int else 0
        rows, ci95 = {seed: {metric: float(value)}}, _interval(file, metric, score.get("ci95"))
    return Result(
        name=name,
        by_target=tuple(rows.values()),
        seeds=tuple(rows),
        signature="|".join(rest) or UNSIGNED,
        source=str(path or data.get("name") or file),
        fingerprint=identity,
        ci95=ci95,
        passes=passes_of(str(signature)),
    )


def run_of(file: Path) -> tuple[str, int, str] | None:
    """Name, seed and other settings of the game whose run folder has this file; None for other files."""
    metadata = file.parent / "metadata.json"
    known = read_json(metadata) if file.name == "scores.json" and metadata.is_file() else None
    config = known.get("config") if isinstance(known, dict) else None
    training = config.get("training") if isinstance(config, dict) else None
    seed = training.get("seed") if isinstance(training, dict) else None
    if not isinstance(config, dict) or not isinstance(training, dict) or type(seed) is not int:
        return None
    rest = config | {"training": {key: value for key, value in training.items() if key != "seed"}}
    return str(config.get("name", file.parent.name)), seed, json.dumps(rest, sort_keys=True)


def _interval(file: Path, metric: str, bounds: Any) -> Interval | None:
    """The interval of a score."""
    if bounds is None:
        return None
    if not isinstance(bounds, list) or len(bounds) != 2 or not all(map(_is_finite, bounds)):
        raise ConfigError(f"{file}: ci95 of {metric}: expected two numbers, got {shown(bounds)}")
    return float(bounds[0]), float(bounds[1])


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _seed(part: str) -> int | None:
    """The number in a part of a signature; None if it is none, or more than one."""
    number = part.partition(":")[2]
    return int(number) if number.isdecimal() and len(number) < 20 else None


def _rows_of_xferbench(
    file: Path, score: Mapping[str, Any], seeds: Sequence[int | None]
) -> dict[int, dict[str, float]]:
    """Cross-entropies by seed and target language."""
    details = score.get("details")
    details = details if isinstance(details, dict) else {}
    by_seed, signature = details.get("by_seed"), score.get("signature")
    if by_seed is not None:
        return _seed_rows(file, by_seed)
    [seed] = seeds if len(seeds) == 1 else [None]
    if isinstance(signature, str) and signature and seed is None:
        raise ConfigError(f"{file}: expected a signature with one seed, or `by_seed`, got {shown(signature)}")
    return {seed or 0: _targets(file, details)}


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
        if not _is_finite(value):
            raise ConfigError(f"{file}: by_target: expected a number for {target}, got {shown(value)}")
    return {target: float(value) for target, value in by_target.items()}


def _name(file: Path, data: Mapping[str, Any]) -> str:
    """The name of a source in tables: its own name, or that of its folder or file."""
    for known in (data.get("name"), data["corpus"].get("name")):
        if isinstance(known, str) and known:
            return known
    source = data["corpus"].get("source_path")
    if isinstance(source, str) and source:
        return source_name(source)
    folder = file.resolve().parent.name
    return folder.removeprefix("xferbench-") if file.name in FILES and folder else file.stem


def _merge(measured: Sequence[tuple[Result, Path]]) -> Result:
    """Merge the results of one source; a file that was read twice counts once."""
    first = measured[0][0]
    rows: dict[int, tuple[Mapping[str, float], Path]] = {}
    for result, file in measured:
        for own_seed, values in zip(result.seeds, result.by_target, strict=True):
            if first.signature == UNSIGNED and any(values == other for other, _ in rows.values()):
                continue
            seed = len(rows) if first.signature == UNSIGNED else own_seed
            known = rows.setdefault(seed, (values, file))
            if known[0] != values:
                raise ConfigError(f"{first.name}: seed {seed} has different scores in {known[1]} and {file}")
    seeds = tuple(sorted(rows))
    return replace(
        first,
        by_target=tuple(rows[seed][0] for seed in seeds),
        seeds=seeds,
        ci95=first.ci95 if len(seeds) == 1 else None,
    )


def _of_common_signature(results: Sequence[Result]) -> list[Result]:
    """The results of the only signature that every source has; all results if there is none or more than one."""
    by_source: dict[tuple[str, str], set[str]] = {}
    for result in results:
        by_source.setdefault((result.name, result.fingerprint or result.source), set()).add(result.signature)
    common = set.intersection(*by_source.values()) if by_source else set()
    return [result for result in results if len(common) != 1 or result.signature in common]


def _with_different_names(results: Sequence[Result]) -> list[Result]:
    """Make equal names unique by adding parent folders of their sources."""
    named = list(results)
    for index, result in enumerate(results):
        namesakes = [other for other in results if other is not result and other.name == result.name]
        same = [other for other in namesakes if other.signature == result.signature]
        if not same:
            continue  # results with different signatures are refused later, with a message that names the part
        own, *others = map(_folders, (result, *same))
        for length in range(min(2, len(own)), len(own) + 1):
            if all(own[-length:] != parts[-length:] for parts in others):
                named[index] = replace(result, name="/".join(own[-length:]))
                break
        else:
            raise ConfigError(
                f"{result.name}: {result.source} has scores of different contents; remove the older scores"
            )
    return named


def _folders(result: Result) -> tuple[str, ...]:
    """The parts of the path of a source, without a generic file name."""
    path = PurePath(result.source)
    return path.parent.parts if path.stem in ("corpus", "scores", "results") else path.parts
