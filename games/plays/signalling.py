"""The signalling game as a play: speakers describe what they see, listeners answer, and both learn from the outcome."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.corpus import Corpus
from ecsuite.games.config.sections import OF_AGENTS, EvaluationOptions, Experiment, Role
from ecsuite.games.engine.engine import Differentiate
from ecsuite.games.players.pair import StepResult
from ecsuite.games.players.population import Population, make_population
from ecsuite.games.plays.play import Measures, TrainedPlay, sums
from ecsuite.games.runs.checkpoints import AgentWeights, set_agent_weights
from ecsuite.games.runs.evaluation import evaluate, record_corpus
from ecsuite.games.runs.interactions import (
    PROBABILITIES,
    keep_interactions,
    record_interactions,
    require_choices,
    require_pyarrow,
)
from ecsuite.games.training.checks import try_first_step
from ecsuite.games.training.notes import choose_game_precision, description
from ecsuite.games.training.optimizers import Optimise
from ecsuite.games.training.train import require_resources, require_weights
from ecsuite.games.worlds.world import World, evaluations_of, make_world
from ecsuite.runtime.devices import PRECISIONS
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
        """Initialise the agents of a role with the weights of those of another run."""
        set_agent_weights(self.players, role, agents, source)

    @property
    def num_rounds(self) -> int:
        """Number of rounds per epoch: that of the world."""
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
        """Figures of the best answers without messages."""
        return self.players.chance()

    def check(self, folder: Path, note: Callable[[str], None]) -> None:
        """Raise `ConfigError` if memory or disk is too small; try parts of the user's own on a first step."""
        super().check(folder, note)
        require_resources(self.experiment, self.players, folder, self.device, note)
        if self.experiment.code:
            try_first_step(self.experiment, self.world, self.players.first_pair, self.steps_per_epoch)
        generations = self.players.generations
        about = (self.world.untested_note(), None if generations is None else generations.bottleneck_note())
        for line in (*self.world.notes, *about):
            if line is not None:
                note(line)
        if self.experiment.evaluation.keep:
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
            differentiate: Gives the gradients of `objective`, which the result then has; the operations up to them may
                be recorded. None: `objective` has its graph, for `loss`.
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
            optimise: Changes the weights: `optimise(objective)`, or `optimise(objective, only=modules)`. Gradients of
                weights that learn in several pairs become means over these pairs.

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
        """Loss (nats), accuracy, length, and the task's own measures, on validation rounds."""
        figures = evaluate(self.players, self.world, self.experiment)
        return figures if self.players.teaching is None else figures | self.players.teaching.accuracies()

    def other_evaluations(self) -> dict[str, dict[str, float]]:
        """Figures on held-out objects, noise objects and so on, by name of the evaluation."""
        evaluations = evaluations_of(self.world, self.experiment)
        return {
            name: evaluate(self.players, world, self.experiment, split)
            for name, (world, split) in evaluations.items()
        }

    def other_chance(self) -> Mapping[str, Mapping[str, float]]:
        """Figures of the best answers without messages, in the rounds of the other evaluations."""
        evaluations = evaluations_of(self.world, self.experiment)
        return {name: self.players.chance(*where) for name, where in evaluations.items()}

    def keep(self, folder: Path) -> dict[str, Any]:
        """Write the rounds of the last evaluation if `evaluation.keep` asks for them."""
        experiment, kept = self.experiment, self.experiment.evaluation.keep

        def table() -> Any:
            evaluations = {"valid": (self.world, "valid"), **evaluations_of(self.world, experiment)}
            has_probabilities = PROBABILITIES in kept
            return record_interactions(self.players, evaluations, experiment, probabilities=has_probabilities)

        entries = keep_interactions(folder, table if kept else None)
        return entries if self.players.teaching is None else entries | self.players.teaching.described()

    def corpus(self, evaluation: EvaluationOptions) -> Corpus:
        """Corpus of each sender's messages for all meanings, at most `evaluation.corpus_size`."""
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
        """Reasons why pairs are not computed in parallel, and why steps are not recorded as CUDA graphs."""
        reason = self.players.engine.reason
        lines = [] if reason is None else [f"pairs play one after the other, which takes longer: {reason}"]
        if self.device.type == "cuda":
            why = (
                "own code may look at values" if self.experiment.code else self.players.engine.recorded.reason
            )
            lines += [] if why is None else [f"kernels are started one by one, which takes longer: {why}"]
        return lines
