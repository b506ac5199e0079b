"""Reading of XferBench results: files of `ecsuite score`, and `results.json` with the keys of Boldt's program.

A file has the scores of one source for one or several seeds; files of one source that differ only in seeds are merged
into one `Result`.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from ecsuite.config import ConfigError
from ecsuite.eval.statistics.counting import Floats
from ecsuite.file_formats import without_format
from ecsuite.formats.strict_json import read_json

UNSIGNED = "unsigned (another program)"
"""Signature of results without one: their settings are unknown."""
FILES = ("scores.json", "results.json")
"""File names that are searched for in a folder and its subfolders."""
BASELINE_NAMES = ("nothing", "no_pretrain", "no_pretraining", "dev_null")
"""Names of the baseline without a corpus: a model without pretraining."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """Cross-entropies of one source for one or several seeds.

    Raises:
        ConfigError: If there is no seed or no target, targets differ between seeds, or a number is not finite.
    """

    name: str
    """The source's name in tables."""
    by_target: tuple[Mapping[str, float], ...]
    """For each seed: cross-entropy in nats per token by target language."""
    seeds: tuple[int, ...]
    """Seeds, in the order of `by_target`."""
    signature: str
    """Signature of the score without the seed: results with equal signatures are comparable."""
    source: str = ""
    """Path of the scored corpus, otherwise the name in the file, otherwise the file."""
    fingerprint: str = ""
    """Hash of the corpus, if known."""

    def __post_init__(self) -> None:
        """Check the invariants."""
        if not self.by_target or len(self.by_target) != len(self.seeds) or not self.targets:
            raise ConfigError(
                f"{self.name}: expected at least one seed and one target, with a cross-entropy for each"
            )
        for seed, values in zip(self.seeds, self.by_target, strict=True):
            require_same_targets(self.targets, values, f"{self.name}, seed {seed}", f"seed {self.seeds[0]}")
            for target, value in values.items():
                if not math.isfinite(value):
                    raise ConfigError(f"{self.name}: {value} is not a cross-entropy ({target}, seed {seed})")

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages."""
        return tuple(self.by_target[0]) if self.by_target else ()

    def values(self, targets: Sequence[str] | None = None) -> Floats:
        """The cross-entropies in the order of `targets`, shape (num_seeds, num_targets)."""
        return np.array([[row[target] for target in targets or self.targets] for row in self.by_target])

    @property
    def score(self) -> float:
        """The XferBench score: the mean over targets and seeds."""
        return float(self.values().mean())

    @property
    def is_baseline(self) -> bool:
        """Whether the name is that of the model without pretraining."""
        return plain(self.name) in BASELINE_NAMES


def require_same_targets(expected: Iterable[str], found: Iterable[str], who: str, other: str) -> None:
    """Raise an error if the target languages differ.

    Raises:
        ConfigError: If a target is missing or additional.
    """
    expected, found = set(expected), set(found)
    for lacking, one, another in ((expected - found, who, other), (found - expected, other, who)):
        if lacking:
            raise ConfigError(f"{one}: no score for {', '.join(sorted(lacking))}, which {another} has")


def plain(name: str) -> str:
    """A name in lower case without punctuation: `no_pretrain` for "No pretrain"."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def read_results(path: Path | str) -> list[Result]:
    """Read a file of results, or all results in a folder and its subfolders.

    Args:
        path: Output of `ecsuite score --out`; a `results.json` with the keys of the reference program (`score`,
            `by_target`), with or without a signature; or a folder with files named `scores.json` or `results.json`.

    Raises:
        ConfigError: If there is no file, or a file has another format; the message names the file.
    """
    return gather([path])


def gather(paths: Iterable[Path | str]) -> list[Result]:
    """Read several files and folders; results of one source with different seeds are merged.

    Sources with equal names get names with as many parent folders as needed to be unique.

    Raises:
        ConfigError: If a path cannot be read, or one seed of a source has two different scores.
    """
    merged: dict[tuple[str, str, str], list[tuple[Result, Path]]] = {}
    for path in paths:
        for file in _files(Path(path)):
            for result in _read_file(file):
                key = (result.name, result.fingerprint or result.source, result.signature)
                merged.setdefault(key, []).append((result, file))
    return _with_different_names([_merge(measured) for measured in merged.values()])


def as_matrix(results: Sequence[Result], targets: Sequence[str]) -> Floats:
    """Cross-entropies h[s, t], means over seeds, shape (num_sources, num_targets)."""
    return np.array([result.values(targets).mean(0) for result in results])


def _files(path: Path) -> list[Path]:
    """The result files of a path."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ConfigError(f"{path}: no such file or folder of XferBench results")
    found = sorted(file for name in FILES for file in path.rglob(name))
    if not found:
        raise ConfigError(
            f"{path}: no {' or '.join(FILES)} found; create one with `ecsuite score CORPUS --out FILE`"
        )
    return found


def _read_file(file: Path) -> Iterator[Result]:
    """The results of one file."""
    data = read_json(file)
    data = without_format("scores", data, file) if isinstance(data, dict) else data
    if isinstance(data, dict) and isinstance(data.get("scores"), list):
        corpus = data.get("corpus") if isinstance(data.get("corpus"), dict) else {}
        scores = [
            each for each in data["scores"] if isinstance(each, dict) and each.get("name") == "xferbench"
        ]
        if not scores:
            raise ConfigError(
                f"{file}: no XferBench score in it; run `ecsuite score` with the metric xferbench"
            )
        for score in scores:
            if score.get("value") is None and score.get("reason"):
                raise ConfigError(f"{file}: the XferBench score is undefined: {score['reason']}")
            details = score.get("details")
            yield _make_result(file, data | {"corpus": corpus}, details, score.get("signature"))
    elif isinstance(data, dict) and "by_target" in data:
        yield _make_result(file, data, data, data.get("signature"))
    else:
        raise ConfigError(
            f"{file}: expected `scores` of `ecsuite score --out`, or `by_target` of a results.json"
        )


def _make_result(file: Path, data: Mapping[str, Any], details: Any, signature: Any) -> Result:
    """The result of one source from one file."""
    details = details if isinstance(details, dict) else {}
    parts = signature.split("|") if isinstance(signature, str) else []
    rest = [part for part in parts if part.partition(":")[0] not in ("seed", "seeds")]
    seed_texts = [part.partition(":")[2] for part in parts if part not in rest]
    by_seed = details.get("by_seed")
    if by_seed is not None:
        rows = _seed_rows(file, by_seed)
    elif parts and not (len(seed_texts) == 1 and seed_texts[0].isdecimal()):
        raise ConfigError(f"{file}: expected a signature with one seed, or `by_seed`, got {signature!r}")
    else:
        rows = {int(seed_texts[0]) if seed_texts else 0: _targets(file, details)}
    corpus = data.get("corpus") or {}
    known = corpus.get("source_path")
    digests = corpus.get("sha256", "")
    return Result(
        name=_name(file, data, known),
        by_target=tuple(rows.values()),
        seeds=tuple(rows),
        signature="|".join(rest) or UNSIGNED,
        source=str(known or data.get("name") or file),
        fingerprint=json.dumps(digests, sort_keys=True) if digests else "",
    )


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
            raise ConfigError(f"{file}: by_target: expected a number for {target}, got {value!r}")
    return {target: float(value) for target, value in by_target.items()}


def _name(file: Path, data: Mapping[str, Any], source: Any) -> str:
    """The name of a source in tables: its own name, or that of its folder or file."""
    for known in (data.get("name"), (data.get("corpus") or {}).get("name")):
        if isinstance(known, str) and known:
            return known
    if isinstance(source, str) and source:
        path = PurePath(source)
        return (path.parent.name if path.stem == "corpus" else path.name.split(".")[0]) or path.stem
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
    return Result(
        name=first.name,
        by_target=tuple(rows[seed][0] for seed in seeds),
        seeds=seeds,
        signature=first.signature,
        source=first.source,
        fingerprint=first.fingerprint,
    )


def _with_different_names(results: Sequence[Result]) -> list[Result]:
    """Make equal names unique by adding parent folders of their sources."""
    named = list(results)
    for index, result in enumerate(results):
        namesakes = [other for other in results if other is not result and other.name == result.name]
        same = [other for other in namesakes if other.signature == result.signature]
        if not same:
            continue  # results with different signatures are refused later, with a message that names the part
        own, *others = map(_folders, (result, *same))
        for length in range(2, len(own) + 1):
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
