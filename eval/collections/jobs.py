"""The jobs of scoring a collection: each metric of each corpus is computed once, and kept."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.collections.members import Member
from ecsuite.eval.collections.selection import Selection
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.sweeps.jobs import MetricInput
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.formats.reading import read_as
from ecsuite.jobs.job import Context, Job, Location, job_function
from ecsuite.parts.own_code import foreign_kinds
from ecsuite.runtime.errors import ConfigError

VERSION = 1
"""Increased whenever the same inputs would give another result."""
SYMBOLS_OF_WORK = 1000
"""Symbols that cost about as much as what every metric does for any corpus."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """What a corpus holds."""

    digest: str
    """Hash of everything that a metric may read."""
    num_symbols: int
    """Symbols of all messages."""

    def job_key(self) -> str:
        """The hash."""
        return self.digest

    @classmethod
    def of(cls, corpus: Corpus) -> "Content":
        """The content of a corpus that was read."""
        digest = hashlib.sha256()
        known: list[Any] = [corpus.eos, corpus.symbol_names, corpus.concept_names, sorted(corpus.columns)]
        known += [corpus.attribute_names, corpus.why_no_meanings]
        digest.update(json.dumps(known).encode())
        rows = [corpus.messages, *([] if corpus.concepts is None else [corpus.concepts])]
        arrays = [array for row in rows for array in (row.offsets, row.values)]
        arrays += [corpus.columns[name] for name in sorted(corpus.columns)]
        arrays += [] if corpus.meanings is None else [corpus.meanings]
        for array in arrays:
            digest.update(_bytes(array))
        return cls(digest=digest.hexdigest(), num_symbols=len(corpus.messages.values))


def _bytes(array: NDArray[Any]) -> bytes:
    """Shape, type and values of an array."""
    array = np.asarray(array)
    values = json.dumps(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    return f"{array.dtype.kind}{array.dtype.itemsize}{array.shape}".encode() + values


@job_function(
    version=VERSION,
    work=lambda *, content, **_: 1 + content.num_symbols / SYMBOLS_OF_WORK,
    label=lambda *, metric, name, **_: f"{metric.name} of {name.key}",
)
def score_file(
    *,
    file: Location,
    content: Content,
    selection: Selection,
    metric: MetricInput,
    seed: int,
    name: "Label",
    context: Context,
) -> list[dict[str, Any]]:
    """Compute one metric of a corpus.

    Args:
        file: Where the corpus is.
        content: What it held when the job was planned.
        selection: How its file is read, and which messages are scored.
        metric: Which metric.
        seed: Of its random draws.
        name: Of the corpus, for progress.
        context: See `Context`.

    Returns:
        Its scores, as in the JSON of `ecsuite score`.

    Raises:
        ConfigError: If the corpus has changed since.
    """
    corpus = selection.of(read_as(file.path, selection.reading))
    if Content.of(corpus).digest != content.digest:
        raise ConfigError(f"{file.path}: changed while it was to be scored; run the same command again")
    return [
        score.to_json(is_kept=True)
        for score in score_corpus(corpus, [metric.name], Options(seed=seed)).scores
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """A name for people; it cannot change a result."""

    key: str
    """The name."""

    def job_key(self) -> None:
        """Nothing."""


def is_job(metric: str, *, is_of_run: bool = False) -> bool:
    """Whether a metric is a job of its own: it trains nothing, asks no agents, and is none of the user's.

    Args:
        metric: Its name.
        is_of_run: Whether there are agents that it may ask.
    """
    if foreign_kinds(metric):
        return False
    traits = find_metric(metric).shared
    return not (traits.trains or traits.needs_agents or (traits.asks_agents and is_of_run))


def plan_member(
    member: Member,
    corpus: Corpus,
    metrics: Sequence[str],
    *,
    seed: int,
    selection: Selection,
) -> dict[str, Job]:
    """The jobs of a corpus, by metric.

    Args:
        member: The corpus.
        corpus: The messages that are scored.
        metrics: Names of metrics that are jobs.
        seed: Of random draws.
        selection: How its file is read, and which messages those are.
    """
    content, place = Content.of(corpus), Location(path=member.path.resolve())
    return {
        metric: Job(
            score_file,
            file=place,
            content=content,
            selection=selection,
            metric=MetricInput(name=metric),
            seed=seed,
            name=Label(key=member.name),
        )
        for metric in metrics
    }
