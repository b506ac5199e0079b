"""Scores of many corpora as columns, read from files of `ecsuite score` or folders of scored runs.

Runs of one game that differ only in their seeds are one source, with the means over the seeds. A corpus of the same
name with the same scores counts once.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ecsuite.eval.metrics import table_order
from ecsuite.eval.results.files import is_number
from ecsuite.eval.results.reading import each_corpus_once, read_sources
from ecsuite.eval.results.samples import OF_A_SOURCE
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.runtime.errors import ConfigError, look_up

SIZES = ("Token Count", "Line Count", "Unique Lines", "Unique Tokens", "EoS Token Present", "EoS Padding")
"""Scores that count what a corpus has: correlated only if they are named."""
FEWEST = 5
"""Least number of sources of a collection."""


@dataclass(frozen=True, kw_only=True)
class GroupedSource:
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

    sources: tuple[GroupedSource, ...]
    """The sources, in the order in which they were given."""
    metrics: tuple[str, ...]
    """Names of all scores, in the order of tables."""
    sizes: tuple[str, ...]
    """Names of the sizes of corpora, and `accuracy`."""
    differing: tuple[str, ...]
    """Scores with settings that differ between sources, by their signatures."""
    sized: tuple[str, ...]
    """Scores that depend on the sizes of corpora, which differ."""

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
        paths: See `ecsuite.eval.results.reading.read_sources`.

    Raises:
        ConfigError: If a path cannot be read, has no scores, or there are fewer than `FEWEST` sources.
    """
    groups: dict[str, list[Source]] = {}
    known: set[tuple[str, str]] = set()  # names with scores: a corpus that was read twice counts once
    for place, source in enumerate(each_corpus_once(read_sources(paths))):
        has_scores = not all(record.is_measure for record in source.records)
        if source.is_run and source.failure is not None and not has_scores:
            continue  # it has no corpus
        if (source.is_run or not source.group) and not has_scores:
            raise ConfigError(
                f"{source.file}: expected the JSON of `ecsuite score CORPORA --out FILE.json`, with `scores`"
            )
        content = (source.name, json.dumps(_values(source), sort_keys=True))
        if content not in known:
            known.add(content)
            groups.setdefault(source.group or f"{source.file} {place}", []).append(source)
    signatures: dict[str, set[str]] = {}
    read: dict[str, set[str]] = {}  # how much of a corpus a score is of, where that changes its value
    for record in (record for group in groups.values() for source in group for record in source.records):
        if record.value is not None and not record.is_measure:
            parts = [part.partition(":") for part in str(record.signature).split("|")]
            settings = "|".join("".join(part) for part in parts if part[0] not in OF_A_SOURCE)
            signatures.setdefault(record.score, set()).add(settings)
            read.setdefault(record.score, set()).update(
                part[2] for part in parts if part[0] in ("n", "passes")
            )
    sources = [
        GroupedSource(name=group[0].name, system=group[0].system, corpora=tuple(map(_values, group)))
        for group in groups.values()
    ]
    if len(sources) < FEWEST:
        raise ConfigError(
            f"correlations need at least {FEWEST} corpora that are not of one game, got {len(sources)}"
        )
    metrics = sorted(signatures, key=table_order)
    sizes = dict.fromkeys(name for source in sources for name in source.values if name not in signatures)
    return ScoreTable(
        sources=tuple(sources),
        metrics=tuple(metrics),
        sizes=tuple(sizes),
        differing=tuple(name for name in metrics if len(signatures[name]) > 1),
        sized=tuple(name for name in metrics if len(read[name]) > 1),
    )


def _values(source: Source) -> dict[str, float]:
    """Sizes of a corpus, the accuracy of its run, and its scores that are numbers; of several of one name the last."""
    scores = {record.score: record.value for record in source.records if not record.is_measure}
    numbers = {name: float(value) for name, value in scores.items() if is_number(value)}
    return {**source.sizes, **numbers}
