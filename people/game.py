"""What the server asks of a game that a participant plays: its steps, what each shows, and which answers are right."""

from dataclasses import dataclass
from typing import Any, Protocol

TRAINING, HELD_OUT, ATTENTION, TEST = "training", "held_out", "attention", "test"
"""Kinds of steps; of the answers to a test, participants are not told whether they are right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What a step shows."""

    kind: str
    """`training`, `held_out`, `attention` or `test`."""
    thing: int
    """The object; -1 in the attention check."""


class Game(Protocol):
    """One participant's game: a pure function of its fields.

    Objects are numbered from 0; `order` is that in which they are unlocked.
    """

    @property
    def first_available(self) -> int:
        """Objects that are unlocked at the start."""

    @property
    def max_available(self) -> int:
        """Objects that can be unlocked."""

    @property
    def has_pictures(self) -> bool:
        """Whether objects are shown by pictures; otherwise by their names alone."""

    @property
    def num_examples(self) -> int:
        """Examples, without attention checks."""

    @property
    def num_steps(self) -> int:
        """Examples and attention checks."""

    def example_of(self, step: int) -> int:
        """The example of a step, from 0; of the attention check, the one that follows it."""

    def shown(self, step: int, num_available: int) -> Shown:
        """What a step shows to a participant who has so many unlocked objects."""

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """Unlocked objects after a step."""

    def name_of(self, thing: int) -> str:
        """An object in words."""

    def right_answer(self, step: int, shown: Shown) -> str:
        """What is right to answer."""

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether an answer is right."""

    def told(self, step: int, shown: Shown, typed: str) -> str:
        """What a participant is told of an answer beside whether it is right; may be empty."""

    def points(self, num_available: int) -> int:
        """Points of a right answer, by the unlocked objects when the example was shown."""

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """What the page shows of a step: nothing that gives the answer away, nor whether it is held out."""

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """The unlocked objects with their codes."""

    def step_picture(self, step: int, shown: Shown) -> bytes | None:
        """The picture of a step as PNG; None if it has none."""

    def choice_picture(self, step: int, shown: Shown, place: int) -> bytes | None:
        """The picture of an object to choose as PNG, by its place; None if there is none."""

    def panel_picture(self, place: int) -> bytes | None:
        """The picture of an unlocked object as PNG, by its place in the order; None if it has none."""
