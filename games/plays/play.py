"""What a play is: agents and a world that make interactions, step by step, and a corpus at any of these steps.

    class NamingGame(Play):                # agents that are not trained
        def train_step(self, step): ...    # one step; returns its measures
        def evaluate(self): ...            # figures of the agents as they are
        def corpus(self, evaluation): ...  # what they say
        def state(self): ...               # tensors from which it goes on
        def restore(self, state): ...

A `TrainedPlay` has a module whose weights are trained, and an `objective`. A run folder serves both: log, checkpoints,
resuming, stopping and the corpus are those of `ecsuite.games.training.trainer`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.corpus import Corpus
from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.config.registry import PLAYS
from ecsuite.games.config.sections import EvaluationOptions, Experiment, Role
from ecsuite.parts import own_code
from ecsuite.parts.own_code import NoOptions
from ecsuite.runtime.errors import ConfigError, FrozenError, PartError
from ecsuite.runtime.randomness import initial_weights

if TYPE_CHECKING:
    from ecsuite.games.players.population import Population
    from ecsuite.games.runs.checkpoints import AgentWeights
    from ecsuite.games.training.optimizers import Optimise
    from ecsuite.games.worlds.world import World

Note = Callable[[str], None]
Measures = Mapping[str, Tensor | float]
"""Figures of a step by name."""


class Play(ABC):
    """Agents and a world that make interactions.

    Everything that is drawn is a pure function of the seed and the step, so that a play goes on from its state as if
    it had never stopped.

    Args:
        options: Its `Options`.
        experiment: The config. A play may read the sections `training`, `evaluation` and those of `sections`.
        device: Where it computes.
    """

    Options: ClassVar[type] = NoOptions
    sections: ClassVar[tuple[str, ...]] = ()
    """Sections of a config that it reads beside `play`, `training` and `evaluation`."""
    options_read: ClassVar[tuple[str, ...]] = ()
    """Options of `OF_AGENTS` in `ecsuite.games.config.sections` that it reads, such as `training.init_sender`."""

    accumulates: ClassVar[bool] = False
    """Whether a step plays `training.accumulate` batches; if not, more than one are refused."""
    precisions: ClassVar[tuple[str, ...]] = ("tf32", "fp32")
    """What it reads of `training.precision`; others are refused, and auto is fp32 where bf16 is none of them."""
    can_speak: ClassVar[bool] = False
    """Whether it has `players`, which are evaluated, asked, scored and intervened on; see `make_players`."""
    players: "Population | None" = None
    """Senders and receivers in a world; None where `can_speak` is false."""

    def __init__(self, options: Any, *, experiment: Experiment, device: torch.device) -> None:
        self.options, self.experiment, self.device = options, experiment, device

    @classmethod
    def make_players(
        cls, experiment: Experiment, world: "World", dtype: torch.dtype = torch.float32
    ) -> "Population":
        """Make the players of an experiment, also for a world or a task other than that of training.

        Args:
            experiment: Names the agents, their channel and their task.
            world: Source of their rounds.
            dtype: Precision of products and activations.

        Raises:
            ConfigError: If `can_speak` is false.
        """
        raise ConfigError(f"play {experiment.play.kind} has no senders and receivers")

    def rng(self, purpose: str, step: int) -> np.random.Generator:
        """Random numbers of a step for one purpose: a pure function of the seed, these two and nothing else."""
        return np.random.default_rng([self.experiment.training.seed, step, *purpose.encode()])

    def noise(self, purpose: str, step: int) -> torch.Generator:
        """The same for tensors."""
        return noise_generator(self.experiment.training.seed, purpose, step, self.device)

    @property
    def num_rounds(self) -> int:
        """Rounds of an epoch."""
        return self.experiment.training.num_examples

    @property
    def batches_per_epoch(self) -> int:
        """Batches in which the rounds of an epoch are played once; the last one may be smaller."""
        return -(-self.num_rounds // self.experiment.training.batch_size)

    @property
    def steps_per_epoch(self) -> int:
        """Steps in which they are: each plays `training.accumulate` batches."""
        return -(-self.batches_per_epoch // self.experiment.training.accumulate)

    @property
    def steps_before(self) -> int:
        """Steps before the first epoch, such as those in which agents are taught; at most, until these are over."""
        return 0

    @property
    def figures(self) -> Sequence[str]:
        """The names of the figures of an evaluation."""
        return ("accuracy",)

    def chance(self) -> Mapping[str, float]:
        """Chance level of each figure that has one."""
        return {}

    @abstractmethod
    def train_step(self, step: int) -> Measures:
        """Play step `step`, counted from 0; returns its measures, which are averaged over steps for the log."""

    def calls(self, num_steps: int) -> Sequence[int] | None:
        """Calls of models in each of so many steps, where these take most of the time; None: all steps take as long."""
        return None

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """The figures of the agents as they are, by name."""

    @abstractmethod
    def corpus(self, evaluation: EvaluationOptions) -> Corpus:
        """What the agents say: at most `evaluation.corpus_size` messages of each speaker."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """Tensors from which it goes on, by name."""

    @abstractmethod
    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a state; `RuntimeError` or `KeyError` if it does not fit."""

    def means(self, sums: Mapping[str, float], number: int) -> dict[str, float]:
        """Means of the measures of a number of steps, of which their sums are known."""
        return {name: total / number for name, total in sums.items()}

    def other_evaluations(self) -> dict[str, dict[str, float]]:
        """Figures of the final agents on other objects, by name of the evaluation."""
        return {}

    def other_chance(self) -> Mapping[str, Mapping[str, float]]:
        """Chance level of each figure of the other evaluations that has one, by name of the evaluation."""
        return {}

    def take_agents(self, role: Role, agents: "AgentWeights", source: str) -> None:
        """Let the agents of a role begin with the weights of those of another run; see `set_agent_weights`."""
        raise ConfigError(f"training.init_{role}: {type(self).__name__} has no method take_agents")

    def keep(self, folder: Path) -> dict[str, Any]:
        """Write what is kept beside the corpus into the run folder; returns what the metadata says of it."""
        return {}

    def check(self, folder: Path, note: Note) -> None:
        """Refuse what can't work before anything is written, by `ConfigError`; `note` is told of the rest."""
        return

    def cost(self) -> dict[str, Any]:
        """What playing it takes, found out without asking or training anybody, JSON-ready."""
        steps = self.steps_per_epoch * self.experiment.training.num_epochs
        return {"steps": steps, "rounds": self.num_rounds * self.experiment.training.num_epochs}

    def replay(self, folder: Path) -> None:
        """Answer with what another run folder has, and ask nobody; `ConfigError` if that can't be."""
        raise ConfigError(f"--replay: play {self.experiment.play.kind} keeps no answers: train it again")

    def lines(self) -> list[str]:
        """What is played, in lines for people."""
        return [f"{self.experiment.name}: play {self.experiment.play.kind}"]

    def remarks(self) -> list[str]:
        """What is found out in the first step, in lines for people."""
        return []


class TrainedPlay(Play):
    """A play in which weights are trained: those of `module`, which a subclass sets in its constructor."""

    sections: ClassVar[tuple[str, ...]] = ("optimizer", "schedule")
    module: nn.Module
    optimise: "Optimise"
    """Changes the weights; set before the first step."""

    def objective(self, step: int) -> tuple[Tensor, Measures]:
        """What step `step` minimises, a scalar, and its measures. Not needed where `update` is defined."""
        raise ConfigError(f"{type(self).__name__}: for a TrainedPlay, expected a method objective or update")

    def update(self, step: int, optimise: "Optimise") -> Measures:
        """Change the weights at a step, once or several times; returns the measures of the step.

        Args:
            step: Counted from 0.
            optimise: `optimise(objective)` changes the weights by the gradient of a scalar.
        """
        objective, measures = self.objective(step)
        optimise(objective)
        return measures

    def train_step(self, step: int) -> Measures:
        """Play step `step`, and learn from it; see `update`."""
        try:
            return self.update(step, self.optimise)
        except FrozenError as error:
            kind = self.experiment.play.kind
            if not own_code.is_foreign(kind) or own_code.error_in_part(error) is not None:
                raise
            raise PartError(f"{own_code.place_of(kind, 'update', 'objective')}: {error}") from error

    def check(self, folder: Path, note: Note) -> None:
        """Refuse a play without weights, or without anything that they learn from."""
        if not isinstance(vars(self).get("module"), nn.Module):
            raise ConfigError(f"{type(self).__name__}: for a TrainedPlay, expected a module, self.module")
        if type(self).update is TrainedPlay.update and type(self).objective is TrainedPlay.objective:
            raise ConfigError(
                f"{type(self).__name__}: for a TrainedPlay, expected a method objective or update"
            )

    def modules_of(self, role: Role) -> Iterable[nn.Module]:
        """The modules whose weights `optimizer.sender_lr` or `receiver_lr` is of."""
        return ()

    def state(self) -> dict[str, Tensor]:
        """The weights and buffers of the module."""
        return self.module.state_dict()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Load weights and buffers."""
        self.module.load_state_dict(state)


def sums(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Add measures by name."""
    return {
        **first,
        **{name: value + first[name] if name in first else value for name, value in second.items()},
    }


def play_class(experiment: Experiment) -> type[Play]:
    """Class of the play of an experiment, which answers what such plays can do."""
    return PLAYS.load(experiment.play.kind)  # type: ignore[no-any-return]


def players_of(experiment: Experiment, world: "World", dtype: torch.dtype = torch.float32) -> "Population":
    """Make the players of the play of an experiment with the initial weights of its seed; see `Play.make_players`."""
    with initial_weights(experiment.training.seed):
        return play_class(experiment).make_players(experiment, world, dtype)


def make_play(experiment: Experiment, device: torch.device) -> Play:
    """Make the play of an experiment at its beginning.

    Whatever a play draws in its constructor from torch's global generators, such as the initial weights of its
    modules, is that of the seed of the experiment; the generators are left as they were.

    Args:
        experiment: What is played.
        device: Where it computes.

    Raises:
        ConfigError: If it can't be played.
    """
    with initial_weights(experiment.training.seed, device):
        play: Play = PLAYS.make(experiment.play, experiment=experiment, device=device)
    return play
