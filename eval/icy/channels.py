"""Links: what a supervised agent is trained on, where its scores go through a channel first.

ICY trains agents over three channels (Perkins 2021, appendix G: SOFT, GUMB, DISCR). For scores of `parts` (the symbols
of a message, or the attributes of an answer) with one right choice each, what is minimised is

    soft        the cross-entropy
    gumbel      senders: the squared error of straight-through Gumbel-softmax samples at temperature 1.2
                receivers: the cross-entropy of relaxed Gumbel-softmax samples at the same temperature
    reinforce   the score-function loss of choices drawn from the softmax, whose reward is how many parts are right,
                shared by all parts of an example, with an entropy bonus of 0.01

The paper prints no losses. These are those of its program, but for receivers over gumbel: there the program samples
nothing, and minimises the squared error of raw scores, which is `form=program`. The squared error of samples would
teach them little: the right one of ten answers is rarely drawn (HU-receivers of GRU are then at 0.75 of CONCAT after
1,000 updates, and at 0.99 after 564 by the cross-entropy).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.config import ConfigError, look_up
from ecsuite.randomness import random_words

ChannelName = Literal["soft", "gumbel", "reinforce"]

TEMPERATURE = 1.2
"""Of the Gumbel-softmax."""
ENTROPY_WEIGHT = 0.01
"""Of the sum of entropies, in nats, in REINFORCE."""
LEAST_DEVIATION = 0.1
"""Rewards that vary less are not scaled."""

OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "soft": {},
    "gumbel": {"form": ("sound", "program")},
    "reinforce": {},
}
"""Channels, their options and the values of those, the default first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SupervisedChannel:
    """A channel as agents are trained over it; `str` gives the text that `parse_channel` reads."""

    channel: ChannelName = "soft"
    form: Literal["sound", "program"] = "sound"
    """program: over gumbel, a receiver's raw scores are compared with the one-hot truth; and of a sender that was
    taught to hear its samples, end to end, a sample is drawn of its samples."""

    def __str__(self) -> str:
        return self.channel if self.form == "sound" else f"{self.channel},form={self.form}"

    @property
    def signature(self) -> str:
        """All that can change what is learnt."""
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
            raise ConfigError(f"channel {name} has no options; leave out ',{assignment}'")
        if not equals:
            raise ConfigError(f"channel {name}: expected key=value after the comma, got '{assignment}'")
        look_up(f"option of channel {name}", key, options)
        look_up(f"value of {key}", value, dict.fromkeys(options[key]))
        chosen[key] = value
    return SupervisedChannel(channel=name, **chosen)  # type: ignore[arg-type]


class Noise:
    """Gumbel noise of a run: a function of its seed, what it is for, and the number of the update.

    Args:
        seed: Of the run.
        purpose: What it is for; different purposes have different noise.
    """

    def __init__(self, seed: int, purpose: str) -> None:
        self.seed, self.purpose = seed, purpose
        self.generator = torch.Generator()

    def at(self, update: int) -> "Noise":
        """Go to an update: what is drawn next is its first noise."""
        word = random_words(self.seed, f"icy-{self.purpose}", np.array([update]), 1)[0, 0]
        self.generator.manual_seed(int(word))
        return self

    def draw(self, shape: Sequence[int], device: torch.device) -> Tensor:
        """The next noise of an update."""
        exponential = torch.empty(tuple(shape)).exponential_(generator=self.generator)
        return exponential.clamp_(min=torch.finfo(torch.float32).tiny).log_().neg_().to(device)


def draw(scores: Tensor, noise: Tensor) -> Tensor:
    """Choices drawn from the softmax of scores (..., choices), as ids (...), by Gumbel noise of the same shape."""
    return (scores.detach() + noise).argmax(-1)


def one_hot(ids: Tensor, like: Tensor) -> Tensor:
    """Ids (...) as weights in the shape of scores (..., choices)."""
    return torch.zeros_like(like).scatter_(-1, ids.unsqueeze(-1), 1.0)


def straight_through(scores: Tensor, noise: Tensor) -> Tensor:
    """One-hot samples of the softmax of scores (..., choices), whose gradient is that of the relaxed sample.

    Jang et al. (2017), arXiv 1611.01144, section 2.2.
    """
    relaxed = ((scores + noise) / TEMPERATURE).softmax(-1)
    return one_hot(relaxed.argmax(-1), relaxed) + relaxed - relaxed.detach()


def advantages(rewards: Tensor) -> Tensor:
    """Rewards of any shape less their mean, over their deviation if that is more than `LEAST_DEVIATION`."""
    centred = rewards - rewards.mean()
    deviation = (centred.square().sum() / max(1, rewards.numel() - 1)).sqrt()
    return centred / torch.where(deviation > LEAST_DEVIATION, deviation, torch.ones_like(deviation))


def score_function_loss(scores: Tensor, drawn: Tensor, advantage: Tensor) -> Tensor:
    """The sum over all choices of -advantage log p(choice), and the entropy bonus (Williams 1992).

    Args:
        scores: (batch, parts, choices).
        drawn: What was chosen, (batch, parts).
        advantage: (batch, parts) or (batch, 1), without a gradient.
    """
    log_probabilities = scores.log_softmax(-1)
    chosen = log_probabilities.gather(-1, drawn.unsqueeze(-1)).squeeze(-1)
    entropy = -(log_probabilities.exp() * log_probabilities).sum()
    return -(advantage * chosen).sum() - ENTROPY_WEIGHT * entropy


def supervised_loss(
    link: SupervisedChannel, scores: Tensor, truth: Tensor, noise: Tensor | None, *, is_answer: bool
) -> Tensor:
    """What an agent minimises that is told the truth.

    Args:
        link: What its scores go through.
        scores: (batch, parts, choices).
        truth: The right choices, (batch, parts).
        noise: Gumbel noise in the shape of the scores; None for soft, which has none.
        is_answer: Whether they are a receiver's, whose losses are summed over parts where a sender's are averaged.
    """
    if noise is None:
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), truth.flatten())
        return loss * truth.shape[1] if is_answer else loss
    if link.channel == "reinforce":
        drawn = draw(scores, noise)
        num_right = (drawn == truth).sum(1, keepdim=True).float()  # (batch, 1)
        return score_function_loss(scores, drawn, advantages(num_right))
    if is_answer and link.form == "sound":
        return supervised_loss(
            SupervisedChannel(), (scores + noise) / TEMPERATURE, truth, None, is_answer=True
        )
    said = scores if is_answer else straight_through(scores, noise)
    return nn.functional.mse_loss(said, one_hot(truth, said))
