"""Conclusions: whether a score differs from chance, in plain words, corrected for the number of scores.

The thresholds of all conclusions are here, but for those of messages, which are traits of scores; and the limits of
XferBench scores, whose figures are in docs/evidence/mini.md.
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
games; that of `mini-3m` is 0.91 and 0.70 on held-out sources (docs/evidence/mini.md). The author of XferBench finds
R² = 0.99 between `danish` and all ten languages."""
PASSES_RATIO = 1.02
"""How many times as often a model may read one corpus in an epoch as another, for their scores to be compared. Where
repetition changes scores of `mini` most, uniform noise of 30,000 types read once and 1.25 times, this much changes them
by .008: less than the resolution with three seeds, .017."""


def limits_of(signature: str) -> str | None:
    """The line about a score, by the preset in its signature; None if there is nothing to say."""
    name, options = Signature(signature).name, Signature(signature).options
    return _LIMITS.get(options.get("preset", "")) if name == "xferbench" else None


def passes_of(signature: str) -> float | None:
    """Passes over the corpus per epoch of pretraining, at least 1; None where a signature has no such number."""
    name, options = Signature(signature).name, Signature(signature).options
    passes = options.get("passes", "")
    is_number = name == "xferbench" and re.fullmatch(r"\d{1,15}(\.\d{1,15})?", passes)
    return max(1.0, float(passes)) if is_number else None


def are_read_alike(passes: float | None, others: float | None) -> bool:
    """Whether models read two corpora so equally often that their scores are compared; so where this is not known."""
    if passes is None or others is None:
        return True
    return max(passes, others) <= PASSES_RATIO * min(passes, others)


NARROW = 0.1
"""Scores of agents do not read the corpus, so its size says nothing: one that does not differ from chance is as by
chance if its 95 % interval reaches at most so far to either side."""

Relation = Literal["above", "below", "equal", "unknown"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Conclusion:
    """The conclusion on a score: question, direction, and relation to chance."""

    question: Question
    """The question that the score answers."""
    direction: Direction | None
    """Which way is better; None: neither."""
    relation: Relation | None
    """To the chance level; None without one."""
    p_holm: float | None
    """Two-sided p-value of no difference from chance, with Holm's correction for all scores of the table."""
    adjusted: float | None
    """How far the score is on the way from the chance level to the best value, see `adjusted_for_chance`."""
    word: str
    """The conclusion in plain words; empty without one."""

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

    A score differs from chance if its p-value (`Chance.p_value`) is below 5 % after the correction, what is compared is
    outside the range of shuffles, and its interval, where it has one, does not contain the chance level: a wide one
    says that other corpora of the language, or other speakers or agents, may be as by chance.

    Args:
        scores: All scores of the table, for which Holm's correction is made.
        num_messages: Of the corpus; None without a corpus. Where a score exchanges meanings, the number of these counts
            instead. Scores of agents depend on neither.
    """
    corrected = holm([p_value(score) for score in scores])
    return [conclusion(score, p_holm, num_messages) for score, p_holm in zip(scores, corrected, strict=True)]


def p_value(score: Score) -> float | None:
    """Two-sided p-value of no difference from chance, see `Chance.p_value`; None without one."""
    if score.value is None or score.chance is None:
        return None
    return score.chance.p_value(score.value)[0]


def conclusion(score: Score, p_holm: float | None, num_messages: int | None) -> Conclusion:
    """The conclusion on one score of a table.

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
    """(value - chance) / (best - chance): 0 as by chance, 1 at the best value, below 0 where it is worse than chance.

    Hubert and Arabie (1985), "Comparing partitions", Journal of Classification 2, equation 3, with the range of the
    score in this corpus. It depends on the chance level as that is estimated, and has no interval of its own.

    Returns:
        None without a value, a chance level, a direction or a bound on that side, and where chance is the best.
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
    """Why a score can't be told from chance."""
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
        )  # as far from the score as from what is compared
        is_inside = score.ci95 is not None and score.ci95[0] <= level <= score.ci95[1]
        return (
            "unknown" if is_inside or _is_as_shuffles(chance, value) else "above" if distance > 0 else "below"
        )
    is_exact = bool(chance.draws) and abs(distance) < NO_SPREAD  # whatever the number of messages
    if traits_of(score).question == "agents":
        is_enough = score.ci95 is not None and max(value - score.ci95[0], score.ci95[1] - value) <= NARROW
    else:
        number = chance.num_meanings or num_messages
        is_enough = number is None or number >= traits_of(score).least_messages
    return "equal" if is_exact or is_enough else "unknown"


def _is_as_shuffles(chance: Chance, value: float) -> bool:
    """Whether what is compared is in the range of shuffles, which two tails of one side may leave to a p below 5 %."""
    compared, (low, high) = chance.level + chance.distance(value), chance.interval
    return bool(chance.draws) and low - NO_SPREAD <= compared <= high + NO_SPREAD


def place_of(score: Score) -> str:
    """The rank of an XferBench score among the reference scores of its preset; empty if there are none.

    The references are read once in an epoch. A corpus that is read more often is not placed, because repetition alone
    moves a score past them (docs/evidence/mini.md).
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
    """The reference scores of XferBench's preset, best first."""
    reference: Iterable[tuple[str, float]] = score.details.get("reference", {}).items()
    return sorted(reference, key=lambda item: item[1])
