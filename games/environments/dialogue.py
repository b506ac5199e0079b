"""Dialogues: two agents that speak in turn, a message a step, and then answer what each is asked.

    class Mine(Dialogue):                                  # in a file of your own
        names, first_speaker = ("asker", "answerer"), 0

        def __init__(self, options):
            super().__init__(options, num_features=(2, 5), num_choices=(5, 1), num_answers=1)
            self.attribute_names = ("number",)

        def talk(self, seed, episodes):
            number = choices(seed, "number", episodes, 1, 5)
            ...
            return DialogueTopic(seen=(..., ...), right=..., about=number)

A dialogue is a world with steps: learners, channels and audits are those of all such worlds.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.games.config.registry import TASKS, WORLDS
from ecsuite.games.environments.environment import (
    PURPOSES,
    AgentSpec,
    Environment,
    Floats,
    Integers,
    Moment,
    one_hot,
)
from ecsuite.games.tasks.chance import NUM_ROUNDS
from ecsuite.games.tasks.tasks import Discrimination
from ecsuite.games.worlds.attributes import AttributeWorld
from ecsuite.games.worlds.object_worlds import ObjectWorld
from ecsuite.games.worlds.world import RoundSpec, RunSizes, names_in
from ecsuite.parts.config import Count, Weight
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError

OBJECTS = Part("attributes", AttributeWorld.Options(num_attributes=3, num_values=4))
SPLITS = {"train": "train", "corpus": "all", "seen": "seen"}
"""The objects of a purpose; of others: those of validation, which are held out where any are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DialogueOptions:
    """Options of dialogues."""

    turns: Count = 2
    """Messages of each agent."""
    num_symbols: tuple[Count, ...] = ()
    """Symbols that each of the two agents may say, such as [3, 4]; []: all of the channel."""
    reward: Literal["all", "each"] = "all"
    """all: 1 where every answer is right. each: a share of 1 for every answer that is."""
    mistake_cost: Weight = 0.0
    """What is taken where `reward` gives nothing, 10 in Kottur et al. (2017)."""

    def __post_init__(self) -> None:
        """Check that both agents, or none, have symbols of their own."""
        if len(self.num_symbols) not in (0, 2):
            raise ConfigError(
                f"num_symbols: expected a number for each of two agents, got {len(self.num_symbols)}"
            )

    def rewards(self, right: Floats) -> Floats:
        """Rewards of answers that are right to this share, or with this probability, less the cost of mistakes."""
        return right - self.mistake_cost * (1 - right)


@dataclass(frozen=True, kw_only=True, slots=True)
class DialogueTopic:
    """What dialogues are about."""

    seen: tuple[Floats, Floats]
    """What each agent sees of the world all the time, (batch, num_features) each."""
    right: Integers
    """The right answers of each agent, (batch, 2, num_answers); -1: it is not asked."""
    about: Integers
    """What messages may be about, (batch, num_attributes), or by speaker, (batch, 2, num_attributes)."""


class Dialogue(Environment):
    """Base class of dialogues.

    The agents speak one after the other, `turns` times each. Then those that are asked answer, an answer a step, and
    are told at each step, beside what they see, whether they are to talk or which answer is due.

    Args:
        options: Its `Options`.
        num_features: Width of what each agent sees.
        num_choices: Answers that each may choose from; 1: it is not asked.
        num_answers: Answers of each agent that is asked.
    """

    Options = DialogueOptions
    names: ClassVar[tuple[str, str]]
    """Of the agents."""
    first_speaker: ClassVar[int] = 0
    """Who speaks first: 0 or 1."""
    ends_with_first: ClassVar[bool] = False
    """Whether that one speaks last, too, once more than the other."""
    steps_per_turn = 2
    right_reward, tells_right = 1.0, True

    def __init__(
        self,
        options: Any,
        *,
        num_features: Sequence[int],
        num_choices: Sequence[int],
        num_answers: int,
    ) -> None:
        super().__init__(options)
        self.num_answers = num_answers
        self.num_messages = 2 * options.turns - self.ends_with_first
        self.max_steps = self.num_messages + num_answers
        symbols = options.num_symbols or (None, None)
        self.agents = tuple(
            AgentSpec(
                name=name,
                num_features=width + (1 + num_answers if choices > 1 else 0),
                num_actions=choices,
                num_heard=1,
                num_symbols=number,
            )
            for name, width, choices, number in zip(
                self.names, num_features, num_choices, symbols, strict=True
            )
        )

    @abstractmethod
    def talk(self, seed: int, episodes: Integers) -> DialogueTopic:
        """What the dialogues of these numbers, (batch,), are about, a pure function of the seed and of each number."""

    def reset(self, seed: int, episodes: Integers) -> Moment:
        """See the base class."""
        talk, shape = self.talk(seed, episodes), (len(episodes), 2, self.num_answers)
        if talk.right.shape != shape or (talk.right < 0).all(1).any():
            raise ConfigError(
                f"environment {type(self).__name__}: expected right answers of shape {shape} from talk, of one agent "
                "at least, not -1, in each place"
            )
        return self._moment(talk, 0, np.ones(len(episodes), bool))

    def step(self, moment: Moment, actions: Integers) -> tuple[Moment, Floats]:
        """See the base class."""
        talk, step, all_right = moment.inner
        rewards = np.zeros(len(all_right))
        if (answer := step - self.num_messages) >= 0:
            wanted = talk.right[:, :, answer]  # (batch, 2)
            is_asked = wanted >= 0
            is_right = (actions == wanted) | ~is_asked
            all_right = all_right & is_right.all(1)
            if self.options.reward == "each":
                rewards = (
                    self.options.rewards((is_right & is_asked).sum(1) / is_asked.sum(1)) / self.num_answers
                )
            elif answer == self.num_answers - 1:
                rewards = self.options.rewards(all_right.astype(np.float64))
        return self._moment(talk, step + 1, all_right), np.repeat(rewards[:, None], 2, axis=1)

    def speaker(self, step: int) -> int | None:
        """Who speaks at a step; None: it is for answers."""
        return (self.first_speaker + step) % 2 if step < self.num_messages else None

    def _moment(self, talk: DialogueTopic, step: int, all_right: NDArray[np.bool_]) -> Moment:
        batch, speaker = len(all_right), self.speaker(step)
        about = talk.about if talk.about.ndim == 3 else np.repeat(talk.about[:, None], 2, axis=1)
        speaking, heard = np.zeros((batch, 2), bool), np.full((batch, 2, 1), -1)
        if speaker is not None:
            speaking[:, speaker] = True
        if step > 0 and (before := self.speaker(step - 1)) is not None:
            heard[:] = before
        answer = step - self.num_messages
        is_due = 0 <= answer < self.num_answers
        right = talk.right[:, :, answer] if is_due else np.full((batch, 2), -1)
        due = one_hot(np.full(batch, answer + 1 if is_due else 0), 1 + self.num_answers)
        observations = tuple(
            np.concatenate([seen, due], 1) if spec.num_actions > 1 else seen
            for spec, seen in zip(self.agents, talk.seen, strict=True)
        )
        return Moment(
            observations=observations,
            heard=heard,
            active=speaking | (right >= 0),
            speaking=speaking,
            acting=right >= 0,
            right=right,
            done=np.full(batch, step >= self.max_steps),
            meanings=about,
            inner=(talk, step, all_right),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectOptions(DialogueOptions):
    """Options of dialogues about objects."""

    world: Annotated[Part, WORLDS] = OBJECTS
    """Where objects come from. Where it holds some out, evaluations are about these."""


@dataclass(kw_only=True, slots=True)
class ObjectRounds:
    """Rounds about the objects of a world: a target and distractors, by seed and number.

    Args:
        part: The world.
        num_distractors: Distractors of a round.

    Raises:
        ConfigError: If its rounds are not about objects that are vectors of numbers.
    """

    part: Part
    num_distractors: int = 0
    worlds: dict[int, ObjectWorld] = field(default_factory=dict)
    """By seed: which objects are held out may depend on it."""

    def of(self, seed: int) -> ObjectWorld:
        """The world of a seed."""
        if seed not in self.worlds:
            sizes = RunSizes(seed=seed, num_train=1, num_valid=1, batch_size=1, evaluation_batch_size=1)
            asked = RoundSpec(num_distractors=self.num_distractors)
            try:
                world = WORLDS.make(self.part, rounds=asked, sizes=sizes)
            except ConfigError as error:
                told = str(error).removeprefix("world.")
                told = told.replace("task.num_distractors", "play.environment.num_candidates")
                raise ConfigError(f"play.environment.world: {told}") from None
            if not isinstance(world, ObjectWorld) or len(world.object_shape) > 1:
                raise ConfigError(
                    f"play.environment.world: expected a world of objects that are values or vectors, got "
                    f"{self.part.kind}"
                )
            self.worlds[seed] = world
        return self.worlds[seed]

    def other_purposes(self) -> dict[str, str]:
        """The purposes of further evaluations, see `Environment.other_purposes`."""
        found = {name: split for name, (_, split) in self.of(0).extra_evaluations().items()}
        return {name: split for name, split in found.items() if split in PURPOSES}

    def notes(self, seed: int) -> tuple[str, ...]:
        """The lines about the world of a seed; see `Environment.notes`."""
        world = self.of(seed)
        untested = world.untested_note()
        return (*world.notes, *([] if untested is None else [untested]))

    def silent_accuracy(self) -> float:
        """The accuracy of the best answer that reads no message, which is a guess but where distractors are similar."""
        if not self.of(0).has_similar_distractors:
            return 1 / (1 + self.num_distractors)
        task, size = Part("discrimination", Discrimination.Options(num_distractors=self.num_distractors)), 256
        sizes = RunSizes(
            seed=0, num_train=NUM_ROUNDS, num_valid=NUM_ROUNDS, batch_size=size, evaluation_batch_size=size
        )
        world = WORLDS.make(self.part, rounds=Discrimination.rounds(task.options), sizes=sizes)
        return float(TASKS.make(task, world=world, state_size=1).chance()["accuracy"])

    def draw(self, seed: int, episodes: Integers) -> tuple[Integers, Integers]:
        """Candidates, (batch, num_candidates), by their numbers in the world, and places of the targets, (batch,)."""
        world = self.of(seed)
        candidates = np.zeros((len(episodes), 1 + self.num_distractors), np.int64)
        places = np.zeros(len(episodes), np.int64)
        firsts = np.array(sorted(PURPOSES.values()))
        of_purpose = firsts[np.searchsorted(firsts, episodes, side="right") - 1]
        for name, first in PURPOSES.items():
            if (rows := of_purpose == first).any():
                drawn, targets = world.candidates(SPLITS.get(name, "valid"), 0, episodes[rows])
                candidates[rows], places[rows] = drawn, targets[:, 0]
        return candidates, places

    def columns(self, seed: int, *episodes: Integers) -> dict[str, NDArray[np.str_]]:
        """The split of dialogues about the targets of all these, (batch,) each: `held_out` if one is; or nothing."""
        world, found = self.of(seed), list[NDArray[np.str_]]()
        for each in episodes:
            candidates, places = self.draw(seed, each)
            column = world.subsets.column(candidates[np.arange(len(each)), places])
            found += column.values()
        if not found:
            return {}
        split = found[0]
        for other in found[1:]:
            split = np.where(split == "train", other, split)
        return {"split": split}

    def values(self, seed: int, numbers: Integers) -> Integers:
        """What messages about objects are about, (batch, num_attributes): attribute values, or else their numbers."""
        world = self.of(seed)
        return numbers[:, None] if world.num_values is None else world.objects.values(numbers)

    def features(self, seed: int, numbers: Integers) -> Floats:
        """What agents see of objects, (..., num_features), of numbers, (...)."""
        world = self.of(seed)
        seen = torch.from_numpy(np.ascontiguousarray(world.objects.seen(numbers.ravel())))
        flat: Floats = world.features(seen, torch.float64).numpy()
        return flat.reshape(*numbers.shape, -1)


def attribute_names(names: Sequence[Sequence[str]]) -> list[str]:
    """The names of attributes, by those of their values, such as `color=red`; `attribute0` where these have none."""
    return list(names_in(names)) or [f"attribute{place}" for place in range(len(names))]
