"""Interface of plays: agents interact in a world, step by step, and give a corpus at any step.

    class NamingGame(Play):                # agents that are not trained
        def train_step(self, step): ...    # one step; returns its measures
        def evaluate(self): ...            # figures of the current agents
        def corpus(self, evaluation): ...  # their messages
        def state(self): ...               # tensors from which it resumes
        def restore(self, state): ...

A `TrainedPlay` has a module whose weights are trained, and an `objective`. For both, log, checkpoints, resuming,
stopping and the corpus are those of `ecsuite.games.training.trainer`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
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
from ecsuite.parts.config import require_defaults
from ecsuite.parts.own_code import NoOptions
from ecsuite.runtime.errors import ConfigError, FrozenError, PartError
from ecsuite.runtime.randomness import initial_weights

if TYPE_CHECKING:
    from ecsuite.games.engine.optimizers import Optimise
    from ecsuite.games.plays.population import AgentWeights, Population
    from ecsuite.games.worlds.world import World

Note = Callable[[str], None]
Measures = Mapping[str, Tensor | float]
"""Measures of a step by name."""


class Play(ABC):
    """Base class of plays: agents that interact in a world.

    All random numbers are pure functions of the seed and the step, so a play that resumes from its state continues as
    if it had never stopped.

    Args:
        options: `Options` of the play.
        experiment: The config. A play may read the sections `training`, `evaluation` and those in `sections`.
        device: Device of its tensors.
    """

    Options: ClassVar[type] = NoOptions
    sections: ClassVar[tuple[str, ...]] = ()
    """Sections of a config that the play reads, in addition to `play`, `training` and `evaluation`."""
    options_read: ClassVar[tuple[str, ...]] = ()
    """Options of `OF_AGENTS` in `ecsuite.games.config.sections` that the play reads, such as `training.init_sender`."""

    accumulates: ClassVar[bool] = False
    """Whether a step plays `training.accumulate` batches; otherwise a number above 1 is rejected."""
    precisions: ClassVar[tuple[str, ...]] = ("tf32", "fp32")
    """Supported values of `training.precision`; auto is fp32 if bf16 is not supported."""
    can_speak: ClassVar[bool] = False
    """Whether the play has `players`, for evaluations, cross-play, scores, interventions; see `make_players`."""
    plays_validation: ClassVar[bool] = True
    """Whether evaluations play rounds; otherwise their options are rejected."""
    players: "Population | None" = None
    """Senders and receivers in a world; None if `can_speak` is false."""

    def __init__(self, options: Any, *, experiment: Experiment, device: torch.device) -> None:
        self.options, self.experiment, self.device = options, experiment, device
        if self.plays_validation:
            return
        if experiment.evaluation.mode != "greedy":
            raise ConfigError(
                f"evaluation.mode: play {experiment.play.kind} generates no messages in evaluations: expected greedy"
            )
        try:
            unread = ("num_valid", "batch_size")
            require_defaults(experiment.evaluation, unread, f"by play {experiment.play.kind}")
        except ConfigError as error:
            raise ConfigError(f"evaluation.{error}") from None

    @classmethod
    def make_players(
        cls, experiment: Experiment, world: "World", dtype: torch.dtype = torch.float32
    ) -> "Population":
        """Make the players of an experiment, also for another world or task than in training.

        Args:
            experiment: Names the agents, their channel and their task.
            world: Source of their rounds.
            dtype: Precision of products and activations.

        Raises:
            ConfigError: If `can_speak` is false.
        """
        raise ConfigError(f"play {experiment.play.kind} has no senders and receivers")

    def rng(self, purpose: str, step: int) -> np.random.Generator:
        """Random numbers of a step for one purpose: a pure function of the seed, the step and the purpose only."""
        return np.random.default_rng([self.experiment.training.seed, step, *purpose.encode()])

    def noise(self, purpose: str, step: int) -> torch.Generator:
        """Random numbers of a step for one purpose, for tensors: a `torch.Generator`; see `rng`."""
        return noise_generator(self.experiment.training.seed, purpose, step, self.device)

    @property
    def num_rounds(self) -> int:
        """Number of rounds per epoch."""
        return self.experiment.training.num_examples

    @cached_property
    def batches_per_epoch(self) -> int:
        """Number of batches that contain the rounds of an epoch once; the last one may be smaller."""
        return -(-self.num_rounds // self.experiment.training.batch_size)

    @cached_property
    def steps_per_epoch(self) -> int:
        """Number of steps per epoch: each plays `training.accumulate` batches."""
        return -(-self.batches_per_epoch // self.experiment.training.accumulate)

    @property
    def steps_before(self) -> int:
        """Steps of the teaching phase before epoch 0; an upper bound until it has ended."""
        return 0

    @property
    def figures(self) -> Sequence[str]:
        """Names of the figures of an evaluation."""
        return ("accuracy",)

    def chance(self) -> Mapping[str, float]:
        """Chance levels of the figures that have one."""
        return {}

    @abstractmethod
    def train_step(self, step: int) -> Measures:
        """Play step `step`, counted from 0; returns its measures, which the log averages over steps."""

    def calls(self, num_steps: int) -> Sequence[int] | None:
        """Model calls in each of `num_steps` steps, if they dominate the time; None: all steps take equal time."""
        return None

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Figures of the current agents, by name."""

    @abstractmethod
    def corpus(self, evaluation: EvaluationOptions) -> Corpus:
        """Corpus of the agents: at most `evaluation.corpus_size` messages of each speaker."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """Tensors from which the play resumes, by name."""

    @abstractmethod
    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Resume from a state; `RuntimeError` or `KeyError` if it does not fit."""

    def means(self, sums: Mapping[str, float], number: int) -> dict[str, float]:
        """Means of measures over `number` steps, from their sums."""
        return {name: total / number for name, total in sums.items()}

    def other_evaluations(self) -> dict[str, dict[str, float]]:
        """Figures of the final agents on other objects, by name of the evaluation."""
        return {}

    def other_chance(self) -> Mapping[str, Mapping[str, float]]:
        """Chance levels of the figures of the other evaluations, by name of the evaluation."""
        return {}

    def take_agents(self, role: Role, agents: "AgentWeights", source: str) -> None:
        """Initialise the agents of a role with the weights of another run; see `Population.set_weights`."""
        raise ConfigError(f"training.init_{role}: {type(self).__name__} has no method take_agents")

    def keep(self, folder: Path) -> dict[str, Any]:
        """Write further files into the run folder; returns their entries of the metadata."""
        return {}

    def check(self, folder: Path, note: Note) -> None:
        """Raise `ConfigError` for an impossible run before anything is written; other remarks go to `note`."""
        return

    def cost(self) -> dict[str, Any]:
        """Estimate the cost of playing without calling models or training agents, JSON-ready."""
        steps = self.steps_per_epoch * self.experiment.training.num_epochs
        return {"steps": steps, "rounds": self.num_rounds * self.experiment.training.num_epochs}

    def recall(self, folder: Path) -> None:
        """Read the stored answers of a run, in addition to its checkpoint, to evaluate it again."""
        return

    def replay(self, folder: Path) -> None:
        """Answer only from the stored answers of another run folder; `ConfigError` if that is impossible."""
        raise ConfigError(f"--replay: play {self.experiment.play.kind} stores no answers: train it again")

    def lines(self) -> list[str]:
        """Describe the play, in lines for the user."""
        return [f"{self.experiment.name}: play {self.experiment.play.kind}"]

    def remarks(self) -> list[str]:
        """Remarks after the first step, in lines for the user."""
        return []


class TrainedPlay(Play):
    """A play that trains the weights of `module`, which a subclass sets in its constructor."""

    sections: ClassVar[tuple[str, ...]] = ("optimizer", "schedule")
    module: nn.Module
    optimise: "Optimise"
    """Optimiser step; set before the first step."""

    def objective(self, step: int) -> tuple[Tensor, Measures]:
        """Objective of step `step`, a scalar to minimise, and its measures. Not needed if `update` is defined."""
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
        """Play step `step`, and update the weights; see `update`."""
        try:
            return self.update(step, self.optimise)
        except FrozenError as error:
            kind = self.experiment.play.kind
            if not own_code.is_foreign(kind) or own_code.error_in_part(error) is not None:
                raise
            raise PartError(f"{own_code.place_of(kind, 'update', 'objective')}: {error}") from error

    def check(self, folder: Path, note: Note) -> None:
        """Raise `ConfigError` for a play without a module, or without `objective` and `update`."""
        if not isinstance(vars(self).get("module"), nn.Module):
            raise ConfigError(f"{type(self).__name__}: for a TrainedPlay, expected a module, self.module")
        if type(self).update is TrainedPlay.update and type(self).objective is TrainedPlay.objective:
            raise ConfigError(
                f"{type(self).__name__}: for a TrainedPlay, expected a method objective or update"
            )

    def modules_of(self, role: Role) -> Iterable[nn.Module]:
        """Modules of a role, to which `optimizer.sender_lr` or `receiver_lr` applies."""
        return ()

    def state(self) -> dict[str, Tensor]:
        """Weights and buffers of the module."""
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
    """Get the class of the play of an experiment, which has the properties that need no instance."""
    return PLAYS.load(experiment.play.kind)  # type: ignore[no-any-return]


def players_of(experiment: Experiment, world: "World", dtype: torch.dtype = torch.float32) -> "Population":
    """Make the players of the play of an experiment with the initial weights of its seed; see `Play.make_players`."""
    with initial_weights(experiment.training.seed):
        return play_class(experiment).make_players(experiment, world, dtype)


def make_play(experiment: Experiment, device: torch.device) -> Play:
    """Make the play of an experiment in its initial state.

    Random numbers that a constructor draws from torch's global generators, such as initial weights, depend only on the
    seed of the experiment; afterwards the generators are restored.

    Args:
        experiment: The config.
        device: Device of its tensors.

    Raises:
        ConfigError: If the config does not fit the play.
    """
    with initial_weights(experiment.training.seed, device):
        play: Play = PLAYS.make(experiment.play, experiment=experiment, device=device)
    return play
