"""The signalling game as a play: senders describe objects, receivers answer, and both learn from the outcome."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.corpus import Corpus
from ecsuite.files.disk_space import free_space, require_space
from ecsuite.games.config.sections import NUM_KEPT, OF_AGENTS, ROLES, EvaluationOptions, Experiment, Role
from ecsuite.games.engine.engine import Differentiate
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.players.pair import StepResult, make_pair
from ecsuite.games.plays.checks import try_first_step
from ecsuite.games.plays.evaluation import evaluate, record_corpus
from ecsuite.games.plays.interactions import (
    PROBABILITIES,
    keep_interactions,
    record_interactions,
    require_choices,
    require_pyarrow,
)
from ecsuite.games.plays.notes import choose_game_precision, description
from ecsuite.games.plays.play import Measures, TrainedPlay, sums
from ecsuite.games.plays.population import AgentWeights, Population, make_population
from ecsuite.games.worlds.world import World, evaluations_of, make_world
from ecsuite.runtime.devices import PRECISIONS
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import free_memory, size_text
from ecsuite.runtime.randomness import initial_weights


class Signalling(TrainedPlay):
    """Signalling game with the world, task, channel and agents of an experiment.

    A step plays a batch and changes the weights: `begin_step`, then `update`, which calls `play_batch` and `loss`. A
    subclass overrides one of these; evaluations, cross-play, scores and interventions work for its runs as well.

    Raises:
        ConfigError: If the parts do not fit one another, or need more memory than is available.
    """

    sections = (
        *TrainedPlay.sections, "world", "task", "channel", "sender", "receiver", "loss", "reasoning", "society",
        "generations",
    )  # fmt: skip
    options_read = tuple(f"{section}.{name}" for section, name in OF_AGENTS)
    accumulates = True
    precisions = ("bf16", "tf32", "fp32")
    can_speak = True
    players: Population

    def __init__(self, options: Any, *, experiment: Experiment, device: torch.device) -> None:
        super().__init__(options, experiment=experiment, device=device)
        self.world = make_world(experiment)
        require_weights(experiment, self.world)
        asked = experiment.training.precision
        self.precision = choose_game_precision(experiment, device) if asked == "auto" else asked
        with initial_weights(experiment.training.seed):
            players = self.make_players(experiment, self.world, PRECISIONS[self.precision])
        self.players = players.to(device)
        self.module: nn.Module = self.players

    @classmethod
    def make_players(
        cls, experiment: Experiment, world: World, dtype: torch.dtype = torch.float32
    ) -> Population:
        """Make the players of an experiment, with the initial weights of its seed; see the base class."""
        return make_population(experiment, world, dtype)

    def take_agents(self, role: Role, agents: AgentWeights, source: str) -> None:
        """Initialise the agents of a role with the weights of another run's agents."""
        self.players.set_weights(role, agents, source)

    @property
    def num_rounds(self) -> int:
        """Number of rounds per epoch."""
        return self.world.num_train

    @property
    def steps_before(self) -> int:
        """Steps of the teaching phase."""
        return 0 if self.players.teaching is None else self.players.teaching.num_steps

    @property
    def figures(self) -> Sequence[str]:
        """Names of the figures: loss, the measures of the task, and length."""
        return ("loss", *self.chance(), "length")

    def chance(self) -> Mapping[str, float]:
        """Chance levels: figures of the best answers without messages."""
        return self.players.chance()

    def check(self, folder: Path, note: Callable[[str], None]) -> None:
        """Raise `ConfigError` if memory or disk is too small; try users' parts on a first step."""
        super().check(folder, note)
        require_resources(self.experiment, self.players, folder, self.device, note)
        if self.experiment.code:
            try_first_step(self.experiment, self.world, self.players.first_pair, self.steps_per_epoch)
        generations = self.players.generations
        about = (self.world.untested_note(), None if generations is None else generations.bottleneck_note())
        for line in (*self.world.notes, *about):
            if line is not None:
                note(line)
        if self.experiment.evaluation.keeps_interactions:
            require_pyarrow()
        if PROBABILITIES in self.experiment.evaluation.keep:
            require_choices(self.players, self.experiment, "evaluation.keep")

    def train_step(self, step: int) -> Measures:
        """Teach agents a language in the first `steps_before` steps; afterwards, update the weights."""
        played, teaching = step - self.steps_before, self.players.teaching
        if played < 0 and teaching is not None:
            self.optimise.begin()
            taught = teaching.learn(step)
            self.optimise.backward(taught.objective)
            self.players.scale_gradients(step)
            self.optimise.step()
            teaching.end_step(step + 1, self.optimise.optimizer)
            return taught.measures
        self.begin_step(played)
        return super().train_step(played)

    def begin_step(self, step: int) -> None:
        """Replace agents at the end of a generation, and begin an epoch.

        Args:
            step: Number of the step, from 0, without the steps of the teaching phase.
        """
        epoch, within = divmod(step, self.steps_per_epoch)
        self.players.begin_step(step, self.optimise.optimizer, None if within else epoch)
        self.optimise.scale = partial(self.players.scale_gradients, step)

    def batches_of(self, step: int) -> range:
        """Numbers of the `training.accumulate` batches of a step, counted over all epochs."""
        epoch, within = divmod(step, self.steps_per_epoch)
        size, accumulate = self.batches_per_epoch, self.experiment.training.accumulate
        return range(epoch * size + within * accumulate, epoch * size + min((within + 1) * accumulate, size))

    def play_batch(self, number: int, step: int, differentiate: Differentiate | None = None) -> StepResult:
        """Play a batch with each pair that meets at a step: messages, answers, and objective.

        Args:
            number: Number of the batch, one of `batches_of(step)`.
            step: Number of the step, as in `begin_step`.
            differentiate: Computes the gradients of `objective`, which the result then contains; the operations may be
                recorded. None: `objective` has its graph, for `loss`.
        """
        own_loss = type(self).loss is not Signalling.loss
        epoch = number // self.batches_per_epoch
        return self.players.train_on(number, step, epoch, None if own_loss else differentiate)

    def loss(self, played: StepResult) -> Tensor:
        """Return the scalar that is minimised.

        Args:
            played: Result of `play_batch`, with the graph of `objective`: the sum over pairs of the section `loss`.
        """
        return played.objective

    def update(self, step: int, optimise: Optimise) -> Measures:
        """Play the batches of a step and change the weights once.

        Args:
            step: Number of the step, as in `begin_step`.
            optimise: Changes the weights: `optimise(objective)`, or `optimise(objective, only=modules)`. The gradient
                of a weight that learns in several pairs is its mean over these pairs.

        Returns:
            The measures of the step, means over its batches.
        """
        optimise.begin()
        numbers, measures = self.batches_of(step), dict[str, Any]()
        for number in numbers:
            played = self.play_batch(number, step, optimise.gradients)
            objective, gradients = played.objective, played.gradients
            if gradients is None:  # `loss` or `play_batch` is a subclass's own
                objective = self.loss(played)
                gradients = optimise.gradients(objective)
            if len(numbers) == 1 and self.players.each_learns_once(step):  # no sums, and no means over pairs
                optimise.end(objective.detach(), gradients)
                return played.measures
            optimise.add(objective.detach(), gradients, len(numbers))
            measures = sums(measures, played.measures)
        optimise.step()
        if len(numbers) == 1:
            return measures
        return {name: value / len(numbers) for name, value in measures.items()}

    def means(self, sums: Mapping[str, float], number: int) -> dict[str, float]:
        """Means over the playing steps, and over the teaching steps."""
        return self.players.means_by_kind(super().means(sums, number))

    def evaluate(self) -> dict[str, float]:
        """Compute loss (nats), accuracy, length, and further measures of the task on validation rounds."""
        figures = evaluate(self.players, self.world, self.experiment)
        return figures if self.players.teaching is None else figures | self.players.teaching.accuracies()

    def other_evaluations(self) -> dict[str, dict[str, float]]:
        """Compute figures on held-out objects, noise objects and so on, by name of the evaluation."""
        evaluations = evaluations_of(self.world, self.experiment)
        return {
            name: evaluate(self.players, world, self.experiment, split)
            for name, (world, split) in evaluations.items()
        }

    def other_chance(self) -> Mapping[str, Mapping[str, float]]:
        """Chance levels in the rounds of the other evaluations."""
        evaluations = evaluations_of(self.world, self.experiment)
        return {name: self.players.chance(*where) for name, where in evaluations.items()}

    def keep(self, folder: Path) -> dict[str, Any]:
        """Write the rounds of the last evaluation if `evaluation.keep` asks for them."""
        experiment, kept = self.experiment, self.experiment.evaluation.keep

        def table() -> Any:
            evaluations = {"valid": (self.world, "valid"), **evaluations_of(self.world, experiment)}
            has_probabilities = PROBABILITIES in kept
            return record_interactions(self.players, evaluations, experiment, probabilities=has_probabilities)

        entries = keep_interactions(folder, table if experiment.evaluation.keeps_interactions else None)
        return entries if self.players.teaching is None else entries | self.players.teaching.described()

    def corpus(self, evaluation: EvaluationOptions) -> Corpus:
        """Collect the messages of each sender for all meanings, at most `evaluation.corpus_size`."""
        corpus = record_corpus(self.players, replace(self.experiment, evaluation=evaluation))
        self.players.train()
        return corpus

    def modules_of(self, role: Role) -> Iterable[nn.Module]:
        """Modules of the senders, or of the receivers."""
        return self.players.modules_of(role)

    def lines(self) -> list[str]:
        """Describe the game and the agents, for the user."""
        return description(self.experiment, self.players, self.world, self.precision)

    def remarks(self) -> list[str]:
        """Return reasons why pairs are not computed in parallel, and why steps are not recorded as CUDA graphs."""
        reason = self.players.engine.reason
        lines = [] if reason is None else [f"pairs play sequentially, which is slower: {reason}"]
        if self.device.type == "cuda":
            why = (
                "users' code may depend on values of tensors"
                if self.experiment.code
                else self.players.engine.recorded.reason
            )
            lines += [] if why is None else [f"steps are not recorded as CUDA graphs, which is slower: {why}"]
        return lines


NUMBER = 4
"""Bytes per weight in fp32."""
LARGE = 2048
"""Minimum option value for a check of agents; smaller agents take at most some hundred megabytes."""
HUGE = 2**31
"""Size from which a layer may have more elements than torch can count."""
FIGURE = 8
"""Bytes per measure and evaluation round; chance levels need all rounds."""
NUM_MOMENTS = {"adam": 2, "adamw": 2}
"""Numbers that an optimizer stores for each weight; 0 is assumed for other optimizers."""


def require_weights(experiment: Experiment, world: World) -> None:
    """Raise `ConfigError` if the weights of agents will not fit into the free memory.

    Users' agents are not checked, since they would be created twice.
    """
    parts, society = (experiment.sender, experiment.receiver, experiment.channel), experiment.society
    is_many = max(map(society.number, ROLES)) >= LARGE and society.shares == "nothing"
    if experiment.code or (max(map(_largest, parts)) < LARGE and not is_many):
        return
    try:
        with torch.device("meta"):
            if is_many:  # which would take long to create
                pair = make_pair(experiment, world)
                sides = zip(ROLES, (pair.speaker, pair.listener), strict=True)
                weights = sum(society.number(role) * num_weights(side) for role, side in sides)
            else:
                weights = num_weights(make_population(experiment, world))
    except (TypeError, RuntimeError, OverflowError):
        if max(map(_largest, parts)) < HUGE:
            raise
        raise ConfigError(
            f"{experiment.name}: agents of such sizes fit into no memory: choose a smaller hidden_size or vocab_size"
        ) from None
    needed = NUMBER * weights * (2 + NUM_MOMENTS.get(experiment.optimizer.kind, 0))
    if needed > (free := free_memory()):
        raise ConfigError(
            f"{experiment.name}: needs at least {size_text(needed)} of memory for {weights:,} weights, and "
            f"{size_text(free)} are free: choose {'fewer' if is_many else 'smaller'} agents"
            f"{'' if is_many else ', such as a smaller hidden_size'}"
        )


def require_resources(
    experiment: Experiment,
    players: Population,
    folder: Path,
    device: torch.device,
    note: Callable[[str], None],
) -> None:
    """Raise `ConfigError` if batches will not fit into the free memory, or the files of a run on the disk.

    Args:
        experiment: The experiment.
        players: The agents.
        folder: The run folder.
        device: Device of the training; only the memory of the CPU is checked.
        note: Called with a message if the disk may be full before the training ends.
    """
    batch_size, channel = experiment.training.batch_size, players.channel
    needed = 2 * NUMBER * batch_size * channel.max_len * channel.symbol_size  # scores and their gradients
    if device.type == "cpu" and needed > (free := free_memory()):
        raise ConfigError(
            f"{experiment.name}: batches of {batch_size:,} need at least {size_text(needed)} of memory, and "
            f"{size_text(free)} are free: choose a smaller training.batch_size"
        )
    num_valid = experiment.evaluation.num_valid
    if FIGURE * num_valid > (free := free_memory()):
        raise ConfigError(
            f"evaluation.num_valid: measures of {num_valid:,} rounds need at least {size_text(FIGURE * num_valid)} of "
            f"memory, and {size_text(free)} are free: choose fewer"
        )
    checkpoint = NUMBER * num_weights(players) * (1 + NUM_MOMENTS.get(experiment.optimizer.kind, 0))
    corpus = 2 * experiment.evaluation.corpus_size  # an empty list and a line end for each message
    require_space(checkpoint + corpus, folder, "for a checkpoint and the corpus")
    if (NUM_KEPT + 1) * checkpoint > (space := free_space(folder)):
        note(
            f"{folder}: {NUM_KEPT + 1} checkpoints of {size_text(checkpoint)} do not fit on the disk, which has "
            f"{size_text(space)} free: the training may stop when it is full"
        )


def num_weights(agents: nn.Module) -> int:
    """Count the weights of agents."""
    return sum(parameter.numel() for parameter in agents.parameters())


def _largest(part: object) -> int:
    """Return the largest number among the options of a part, at any depth."""
    if isinstance(part, int):
        return part
    if is_dataclass(part) and not isinstance(part, type):
        return max((_largest(getattr(part, each.name)) for each in fields(part)), default=0)
    return 0
