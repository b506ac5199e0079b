"""Pairs: a speaker and a listener that play the rounds of a batch."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message, at_certain_end
from ecsuite.games.channels.channels import Channel, Mode
from ecsuite.games.channels.noise import Noise
from ecsuite.games.config.registry import LOSSES
from ecsuite.games.config.sections import Experiment, Role
from ecsuite.games.players.agent import Listener, Speaker
from ecsuite.games.players.reasoning import every_message, require_candidates, require_speaker
from ecsuite.games.players.schedule import Meeting
from ecsuite.games.tasks.losses import Loss
from ecsuite.games.tasks.tasks import Task, Truth, choose
from ecsuite.games.tasks.views import SeenRounds, View, round_parts, shown_objects
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.errors import ConfigError

SIDES: Mapping[Role, str] = {"sender": "speaker", "receiver": "listener"}
"""Name of the module of each role in a pair."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """Objective and measures of a batch, or of one batch per pair."""

    objective: Tensor
    """The scalar that training minimises."""
    measures: Mapping[str, Tensor]
    """Means over the batch: loss (nats), accuracy, length (symbols including EOS), and others of the task."""
    gradients: Sequence[Tensor | None] | None = None
    """Gradients of the weights, if the objective has no autograd graph."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayResult(StepResult):
    """Objective, measures, messages and rounds of one batch."""

    message: Message
    outputs: "RoundOutputs"


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundOutputs:
    """Loss, measures, message and answer of each round."""

    loss: Tensor
    """Expected loss of each round over the possible ends of the message, (batch,)."""
    cost: Tensor
    """Cost of each message, (batch,)."""
    measures: Mapping[str, Tensor]
    """Measures of the task, (batch,) each."""
    message: Message
    """Messages as sent, before the noise of the channel."""
    answer: Tensor
    """Input of the task at the end of each message; in training at all possible ends, see `Listener.response`."""


class Pair(nn.Module):
    """A speaker and a listener, sharing the weights of their agents."""

    def __init__(self, speaker: Speaker, listener: Listener) -> None:
        super().__init__()
        self.speaker, self.listener = speaker, listener

    @property
    def training(self) -> bool:
        """Whether the speaker is in training mode: a pair has no separate mode."""
        return self.speaker.training

    @training.setter
    def training(self, mode: bool) -> None:
        """Ignored: `train` sets the mode of the speaker."""

    @property
    def channel(self) -> Channel:
        """Channel of the speaker."""
        return self.speaker.channel

    @property
    def task(self) -> Task:
        """Task of the listener."""
        return self.listener.task

    @property
    def loss(self) -> Loss:
        """Loss that training minimises."""
        assert self.speaker.loss is not None
        return self.speaker.loss

    @property
    def world(self) -> World:
        """Source of objects and rounds."""
        return self.speaker.world

    @property
    def device(self) -> torch.device:
        """Device of the parameters."""
        return self.listener.device

    def modules_of(self, role: Role) -> list[nn.Module]:
        """The trainable modules of a role."""
        return (self.speaker if role == "sender" else self.listener).trainable_modules()

    def forward(
        self, rounds: SeenRounds, generator: Noise, epoch: int
    ) -> tuple[PlayResult, dict[str, Tensor]]:
        """Result and buffers after playing training rounds; for `torch.func.functional_call`."""
        return self.play_rounds(rounds, "train", generator, epoch), dict(self.named_buffers())

    def play(self, batch: Batch, mode: Mode, generator: Noise | None, epoch: int = 0) -> PlayResult:
        """Play one batch.

        Args:
            batch: Rounds of the world.
            mode: Mode of the channel: train, sample or greedy.
            generator: Source of dropout, perturbations of objects and channel noise; None: no random draws,
                as in greedy evaluation.
            epoch: Passes over the training examples so far; sets the channel's temperature in train mode.
        """
        return self.play_rounds(self.rounds(batch), mode, generator, epoch)

    def play_rounds(
        self, rounds: SeenRounds, mode: Mode, generator: Noise | None, epoch: int = 0
    ) -> PlayResult:
        """Play the rounds of a batch; see `play` for the other arguments."""
        played = self.play_views(rounds, mode=mode, generator=generator, epoch=epoch)
        return self.result(played, self.likely(rounds, mode))

    def likely(self, rounds: SeenRounds, mode: Mode) -> RoundOutputs | None:
        """Play rounds with the most likely messages, if the channel needs them as a baseline in training."""
        if mode != "train" or not self.speaker.channel.needs_greedy_loss:
            return None
        with torch.no_grad(), self._evaluating():
            return self.play_views(rounds, mode="greedy", generator=None)

    def result(self, played: RoundOutputs, likely: RoundOutputs | None = None) -> PlayResult:
        """Objective and mean measures of a batch.

        Args:
            played: Outputs of its rounds.
            likely: Outputs with the most likely messages, if the channel uses them as a baseline.
        """
        loss, message = played.loss, played.message
        compared: dict[str, Any] = {} if likely is None else {"greedy": (likely.loss, likely.cost)}
        measures = {name: value.mean() for name, value in played.measures.items()}
        measures = {"loss": loss.detach().mean(), **measures, "length": message.length.detach().mean()}
        if self.training:  # the terms of the objective
            own = {"divergence": message.divergence, "distortion": message.distortion}
            measures |= {name: each.detach().mean() for name, each in own.items() if each is not None}
            measures |= self.loss.terms(played.cost)
        return PlayResult(
            objective=self.speaker.channel.objective(loss, played.cost, message, **compared),
            measures=measures,
            message=message,
            outputs=played,
        )

    def play_views(
        self, rounds: SeenRounds, *, mode: Mode, generator: Noise | None, epoch: int = 0
    ) -> RoundOutputs:
        """Outputs of each round; see `play` for the arguments."""
        message = self.speaker.message(rounds.shown, rounds.num_positive, mode, generator, epoch)
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
        """Let the listener answer messages; see `play` for the arguments."""
        speaker, task, criterion, evaluates = self.speaker, self.listener.task, self.loss, mode != "train"
        is_noisy = speaker.has_noise[evaluates] and not (evaluates and generator is None)
        received = speaker.channel.received(message, generator) if is_noisy else message
        if speaker.training and criterion.needs_all_answers:
            received = received.with_all_ends()
        answer, ends = self.answer(received, candidates, generator)
        output = task(answer, truth)
        if criterion.samples_answers:
            choices = task.choices(at_certain_end(answer, ends))
            output = replace(
                output, answers=choose(choices, generator if mode == "train" else None), truth=truth
            )
        loss, cost = criterion(output, ends, message)
        measures = {name: (ends.detach() * value).sum(0) for name, value in output.measures.items()}
        if evaluates:  # then the end is certain, even if noise adds possible ends
            answer = at_certain_end(answer, ends)
        return RoundOutputs(loss=loss, cost=cost, measures=measures, message=message, answer=answer)

    def answer(
        self, message: Message, candidates: View | None, generator: Noise | None
    ) -> tuple[Tensor, Tensor]:
        """The listener's answers, after reasoning if it reasons; see `Listener.response`."""
        if not self.listener.reasoning.asks_others:
            return self.listener.response(message, candidates, generator)
        assert candidates is not None
        with torch.no_grad(), self._evaluating() if self.training else nullcontext():
            if self.listener.reasoning.alternatives == "all":
                others = every_message(self.channel, message.length)
            else:
                others = self.speaker.messages_of_each(candidates)
        return self.listener.response(message, candidates, generator, others)

    def rounds(self, batch: Batch, world: World | None = None) -> SeenRounds:
        """Convert a batch to rounds as seen by both agents; `world`: the source of the batch, if not the pair's."""
        world, speaker, listener = world or self.speaker.world, self.speaker, self.listener
        candidates, truth = round_parts(
            batch, world, listener.task, listener.dtype, listener.device, has_padding=listener.has_padding
        )
        shown = shown_objects(batch, world, speaker.dtype, speaker.device, has_padding=speaker.has_padding)
        return SeenRounds(
            shown=shown,
            candidates=candidates,
            truth=truth,
            num_positive=batch.num_positive,
        )

    def round_parts(self, batch: Batch) -> tuple[View | None, Truth]:
        """The listener's view of the rounds of a batch (None: no candidates), and the right answers."""
        listener = self.listener
        return round_parts(
            batch, self.world, self.task, listener.dtype, self.device, has_padding=listener.has_padding
        )

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Context of evaluation mode."""
        self.eval()
        try:
            yield
        finally:
            self.train()


def objective_of(pair: Pair, played: PlayResult) -> Tensor:
    """Objective of a step with a result of a pair; a loss over several pairs gets it of two pairs."""
    if pair.loss.of_pairs != "several":
        return played.objective
    return pair.loss.over_pairs([played] * 2, [Meeting(0, 0), Meeting(1, 1)])


def make_pair(experiment: Experiment, world: World, dtype: torch.dtype = torch.float32) -> Pair:
    """Make a new speaker and a new listener, with weights from torch's global generator.

    Args:
        experiment: Settings of the pair.
        world: Their world.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: If a perception does not fit the world's objects, or the task does not fit the world, or a setting
            has no effect on messages of this channel.
    """
    training, evaluation, kind = experiment.training, experiment.evaluation, experiment.channel.kind
    # The order determines the weights of a seed: do not change it.
    speaker = Speaker(
        experiment.sender,
        experiment.channel,
        world,
        dtype,
        is_frozen=training.freeze_sender,
        has_noise=(training.noise, evaluation.noise),
        has_own_code=bool(experiment.code),
    )
    # Agents add EOS to the vocabulary size; without one, `symbol_size` is the number of values of a word.
    channel = speaker.channel
    listener = Listener(
        experiment.receiver,
        experiment.task,
        experiment.reasoning,
        world,
        dtype,
        vocab_size=channel.symbol_size - 1,
        max_len=channel.max_len,
        is_frozen=training.freeze_receiver,
    )
    known = {"channel": channel} if LOSSES.load(experiment.loss.kind).knows_channel else {}
    if LOSSES.load(experiment.loss.kind).needs_probabilities and not channel.has_probabilities:
        raise ConfigError(
            f"loss.kind: symbols of channel {kind} are not drawn in training: expected channel reinforce or gumbel"
        )
    loss: Loss = LOSSES.make(experiment.loss, **known)
    speaker.loss = loss
    if loss.length_cost and not channel.has_eos:
        raise ConfigError(
            f"loss.length_cost: messages of channel {kind} have a fixed length, expected 0, got {loss.length_cost}"
        )
    if loss.samples_answers and not channel.has_policy_gradient:
        raise ConfigError(
            f"loss.kind: rewards have no gradient for channel {kind}: expected channel reinforce"
        )
    channel.require_noise(kind, training=training.noise, evaluation=evaluation.noise)
    if evaluation.mode == "sample" and not channel.has_samples:
        raise ConfigError(f"evaluation.mode: messages of channel {kind} are not sampled: expected greedy")
    if loss.samples_answers and not listener.task.has_choices:
        raise ConfigError(
            f"loss.kind: the answers of task {experiment.task.kind} can't be sampled: expected loss task"
        )
    if listener.reasoning.speaks:
        require_speaker(kind, channel, listener.task, world)
        speaker.minds = (listener,)
        if loss.needs_probabilities:
            raise ConfigError(
                "loss.kind: speakers that reason have no distribution of symbols: expected task"
            )
        if training.freeze_sender or training.freeze_receiver:
            raise ConfigError("reasoning: the receiver alone learns: expected nothing frozen")
    if listener.reasoning.asks_others:
        require_candidates(experiment.task.kind, kind, channel, listener.reasoning, world)
    return Pair(speaker, listener).train()
