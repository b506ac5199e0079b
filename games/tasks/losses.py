"""Objectives of training: the task's loss with a cost of length or a prior of messages, or rewards of answers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from ecsuite.agents.autocast import call_receiver
from ecsuite.agents.linear import Linear
from ecsuite.agents.message import Message
from ecsuite.agents.receivers import RecurrentReceiver
from ecsuite.games.channels.channels import Channel
from ecsuite.games.channels.message_builders import of_sampled
from ecsuite.games.config.registry import REWARDS
from ecsuite.games.tasks.tasks import TaskOutput, Truth, right_parts
from ecsuite.parts.config import Count, Positive, Weight, require_defaults
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError


class Correct:
    """1 for an answer that is right in every part, else 0."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """The reward has no options."""

    def __init__(self, options: Options) -> None:
        pass

    def __call__(self, chosen: Tensor, truth: Truth) -> Tensor:
        """The reward of each answer, (batch,).

        Args:
            chosen: See `right_parts`.
            truth: The right answer.
        """
        return right_parts(chosen, truth).all(-1).float()


class ShareCorrect(Correct):
    """The share of the parts of an answer that are right: attributes, or candidates of a concept."""

    def __call__(self, chosen: Tensor, truth: Truth) -> Tensor:
        """See the base class."""
        return right_parts(chosen, truth).float().mean(-1)


CORRECT = Part("accuracy", Correct.Options())
"""Default reward."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LossOptions:
    """Options of every loss."""

    length_cost: Weight = 0.0
    """Cost added to the loss per symbol of the message, incl. EOS."""
    length_cost_power: Weight = 0.0
    """The cost is multiplied by the accuracy of the batch to this power, so that messages may be long until they are
    understood (Rita et al. 2020, arXiv 2010.01878, section 3.1: 45, with a length_cost of 0.1)."""

    def __post_init__(self) -> None:
        """Raise `ConfigError` if there is no cost to multiply."""
        if self.length_cost_power and not self.length_cost:
            raise ConfigError("length_cost_power: needs a cost per symbol, such as loss.length_cost=0.1")

    def cost(self, output: TaskOutput, ends: Tensor, message: Message) -> Tensor:
        """The cost of each message, (batch,)."""
        of_symbol, power = self.length_cost, self.length_cost_power
        if not of_symbol:
            return torch.zeros_like(message.length)
        cost = of_symbol * message.length
        if power:
            accuracy = (ends * output.measures["accuracy"]).detach().sum(0).mean()
            cost = cost * accuracy**power
        return cost


class Loss(nn.Module, ABC):
    """Base class of losses, including users' losses."""

    samples_answers = False
    """Whether the output of the task has sampled answers of the receiver and the right answers."""
    needs_all_answers = False
    """Whether in training the receiver answers after every possible symbol of a message."""
    needs_probabilities = False
    """Whether the loss reads the distributions from which symbols are drawn in training, `Message.logits`."""
    knows_channel = False
    """Whether the constructor also gets the channel, as `channel`."""
    length_cost = 0.0
    """Cost of a symbol; an error in games whose messages all have the same length."""
    of_pairs: Literal["any", "one", "several"] = "any"
    """Supported games. several: several pairs play in a step, and `over_pairs` gets the results of all of them; one:
    one pair plays in a step."""
    same_rounds = False
    """Whether all pairs of a step play the same batch; otherwise each pair has a different batch."""

    def __init__(self, options: Any) -> None:
        super().__init__()
        self.options = options

    @abstractmethod
    def forward(self, output: TaskOutput, ends: Tensor, message: Message) -> tuple[Tensor, Tensor]:
        """Compute the loss of each example and the cost of its message, (batch,) each.

        Args:
            output: Loss and measures of the task at each possible end of the message.
            ends: Probability of each end, (num_ends, batch).
            message: The message.
        """

    def terms(self, cost: Tensor) -> dict[str, Tensor]:
        """Further terms of the objective and their weights in a training step, scalars for the log, after `forward`.

        Args:
            cost: The cost of each message, (batch,).
        """
        return {"cost": cost.detach().mean()} if self.length_cost else {}

    def over_pairs(self, results: Sequence[Any], meetings: Sequence[Any]) -> Tensor:
        """Compute the objective of a step with several pairs, a scalar; called if of_pairs is several.

        The gradient of each weight is divided by the number of pairs in which its agent plays.

        Args:
            results: One `PlayResult` per pair, with the graph of `objective`, `message` and `outputs`.
            meetings: Indices of the agents of each pair, `sender` and `receiver`.
        """
        return torch.stack([result.objective for result in results]).sum()


class TaskLoss(Loss):
    """Expected loss of the task over the possible ends of the message, and a cost of the message's length."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(LossOptions):
        """Options of the loss."""

        impatient: bool = False
        """Whether the receiver answers after every symbol of a message in training, and the loss is the mean over these
        answers (Rita et al. 2020, arXiv 2010.01878, section 3.2)."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.needs_all_answers, self.length_cost = options.impatient, options.length_cost

    def forward(self, output: TaskOutput, ends: Tensor, message: Message) -> tuple[Tensor, Tensor]:
        """See the base class."""
        weights = ends
        if self.options.impatient and len(ends) > 1:
            weights = weights_of_answers(ends)
        return (weights * output.loss).sum(0), self.options.cost(output, ends, message)


def weights_of_answers(ends: Tensor) -> Tensor:
    """Weight of the answer after each symbol in the mean over all answers, (num_ends, batch).

    Args:
        ends: Probability that the message ends with each symbol, (num_ends, batch).
    """
    num_answers = torch.arange(1, len(ends) + 1, device=ends.device, dtype=ends.dtype)[:, None]
    return (ends / num_answers).flip(0).cumsum(0).flip(0)


class RewardLoss(Loss):
    """Negative reward of sampled answers of the receiver; both agents learn by REINFORCE (Williams 1992).

    The reward needs no gradient. The receiver's baseline is the mean reward of all previous steps, saved with the
    model; the sender's baseline is the one of the channel. Receivers that are taught messages learn in the same way.
    In evaluation the receiver gives its most likely answer.
    """

    samples_answers = True
    baseline: Tensor
    num_steps: Tensor

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(LossOptions):
        """Options of the loss."""

        reward: Annotated[Part, REWARDS] = CORRECT
        """Reward of an answer."""
        entropy_coefficient: Weight = 0.0
        """Weight of the bonus for the entropy of the receiver's answers."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.length_cost = options.length_cost
        self.reward = REWARDS.make(options.reward)
        self.register_buffer("baseline", torch.zeros(()))
        self.register_buffer("num_steps", torch.zeros(()))

    def forward(self, output: TaskOutput, ends: Tensor, message: Message) -> tuple[Tensor, Tensor]:
        """The negative reward of each example, whose gradient is the receiver's policy gradient; see `TaskLoss`."""
        answers, truth = output.answers, output.truth
        assert answers is not None and truth is not None
        loss = -self.reward(answers.chosen, truth).detach().float()  # (batch,)
        if self.training:
            advantage = loss - self.baseline
            with torch.no_grad():
                self.num_steps += 1
                self.baseline += (loss.mean() - self.baseline) / self.num_steps
            surrogate = advantage * answers.log_probability
            surrogate = surrogate - self.options.entropy_coefficient * answers.entropy
            loss = loss + (surrogate - surrogate.detach())
        return loss, self.options.cost(output, ends, message)


LOG_ZERO = -1e4
"""Log-probability of an impossible symbol; finite, so that 0 log 0 is 0."""
SMOOTHING = 0.1
"""Weight of a step in the moving average of the loss that `ElboLoss` compares with `loss_bound`."""


class ElboLoss(Loss):
    """Negative evidence lower bound of a beta-VAE (Ueda & Taniguchi 2024, arXiv 2311.04453): loss + beta KL(q || p).

    The task's loss is the negative log-probability of the answer; in reconstruction it is a mean over attributes, so
    that beta applies per attribute. q(message | meaning) is the sender, p(message) the prior. For sampled messages the
    divergence is log q - log p, with the gradient of REINFORCE. For relaxed messages it is the divergence between the
    distributions of the next symbol, summed over steps, weighted by the probability that the message reaches the step.
    A learned prior minimises the same objective: it assigns more probability to messages that senders use.

    Args:
        options: Options of the loss.
        channel: The channel of the messages.

    Raises:
        ConfigError: If the prior is over lengths, and all messages have the same length.
    """

    knows_channel = needs_probabilities = True
    num_steps: Tensor
    average: Tensor
    is_bound: Tensor
    beta: Tensor

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the loss."""

        prior: Literal["uniform", "length", "lm"] = "uniform"
        """uniform: all messages are equally likely. length: in proportion to exp(-length_rate * symbols, with EOS).
        lm: a recurrent language model of messages, trained with the agents."""
        length_rate: Weight = 1.0
        """Decrease of a message's log-probability per symbol, in nats, with prior=length."""
        hidden_size: Count = 64
        """Width of the states of the language model."""
        beta: Positive = 1.0
        """Weight of the divergence: at all steps, with linear at the last step, with constraint at the first step."""
        beta_schedule: Literal["constant", "linear", "constraint"] = "constant"
        """linear: from 0 to beta over beta_steps. constraint: constant until the moving average of the task's loss is
        first below loss_bound; then it grows towards 1 while the average is below it, and falls otherwise (Klushyn et
        al. 2019, arXiv 1905.04982, algorithm 1, with nu = tau = 1)."""
        beta_steps: Count = 1000
        """Steps of the linear schedule."""
        loss_bound: Positive = 0.3
        """Upper bound on the task's loss in the schedule constraint, in nats."""

        def __post_init__(self) -> None:
            """Raise `ConfigError` if an option is set that is not used."""
            for name, option, value in (
                ("length_rate", "prior", "length"),
                ("hidden_size", "prior", "lm"),
                ("beta_steps", "beta_schedule", "linear"),
                ("loss_bound", "beta_schedule", "constraint"),
            ):
                if getattr(self, option) != value:
                    require_defaults(self, (name,), f"without {option}={value}")

    options: Options

    def __init__(self, options: Options, *, channel: Channel) -> None:
        super().__init__(options)
        if options.prior == "length" and not channel.has_eos:
            raise ConfigError(
                "loss.prior: expected uniform or lm, since all messages of the channel have the same length, got length"
            )
        rate, width = options.length_rate, options.hidden_size
        self.rate = rate if options.prior == "length" else 0.0
        self.log_total = _log_total(channel, self.rate)
        self.model = None if options.prior != "lm" else MessagePrior(width, channel)
        self.steps, self.bound = options.beta_steps, options.loss_bound
        self.register_buffer("num_steps", torch.zeros(()))
        self.register_buffer("average", torch.zeros(()))
        self.register_buffer("is_bound", torch.tensor(False))
        self.register_buffer("beta", torch.tensor(0.0 if options.beta_schedule == "linear" else options.beta))

    def forward(self, output: TaskOutput, ends: Tensor, message: Message) -> tuple[Tensor, Tensor]:
        """Compute the task's loss, and beta times the divergence, which is 0 in evaluation. See `Loss`."""
        loss = (ends * output.loss).sum(0)
        if message.logits is None:
            return loss, torch.zeros_like(loss)
        beta = self._next_beta(loss.detach().mean()) if self.training else self.beta
        if message.log_probability is None:
            return loss, beta * self._expected(message)
        surprisal = self._surprisal(message)
        cost = beta * (message.log_probability + surprisal).detach()
        return loss + beta * (surprisal - surprisal.detach()), cost

    def terms(self, cost: Tensor) -> dict[str, Tensor]:
        """Beta, and the cost: beta times the divergence."""
        return {"cost": cost.detach().mean(), "beta": self.beta.clone()}

    def _surprisal(self, message: Message) -> Tensor:
        """Return -log p of messages of symbol ids, (batch,)."""
        if self.model is None:
            return self.rate * message.length + self.log_total
        return -of_sampled(message.symbols, self.model(message))[0]

    def _expected(self, message: Message) -> Tensor:
        """Divergence of relaxed messages, (batch,)."""
        of_sender = message.log_probabilities().clamp(min=LOG_ZERO)  # (max_len, batch, vocab_size + 1)
        goes_on = torch.ones_like(of_sender[..., 0])
        if message.ends is not None:
            goes_on = 1 - (message.ends.cumsum(0) - message.ends)[: len(of_sender)]
        of_prior: Tensor | float = 0.0
        if self.model is not None:
            of_prior = self.model(message).log_softmax(-1).clamp(min=LOG_ZERO)
        divergence = (goes_on * (of_sender.exp() * (of_sender - of_prior)).sum(-1)).sum(0)
        return divergence if self.model is not None else divergence + self._surprisal(message)

    @torch.no_grad()
    def _next_beta(self, loss: Tensor) -> Tensor:
        """Update beta for a training step, and return it, a scalar."""
        options = self.options
        if options.beta_schedule == "linear":
            self.beta.copy_(options.beta * (self.num_steps / self.steps).clamp(max=1))
        elif options.beta_schedule == "constraint":
            is_first = self.num_steps == 0
            before = torch.where(is_first, loss, self.average)
            self.average.copy_(SMOOTHING * loss + (1 - SMOOTHING) * before)
            excess = self.average - self.bound
            rate = torch.where(excess < 0, (self.beta - 1).tanh(), -1.0)
            self.is_bound.copy_(self.is_bound | (excess < 0))
            self.beta.copy_(torch.where(self.is_bound, self.beta * (rate * excess).exp(), self.beta))
        self.num_steps += 1
        return self.beta.clone()


def _log_total(channel: Channel, rate: float) -> float:
    """Logarithm of the sum of exp(-rate * symbols, incl. EOS) over all messages of a channel."""
    lengths = range(channel.max_len + 1) if channel.has_eos else (channel.max_len,)
    terms = [length * math.log(channel.vocab_size) - rate * (length + channel.has_eos) for length in lengths]
    return max(terms) + math.log(sum(math.exp(term - max(terms)) for term in terms))


class MessagePrior(nn.Module):
    """Recurrent language model of the messages of a channel, independent of meanings."""

    def __init__(self, hidden_size: int, channel: Channel) -> None:
        super().__init__()
        self.has_eos = channel.has_eos
        options = RecurrentReceiver.Options(cell="gru", hidden_size=hidden_size, embedding_size=hidden_size)
        self.network = RecurrentReceiver(options, vocab_size=channel.vocab_size)
        self.start = nn.Parameter(torch.zeros(hidden_size))
        self.predict = Linear(hidden_size, channel.symbol_size)

    def forward(self, message: Message) -> Tensor:
        """Compute logits of each symbol except an appended EOS, (num_logits, batch, vocab_size + 1)."""
        states, _ = call_receiver(self.network, message.with_all_ends(), torch.float32)
        before = torch.cat([self.start.expand_as(states[:1]), states[:-1]])
        logits: Tensor = self.predict(before[: len(message.logits or before)])
        if self.has_eos:
            return logits
        return torch.cat([torch.full_like(logits[..., :1], -torch.inf), logits[..., 1:]], -1)
