"""The game: sender and receiver with their perceptions, a channel between them, and a task.

The sender's meaning is the mean of its targets' vectors, concatenated with the mean of the distractors where it sees
them. A candidate's score is the dot product of its vector and the receiver's state, projected to the same width.
(Lazaridou et al. 2017 with one target; with several, Mu & Goodman 2021 and Carmeli et al. 2024, section 2.1.)
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize

from ecsuite.agents.autocast import call_receiver, call_sender
from ecsuite.agents.linear import Linear
from ecsuite.agents.message import Message, at_certain_end
from ecsuite.agents.perception import Perception, make_object_perception
from ecsuite.agents.registry import RECEIVERS, SENDERS
from ecsuite.games.channels import Channel, Mode
from ecsuite.games.losses import Loss
from ecsuite.games.noise import Noise, noise_generator, uniform
from ecsuite.games.perturbations import Perturbation
from ecsuite.games.registry import CHANNELS, LOSSES, TASKS
from ecsuite.games.sections import ROLES, Experiment, Role
from ecsuite.games.tasks import Task, Truth, choose
from ecsuite.games.views import SeenRounds, View, score_candidates
from ecsuite.games.worlds.world import Batch, Integers, World
from ecsuite.runtime.devices import sent
from ecsuite.runtime.errors import ConfigError

PARTS: Mapping[Role, tuple[str, ...]] = {
    "sender": ("sender", "sender_perception", "channel"),
    "receiver": ("receiver", "receiver_perception", "receiver_projection", "task"),
}
"""The modules of each agent in a game."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """Objective and measures of a batch, or of a batch each of several pairs."""

    objective: Tensor
    """The scalar that training minimises."""
    measures: Mapping[str, Tensor]
    """Means over the batch: loss (nats), accuracy, length (symbols including EOS), and others of the task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayResult(StepResult):
    """Objective, measures and messages of one batch."""

    message: Message


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundOutputs:
    """What came of each round."""

    loss: Tensor
    """Loss of each round in expectation over the end of the message, (batch,)."""
    cost: Tensor
    """Cost of each message, (batch,)."""
    measures: Mapping[str, Tensor]
    """Measures of the task, (batch,) each."""
    message: Message


class Game(nn.Module):
    """The game of an experiment.

    Args:
        experiment: Everything that the game is made of.
        world: Its world.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: If a perception does not fit the world's objects, or the task does not fit the world, or a setting
            has no effect on messages of this channel.
    """

    channel: Channel
    task: Task
    loss: Loss

    def __init__(self, experiment: Experiment, world: World, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.world, self.dtype = world, dtype
        sender, receiver, task = experiment.sender, experiment.receiver, experiment.task
        # Modules are made in this order, so that a seed gives the same weights in every version.
        sender_perception, size = _perception("sender", sender.options.perception, world)
        channel: Channel = CHANNELS.make(experiment.channel)
        self.channel = channel
        # Agents add EOS to the vocabulary size; without a vocabulary, `symbol_size` is the number of values of a word.
        sizes = {"vocab_size": channel.symbol_size - 1, "max_len": channel.max_len}
        num_logits = channel.num_logits or channel.symbol_size
        num_features = 2 * size if world.rounds.sender_sees_all else size
        self.sender = SENDERS.make(
            sender, num_features=num_features, vocab_size=num_logits - 1, max_len=channel.max_len
        )
        self.receiver = RECEIVERS.make(receiver, **sizes)
        self.sender_perception = sender_perception
        self.perturbations: dict[Role, Perturbation] = {
            role: Perturbation(role, getattr(experiment, role).options.perception.options, world.object_shape)
            for role in ROLES
        }
        self.sender_dropout = sender.options.perception.options.dropout
        self.receiver_dropout = receiver.options.perception.options.dropout
        self.receiver_perception: nn.Module | None = None
        self.receiver_projection: nn.Module | None = None
        width = self.receiver.state_size
        if TASKS.load(task.kind).scores_candidates:
            perception, size = _perception("receiver", receiver.options.perception, world, width)
            self.receiver_perception = perception
            if not perception.fits_states:
                self.receiver_projection = Linear(width, size, bias=False)
        self.task = TASKS.make(task, world=world, state_size=width)
        self.loss = LOSSES.make(experiment.loss)
        _check_effects(experiment, channel, self.loss)
        if self.loss.samples_answers and not self.task.has_choices:
            raise ConfigError(
                f"loss.kind: the answers of task {task.kind} can't be sampled: expected loss task"
            )
        training = experiment.training
        self.noise_in_evaluation = experiment.evaluation.noise
        self.seed = training.seed
        self.frozen_roles = [role for role in ROLES if getattr(training, f"freeze_{role}")]
        if "sender" in self.frozen_roles:
            self.sender_dropout = 0.0
        if "receiver" in self.frozen_roles:
            self.receiver_dropout = 0.0
        for role in self.frozen_roles:
            for module in self.modules_of(role):
                module.requires_grad_(False)
        self.train()

    def parts_of(self, role: Role) -> dict[str, nn.Module]:
        """The modules of an agent by their names here; the channel belongs to the sender."""
        return {name: module for name in PARTS[role] if (module := getattr(self, name)) is not None}

    def train(self, mode: bool = True) -> Self:
        """Set training or evaluation mode; frozen agents stay in evaluation mode."""
        super().train(mode)
        for role in self.frozen_roles:
            for module in self.modules_of(role):
                module.train(mode and module is self.channel)  # whose noise belongs to training
        return self

    def modules_of(self, role: Role) -> list[nn.Module]:
        """The modules whose weights an agent of a role learns."""
        return list(self.parts_of(role).values())

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Evaluation mode, for a while."""
        self.eval()
        try:
            yield
        finally:
            self.train()

    def chance(self) -> Mapping[str, float]:
        """Chance level of each measure that has one."""
        return self.task.chance()

    def summary(self, measures: Mapping[str, NDArray[np.float64]]) -> dict[str, float]:
        """The figures of an evaluation from its measures, the mean over its rounds of each."""
        return {name: float(value.item()) for name, value in measures.items()}

    def speakers(self) -> "list[Game]":
        """The game of each sender: this one."""
        return [self]

    def games(self) -> "list[tuple[dict[str, int], Game]]":
        """The game of each pair that meets, with the numbers of its agents where there are several."""
        return [({}, self)]

    def train_on(self, number: int, step: int, epoch: int) -> StepResult:
        """Play batch `number` of training at a step, with its noise."""
        noise = noise_generator(self.seed, "train", number, self.device)
        return self.play(self.world.batch("train", number), "train", noise, epoch)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.parameters()).device

    def play(self, batch: Batch, mode: Mode, generator: Noise | None, epoch: int = 0) -> PlayResult:
        """Play one batch.

        Args:
            batch: The rounds, as the game's world makes them.
            mode: Mode of the channel: train, sample or greedy.
            generator: Source of dropout, of what perturbs objects and of the channel's noise; None: nothing is drawn,
                as in evaluation with the most likely symbols.
            epoch: Passes over the training examples so far; sets the channel's temperature in train mode.
        """
        return self.play_rounds(self.rounds(batch), mode, generator, epoch)

    def play_rounds(
        self, rounds: SeenRounds, mode: Mode, generator: Noise | None, epoch: int = 0
    ) -> PlayResult:
        """Play the rounds of a batch; see `play` for the other arguments."""
        played = self.play_views(rounds, mode=mode, generator=generator, epoch=epoch)
        likely = None
        if mode == "train" and self.channel.needs_greedy_loss:
            with torch.no_grad(), self._evaluating():
                likely = self.play_views(rounds, mode="greedy", generator=None)
        return self.result(played, likely)

    def result(self, played: RoundOutputs, likely: RoundOutputs | None = None) -> PlayResult:
        """Objective and means of what came of the rounds of a batch.

        Args:
            played: What came of them.
            likely: The same with the most likely messages, where the channel compares with them.
        """
        loss, message = played.loss, played.message
        compared: dict[str, Any] = {} if likely is None else {"greedy": (likely.loss, likely.cost)}
        measures = {name: value.mean() for name, value in played.measures.items()}
        return PlayResult(
            objective=self.channel.objective(loss, played.cost, message, **compared),
            measures={"loss": loss.detach().mean(), **measures, "length": message.length.detach().mean()},
            message=message,
        )

    def play_views(
        self, rounds: SeenRounds, *, mode: Mode, generator: Noise | None, epoch: int = 0
    ) -> RoundOutputs:
        """What comes of each round; see `play` for the arguments."""
        message = self.message(rounds.shown, rounds.num_positive, mode, generator, epoch)
        return self.understand(message, rounds.candidates, rounds.truth, mode=mode, generator=generator)

    def understand(
        self,
        message: Message,
        candidates: View | None,
        truth: Truth,
        *,
        mode: Mode,
        generator: Noise | None,
    ) -> RoundOutputs:
        """Let the receiver answer messages; see `SeenRounds` and `play`."""
        is_noisy = mode == "train" or (self.noise_in_evaluation and generator is not None)
        received = self.channel.received(message, generator) if is_noisy else message
        if self.training and self.loss.needs_all_answers:
            received = message.with_all_ends()
        answer, ends = self.response(received, candidates, generator)
        output = self.task(answer, truth)
        if self.loss.samples_answers:
            choices = self.task.choices(at_certain_end(answer, ends))
            output = replace(
                output, answers=choose(choices, generator if mode == "train" else None), truth=truth
            )
        loss, cost = self.loss(output, ends, message)
        measures = {name: (ends.detach() * value).sum(0) for name, value in output.measures.items()}
        return RoundOutputs(loss=loss, cost=cost, measures=measures, message=message)

    def response(
        self, message: Message, candidates: View | None, generator: Noise | None
    ) -> tuple[Tensor, Tensor]:
        """What the task gets of messages, and the probability of each end, (num_ends, batch).

        Returns:
            Scores of the candidates, (num_ends, batch, num_candidates), or without candidates the receiver's states,
            (num_ends, batch, state_size), with what it sees of the target beside them.
        """
        states, ends = call_receiver(self.receiver, message, self.dtype)
        if candidates is None:
            return states, ends
        if not self.task.scores_candidates:
            seen = candidates.features.to(states.dtype).expand(len(states), -1, -1)
            return torch.cat([states, seen], -1), ends
        return self.scores(states, candidates, generator), ends

    def rounds(self, batch: Batch) -> SeenRounds:
        """The rounds of a batch as the agents see them."""
        candidates, truth = self.round_parts(batch)
        return SeenRounds(
            shown=self.shown(batch), candidates=candidates, truth=truth, num_positive=batch.num_positive
        )

    def round_parts(self, batch: Batch) -> tuple[View | None, Truth]:
        """What the receiver sees in the rounds of a batch (None: nothing) and what is right in them."""
        candidates = values = features = None
        if self.task.scores_candidates:
            candidates = self.candidates(batch)
        elif self.task.asks_features:
            targets = self._on_device(batch.objects[batch.shown[:, 0]])
            features = self.world.features(targets, torch.float32).flatten(1)
        else:
            assert batch.values is not None
            values = self._on_device(batch.values[batch.shown[:, 0]])
            if (seen := self.task.seen_values(values)) is not None:
                candidates = View(features=seen, num_seen=1, indices=None)
            values = self.task.asked_values(values)
        labels = self._on_device(np.array(batch.labels))
        return candidates, Truth(labels=labels, values=values, features=features)

    def generate_message(self, batch: Batch, mode: Mode, generator: Noise | None, epoch: int = 0) -> Message:
        """The sender's messages for what it sees in a batch; see `play` for the other arguments."""
        return self.message(self.shown(batch), batch.num_positive, mode, generator, epoch)

    def message(
        self, shown: View, num_positive: int, mode: Mode, generator: Noise | None, epoch: int
    ) -> Message:
        """The sender's messages for what it sees; see `SeenRounds` and `play`."""
        meaning = self.meanings(shown, num_positive, generator)
        builder = self.channel.start_message(mode, meaning, generator, epoch)
        return call_sender(self.sender, meaning, builder)

    def meanings(self, shown: View, num_positive: int, generator: Noise | None) -> Tensor:
        """What the sender speaks about, (batch, num_features)."""
        seen = self._perturbed("sender", shown.features, generator)
        vectors = shown.of_rounds(self.sender_perception(seen))
        meaning = _mean(vectors[:, :num_positive])
        if self.world.rounds.sender_sees_all:
            meaning = torch.cat([meaning, _mean(vectors[:, num_positive:])], dim=1)
        return self._dropout(meaning, self.sender_dropout, generator)

    def scores(self, states: Tensor, candidates: View, generator: Noise | None) -> Tensor:
        """Scores of the candidates, (num_ends, batch, num_candidates), for states (num_ends, batch, state_size)."""
        assert self.receiver_perception is not None
        seen = self._perturbed("receiver", candidates.features, generator)
        vectors = self._dropout(self.receiver_perception(seen), self.receiver_dropout, generator)
        queries = states if self.receiver_projection is None else self.receiver_projection(states)
        if self.task.scores_are_cosines:
            queries, vectors = normalize(queries.float(), dim=-1), normalize(vectors.float(), dim=-1)
        scores = score_candidates(queries, vectors, candidates).float()
        if candidates.present is not None:
            scores = scores.masked_fill(~candidates.present, -torch.inf)
        return scores

    def shown(self, batch: Batch) -> View:
        """What the sender sees."""
        if batch.candidates is None:
            return self._view(batch.objects[batch.shown.ravel()], batch.shown.shape[1], None)
        return self._distinct(batch.objects, batch.shown)

    def candidates(self, batch: Batch) -> View:
        """What the receiver sees."""
        if batch.candidates is None:
            view = self._view(batch.objects, batch.labels.shape[1], None)
        elif batch.shares_candidates:
            view = self._view(batch.objects[batch.candidates[0]], batch.candidates.shape[1], None)
            view = replace(view, is_shared=True)
        else:
            view = self._distinct(batch.objects, batch.candidates)
        if batch.present is not None:
            view = replace(view, present=self._on_device(batch.present))
        return view

    def _distinct(self, objects: NDArray[Any], indices: Integers) -> View:
        """The objects with these indices, (batch, num_seen), each once."""
        used, inverse = np.unique(indices, return_inverse=True)
        if len(used) < len(objects):
            objects = objects[used]
        return self._view(objects, indices.shape[1], inverse.reshape(indices.shape))

    def _view(self, objects: NDArray[Any], num_seen: int, indices: Integers | None) -> View:
        """Objects on the device, as input of perceptions."""
        return View(
            features=self.world.features(self._on_device(objects), self.dtype),
            num_seen=num_seen,
            indices=None if indices is None else self._on_device(indices),
        )

    def _on_device(self, array: NDArray[Any]) -> Tensor:
        """An array on the device of the parameters."""
        return sent(torch.from_numpy(array), self.device)

    def _perturbed(self, role: Role, objects: Tensor, generator: Noise | None) -> Tensor:
        """Objects as an agent sees them: in training perturbed, unless the agent is not trained."""
        perturbation = self.perturbations[role]
        if not perturbation.is_on or not self.training or role in self.frozen_roles:
            return objects
        return perturbation(objects, generator)

    def _dropout(self, vectors: Tensor, share: float, generator: Noise | None) -> Tensor:
        """Inverted dropout, in training only; by the generator of the step, so a resumed run drops the same values."""
        if share == 0 or not self.training:
            return vectors
        kept = uniform(vectors.shape, generator, vectors.device) >= share
        return vectors * (kept / (1 - share)).to(vectors.dtype)


def _mean(vectors: Tensor) -> Tensor:
    """Mean over the objects of each round, (batch, size), of vectors (batch, number, size)."""
    return vectors[:, 0] if vectors.shape[1] == 1 else vectors.mean(1)


def _check_effects(experiment: Experiment, channel: Channel, loss: Loss) -> None:
    """Refuse settings of other sections that have no effect on the messages of this channel."""
    kind = experiment.channel.kind
    if loss.length_cost and not channel.has_eos:
        raise ConfigError(
            f"loss.length_cost: messages of channel {kind} have a fixed length, expected 0, got {loss.length_cost}"
        )
    if loss.samples_answers and not channel.has_policy_gradient:
        raise ConfigError(
            f"loss.kind: rewards have no gradient for channel {experiment.channel.kind}: expected channel reinforce"
        )
    if experiment.evaluation.mode == "sample" and not channel.has_samples:
        raise ConfigError(f"evaluation.mode: messages of channel {kind} are not sampled, expected greedy")


def _perception(role: str, part: Any, world: World, state_size: int | None = None) -> tuple[Perception, int]:
    """The perception of an agent and the width of its vectors; see `make_object_perception`."""
    try:
        return make_object_perception(part, world.object_shape, state_size)
    except ConfigError as error:
        raise ConfigError(f"{role}: {error}") from None
