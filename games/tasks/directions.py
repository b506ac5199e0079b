"""Directions, bounds and titles of the measures of a training; tables read them without torch."""

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
"""Which way the measures of a training are better; metrics have theirs in their traits, others none."""
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
        ),  # accuracies of pairs that are trained end to end (ICY)
    ),
    (0.0, 1.0),
)
"""Ends of the scale of measures of success: a value at one is censored, as agents may do better, or worse, than the
rounds can show. Counts and shares without a better direction, such as `first_name`, have the ends as values like any
other."""
UNTIL: Mapping[str, str] = {"consensus_round": "has_consensus", "ratio": "reached", "steps": "reached"}
"""Measures of the time until something happens, by the measure that has whether it did: a time that ended before is
right-censored."""


def measure_bound(measure: str, measures: Mapping[str, object]) -> Literal["lower", "upper"] | None:
    """The bound of the true value that a censored measure is, at an end of its scale or before what it waits for.

    Args:
        measure: Name of the measure, also with its rounds in front: `held out accuracy`.
        measures: All measures of the run, or this one alone.
    """
    if measure in UNTIL:
        return None if measures.get(UNTIL[measure], True) else "lower"
    value, ends = measures.get(measure), ENDS.get(measure.rpartition(" ")[2])
    if ends is None or not isinstance(value, int | float) or math.isnan(value):
        return None
    return "upper" if value <= ends[0] else "lower" if value >= ends[1] else None


def held_out_of(evaluations: Iterable[str]) -> str:
    """The objects of validation rounds, if they were held out of training: `held-out objects`; otherwise empty.

    Args:
        evaluations: Names of the other evaluations of the run, such as `seen objects`.
    """
    seen = [name.removeprefix("seen ") for name in evaluations if name.startswith("seen ")]
    kind = seen[0] if len(seen) == 1 else "concepts"  # several: a matrix of games about concepts
    return f"held-out {kind}" if seen else ""


def measure_title(measure: str, about: str) -> str:
    """The name of a measure in tables with the objects that it is about: `accuracy, held-out objects`."""
    return ", ".join(part for part in (measure.replace("_", " "), about) if part)
