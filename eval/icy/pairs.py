"""End-to-end training of a sender and a receiver that were pretrained on one language; measures their language drift.

Perkins (2021), appendices G and I. The pair is an auto-encoder: the receiver reconstructs the sender's meaning. The
original language is used only for evaluation.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.agents.spec import Role
from ecsuite.eval.icy.acquisition import BLOCK, LanguageDataset, TrainingRun
from ecsuite.eval.icy.agents import is_autoregressive, make_agent, make_builder, parse_model
from ecsuite.eval.icy.channels import (
    Noise,
    SupervisedChannel,
    advantages,
    draw,
    parse_channel,
    score_function_loss,
    straight_through,
)
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.compiler import take_step
from ecsuite.runtime.devices import computing, sent
from ecsuite.runtime.errors import DivergedError

NUM_BINS = 50
"""Number of points of a curve; fewer if there are fewer updates."""

FIRST_BLOCK, FIRST_CHECK = 2**30, 2**31
"""First blocks of batches for training and for evaluation; none of them is used in pretraining."""

CURVE_BATCHES, FINAL_BATCHES = 4, 16
"""Number of evaluation batches at a point of a curve, and at the end."""


class EndToEndAgents(nn.Module):
    """A sender and a receiver, as returned by `make_agent`, that are trained end to end over a channel.

    `feeds_back_samples`: whether the sender was pretrained with samples as feedback instead of their softmax.
    """

    def __init__(
        self,
        sender: nn.Module,
        receiver: nn.Module,
        *,
        link: SupervisedChannel,
        feeds_back_samples: bool,
        geometry: Geometry,
    ) -> None:
        super().__init__()
        self.sender, self.receiver = sender, receiver
        self.link, self.geometry = link, geometry
        self.feeds_back_samples = feeds_back_samples and is_autoregressive(sender)

    def forward(self, meanings: Tensor, noise: Noise) -> tuple[Tensor, Tensor]:
        """Loss, and accuracy of the argmax attribute values, over the channel.

        Args:
            meanings: Shape (batch, attributes).
            noise: Noise of this update.
        """
        shape = (len(meanings), self.geometry.message_length, self.geometry.vocab_size + 1)
        symbol_noise = noise.draw(shape, meanings.device)
        logits = self.message_logits(meanings, symbol_noise)
        if self.link.channel == "reinforce":
            symbols = draw(logits, symbol_noise)
            outputs = self.attribute_logits(symbols)
            values = draw(outputs, noise.draw(outputs.shape, outputs.device))
            advantage = advantages((values == meanings).float())  # (batch, attributes)
            loss = score_function_loss(logits, symbols, advantage.mean(1, keepdim=True))
            loss = loss + score_function_loss(outputs, values, advantage)
        else:
            outputs = self.attribute_logits(self._relax(logits, symbol_noise, noise))
            loss = nn.functional.cross_entropy(outputs.flatten(0, 1), meanings.flatten())
        return loss, (outputs.argmax(-1) == meanings).float().mean()

    def message_logits(self, meanings: Tensor, noise: Tensor | None) -> Tensor:
        """Logits of messages, (batch, length, vocab_size + 1); without noise, feedback is the argmax symbol."""
        builder = make_builder(self.geometry.message_length, self.feeds_back_samples, noise)
        self.sender(nn.functional.one_hot(meanings, self.geometry.num_values).flatten(1).float(), builder)
        return torch.stack(builder.logits, dim=1)

    def attribute_logits(self, symbols: Tensor) -> Tensor:
        """Logits (batch, attributes, values) for ids (batch, length) or weights (batch, length, symbols)."""
        length = torch.full((len(symbols),), float(symbols.shape[1]), device=symbols.device)
        logits: Tensor = self.receiver(Message(symbols=symbols.transpose(0, 1), ends=None, length=length))
        return logits

    @torch.no_grad()
    def check(self, meanings: Tensor, messages: Tensor) -> dict[str, float]:
        """Accuracies of argmax without noise, 0 to 1.

        Args:
            meanings: Shape (batch, attributes).
            messages: Their messages in the original language, (batch, length).

        Returns:
            `sender`: the sender's symbols in the original language. `receiver`: the receiver's attribute values for
            messages of the original language. `greedy`: the receiver's attribute values for the sender's symbols.
        """
        symbols = self.message_logits(meanings, None).argmax(-1)
        correct = {
            "sender": symbols == messages,
            "receiver": self.attribute_logits(messages).argmax(-1) == meanings,
            "greedy": self.attribute_logits(symbols).argmax(-1) == meanings,
        }
        shares = torch.stack([right.float().mean() for right in correct.values()]).tolist()
        return dict(zip(correct, shares, strict=True))

    def _relax(self, logits: Tensor, symbol_noise: Tensor, noise: Noise) -> Tensor:
        """The receiver's input over a differentiable channel, (batch, length, symbols)."""
        if self.link.channel == "soft":
            return logits.softmax(-1)
        weights = straight_through(logits, symbol_noise)
        if self.feeds_back_samples and self.link.form == "program":
            # The published program uses the samples of such a sender as logits, and samples once more.
            weights = straight_through(weights, noise.draw(weights.shape, weights.device))
        return weights


def train_end_to_end(
    weights: Mapping[Role, Mapping[str, Tensor]],
    *,
    sender: str,
    receiver: str,
    geometry: Geometry,
    grammar: str,
    seed: int,
    channel: str,
    feeds_back_samples: bool,
    protocol: Protocol,
    max_steps: int,
    device: str,
    report_progress: Callable[[str, float], None] = lambda label, share: None,
) -> dict[str, Any]:
    """Train a pair end to end, with one newly initialised Adam for both.

    Args:
        weights: Parameters of both agents at the start.
        sender: Name and options of the sender.
        receiver: Name and options of the receiver.
        geometry: Sizes of the language.
        grammar: Grammar on which both were pretrained.
        seed: Seed of language, batches and noise.
        channel: Channel between them.
        feeds_back_samples: See `EndToEndAgents`.
        protocol: Batch size, optimiser settings and hidden size.
        max_steps: Number of updates.
        device: cpu, cuda or mps.
        report_progress: Called with label and progress.

    Returns:
        Values at the end: `sender`, `receiver`, `greedy` (see `EndToEndAgents.check`), `end_to_end` and `loss` (over
        the channel, means of the updates before the last point of the curve), `held_out` (`greedy` on held-out
        meanings), and `curve`: lists of `updates` made, and of the same measures except `held_out`.

    Raises:
        DivergedError: If the loss is not finite.
    """
    place = torch.device(device)
    models: dict[Role, str] = {"sender": sender, "receiver": receiver}
    names = f"{sender} and {receiver}"
    with computing(place, protocol.precision, seed=seed):
        agents = []
        for role, model in models.items():
            agents.append(make_agent(parse_model(role, model), role, geometry, protocol.hidden_size))
            agents[-1].load_state_dict(dict(weights[role]))
        pair = EndToEndAgents(
            *agents, link=parse_channel(channel), feeds_back_samples=feeds_back_samples, geometry=geometry
        ).to(place)
        optimizer = torch.optim.Adam(pair.parameters(), lr=protocol.lr, fused=True)
        run = TrainingRun(grammar=grammar, seed=seed)
        dataset = LanguageDataset(run, geometry, batch_size=protocol.batch_size, held_out=protocol.held_out)
        noise = Noise(seed, "pair")
        num_bins = min(NUM_BINS, max_steps)
        curve: dict[str, list[float]] = {
            name: [] for name in ("updates", "loss", "end_to_end", "sender", "receiver", "greedy")
        }
        totals = torch.zeros(2, device=place)
        began = 0
        for update in range(max_steps):
            if update % BLOCK == 0:
                block = dataset.block(FIRST_BLOCK + update // BLOCK)[0].to(place)
            loss, accuracy = pair(block[update % BLOCK].t(), noise.at(update))
            optimizer.zero_grad()
            loss.backward()
            if protocol.clip is not None:
                nn.utils.clip_grad_norm_(pair.parameters(), protocol.clip)
            take_step(optimizer)
            totals += torch.stack([loss.detach(), accuracy])
            made, number = update + 1, len(curve["updates"])
            if made * num_bins >= (number + 1) * max_steps:
                means = (totals / (made - began)).tolist()
                totals.zero_()
                if not math.isfinite(means[0]):
                    raise DivergedError(
                        f"{names} on {grammar}, seed {seed}: the loss is {means[0]} in updates {began + 1} to {made}"
                    )
                values = {"updates": made, "loss": means[0], "end_to_end": means[1]}
                values |= pair.check(*_examples(dataset, FIRST_CHECK + number, CURVE_BATCHES, place))
                for name, value in values.items():
                    curve[name].append(value)
                began = made
                report_progress(f"{names} {grammar} {seed} {means[1]:.2f}", made / max_steps)
        final = pair.check(*_examples(dataset, FIRST_CHECK + num_bins, FINAL_BATCHES, place))
        held_out = _held_out(pair, dataset, place)
    ends = {name: curve[name][-1] for name in ("loss", "end_to_end")}
    return {**final, **ends, "held_out": held_out, "curve": curve}


def _examples(
    dataset: LanguageDataset, block: int, number: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """The first batches of a block: meanings (number * batch, attributes), messages (number * batch, length)."""
    meanings, messages = dataset.block(block)
    return tuple(  # type: ignore[return-value]
        sent(part[:number].transpose(1, 2).flatten(0, 1), device) for part in (meanings, messages)
    )


def _held_out(pair: EndToEndAgents, dataset: LanguageDataset, device: torch.device) -> float | None:
    """The accuracy `greedy` over all held-out meanings; None if there are none."""
    if not len(dataset.held_out):
        return None
    right = 0.0
    for chosen in np.array_split(dataset.held_out, -(-len(dataset.held_out) // 2048)):
        meanings, messages = (part[0].t().to(device) for part in dataset.examples(chosen[None]))
        right += pair.check(meanings, messages)["greedy"] * len(chosen)
    return right / len(dataset.held_out)
