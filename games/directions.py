"""Which way the figures of trainings are better; tables read it without torch."""

from collections.abc import Mapping
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
