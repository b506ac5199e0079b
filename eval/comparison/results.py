"""Scores of one metric for one source, such as a corpus, a game or a language, for one or several seeds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ecsuite.eval.metrics.conclusions import are_read_alike
from ecsuite.eval.records.documents import plain
from ecsuite.eval.records.messages import Messages
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import Interval
from ecsuite.runtime.errors import ConfigError

UNSIGNED = "unsigned (another program)"
"""Signature of results without one: their settings are unknown."""
OF_A_SOURCE = ("seed", "seeds", "passes", "n", "pairs", "objects")
"""Parts of a signature in which sources of one table may differ. Passes that differ allow no conclusion on a pair; of
numbers of messages that do, the larger corpus is drawn from (`equal_sizes`); how many pairs or objects are drawn of a
large corpus changes how sure the score is, not what it estimates."""
EQUAL_SIZES = (
    "compare corpora of equally many symbols (games: evaluation.corpus_size, grammars: --num-symbols)"
)
"""What is to be done about unequal passes."""
BASELINE_NAMES = ("nothing", "no_pretrain", "no_pretraining", "dev_null")
"""Names of the baseline without a corpus: a model without pretraining."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """Scores of one source for one or several seeds.

    Raises:
        ConfigError: If there is no seed or no target, targets differ between seeds, or a number is not finite.
    """

    name: str
    """The source's name in tables."""
    by_target: tuple[Mapping[str, float], ...]
    """For each seed: the values by target. XferBench: cross-entropies in nats per token by target language; any other
    metric has itself as the only target."""
    seeds: tuple[int, ...]
    """Seeds, in the order of `by_target`: those of XferBench, or of the training of a game."""
    signature: str
    """Signature of the score without the parts of `OF_A_SOURCE`: results with equal signatures are comparable."""
    source: str = ""
    """Path of the scored corpus, otherwise the name in the file, otherwise the file."""
    fingerprint: str = ""
    """Identity of the source, if known: the hash of the corpus, or the settings of the game without the seed."""
    ci95: Interval | None = None
    """The interval of the score, if there is one seed and the metric has an interval."""
    sizes: tuple[str | None, ...] = ()
    """For each seed: the number of messages that is in the signature; None where it does not depend on it."""
    corpora: tuple[Messages | None, ...] = ()
    """For each seed: its messages, if it is known where they are."""
    passes: float | None = None
    """XferBench: passes over the corpus per epoch of pretraining, at least 1; None if not known."""
    is_run: bool = False
    """Whether it is of runs of a game, or parts of them: these can be trained with other seeds."""

    def __post_init__(self) -> None:
        """Check the invariants."""
        if not self.by_target or len(self.by_target) != len(self.seeds) or not self.targets:
            raise ConfigError(
                f"{self.name}: expected at least one seed and one target, with a score for each"
            )
        for seed, values in zip(self.seeds, self.by_target, strict=True):
            require_same_targets(self.targets, values, f"{self.name}, seed {seed}", f"seed {self.seeds[0]}")
            for target, value in values.items():
                if not math.isfinite(value):
                    raise ConfigError(f"{self.name}: {value} is not a score ({target}, seed {seed})")

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages."""
        return tuple(self.by_target[0]) if self.by_target else ()

    def values(self, targets: Sequence[str] | None = None) -> Floats:
        """The values in the order of `targets`, shape (num_seeds, num_targets)."""
        return np.array([[row[target] for target in targets or self.targets] for row in self.by_target])

    @property
    def seed_scores(self) -> Floats:
        """The score of each seed: means over the targets."""
        scores: Floats = self.values().mean(1)
        return scores

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the score over the seeds; None for one seed."""
        return float(self.seed_scores.std(ddof=1)) if len(self.seeds) > 1 else None

    @property
    def score(self) -> float:
        """The score: the mean over targets and seeds."""
        return float(self.values().mean())

    @property
    def is_baseline(self) -> bool:
        """Whether the name is that of the model without pretraining."""
        return plain(self.name) in BASELINE_NAMES

    def to_json(self) -> dict[str, Any]:
        """What every comparison shows of a source, JSON-ready."""
        return {
            "name": self.name,
            "score": self.score,
            "seeds": list(self.seeds),
            "seed_scores": self.seed_scores.tolist(),
            "sizes": list(self.sizes),
            "source": self.source,
        }


def has_runs(results: Iterable[Result]) -> bool:
    """Whether some of the sources can be trained with other seeds; of people and of most files nothing says so."""
    return any(result.is_run for result in results)


def noise_between(results: Iterable[Result]) -> str:
    """The line about what the intervals of single corpora leave out."""
    if has_runs(results):
        return "Noise between seeds is not in these intervals: train each source with several seeds."
    return "Noise between repetitions, such as other seeds or other people, is not in these intervals."


def repetition(results: Sequence[Result]) -> str | None:
    """Why no conclusion is drawn on some of these sources: models read one corpus more often than another.

    None if they are read alike, see `are_read_alike`.
    """
    known = [result for result in results if result.passes is not None]
    if all(are_read_alike(one.passes, other.passes) for one, other in combinations(known, 2)):
        return None
    return "passes per epoch differ: " + ", ".join(f"{each.name} {each.passes:.3g}" for each in known)


def require_same_targets(expected: Iterable[str], found: Iterable[str], who: str, other: str) -> None:
    """Raise an error if the target languages differ.

    Raises:
        ConfigError: If a target is missing or additional.
    """
    expected, found = set(expected), set(found)
    for lacking, one, another in ((expected - found, who, other), (found - expected, other, who)):
        if lacking:
            raise ConfigError(f"{one}: no score for {', '.join(sorted(lacking))}, which {another} has")


def as_matrix(results: Sequence[Result], targets: Sequence[str]) -> Floats:
    """Values h[s, t], means over seeds, shape (num_sources, num_targets)."""
    return np.array([result.values(targets).mean(0) for result in results])
