"""Scores of many corpora as columns, read from files of `ecsuite score` or folders of scored runs.

Runs of one game that differ only in their seeds are one source, with the means over the seeds. A corpus of the same
name with the same scores counts once.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.eval.comparison.results import source_name
from ecsuite.eval.comparison.score_files import documents, run_of
from ecsuite.eval.metrics import SCORES
from ecsuite.eval.statistics.counting import Floats, Ints
from ecsuite.files.format_numbers import without_format
from ecsuite.runtime.errors import ConfigError, look_up

SIZES = ("Token Count", "Line Count", "Unique Lines", "Unique Tokens", "EoS Token Present", "EoS Padding")
"""Scores that count what a corpus has: correlated only if they are named."""
OTHER_SIZES = ("min_length", "max_length", "vocab_size")
"""Sizes of a corpus whose names do not begin with num_."""
ACCURACY = "accuracy"
"""The column with the accuracy at the end of the training of a run."""
FEWEST = 5
"""Least number of sources of a collection."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A corpus, or the corpora of runs that differ only in their seeds."""

    name: str
    """What tables call it."""
    system: str | None
    """The system that made it, in the layout of ELCC."""
    corpora: tuple[Mapping[str, float], ...]
    """Scores and sizes of each corpus by name."""

    @cached_property
    def values(self) -> dict[str, float]:
        """Scores and sizes by name, means over the corpora that have them."""
        names = dict.fromkeys(name for corpus in self.corpora for name in corpus)
        found = {name: [corpus[name] for corpus in self.corpora if name in corpus] for name in names}
        return {name: math.fsum(values) / len(values) for name, values in found.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreTable:
    """The scores of a collection."""

    sources: tuple[Source, ...]
    """The sources, in the order in which they were given."""
    metrics: tuple[str, ...]
    """Names of all scores, in the order of tables."""
    sizes: tuple[str, ...]
    """Names of the sizes of corpora, and `accuracy`."""
    differing: tuple[str, ...]
    """Scores with settings that differ between sources, by their signatures."""

    def column(self, name: str) -> Floats:
        """A score or size of each source, shape (num_sources,), NaN where it is undefined.

        Raises:
            ConfigError: If there is none of that name.
        """
        look_up("score or size", name, dict.fromkeys((*self.metrics, *self.sizes)))
        return np.array([source.values.get(name, np.nan) for source in self.sources])

    def two_corpora(self, name: str) -> Floats:
        """A score in the first two corpora of each source, shape (2, num_sources), NaN where there are no two."""
        pairs = [[each.get(name, np.nan) for each in source.corpora[:2]] for source in self.sources]
        return np.array([[*pair, np.nan, np.nan][:2] for pair in pairs]).T

    def groups(self) -> Ints | None:
        """The system of each source, by number; None if the sources are not of systems with several corpora."""
        systems = [source.system for source in self.sources]
        if None in systems or len(set(systems)) == len(systems):
            return None
        return np.unique([str(system) for system in systems], return_inverse=True)[1]


def read_table(paths: Iterable[Path]) -> ScoreTable:
    """Read a collection.

    Args:
        paths: JSON of `ecsuite score --out`, of one or several corpora, or folders with `scores.json`.

    Raises:
        ConfigError: If a path cannot be read, has no scores, or there are fewer than `FEWEST` sources.
    """
    merged: dict[str, list[tuple[str, str | None, Mapping[str, Any]]]] = {}
    read: set[tuple[str, str]] = set()  # names with scores: a corpus that was read twice counts once
    for path in paths:
        for file, data in documents([path]):
            for identity, name, system, scored in _corpora(file, data):
                if (
                    found := (name, json.dumps([_sizes(scored), _scores(scored)], sort_keys=True))
                ) not in read:
                    read.add(found)
                    merged.setdefault(identity, []).append((name, system, scored))
    signatures: dict[str, set[str]] = {}
    sources = []
    for corpora in merged.values():
        for _, _, scored in corpora:
            for score in scored["scores"]:
                settings = "|".join(
                    p for p in str(score.get("signature")).split("|") if not p.startswith("seed")
                )
                if score.get("value") is not None:
                    signatures.setdefault(str(score.get("name")), set()).add(settings)
        name, system, _ = corpora[0]
        values = tuple({**_sizes(scored), **_scores(scored)} for _, _, scored in corpora)
        sources.append(Source(name=name, system=system, corpora=values))
    if len(sources) < FEWEST:
        raise ConfigError(
            f"correlations need at least {FEWEST} corpora that are not of one game, got {len(sources)}"
        )
    order = {name: place for place, name in enumerate(SCORES)}
    metrics = sorted(signatures, key=lambda name: order.get(name, -1))
    sizes = dict.fromkeys(name for source in sources for name in source.values if name not in signatures)
    return ScoreTable(
        sources=tuple(sources),
        metrics=tuple(metrics),
        sizes=tuple(sizes),
        differing=tuple(name for name in metrics if len(signatures[name]) > 1),
    )


def _corpora(file: Path, data: Any) -> Sequence[tuple[str, str, str | None, Mapping[str, Any]]]:
    """Of each corpus of a file: its identity, its name, its system, and its scores."""
    several = data.get("corpora") if isinstance(data, dict) else None
    if isinstance(several, list):
        without_format("result", data, file)
        return [_named(file, each, index) for index, each in enumerate(several)]
    if isinstance(data, dict):
        data = without_format("scores", data, file)
    return [_named(file, data, 0)]


def _named(file: Path, data: Any, index: int) -> tuple[str, str, str | None, Mapping[str, Any]]:
    """What identifies a corpus, or all runs of one game with other seeds; its name, system and scores."""
    if not isinstance(data, dict) or not isinstance(data.get("scores"), list):
        raise ConfigError(
            f"{file}: expected the JSON of `ecsuite score CORPORA --out FILE.json`, with `scores`"
        )
    corpus, member = data.get("corpus"), data.get("member")
    if not isinstance(corpus, dict) or not all(isinstance(score, dict) for score in data["scores"]):
        raise ConfigError(f"{file}: expected a `corpus` and its `scores`")
    if isinstance(member, dict):
        settings, name, system = member.get("settings"), str(member.get("name")), member.get("system")
        return settings or f"{file} {index}", name, None if system is None else str(system), data
    place = file.resolve().parent
    system = place.parent.parent.name if place.parent.name == "data" else None
    known = run_of(file)
    if known is not None:
        return hashlib.sha256(known[2].encode()).hexdigest()[:16], place.name, None, data
    if system is not None:
        return f"{file} {index}", f"{system}/{place.name}", system, data
    name = source_name(str(corpus.get("source_path") or file))
    return f"{file} {index}", name, None, data


def _scores(data: Mapping[str, Any]) -> dict[str, float]:
    """The scores that are numbers; of several of one name the last."""
    return {
        str(score.get("name")): float(score["value"])
        for score in data["scores"]
        if _is_number(score.get("value"))
    }


def _sizes(data: Mapping[str, Any]) -> dict[str, float]:
    """What is known of a corpus beside its scores."""
    corpus = data["corpus"]
    found = {
        name: float(value)
        for name, value in corpus.items()
        if (name.startswith("num_") or name in OTHER_SIZES) and _is_number(value)
    }
    training = corpus.get("training")
    if isinstance(training, dict) and _is_number(training.get(ACCURACY)):
        found[ACCURACY] = float(training[ACCURACY])
    return found


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
