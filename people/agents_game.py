"""The game with trained agents: a participant is the receiver, who chooses an object, or the sender, who types.

Some objects are unlocked one after the other; the others never are, and are held out: they show whether somebody sees
what messages are made of. A participant learns from the training panel, and from what is told after each answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.grammars.words import stream
from ecsuite.people.agents_language import AgentsLanguage
from ecsuite.people.game import HELD_OUT, TRAINING, Shown
from ecsuite.people.protocols import AGENTS, NUM_EXAMPLES

ROLES = {"receiver": "you choose what the sender means", "sender": "you type, and the receiver chooses"}
"""Roles of a participant, by name."""
FIRST_AVAILABLE, MAX_AVAILABLE = 4, 16
"""Objects that are unlocked at the start, and most that can be."""
EXAMPLES_AN_OBJECT = 4
"""After so many examples one more object is unlocked."""
BLOCK, HELD_OUT_A_BLOCK = 10, 4
"""Of so many examples in a row, how many are about held-out objects."""
VERSION = 1
"""Increased whenever the same seed would give another game than before."""
Hears = Callable[[Sequence[int]], NDArray[Any]]
"""By a message's symbols, how well the receiver finds that each object fits."""


@dataclass(frozen=True, kw_only=True)
class AgentsGame:
    """One participant's game: a pure function of its fields."""

    language: AgentsLanguage
    """What the agents say."""
    role: str
    """One of `ROLES`."""
    seed: int
    hears: Hears | None = None
    """The receiver; None where nothing new is judged."""
    pictures: Callable[[int], bytes] | None = None
    """The picture of an object as PNG."""

    @property
    def first_available(self) -> int:
        """Objects that are unlocked at the start."""
        return FIRST_AVAILABLE

    @property
    def has_pictures(self) -> bool:
        """Whether objects are shown by pictures; otherwise by their names alone."""
        return self.pictures is not None

    @property
    def num_examples(self) -> int:
        """Examples."""
        return NUM_EXAMPLES

    @property
    def num_steps(self) -> int:
        """Examples; there is no attention check."""
        return NUM_EXAMPLES

    @cached_property
    def order(self) -> list[int]:
        """The objects in the order in which they are unlocked; those that never are come last."""
        return [int(thing) for thing in stream(self.seed, "order").permutation(len(self.language.names))]

    @property
    def max_available(self) -> int:
        """Objects that can be unlocked: at most half."""
        return min(MAX_AVAILABLE, len(self.language.names) // 2)

    @property
    def signature(self) -> str:
        """Everything that determines the game but what the participant does."""
        return f"{self.language.signature}|role:{self.role}|protocol:{AGENTS},v:{VERSION}"

    def example_of(self, step: int) -> int:
        """The example of a step, from 0."""
        return step

    def _held_out_examples(self) -> list[int]:
        """The examples about held-out objects, in order."""
        return [
            BLOCK * block + int(place)
            for block in range(NUM_EXAMPLES // BLOCK)
            for place in np.sort(
                stream(self.seed, f"block{block}").choice(BLOCK, HELD_OUT_A_BLOCK, replace=False)
            )
        ]

    def shown(self, step: int, num_available: int) -> Shown:
        """What a step shows to a participant who has so many unlocked objects."""
        examples = self._held_out_examples()
        if step in examples:
            never = self.order[self.max_available :]
            return Shown(kind=HELD_OUT, thing=never[examples.index(step) % len(never)])
        place = int(stream(self.seed, f"example{step}").integers(num_available))
        return Shown(kind=TRAINING, thing=self.order[place])

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """Unlocked objects after a step."""
        return min(num_available + ((step + 1) % EXAMPLES_AN_OBJECT == 0), self.max_available)

    def candidates(self, step: int, shown: Shown) -> list[int]:
        """The objects that there are to choose from, the right one among them."""
        rng = stream(self.seed, f"candidates{step}")
        others = [thing for thing in range(len(self.language.names)) if thing != shown.thing]
        chosen = rng.choice(others, self.language.num_candidates - 1, replace=False)
        return [int(thing) for thing in rng.permutation([shown.thing, *chosen])]

    def chosen(self, step: int, shown: Shown, typed: str) -> int | None:
        """The object that an answer comes to: of a receiver the participant's choice, of a sender the agent's.

        None if the answer is no number of a candidate, or no message.
        """
        candidates = self.candidates(step, shown)
        if self.role == "receiver":
            is_number = typed.isascii() and typed.isdigit() and 0 < int(typed) <= len(candidates)
            return candidates[int(typed) - 1] if is_number else None
        symbols = self.language.parse(typed)
        if symbols is None:
            return None
        assert self.hears is not None
        return candidates[int(np.argmax(self.hears(symbols)[candidates]))]

    def agents_chosen(self, step: int, shown: Shown) -> int:
        """The object that the agents' receiver chooses when their sender speaks, in the same round."""
        candidates = self.candidates(step, shown)
        return candidates[int(np.argmax(np.array(self.language.scores[shown.thing])[candidates]))]

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether the object was understood."""
        return self.chosen(step, shown, typed) == shown.thing

    def name_of(self, thing: int) -> str:
        """An object in words."""
        return self.language.names[thing]

    def right_answer(self, step: int, shown: Shown) -> str:
        """What the agents answer: the number of the object, or their sender's message."""
        if self.role == "receiver":
            return str(self.candidates(step, shown).index(shown.thing) + 1)
        return self.language.text(self.language.symbols[shown.thing])

    def told(self, step: int, shown: Shown, typed: str) -> str:
        """What a participant is told of a wrong answer, to learn from it."""
        found, names = self.chosen(step, shown, typed), self.language.names
        if found == shown.thing:
            return ""
        if self.role == "receiver":
            return f"It was number {self.right_answer(step, shown)}: {names[shown.thing]}."
        understood = "nothing" if found is None else names[found]
        return f"The receiver understood: {understood}. It was: {names[shown.thing]}."

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """What the page shows of a step: nothing that gives the answer away, nor whether it is held out."""
        if self.role == "receiver":
            said = self.language.text(self.language.symbols[shown.thing])
            choices = [self._name(thing, names_objects) for thing in self.candidates(step, shown)]
            return {"kind": "choice", "message": said, "choices": choices}
        return {
            "kind": "message",
            "name": self._name(shown.thing, names_objects),
            "max_length": self.language.max_len * self.language.width,
            "rule": self._rule(),
        }

    def _rule(self) -> str:
        """What a message is, for people."""
        language = self.language
        kind = "letters" if language.width == 1 else "syllables"
        count = f"{language.max_len}" if language.min_len else f"1 to {language.max_len}"
        nothing = "" if language.min_len else "; - says nothing"
        return (
            f"{count} of the {kind} {language.letter(1)} to {language.letter(language.vocab_size)}{nothing}"
        )

    def _name(self, thing: int, names_objects: bool) -> str | None:
        """The name of an object, where there is no picture of it or it is wanted."""
        return self.language.names[thing] if names_objects or not self.language.drawn_by else None

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """The unlocked objects with what the agents say of them."""
        return [
            {
                "code": self.language.text(self.language.symbols[thing]),
                "name": self._name(thing, names_objects),
            }
            for thing in self.order[:num_available]
        ]

    def step_picture(self, step: int, shown: Shown) -> bytes | None:
        """The picture of a step as PNG; None where a step has none."""
        return self._picture(shown.thing) if self.role == "sender" else None

    def choice_picture(self, step: int, shown: Shown, place: int) -> bytes | None:
        """The picture of a candidate as PNG, by its place; None if there is none."""
        candidates = self.candidates(step, shown) if self.role == "receiver" else []
        return self._picture(candidates[place]) if place < len(candidates) else None

    def panel_picture(self, place: int) -> bytes | None:
        """The picture of an unlocked object as PNG, by its place in the order."""
        return self._picture(self.order[place])

    def _picture(self, thing: int) -> bytes | None:
        return None if self.pictures is None else self.pictures(thing)

    def points(self, num_available: int) -> int:
        """Points of a right answer."""
        return 1
