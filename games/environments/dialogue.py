"""Dialogues: two agents alternate messages, one per step, and then answer their questions.

    class Mine(Dialogue):                                  # in a file of your own
        names, first_speaker = ("asker", "answerer"), 0

        def __init__(self, options):
            super().__init__(options, num_features=(2, 5), num_choices=(5, 1), num_answers=1)
            self.attribute_names = ("number",)

        def talk(self, seed, episodes):
            number = choices(seed, "number", episodes, 1, 5)
            ...
            return DialogueTopic(seen=(..., ...), right=..., about=number)

A dialogue is an `Environment`: all learners, channels and audits of environments apply to it.
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
"""Split of the objects for each purpose; others use the validation split, held out if the world holds any out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DialogueOptions:
    """Options of dialogues."""

    turns: Count = 2
    """Messages of each agent."""
    num_symbols: tuple[Count, ...] = ()
    """Vocabulary size of each of the two agents, such as [3, 4]; []: all symbols of the channel."""
    reward: Literal["all", "each"] = "all"
    """all: 1 if every answer is right, else 0. each: the share of right answers."""
    mistake_cost: Weight = 0.0
    """Penalty, times 1 minus the reward and subtracted from it; 10 in Kottur et al. (2017)."""

    def __post_init__(self) -> None:
        """Validate that `num_symbols` has no or two entries; `ConfigError` if not."""
        if len(self.num_symbols) not in (0, 2):
            raise ConfigError(
                f"num_symbols: expected a number for each of two agents, got {len(self.num_symbols)}"
            )

    def rewards(self, right: Floats) -> Floats:
        """Rewards for a share, or a probability, of right answers, minus the cost of mistakes."""
        return right - self.mistake_cost * (1 - right)


@dataclass(frozen=True, kw_only=True, slots=True)
class DialogueTopic:
    """Observations, right answers and meanings of a batch of dialogues."""

    seen: tuple[Floats, Floats]
    """Observation of each agent, constant over the steps, (batch, num_features) each."""
    right: Integers
    """Right answers of each agent, (batch, 2, num_answers); -1: the agent has no question."""
    about: Integers
    """Meanings of the messages, (batch, num_attributes), or by speaker, (batch, 2, num_attributes)."""


class Dialogue(Environment):
    """Base class of dialogues.

    The agents alternate, with `turns` messages each. Then every agent with questions gives one answer per step. At each
    step, its observation ends with a one-hot vector: talk, or the index of the answer that is due.

    Args:
        options: Its `Options`.
        num_features: Width of `DialogueTopic.seen` of each agent.
        num_choices: Number of possible answers of each agent; 1: it has no questions.
        num_answers: Number of answers of each agent with questions.
    """

    Options = DialogueOptions
    names: ClassVar[tuple[str, str]]
    """Names of the agents."""
    first_speaker: ClassVar[int] = 0
    """Index of the first speaker: 0 or 1."""
    ends_with_first: ClassVar[bool] = False
    """Whether the first speaker also speaks last, so that the other agent sends one message fewer."""
    steps_per_turn = 2
    right_reward, oracle_reward, tells_right = 1.0, 1.0, True

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
        """Make the topics of episodes, numbers (batch,): a pure function of the seed and of each number."""

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
        """Index of the speaker at a step; None: the step is for answers."""
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
    """World of the objects. If it holds objects out, evaluations are about these."""


@dataclass(kw_only=True, slots=True)
class ObjectRounds:
    """Targets and distractors among the objects of a world, by seed and episode number.

    Args:
        part: The world.
        num_distractors: Distractors of a round.

    Raises:
        ConfigError: If the objects of the world are neither values nor vectors.
    """

    part: Part
    num_distractors: int = 0
    worlds: dict[int, ObjectWorld] = field(default_factory=dict)
    """Cache of worlds by seed, since the held-out objects may depend on the seed."""

    def of(self, seed: int) -> ObjectWorld:
        """Get the world of a seed."""
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
        """Accuracy of the best answer without messages: a uniform guess, unless distractors are similar."""
        if not self.of(0).has_similar_distractors:
            return 1 / (1 + self.num_distractors)
        task, size = Part("discrimination", Discrimination.Options(num_distractors=self.num_distractors)), 256
        sizes = RunSizes(
            seed=0, num_train=NUM_ROUNDS, num_valid=NUM_ROUNDS, batch_size=size, evaluation_batch_size=size
        )
        world = WORLDS.make(self.part, rounds=Discrimination.rounds(task.options), sizes=sizes)
        return float(TASKS.make(task, world=world, state_size=1).chance()["accuracy"])

    def draw(self, seed: int, episodes: Integers) -> tuple[Integers, Integers]:
        """Draw candidates, object indices (batch, num_candidates), and the positions of the targets, (batch,)."""
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
        """Corpus column `split`: `held_out` if any target is, of `episodes`, (batch,) each; empty without splits."""
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
        """Meanings of messages about objects, (batch, num_attributes): attribute values, or else object indices."""
        world = self.of(seed)
        return numbers[:, None] if world.num_values is None else world.objects.values(numbers)

    def features(self, seed: int, numbers: Integers) -> Floats:
        """Observations of objects, (..., num_features), from object indices, (...)."""
        world = self.of(seed)
        seen = torch.from_numpy(np.ascontiguousarray(world.objects.seen(numbers.ravel())))
        flat: Floats = world.features(seen, torch.float64).numpy()
        return flat.reshape(*numbers.shape, -1)


def attribute_names(names: Sequence[Sequence[str]]) -> list[str]:
    """Attribute names from value names such as `color=red`; `attribute0` and so on if these have none."""
    return list(names_in(names)) or [f"attribute{place}" for place in range(len(names))]
