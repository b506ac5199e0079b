"""Channels of supervised training, and their losses.

ICY trains agents over three channels (Perkins 2021, appendix G: SOFT, GUMB, DISCR). For logits of `parts` (the symbols
of a message, or the attributes of a meaning) with one target each, the loss is

    soft        the cross-entropy
    gumbel      senders: the squared error of straight-through Gumbel-softmax samples at temperature 1.2
                receivers: the cross-entropy of relaxed Gumbel-softmax samples at the same temperature
    reinforce   the score-function loss of choices sampled from the softmax; the reward is the number of correct parts,
                shared by all parts of an example; with an entropy bonus of 0.01

The paper does not give the losses. We use the losses of its program, except for receivers over gumbel: the program
does not sample there, and minimises the squared error of the logits, which is `form=program`. The squared error of
samples would be a weak training signal: the correct one of ten values is rarely sampled (with it, HU-receivers of GRU
reach 0.75 on CONCAT after 1,000 updates; with the cross-entropy, they reach 0.99 after 564).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.runtime.devices import sent
from ecsuite.runtime.errors import ConfigError, look_up, shown
from ecsuite.runtime.randomness import random_words

ChannelName = Literal["soft", "gumbel", "reinforce"]

TEMPERATURE = 1.2
"""Temperature of the Gumbel-softmax."""
ENTROPY_WEIGHT = 0.01
"""Weight of the sum of entropies, in nats, in the REINFORCE loss."""
MIN_DEVIATION = 0.1
"""Rewards with a smaller standard deviation are not scaled."""

OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "soft": {}, "gumbel": {"form": ("sound", "program")}, "reinforce": {}
}  # fmt: skip
"""Channels, their options and the allowed values, the default first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SupervisedChannel:
    """A channel of supervised training; `str` gives the text that `parse_channel` reads."""

    channel: ChannelName = "soft"
    form: Literal["sound", "program"] = "sound"
    """program: over gumbel, a receiver minimises the squared error between its logits and the one-hot targets; and if a
    sender was pretrained with its samples as feedback, end-to-end training samples once more from its samples."""

    def __str__(self) -> str:
        return self.channel if self.form == "sound" else f"{self.channel},form={self.form}"

    @property
    def signature(self) -> str:
        """Everything that can change the training."""
        if self.channel == "soft":
            return "channel:soft"
        if self.channel == "gumbel":
            return f"channel:gumbel|form:{self.form}|temperature:{TEMPERATURE:g}"
        return f"channel:reinforce|entropy:{ENTROPY_WEIGHT:g}"


def parse_channel(text: str) -> SupervisedChannel:
    """Read `soft`, `gumbel`, `gumbel,form=program` or `reinforce`.

    Raises:
        ConfigError: If the channel, an option or its value is not known.
    """
    name, *assignments = (part.strip().lower() for part in text.split(","))
    options = look_up("channel", name, OPTIONS)
    chosen = {key: values[0] for key, values in options.items()}
    for assignment in assignments:
        key, equals, value = (part.strip() for part in assignment.partition("="))
        if not options:
            raise ConfigError(f"channel {name} has no options; leave out {shown(',' + assignment)}")
        if not equals:
            raise ConfigError(f"channel {name}: expected key=value after the comma, got {shown(assignment)}")
        look_up(f"option of channel {name}", key, options)
        look_up(f"value of {key}", value, dict.fromkeys(options[key]))
        chosen[key] = value
    return SupervisedChannel(channel=name, **chosen)  # type: ignore[arg-type]


class Noise:
    """Gumbel noise of a run: a function of seed, purpose (a label) and number of the update."""

    def __init__(self, seed: int, purpose: str) -> None:
        self.seed, self.purpose = seed, purpose
        self.generator = torch.Generator()

    def at(self, update: int) -> "Noise":
        """Set the generator to the start of an update's noise, and return self."""
        word = random_words(self.seed, f"icy-{self.purpose}", np.array([update]), 1)[0, 0]
        self.generator.manual_seed(int(word))
        return self

    def draw(self, shape: Sequence[int], device: torch.device) -> Tensor:
        """Draw the next noise of an update."""
        exponential = torch.empty(tuple(shape)).exponential_(generator=self.generator)
        return sent(exponential.clamp_(min=torch.finfo(torch.float32).tiny).log_().neg_(), device)


def draw(logits: Tensor, noise: Tensor) -> Tensor:
    """Sample from the softmax of logits (..., choices), as ids (...), by Gumbel noise of the same shape."""
    return (logits.detach() + noise).argmax(-1)


def one_hot(ids: Tensor, like: Tensor) -> Tensor:
    """Ids (...) as one-hot weights in the shape of logits (..., choices)."""
    return torch.zeros_like(like).scatter_(-1, ids.unsqueeze(-1), 1.0)


def straight_through(logits: Tensor, noise: Tensor) -> Tensor:
    """One-hot samples of the softmax of logits (..., choices), with the gradient of the relaxed sample.

    Jang et al. (2017), arXiv 1611.01144, section 2.2.
    """
    relaxed = ((logits + noise) / TEMPERATURE).softmax(-1)
    return one_hot(relaxed.argmax(-1), relaxed) + relaxed - relaxed.detach()


def advantages(rewards: Tensor) -> Tensor:
    """Rewards of any shape minus their mean, divided by their deviation if that exceeds `MIN_DEVIATION`."""
    centred = rewards - rewards.mean()
    deviation = (centred.square().sum() / max(1, rewards.numel() - 1)).sqrt()
    return centred / torch.where(deviation > MIN_DEVIATION, deviation, torch.ones_like(deviation))


def score_function_loss(logits: Tensor, drawn: Tensor, advantage: Tensor) -> Tensor:
    """The sum over all sampled choices of -advantage log p(choice), with the entropy bonus (Williams 1992).

    Args:
        logits: Shape (batch, parts, choices).
        drawn: The sampled choices, (batch, parts).
        advantage: Shape (batch, parts) or (batch, 1), without a gradient.
    """
    log_probabilities = logits.log_softmax(-1)
    chosen = log_probabilities.gather(-1, drawn.unsqueeze(-1)).squeeze(-1)
    entropy = -(log_probabilities.exp() * log_probabilities).sum()
    return -(advantage * chosen).sum() - ENTROPY_WEIGHT * entropy


def supervised_loss(
    link: SupervisedChannel, logits: Tensor, targets: Tensor, noise: Tensor | None, *, is_receiver: bool
) -> Tensor:
    """Loss of an agent on known targets.

    Args:
        link: Channel of the logits.
        logits: Shape (batch, parts, choices).
        targets: The correct choices, (batch, parts).
        noise: Gumbel noise in the shape of the logits; None for soft, which has none.
        is_receiver: Whether the agent is a receiver, whose losses are summed over parts; a sender's are averaged.
    """
    if noise is None:
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return loss * targets.shape[1] if is_receiver else loss
    if link.channel == "reinforce":
        drawn = draw(logits, noise)
        num_right = (drawn == targets).sum(1, keepdim=True).float()  # (batch, 1)
        return score_function_loss(logits, drawn, advantages(num_right))
    if is_receiver and link.form == "sound":
        return supervised_loss(
            SupervisedChannel(), (logits + noise) / TEMPERATURE, targets, None, is_receiver=True
        )
    weights = logits if is_receiver else straight_through(logits, noise)
    return nn.functional.mse_loss(weights, one_hot(targets, weights))
