"""Scripted participant that memorises messages of meanings, and interprets other messages by similarity."""

from typing import Any, ClassVar

import numpy as np
from rapidfuzz.distance import Levenshtein

from ecsuite.games.participants.participant import Ask, Participant
from ecsuite.games.participants.scripted import invented


class Exemplars(Participant):
    """Participant that repeats the last understood or taught message of a meaning, or invents one.

    A listener chooses the candidate whose known message is nearest to the message heard, by edit distance.
    """

    tasks: ClassVar[tuple[str, ...]] = ("naming", "discrimination", "reconstruction")

    def _known(self, ask: Ask) -> dict[int, str]:
        """Messages that the agent knows, by meaning."""
        known = dict(ask.taught)
        for each in ask.memory:
            if each.success or each.thing not in known:
                known[each.thing] = each.message
        return known

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """Return the message of a meaning, or the meaning of a message."""
        known = self._known(ask)
        if ask.role == "speaker" or ask.task == "naming":
            return known.get(ask.thing) or invented(ask.allowed, rng)
        things = ask.candidates or tuple(range(len(self.setting.things)))
        distances = np.array([self._distance(ask, known.get(thing)) for thing in things])
        nearest = np.flatnonzero(distances == distances.min())
        return ask.allowed.choices[int(nearest[rng.integers(len(nearest))])]

    def _distance(self, ask: Ask, known: str | None) -> Any:
        """Edit distance of the message heard from a known message; half of all symbols if none is known."""
        heard = self.setting.words.split(ask.message)
        if known is None:
            return len(heard) / 2
        return Levenshtein.distance(heard, self.setting.words.split(known))
