"""Conclusions: whether a score differs from chance, in words, corrected for the number of scores.

All thresholds of conclusions are here, except minimum numbers of messages, which are traits of scores; so are the
limits of XferBench scores, with figures in docs/evidence/mini.md.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ecsuite.eval.metrics import traits_of
from ecsuite.eval.metrics.score import Score, Signature
from ecsuite.eval.metrics.traits import Direction, Question
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.estimates import ALPHA, NO_SPREAD, holm

_LIMITS = {
    "mini": "mini ranks classes of corpora; for games: mini-3m, danish (39 PFLOP, GPU)",
    "mini-3m": "mini-3m ranks games roughly (rho 0.7), by several seeds; surer: danish (GPU)",
}
"""Limit by preset. Spearman's correlation of `mini` with published scores is 0.91 over 17 sources, and -0.14 within
games; for `mini-3m` it is 0.91 and 0.70 on held-out sources (docs/evidence/mini.md). The author of XferBench reports R²
= 0.99 between `danish` and all ten languages."""
PASSES_RATIO = 1.02
"""Maximum ratio of the passes over two corpora per epoch for their scores to be compared. In the worst case measured
for `mini` (uniform noise of 30,000 types, 1 and 1.25 passes), this ratio changes scores by .008, less than the
resolution with three seeds, .017."""


def limits_of(signature: str) -> str | None:
    """Remark on the limits of a score, by the preset in its signature; None without one."""
    name, options = Signature(signature).name, Signature(signature).options
    return _LIMITS.get(options.get("preset", "")) if name == "xferbench" else None


def passes_of(signature: str) -> float | None:
    """Passes over the corpus per epoch of pretraining, at least 1; None if the signature does not have them."""
    name, options = Signature(signature).name, Signature(signature).options
    passes = options.get("passes", "")
    is_number = name == "xferbench" and re.fullmatch(r"\d{1,15}(\.\d{1,15})?", passes)
    return max(1.0, float(passes)) if is_number else None


def are_read_alike(passes: float | None, others: float | None) -> bool:
    """Whether the passes over two corpora are similar enough to compare their scores; True if unknown."""
    if passes is None or others is None:
        return True
    return max(passes, others) <= PASSES_RATIO * min(passes, others)


NARROW = 0.1
"""Maximum half-width of the 95 % interval for a score of agents that does not differ from chance to count as at chance
level; such scores do not read the corpus, so its size does not matter."""

Relation = Literal["above", "below", "equal", "unknown"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Conclusion:
    """Conclusion on a score: question, direction, and relation to chance."""

    question: Question
    """The question that the score answers."""
    direction: Direction | None
    """The better direction; None: neither."""
    relation: Relation | None
    """Relation to the chance level; None without one."""
    p_holm: float | None
    """Two-sided p-value of no difference from chance, with Holm's correction for all scores of the table."""
    adjusted: float | None
    """Position of the score between the chance level (0) and the best value (1), see `adjusted_for_chance`."""
    word: str
    """The conclusion in words; empty without one."""

    def to_json(self) -> dict[str, Any]:
        """The keys that a scorecard adds to a score, JSON-ready."""
        return {
            "question": self.question,
            "direction": self.direction,
            "conclusion": self.word or None,
            "p_holm": self.p_holm,
            "adjusted": self.adjusted,
        }


def conclusions(scores: Sequence[Score], num_messages: int | None) -> list[Conclusion]:
    """The conclusion on each score of a table.

    A score differs from chance if its corrected p-value (`Chance.p_value`) is below 5 %, the compared value is outside
    the range of permutations, and its interval, if any, does not contain the chance level: a wide interval means that
    other corpora of the language, or other speakers or agents, may be at chance level.

    Args:
        scores: All scores of the table, for which Holm's correction is made.
        num_messages: Number of messages of the corpus; None without a corpus. If a score exchanges meanings, their
            number counts instead. Scores of agents depend on neither.
    """
    corrected = holm([p_value(score) for score in scores])
    return [conclusion(score, p_holm, num_messages) for score, p_holm in zip(scores, corrected, strict=True)]


def p_value(score: Score) -> float | None:
    """Two-sided p-value against chance, see `Chance.p_value`; None without a chance level."""
    if score.value is None or score.chance is None:
        return None
    return score.chance.p_value(score.value)[0]


def conclusion(score: Score, p_holm: float | None, num_messages: int | None) -> Conclusion:
    """Conclusion on one score of a table.

    Args:
        score: The score.
        p_holm: Its p-value, corrected for all scores of the table.
        num_messages: See `conclusions`.
    """
    traits, relation = traits_of(score), _relation(score, p_holm, num_messages)
    if score.name == "xferbench":
        word = place_of(score)
    elif relation == "unknown":
        word = f"can't tell: {_obstacle(score, num_messages)}"
    elif relation == "equal":
        word = "as by chance"
    elif relation is None:
        word = ""
    else:
        remark = {("below", "lower"): " (good)", ("above", "lower"): " (bad)"}
        word = f"{relation} chance{remark.get((relation, traits.direction or ''), '')}"
    return Conclusion(
        question=traits.question,
        direction=traits.direction,
        relation=relation,
        p_holm=p_holm,
        adjusted=adjusted_for_chance(score),
        word=word,
    )


def adjusted_for_chance(score: Score) -> float | None:
    """Compute (value - chance) / (best - chance): 0 at chance level, 1 at the best value, below 0 if worse than chance.

    Hubert and Arabie (1985), "Comparing partitions", Journal of Classification 2, equation 3, with the range of the
    score in this corpus. It depends on the estimate of the chance level, and has no interval of its own.

    Returns:
        None without a value, a chance level, a direction or a best value, and if chance is the best value.
    """
    direction, chance = traits_of(score).direction, score.chance
    if score.value is None or chance is None or direction is None:
        return None
    bounds = chance.bounds or traits_of(score).bounds
    best = math.inf if bounds is None else bounds[direction == "higher"]
    room = best - chance.level
    return (
        chance.distance(float(score.value)) / room if math.isfinite(best) and abs(room) > NO_SPREAD else None
    )


def _obstacle(score: Score, num_messages: int | None) -> str:
    """Reason why a score can't be distinguished from chance."""
    chance = score.chance
    assert chance is not None and score.value is not None
    if 2 * len(chance.defined) < len(chance.draws):
        return f"{len(chance.defined)} of {len(chance.draws)} shuffles"
    traits, number = traits_of(score), chance.num_meanings or num_messages
    if p_value(score) is None and traits.question != "agents":
        return "no spread"
    if traits.question == "agents" and score.ci95 is None:
        return "one value"
    if traits.question != "agents" and number is not None and number < traits.least_messages:
        return f"{number:,} {'messages' if chance.num_meanings is None else 'meanings'}"
    return "in the range of shuffles" if _is_as_shuffles(chance, score.value) else "wide interval"


def _relation(score: Score, p_holm: float | None, num_messages: int | None) -> Relation | None:
    chance, value = score.chance, score.value
    if value is None or chance is None:
        return None
    if p_holm is None:
        return "unknown"
    distance = chance.distance(value)
    if p_holm < ALPHA:
        level = (
            chance.level + value - (chance.level + distance)
        )  # shifted by the offset of the compared value from the score
        is_inside = score.ci95 is not None and score.ci95[0] <= level <= score.ci95[1]
        return (
            "unknown" if is_inside or _is_as_shuffles(chance, value) else "above" if distance > 0 else "below"
        )
    is_exact = bool(chance.draws) and abs(distance) < NO_SPREAD  # for any number of messages
    if traits_of(score).question == "agents":
        is_enough = score.ci95 is not None and max(value - score.ci95[0], score.ci95[1] - value) <= NARROW
    else:
        number = chance.num_meanings or num_messages
        is_enough = number is None or number >= traits_of(score).least_messages
    return "equal" if is_exact or is_enough else "unknown"


def _is_as_shuffles(chance: Chance, value: float) -> bool:
    """Whether the compared value is in the range of permutations, which p < 5 % does not exclude."""
    compared, (low, high) = chance.level + chance.distance(value), chance.interval
    return bool(chance.draws) and low - NO_SPREAD <= compared <= high + NO_SPREAD


def place_of(score: Score) -> str:
    """Rank of an XferBench score among the reference scores of its preset; empty without references.

    The references are read once per epoch. A corpus that is read more often is not ranked, because repetition alone
    moves its score past them (docs/evidence/mini.md).
    """
    passes, anchors = passes_of(score.signature), anchors_of(score)
    if score.value is None or not anchors:
        return ""
    if not are_read_alike(passes, 1.0):
        return f"too small to be placed (read {passes:.3g} times)"
    better = [name for name, level in anchors if level <= score.value]
    worse = [name for name, level in anchors if level > score.value]
    if better and worse:
        return f"between {better[-1]} and {worse[0]}"
    return f"better than {worse[0]}" if worse else f"worse than {better[-1]}"


def anchors_of(score: Score) -> list[tuple[str, float]]:
    """Reference scores of XferBench's preset, best first."""
    reference: Iterable[tuple[str, float]] = score.details.get("reference", {}).items()
    return sorted(reference, key=lambda item: item[1])
