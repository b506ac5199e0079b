"""Pairs: a sender and a receiver that were taught one language go on together, and their language drifts.

Perkins (2021), appendix G and I. They are an auto-encoder: the receiver answers with the meaning that the sender saw.
Neither hears of the language again.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.agents.spec import parse_agent
from ecsuite.devices import routed_products
from ecsuite.eval.icy.batches import BLOCK, LanguageDataset, Run
from ecsuite.eval.icy.channels import (
    Noise,
    SupervisedChannel,
    advantages,
    draw,
    parse_channel,
    score_function_loss,
    straight_through,
)
from ecsuite.eval.icy.learners import LogitsBuilder, SampledMessageBuilder, is_autoregressive, make_agent
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.weights import unpack
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.runner import ProgressCallback

NUM_BINS = 50
"""Points of a curve, fewer where there are fewer updates."""

FIRST_BLOCK, FIRST_CHECK = 2**30, 2**31
"""Blocks of batches from which pairs learn, and by which they are checked: neither was seen under supervision."""

CURVE_BATCHES, FINAL_BATCHES = 4, 16
"""Batches in a check at a point of a curve, and at the end; protocol `paper` has one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """How well a pair does without noise, 0 to 1."""

    sender: float
    """The sender's likeliest symbols, by the language it was taught."""
    receiver: float
    """The receiver's likeliest answers to messages of that language."""
    greedy: float
    """The receiver's likeliest answers to the sender's likeliest symbols."""


class EndToEndAgents(nn.Module):
    """A sender and a receiver, end to end.

    Args:
        sender: As `make_agent` makes it.
        receiver: Likewise.
        link: The channel between them.
        hears_samples: Whether the sender was taught to hear samples of its symbols instead of their softmax.
        geometry: Of the language.
    """

    def __init__(
        self,
        sender: nn.Module,
        receiver: nn.Module,
        *,
        link: SupervisedChannel,
        hears_samples: bool,
        geometry: Geometry,
    ) -> None:
        super().__init__()
        self.sender, self.receiver = sender, receiver
        self.link, self.geometry = link, geometry
        self.hears_samples = hears_samples and is_autoregressive(sender)

    def forward(self, meanings: Tensor, noise: Noise) -> tuple[Tensor, Tensor]:
        """Loss, and the share of likeliest answers that are right, over the channel.

        Args:
            meanings: (batch, attributes).
            noise: Of this update.
        """
        shape = (len(meanings), self.geometry.message_length, self.geometry.vocab_size + 1)
        sampled = noise.draw(shape, meanings.device)
        scores = self.speak(meanings, sampled)
        if self.link.channel == "reinforce":
            said = draw(scores, sampled)
            answers = self.read(said)
            drawn = draw(answers, noise.draw(answers.shape, answers.device))
            advantage = advantages((drawn == meanings).float())  # (batch, attributes)
            loss = score_function_loss(scores, said, advantage.mean(1, keepdim=True))
            loss = loss + score_function_loss(answers, drawn, advantage)
        else:
            answers = self.read(self._relax(scores, sampled, noise))
            loss = nn.functional.cross_entropy(answers.flatten(0, 1), meanings.flatten())
        return loss, (answers.argmax(-1) == meanings).float().mean()

    def speak(self, meanings: Tensor, noise: Tensor | None) -> Tensor:
        """The scores of messages, (batch, length, vocab_size + 1); without noise those of the likeliest symbols."""
        length = self.geometry.message_length
        builder = SampledMessageBuilder(length, noise) if self.hears_samples else LogitsBuilder(length)
        self.sender(nn.functional.one_hot(meanings, self.geometry.num_values).flatten(1).float(), builder)
        return torch.stack(builder.scores, dim=1)

    def read(self, symbols: Tensor) -> Tensor:
        """Answers, (batch, attributes, values), to ids (batch, length) or weights (batch, length, symbols)."""
        length = torch.full((len(symbols),), float(symbols.shape[1]), device=symbols.device)
        answers: Tensor = self.receiver(Message(symbols=symbols.transpose(0, 1), ends=None, length=length))
        return answers

    @torch.no_grad()
    def check(self, meanings: Tensor, messages: Tensor) -> Check:
        """Measure without noise.

        Args:
            meanings: (batch, attributes).
            messages: What the language has for them, (batch, length).
        """
        said = self.speak(meanings, None).argmax(-1)
        shares = {
            "sender": said == messages,
            "receiver": self.read(messages).argmax(-1) == meanings,
            "greedy": self.read(said).argmax(-1) == meanings,
        }
        return Check(**{name: right.float().mean().item() for name, right in shares.items()})

    def _relax(self, scores: Tensor, sampled: Tensor, noise: Noise) -> Tensor:
        """What a receiver hears over a channel with a gradient, (batch, length, symbols)."""
        if self.link.channel == "soft":
            return scores.softmax(-1)
        weights = straight_through(scores, sampled)
        if self.hears_samples and self.link.form == "program":
            # The published program takes the samples of such a sender for scores, and draws once more.
            weights = straight_through(weights, noise.draw(weights.shape, weights.device))
        return weights


def train_pair(
    *,
    sender: str,
    receiver: str,
    geometry: Geometry,
    grammar: str,
    seed: int,
    channel: str,
    hears_samples: bool,
    protocol: Protocol,
    max_steps: int,
    device: str,
    sender_weights: str,
    receiver_weights: str,
    report_progress: ProgressCallback,
) -> dict[str, Any]:
    """The job of training a pair end to end, with a fresh Adam over both.

    Args:
        sender: Name and options.
        receiver: Likewise.
        geometry: Of the language.
        grammar: What both were taught.
        seed: Of language, batches and noise.
        channel: Between them.
        hears_samples: See `EndToEndAgents`.
        protocol: Batches, optimiser and widths.
        max_steps: Updates to make.
        device: cpu or cuda.
        sender_weights: As `pack` wrote them.
        receiver_weights: Likewise.
        report_progress: Is told how it goes.

    Returns:
        At the end `sender`, `receiver`, `greedy` (see `Check`), `end_to_end` and `loss` (over the channel, means of the
        updates before the last point of the curve), `held_out` (`greedy` of held-out meanings, if any), and `curve`:
        lists with `updates` made, and the same measures but `held_out`.
    """
    place = torch.device(device)
    agents = [
        make_agent(parse_agent("sender", sender), "sender", geometry, protocol.hidden_size),
        make_agent(parse_agent("receiver", receiver), "receiver", geometry, protocol.hidden_size),
    ]
    for agent, weights in zip(agents, (sender_weights, receiver_weights), strict=True):
        unpack(weights, agent)
    pair = EndToEndAgents(
        *agents, link=parse_channel(channel), hears_samples=hears_samples, geometry=geometry
    ).to(place)
    optimizer = torch.optim.Adam(pair.parameters(), lr=protocol.lr, fused=True)
    dataset = LanguageDataset(
        Run(grammar=grammar, seed=seed), geometry, batch_size=protocol.batch_size, held_out=protocol.held_out
    )
    noise = Noise(seed, "pair")
    num_bins = min(NUM_BINS, max_steps)
    curve: dict[str, list[float]] = {
        name: [] for name in ("updates", "loss", "end_to_end", "sender", "receiver", "greedy")
    }
    totals = torch.zeros(2, device=place)
    began = 0
    with routed_products(place, protocol.precision):
        for update in range(max_steps):
            if update % BLOCK == 0:
                block = dataset.block(FIRST_BLOCK + update // BLOCK)[0].to(place)
            loss, accuracy = pair(block[update % BLOCK].t(), noise.at(update))
            optimizer.zero_grad()
            loss.backward()
            if protocol.clip is not None:
                nn.utils.clip_grad_norm_(pair.parameters(), protocol.clip)
            optimizer.step()
            totals += torch.stack([loss.detach(), accuracy])
            made, number = update + 1, len(curve["updates"])
            if made * num_bins >= (number + 1) * max_steps:
                means = (totals / (made - began)).tolist()
                totals.zero_()
                check = pair.check(
                    *_examples(dataset, FIRST_CHECK + number, _count(protocol, CURVE_BATCHES), place)
                )
                values = {"updates": made, "loss": means[0], "end_to_end": means[1]}
                for name, value in {**values, **_values(check)}.items():
                    curve[name].append(value)
                began = made
                report_progress(f"{sender} {receiver} {grammar} {seed} {means[1]:.2f}", made / max_steps)
        final = pair.check(
            *_examples(dataset, FIRST_CHECK + num_bins, _count(protocol, FINAL_BATCHES), place)
        )
        held_out = _held_out(pair, dataset, place)
    ends = {name: curve[name][-1] for name in ("loss", "end_to_end")}
    return {**_values(final), **ends, "held_out": held_out, "curve": curve}


def _values(check: Check) -> dict[str, float]:
    return {"sender": check.sender, "receiver": check.receiver, "greedy": check.greedy}


def _count(protocol: Protocol, number: int) -> int:
    return 1 if protocol.name == "paper" else number


def _examples(
    dataset: LanguageDataset, block: int, number: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """The first batches of a block as one: meanings (number * batch, attributes), messages (number * batch, length)."""
    meanings, messages = dataset.block(block)
    return tuple(  # type: ignore[return-value]
        part[:number].transpose(1, 2).flatten(0, 1).to(device) for part in (meanings, messages)
    )


def _held_out(pair: EndToEndAgents, dataset: LanguageDataset, device: torch.device) -> float | None:
    """`Check.greedy` over all held-out meanings; None if there are none."""
    if not len(dataset.held_out):
        return None
    right = 0.0
    for chosen in np.array_split(dataset.held_out, -(-len(dataset.held_out) // 2048)):
        meanings, messages = (part[0].t().to(device) for part in dataset.examples(chosen[None]))
        right += pair.check(meanings, messages).greedy * len(chosen)
    return right / len(dataset.held_out)
