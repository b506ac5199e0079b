"""Directions, bounds and titles of the measures of a training; tables read them without torch."""

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
    ),
    (0.0, 1.0),
)
"""Ends of the scale of the measures that have some: a value at one is censored, as agents may do better, or worse, than
the rounds can show."""
UNTIL: Mapping[str, str] = {"consensus_round": "has_consensus", "ratio": "reached", "steps": "reached"}
"""Measures of the time until something happens, by the measure that has whether it did: a time that ended before is
right-censored."""


def is_censored(measure: str, measures: Mapping[str, object]) -> bool:
    """Whether a measure is a time after which nothing had happened yet, so that the true one is longer.

    Args:
        measure: Name of the measure.
        measures: All measures of the run.
    """
    return measure in UNTIL and not measures.get(UNTIL[measure], True)


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
