"""A scripted participant that knows messages of things by heart, and takes others for those that they are most like."""

from typing import Any, ClassVar

import numpy as np
from rapidfuzz.distance import Levenshtein

from ecsuite.games.participants.participant import Ask, Participant
from ecsuite.games.participants.scripted import invented


class Exemplars(Participant):
    """Says what was understood last, or was taught, of the thing; else a message that it invents.

    A listener chooses the candidate of which a message is known that is nearest to what it heard, by edit distance.
    """

    tasks: ClassVar[tuple[str, ...]] = ("naming", "discrimination", "reconstruction")

    def _known(self, ask: Ask) -> dict[int, str]:
        """The message of each thing that the agent knows."""
        known = dict(ask.taught)
        for each in ask.memory:
            if each.success or each.thing not in known:
                known[each.thing] = each.message
        return known

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """The message of a thing, or the thing of a message."""
        known = self._known(ask)
        if ask.role == "speaker" or ask.task == "naming":
            return known.get(ask.thing) or invented(ask.allowed, rng)
        things = ask.candidates or tuple(range(len(self.setting.things)))
        distances = np.array([self._distance(ask, known.get(thing)) for thing in things])
        nearest = np.flatnonzero(distances == distances.min())
        return ask.allowed.choices[int(nearest[rng.integers(len(nearest))])]

    def _distance(self, ask: Ask, known: str | None) -> Any:
        """Edits of symbols between what was heard and what is known; half of all where nothing is."""
        heard = self.setting.words.split(ask.message)
        if known is None:
            return len(heard) / 2
        return Levenshtein.distance(heard, self.setting.words.split(known))
