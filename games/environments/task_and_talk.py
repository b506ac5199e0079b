"""Task & Talk (Kottur et al. 2017, EMNLP, "Natural language does not emerge 'naturally' in multi-agent dialog")."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.environments.dialogue import (
    Dialogue,
    DialogueTopic,
    ObjectOptions,
    ObjectRounds,
    attribute_names,
)
from ecsuite.games.environments.environment import Floats, Integers, choices, one_hot
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError


class TaskAndTalk(Dialogue):
    """An asker has to find out attributes of an object, in a given order; an answerer sees the object but not the task.

    The asker speaks first. After the turns it gives the values of its attributes, one per step.

    Raises:
        ConfigError: If objects have no attributes, or fewer than `num_asked`.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(ObjectOptions):
        """Options of Task & Talk."""

        num_asked: Count = 2
        """Number of attributes per task; tasks are all ordered selections of this number of attributes."""

    names = ("asker", "answerer")
    options: Options

    def __init__(self, options: Options) -> None:
        self.rounds = ObjectRounds(part=options.world)
        world = self.rounds.of(0)
        if world.num_values is None:
            raise ConfigError(
                f"play.environment.world: world {options.world.kind}: its objects have no attributes to ask for: "
                "expected a world with attributes"
            )
        number = len(world.num_values)
        if options.num_asked > number:
            raise ConfigError(
                f"play.environment.num_asked: expected at most the {number} attributes of an object, got "
                f"{options.num_asked}"
            )
        self.tasks = np.array(list(permutations(range(number), options.num_asked)))
        """The attributes of each task, (num_tasks, num_asked)."""
        super().__init__(
            options,
            num_features=(len(self.tasks), world.object_shape[0]),
            num_choices=(max(world.num_values), 1),
            num_answers=options.num_asked,
        )
        self.attribute_names = (
            *attribute_names(world.objects.names), *(f"asked{place}" for place in range(options.num_asked)),
        )  # fmt: skip
        self.other_purposes = self.rounds.other_purposes()
        all_values = world.objects.all_values()
        self.silent_accuracy = _without_messages(all_values, world.probabilities, self.tasks, "all")
        right = _without_messages(all_values, world.probabilities, self.tasks, options.reward)
        self.silent_reward = float(options.rewards(np.array(right)))
        if options.turns >= options.num_asked:
            self.num_script_symbols = max(number, *world.num_values)

    def notes(self, seed: int) -> Sequence[str]:
        """See the base class."""
        return self.rounds.notes(seed)

    def talk(self, seed: int, episodes: Integers) -> DialogueTopic:
        """See the base class."""
        numbers = self.rounds.draw(seed, episodes)[0][:, 0]
        values = self.rounds.values(seed, numbers)
        task = choices(seed, "tasks", episodes, 1, len(self.tasks))[:, 0]
        asked = self.tasks[task]
        right = np.full((len(episodes), 2, asked.shape[1]), -1)
        right[:, 0] = np.take_along_axis(values, asked, 1)
        return DialogueTopic(
            seen=(one_hot(task, len(self.tasks)), self.rounds.features(seed, numbers)),
            right=right,
            about=np.concatenate([values, asked], 1),
        )

    def columns(self, seed: int, episodes: Integers) -> dict[str, NDArray[np.str_]]:
        """See the base class."""
        return self.rounds.columns(seed, episodes)

    def script(
        self, agent: int, seen: Floats, heard: Integers, memory: dict[str, Any]
    ) -> tuple[Integers, Integers]:
        """Ask for one attribute after another by index, and hear their values; see the base class."""
        step = memory["step"] = memory.get("step", -1) + 1
        silent = np.ones(len(seen), np.int64)
        if agent == 1:
            values = seen.reshape(len(seen), -1, max(self.rounds.of(0).num_values or ())).argmax(2)
            asked = (heard[:, :1] - 1).clip(0, values.shape[1] - 1)
            return silent - 1, np.take_along_axis(values, asked, 1)[:, 0] + 1
        asked = self.tasks[seen[:, : len(self.tasks)].argmax(1)]
        if step % 2 == 0 and step > 0:
            memory.setdefault("told", []).append(heard[:, 0] - 1)
        place = min(step // 2, self.num_answers - 1)
        if step < self.num_messages:
            return silent - 1, asked[:, place] + 1
        return memory["told"][step - self.num_messages].clip(0), silent


def _without_messages(values: Integers, probabilities: Floats | None, tasks: Integers, reward: str) -> float:
    """Share of correct answers (`each`), or probability that all are correct (`all`), of the most frequent values."""
    weights = np.full(len(values), 1 / len(values)) if probabilities is None else probabilities
    best = []
    for asked in tasks:
        each = [values[:, [attribute]] for attribute in asked] if reward == "each" else [values[:, asked]]
        found = []
        for wanted in each:
            places = np.unique(wanted, axis=0, return_inverse=True)[1].ravel()
            found.append(np.bincount(places, weights).max())
        best.append(np.mean(found))
    return float(np.mean(best))
