"""The game Secret Spy Codes: the steps of one participant, what each shows, and which answers are right."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ecsuite.grammars.words import stream
from ecsuite.people.game import ATTENTION, HELD_OUT, TRAINING, Shown
from ecsuite.people.objects import DATASETS, Codes, Dataset, make_codes
from ecsuite.people.pictures import example_picture, panel_picture
from ecsuite.people.protocols import (
    FIRST_AVAILABLE,
    NUM_EXAMPLES,
    PROTOCOLS,
    VERSION,
    Schedule,
    make_schedule,
    unlocked_after,
)

ATTENTION_WORDS = ("lamp", "river", "stone", "cloud", "garden", "window")


@dataclass(frozen=True, kw_only=True, slots=True)
class CodesGame:
    """One participant's game: a pure function of its fields."""

    grammar: str
    dataset: str
    protocol: str
    seed: int

    @property
    def schedule(self) -> Schedule:
        """Which objects come when."""
        return make_schedule(self.protocol, self.dataset, self.seed)

    @property
    def order(self) -> tuple[int, ...]:
        """The objects in the order in which they are unlocked; those that never are come last."""
        return self.schedule.order

    @property
    def objects(self) -> Dataset:
        """The objects."""
        return DATASETS[self.dataset]

    @property
    def codes(self) -> Codes:
        """The codes of all objects."""
        return make_codes(self.dataset, self.grammar, self.seed)

    @property
    def signature(self) -> str:
        """Everything that determines the game but what the participant does."""
        return f"{self.codes.signature}|dataset:{self.dataset}|protocol:{self.protocol},v:{VERSION}"

    @property
    def first_available(self) -> int:
        """Objects that are unlocked at the start."""
        return FIRST_AVAILABLE

    @property
    def max_available(self) -> int:
        """Objects that can be unlocked."""
        return self.schedule.max_available

    @property
    def has_pictures(self) -> bool:
        """Objects always have pictures."""
        return True

    @property
    def num_examples(self) -> int:
        """Examples, without the attention check."""
        return NUM_EXAMPLES

    @property
    def num_steps(self) -> int:
        """Examples and the attention check."""
        return NUM_EXAMPLES + (self.schedule.attention is not None)

    def example_of(self, step: int) -> int:
        """The example of a step, from 0; of the attention check, the one that follows it."""
        attention = self.schedule.attention
        return step - (attention is not None and step > attention)

    def shown(self, step: int, num_available: int) -> Shown:
        """What a step shows to a participant who has so many unlocked objects."""
        schedule, example = self.schedule, self.example_of(step)
        if step == schedule.attention:
            return Shown(kind=ATTENTION, thing=-1)
        if example in schedule.held_out:
            place = schedule.held_out[example] + (num_available if self.protocol == "published" else 0)
            return Shown(kind=HELD_OUT, thing=schedule.order[place])
        place = int(stream(self.seed, f"example{example}").integers(num_available))
        return Shown(kind=TRAINING, thing=schedule.order[place])

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """Unlocked objects after a step."""
        more = shown.kind != ATTENTION and unlocked_after(self.protocol, self.example_of(step))
        return min(num_available + more, self.max_available)

    def name_of(self, thing: int) -> str:
        """An object in words."""
        return self.objects.description(thing)

    def right_answer(self, step: int, shown: Shown) -> str:
        """What is right to type."""
        if shown.kind == ATTENTION:
            return ATTENTION_WORDS[self.seed % len(ATTENTION_WORDS)]
        return self.codes.texts[shown.thing]

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether an answer is right; neither case nor spaces count."""
        return "".join(typed.split()).lower() == self.right_answer(step, shown)

    def told(self, step: int, shown: Shown, typed: str) -> str:
        """The code of an unlocked object whose answer was wrong, if the protocol tells it."""
        is_told = PROTOCOLS[self.protocol].tells_codes and shown.kind == TRAINING
        if not is_told or self.is_right(step, shown, typed):
            return ""
        return f"The code is {self.right_answer(step, shown)}."

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """What the page shows of a step: nothing that gives the answer away, nor whether it is held out."""
        if shown.kind == ATTENTION:
            return {"kind": "attention", "word": self.right_answer(step, shown)}
        named = self.name_of(shown.thing) if names_objects else None
        return {"kind": "code", "name": named}

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """The unlocked objects with their codes."""
        return [
            {
                "code": self.codes.texts[thing],
                "name": self.name_of(thing) if names_objects else None,
            }
            for thing in self.schedule.order[:num_available]
        ]

    def step_picture(self, step: int, shown: Shown) -> bytes:
        """The picture of a step as PNG."""
        return example_picture(self.objects, shown.thing, self.seed, step)

    def choice_picture(self, step: int, shown: Shown, place: int) -> None:
        """None: codes are typed."""

    def panel_picture(self, place: int) -> bytes:
        """The picture of an unlocked object as PNG, by its place in the order."""
        return panel_picture(self.objects, self.schedule.order[place])

    def points(self, num_available: int) -> int:
        """Points of a right answer, by the unlocked objects when the example was shown (section K.2)."""
        return num_available - 1


def codes_game(row: Mapping[str, Any]) -> CodesGame:
    """The game of a participant, who is given as stored."""
    return CodesGame(**{name: row[name] for name in ("grammar", "dataset", "protocol", "seed")})
