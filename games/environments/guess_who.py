"""Guess who: an agent that sees several objects has to find out which one the other agent sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.environments.dialogue import (
    Dialogue,
    DialogueTopic,
    ObjectOptions,
    ObjectRounds,
    attribute_names,
)
from ecsuite.games.environments.environment import Floats, Integers
from ecsuite.parts.config import Levels

OTHER_ROUND = 1 << 39
"""Offset between the numbers of the first and the second round of an episode."""


class GuessWho(Dialogue):
    """An asker sees candidates, an answerer sees the target; the asker speaks first, and finally chooses a candidate.

    If both ask, each agent sees a target and the candidates for the other agent's target, and both pick.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(ObjectOptions):
        """Options of guess who."""

        num_candidates: Levels = 4
        """Number of objects, including the target, among which the asker chooses."""
        both_ask: bool = False
        """Each agent sees an object, and has to find out the other agent's object."""

    names: ClassVar[tuple[str, str]] = ("asker", "answerer")
    options: Options

    def __init__(self, options: Options) -> None:
        self.rounds = ObjectRounds(part=options.world, num_distractors=options.num_candidates - 1)
        world, number = self.rounds.of(0), options.num_candidates
        width = world.object_shape[0]
        super().__init__(
            options,
            num_features=(width * (number + options.both_ask), width * (1 + number * options.both_ask)),
            num_choices=(number, number if options.both_ask else 1),
            num_answers=1,
        )
        self.about = attribute_names(world.objects.names) or ["object"]
        self.attribute_names = tuple(self.about)
        if options.both_ask:
            self.attribute_names = (
                *(f"own_{name}" for name in self.about),
                *(f"other_{name}" for name in self.about),
            )
        self.other_purposes = self.rounds.other_purposes()
        if world.probabilities is None:
            one = self.rounds.silent_accuracy()
            right = self.silent_accuracy = one ** (2 if options.both_ask else 1)
            if options.both_ask and options.reward == "each":
                right = one
            self.silent_reward = float(options.rewards(np.array(right)))
        if world.shows_values and not options.both_ask:
            self.num_script_symbols = max(len(self.about), *map(len, world.objects.names))

    def notes(self, seed: int) -> Sequence[str]:
        """See the base class."""
        return self.rounds.notes(seed)

    def talk(self, seed: int, episodes: Integers) -> DialogueTopic:
        """See the base class."""
        rows = np.arange(len(episodes))
        seen: list[list[Floats]] = [[], []]
        right = np.full((len(episodes), 2, 1), -1)
        about = []  # target of each asker, seen by the other agent
        for asker in range(1 + self.options.both_ask):
            candidates, places = self.rounds.draw(seed, episodes + asker * OTHER_ROUND)
            features = self.rounds.features(seed, candidates)
            seen[asker].append(features.reshape(len(episodes), -1))
            seen[1 - asker].append(features[rows, places])
            right[:, asker, 0] = places
            about.append(self.rounds.values(seed, candidates[rows, places]))
        return DialogueTopic(
            seen=(np.concatenate(seen[0], 1), np.concatenate(seen[1], 1)),
            right=right,
            about=np.stack([np.concatenate([*about[::-1]], 1), np.concatenate(about, 1)], 1)
            if self.options.both_ask
            else about[0],
        )

    def columns(self, seed: int, episodes: Integers) -> dict[str, NDArray[np.str_]]:
        """See the base class."""
        askers = range(1 + self.options.both_ask)
        return self.rounds.columns(seed, *(episodes + asker * OTHER_ROUND for asker in askers))

    def script(
        self, agent: int, seen: Floats, heard: Integers, memory: dict[str, Any]
    ) -> tuple[Integers, Integers]:
        """Ask for the attribute that best separates the remaining candidates, and hear its value; see the base class.

        An answerer without a question sends the value of the first attribute.
        """
        step = memory["step"] = memory.get("step", -1) + 1
        batch, number = len(seen), 1 if agent else self.options.num_candidates
        shape = batch, number, len(self.about), -1
        values = seen[:, : number * self.rounds.of(0).object_shape[0]].reshape(shape).argmax(3)
        is_told = step > 0 and self.speaker(step - 1) == 1 - agent
        told, rows = heard[:, 0] - 1 if is_told else np.full(batch, -1), np.arange(batch)
        if agent:
            asked = told.clip(0, len(self.about) - 1)
            return np.zeros(batch, np.int64), values[rows, 0, asked] + 1
        asked = memory.get("asked", np.zeros(batch, np.int64))
        left = memory.get("left", np.ones((batch, number), bool))
        left = memory["left"] = left & ((values[rows, :, asked] == told[:, None]) | (told < 0)[:, None])
        if self.speaker(step) == 0:
            same = (values[:, :, None] == values[:, None]) & left[:, None, :, None] & left[:, :, None, None]
            asked = memory["asked"] = same.sum((1, 2)).argmin(1)
        return left.argmax(1), asked + 1


class Feedback(GuessWho):
    """The describer, which sees the target, speaks first and last; the guesser gives feedback in between.

    So the guesser sends one message fewer, and none if `turns` is 1. The describer does not see candidates.
    """

    names = ("guesser", "describer")
    first_speaker = 1
    ends_with_first = True
