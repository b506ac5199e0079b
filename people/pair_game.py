"""The signalling game of two people: in turns one sees an object and types a message, and the other chooses it.

What one participant does in a round is one step: speaking, or listening. Who has spoken in a round listens in the next
one, so that a listener waits for the message of the same step, and nobody waits for anything else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ecsuite.grammars.words import stream
from ecsuite.people.game import Shown
from ecsuite.people.objects import DATASETS, Dataset
from ecsuite.people.pictures import panel_picture
from ecsuite.people.protocols import PAIR
from ecsuite.people.study import Study

SPEAKING, LISTENING = "speaking", "listening"
"""Kinds of steps."""
VERSION = 1
"""Increased whenever the same seed would give another game than before."""
MAX_MESSAGE = 20
"""Most letters of a message that the page takes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairGame:
    """One participant's side of a game: a pure function of its fields."""

    dataset: str
    """One of `DATASETS`."""
    num_rounds: int
    num_choices: int
    """Objects that the listener chooses among."""
    seat: int
    """0: the participant speaks in the first round; 1: the other one does."""
    seed: int
    """The same for both."""

    @property
    def objects(self) -> Dataset:
        """The objects."""
        return DATASETS[self.dataset]

    @property
    def signature(self) -> str:
        """Everything that determines the game but what the participants do."""
        sizes = f"rounds:{self.num_rounds},choices:{self.num_choices}"
        return f"dataset:{self.dataset}|protocol:{PAIR},{sizes},v:{VERSION}|seed:{self.seed}"

    @property
    def first_available(self) -> int:
        """Nothing is taught."""
        return 0

    @property
    def max_available(self) -> int:
        """Nothing is taught."""
        return 0

    @property
    def has_pictures(self) -> bool:
        """Objects always have pictures."""
        return True

    @property
    def num_examples(self) -> int:
        """Rounds."""
        return self.num_rounds

    @property
    def num_steps(self) -> int:
        """Rounds."""
        return self.num_rounds

    def example_of(self, step: int) -> int:
        """The round of a step, from 0."""
        return step

    def target(self, step: int) -> int:
        """The object of a round: each once, in random order, before one comes again."""
        cycle, place = divmod(step, self.objects.num_objects)
        return int(stream(self.seed, f"cycle{cycle}").permutation(self.objects.num_objects)[place])

    def shown(self, step: int, num_available: int) -> Shown:
        """What a step is about."""
        return Shown(kind=SPEAKING if step % 2 == self.seat else LISTENING, thing=self.target(step))

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """Nothing is taught."""
        return 0

    def candidates(self, step: int) -> list[int]:
        """The objects that the listener chooses among, the right one among them."""
        rng, target = stream(self.seed, f"candidates{step}"), self.target(step)
        others = [thing for thing in range(self.objects.num_objects) if thing != target]
        return [
            int(thing)
            for thing in rng.permutation([target, *rng.choice(others, self.num_choices - 1, replace=False)])
        ]

    def name_of(self, thing: int) -> str:
        """An object in words."""
        return self.objects.description(thing)

    def chosen(self, step: int, typed: str) -> int | None:
        """The object of a listener's answer, which is its number among the candidates; None if it is no such number."""
        is_number = typed.isascii() and typed.isdigit() and 0 < int(typed) <= self.num_choices
        return self.candidates(step)[int(typed) - 1] if is_number else None

    def right_answer(self, step: int, shown: Shown) -> str:
        """The number of the right object; nothing is right or wrong of a message."""
        return str(self.candidates(step).index(shown.thing) + 1) if shown.kind == LISTENING else ""

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether a listener chose the object; of a message it shows later."""
        return shown.kind == LISTENING and self.chosen(step, typed) == shown.thing

    def told(self, step: int, shown: Shown, typed: str) -> str:
        """What is told of a listener's choice, and of a message once its listener has chosen, who typed `typed`."""
        chosen, right = self.chosen(step, typed), self.name_of(shown.thing)
        if chosen == shown.thing:
            return f"Right: it was the {right}." if shown.kind == LISTENING else f"Understood: the {right}."
        name = "nothing" if chosen is None else f"the {self.name_of(chosen)}"
        return (
            f"Wrong: it was the {right}."
            if shown.kind == LISTENING
            else f"Your partner chose {name}, not the {right}."
        )

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """What the page shows of a step beside the message: nothing that gives the object away to a listener."""
        if shown.kind == SPEAKING:
            name = self.name_of(shown.thing) if names_objects else None
            return {"kind": "speak", "name": name, "max_length": MAX_MESSAGE}
        names = [self.name_of(thing) if names_objects else None for thing in self.candidates(step)]
        return {"kind": "choice", "choices": names}

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """Nothing is taught."""
        return []

    def step_picture(self, step: int, shown: Shown) -> bytes | None:
        """The picture of the speaker's object as PNG."""
        return panel_picture(self.objects, shown.thing) if shown.kind == SPEAKING else None

    def choice_picture(self, step: int, shown: Shown, place: int) -> bytes | None:
        """The picture of a candidate as PNG, by its place."""
        is_there = shown.kind == LISTENING and place < self.num_choices
        return panel_picture(self.objects, self.candidates(step)[place]) if is_there else None

    def panel_picture(self, place: int) -> None:
        """None: nothing is taught."""

    def points(self, num_available: int) -> int:
        """Points of both for a round in which the object was understood."""
        return 1


def pair_game(study: Study, row: Mapping[str, Any]) -> PairGame:
    """The game of a participant, who is given as stored, and may have no partner yet."""
    return PairGame(
        dataset=row["dataset"],
        num_rounds=study.rounds,
        num_choices=study.choices,
        seat=row.get("seat") or 0,
        seed=row["seed"],
    )
