"""The game of a participant in a chain: some codes of a language are taught, then all objects are tested.

Kirby, Cornish & Smith (2008, https://doi.org/10.1073/pnas.0707835105): each participant is taught a part of the
language that the one before typed in the test.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ecsuite.grammars.words import stream
from ecsuite.people.codes_game import ATTENTION_WORDS
from ecsuite.people.game import ATTENTION, TEST, TRAINING, Shown
from ecsuite.people.objects import DATASETS, Dataset, letters_of
from ecsuite.people.pictures import example_picture, panel_picture
from ecsuite.people.protocols import CHAIN
from ecsuite.people.study import Study

VERSION = 1
"""Increased whenever the same seed would give another game than before."""
MAX_CODE = 20
"""Most letters of a code that the page takes."""


@dataclass(frozen=True, kw_only=True)
class ChainGame:
    """One participant's game: a pure function of its fields."""

    dataset: str
    """One of `DATASETS`."""
    language: tuple[str, ...]
    """The codes of all objects, of which some are taught."""
    num_seen: int
    """Objects that are taught, at most."""
    num_passes: int
    """How often each of these is asked before the test."""
    drops_homonyms: bool
    """Whether of objects with the same code one alone is taught."""
    seed: int

    @property
    def objects(self) -> Dataset:
        """The objects."""
        return DATASETS[self.dataset]

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The objects that are taught, in the order of the training panel."""
        order, chosen = stream(self.seed, "seen").permutation(self.objects.num_objects), dict[str, int]()
        for thing in map(int, order):
            chosen.setdefault(self.language[thing] if self.drops_homonyms else str(thing), thing)
        return tuple(chosen.values())[: self.num_seen]

    @cached_property
    def steps(self) -> tuple[Shown, ...]:
        """All steps: passes over the taught objects, all objects, and an attention check in the middle of each part."""
        passes = [
            stream(self.seed, f"pass{number}").permutation(self.order) for number in range(self.num_passes)
        ]
        taught = [Shown(kind=TRAINING, thing=int(thing)) for those in passes for thing in those]
        order = stream(self.seed, "test").permutation(self.objects.num_objects)
        tested = [Shown(kind=TEST, thing=int(thing)) for thing in order]
        for part in (taught, tested):
            part.insert(len(part) // 2, Shown(kind=ATTENTION, thing=-1))
        return (*taught, *tested)

    @property
    def signature(self) -> str:
        """Everything that determines the game but the language and what the participant does."""
        sizes = f"seen:{self.num_seen},passes:{self.num_passes},homonyms:{'dropped' if self.drops_homonyms else 'kept'}"
        return f"dataset:{self.dataset}|protocol:{CHAIN},{sizes},v:{VERSION}|seed:{self.seed}"

    @property
    def first_available(self) -> int:
        """Objects in the training panel, in the first pass."""
        return len(self.order)

    @property
    def max_available(self) -> int:
        """No more can be unlocked."""
        return len(self.order)

    @property
    def has_pictures(self) -> bool:
        """Objects always have pictures."""
        return True

    @property
    def num_examples(self) -> int:
        """Examples, without attention checks."""
        return self.num_passes * len(self.order) + self.objects.num_objects

    @property
    def num_steps(self) -> int:
        """Examples and attention checks."""
        return len(self.steps)

    def example_of(self, step: int) -> int:
        """The example of a step, from 0; of an attention check, the one that follows it."""
        return sum(shown.kind != ATTENTION for shown in self.steps[:step])

    def shown(self, step: int, num_available: int) -> Shown:
        """What a step shows."""
        return self.steps[step]

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """All taught objects in the first pass, none after it."""
        return len(self.order) if self.example_of(step + 1) < len(self.order) else 0

    def name_of(self, thing: int) -> str:
        """An object in words."""
        return self.objects.description(thing)

    def right_answer(self, step: int, shown: Shown) -> str:
        """What is right to type; in the test, what the one before typed."""
        if shown.kind == ATTENTION:
            return ATTENTION_WORDS[(self.seed + step) % len(ATTENTION_WORDS)]
        return self.language[shown.thing]

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether an answer is right; neither case nor what is no letter counts."""
        return letters_of(typed) == self.right_answer(step, shown)

    def told(self, step: int, shown: Shown, typed: str) -> str:
        """The code of a taught object whose answer was wrong; nothing of answers to the test."""
        is_told = shown.kind == TRAINING and not self.is_right(step, shown, typed)
        return f"The code is {self.right_answer(step, shown)}." if is_told else ""

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """What the page shows of a step."""
        if shown.kind == ATTENTION:
            return {"kind": "attention", "word": self.right_answer(step, shown)}
        kind = "test" if shown.kind == TEST else "code"
        name = self.name_of(shown.thing) if names_objects else None
        return {"kind": kind, "name": name, "max_length": MAX_CODE}

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """The taught objects with their codes, in the first pass."""
        return [
            {"code": self.language[thing], "name": self.name_of(thing) if names_objects else None}
            for thing in self.order[:num_available]
        ]

    def step_picture(self, step: int, shown: Shown) -> bytes:
        """The picture of a step as PNG."""
        return example_picture(self.objects, shown.thing, self.seed, step)

    def choice_picture(self, step: int, shown: Shown, place: int) -> None:
        """None: codes are typed."""

    def panel_picture(self, place: int) -> bytes:
        """The picture of a taught object as PNG, by its place in the panel."""
        return panel_picture(self.objects, self.order[place])

    def points(self, num_available: int) -> int:
        """Points of a right answer; answers to the test have none."""
        return 1


def chain_game(study: Study, row: Mapping[str, Any]) -> ChainGame:
    """The game of a participant of a chain, who is given as stored."""
    return ChainGame(
        dataset=row["dataset"],
        language=tuple(json.loads(row["taught"])),
        num_seen=study.seen,
        num_passes=study.passes,
        drops_homonyms=study.drops_homonyms,
        seed=row["seed"],
    )
