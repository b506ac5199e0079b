"""Directions, bounds and titles of the measures of a training, readable without torch."""

import math
from collections.abc import Iterable, Mapping
from typing import Literal

DIRECTIONS: Mapping[str, Literal["higher", "lower"]] = {
    "accuracy": "higher",
    "set_accuracy": "higher",
    "attribute_accuracy": "higher",
    "lowest_accuracy": "higher",
    "voting_accuracy": "higher",
    "reward": "higher",
    "loss": "lower",
    "cost": "lower",
}
"""Better direction of the measures of a training; metrics define theirs in their traits, other measures have none."""
ENDS: Mapping[str, tuple[float, float]] = dict.fromkeys(
    (
        *(name for name in DIRECTIONS if "accuracy" in name),
        "accuracy_within",
        "accuracy_between",
        "consensus",
        "others_share",
        "recall",
        *(
            "sender",
            "receiver",
            "end_to_end",
            "greedy",
        ),  # accuracies of pairs trained end to end (ICY)
    ),
    (0.0, 1.0),
)
"""Ends of the scale of measures of success: a value at an end is censored, as agents may be better, or worse, than
the rounds can show. Counts, and shares without a better direction, such as `first_name`, are not censored. """
UNTIL: Mapping[str, str] = {"consensus_round": "has_consensus", "ratio": "reached", "steps": "reached"}
"""Measures of the time until an event, and the measure of whether it happened: without the event, the time is
right-censored."""


def time_bound(measure: str, measures: Mapping[str, object]) -> Literal["lower"] | None:
    """Whether a time until an event, or its chance level, is a lower bound: the event did not always happen.

    Args:
        measure: Name of a measure.
        measures: Measures of a run, or their chance levels, which have the share of random plays with the event.
    """
    happened = measures.get(UNTIL[measure], 1) if measure in UNTIL else 1
    return None if isinstance(happened, int | float) and happened >= 1 else "lower"


def measure_bound(measure: str, measures: Mapping[str, object]) -> Literal["lower", "upper"] | None:
    """Whether a censored measure, at an end of its scale or before its event, is a lower or upper bound.

    Args:
        measure: Name of the measure, optionally with a prefix for the rounds: `held out accuracy`.
        measures: All measures of the run, or only this one.
    """
    if measure in UNTIL:
        return time_bound(measure, measures)
    value, ends = measures.get(measure), ENDS.get(measure.rpartition(" ")[2])
    if ends is None or not isinstance(value, int | float) or math.isnan(value):
        return None
    return "upper" if value <= ends[0] else "lower" if value >= ends[1] else None


def held_out_of(evaluations: Iterable[str]) -> str:
    """Name the objects of validation rounds, if they were held out from training: `held-out objects`; otherwise empty.

    Args:
        evaluations: Names of the other evaluations of the run, such as `seen objects`.
    """
    seen = [name.removeprefix("seen ") for name in evaluations if name.startswith("seen ")]
    kind = seen[0] if len(seen) == 1 else "concepts"  # several: the evaluation matrix of concept games
    return f"held-out {kind}" if seen else ""


def measure_title(measure: str, about: str) -> str:
    """Title of a measure in tables, with the objects that it is about: `accuracy, held-out objects`."""
    return ", ".join(part for part in (measure.replace("_", " "), about) if part)
