"""Noise of a channel: edits of symbols between the sender and the receiver, and their random numbers.

Edits support ids and relaxed symbols, and return a message whose symbols, ends and length are consistent. EOS, which
ends the message, is never lost or replaced. The random numbers of a pair of agents come from its
generator; pairs that train in parallel have one generator each.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.config.registry import NOISES
from ecsuite.parts.config import Accuracy
from ecsuite.parts.own_code import NoOptions
from ecsuite.parts.registry import Part, parts_in_list


@dataclass(frozen=True, slots=True)
class ReplicaNoise:
    """Generators of pairs that play in parallel under `torch.func.vmap`.

    With its own generator, a pair gets the same noise as alone.
    """

    generators: Sequence[torch.Generator]
    """Generator of each pair; pairs may share a generator."""
    replica: Tensor
    """Index of the pair, a scalar under vmap."""


Noise = torch.Generator | ReplicaNoise
"""Source of noise."""


def noise_generator(seed: int, purpose: str, index: int, device: torch.device) -> torch.Generator:
    """Make the generator for one purpose and index: a pure function of its arguments, so no state is saved."""
    return seeded(torch.Generator(device), seed, purpose, index)


def seeded(generator: torch.Generator, seed: int, purpose: str, index: int) -> torch.Generator:
    """Seed a generator as a new one for a purpose and an index; returns the generator."""
    words = np.random.SeedSequence([seed, index, *purpose.encode()]).generate_state(1, np.uint64)
    return generator.manual_seed(int(words[0] >> np.uint64(1)))


def exponential(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draw from the exponential distribution with rate 1, (batch, ...)."""

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.empty(shape, device=device).exponential_(generator=each)

    return _drawn(draw, shape, noise, device)


def gumbel(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draw from the standard Gumbel distribution, (max_len, batch, ...)."""
    tiny = torch.finfo(torch.float32).tiny

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.empty(shape, device=device).exponential_(generator=each).clamp_(min=tiny).log_().neg_()

    return _drawn(draw, shape, noise, device)


def normal(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draw from the standard normal distribution, (max_len, batch, ...)."""

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.randn(shape, generator=each, device=device)

    return _drawn(draw, shape, noise, device)


def uniform(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draw from the uniform distribution on [0, 1), (batch, ...)."""

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.rand(shape, generator=each, device=device)

    return _drawn(draw, shape, noise, device)


def _drawn(
    draw: Callable[[Sequence[int], torch.Generator], Tensor],
    shape: Sequence[int],
    noise: Noise | None,
    device: torch.device,
) -> Tensor:
    """Draw noise of a shape."""
    if device.type == "meta":  # shapes without values
        return torch.empty(shape, device=device)
    assert noise is not None, "random numbers are drawn in a call without a generator"
    if not isinstance(noise, ReplicaNoise):
        return draw(shape, noise)
    first, *others = noise.generators
    if all(each is first for each in others):
        return draw((len(noise.generators), *shape), first)[noise.replica]
    return torch.stack([draw(shape, each) for each in noise.generators])[noise.replica]


def whole(message: Message, num_steps: int) -> Message:
    """Pad a message of ids with PAD to `num_steps` steps; other messages have all steps."""
    missing = num_steps - len(message.symbols)
    if message.symbols.is_floating_point() or missing <= 0:
        return message
    fill = torch.full_like(message.symbols[:1], PAD).expand(missing, -1)
    return replace(message, symbols=torch.cat([message.symbols, fill]))


def without(message: Message, lost: Tensor) -> Message:
    """Remove symbols; later symbols move up.

    In relaxed messages, a lost symbol may have been the end: its end probability moves to the next symbol's position.

    Args:
        message: Messages of variable length, with all steps.
        lost: Mask of lost symbols, (num_steps, batch); ignored for EOS.
    """
    symbols, ends = message.symbols, message.ends
    if ends is None:
        lost = lost & (symbols > EOS)
        return _of_ids(message, _moved(symbols, _places(~lost), ~lost))
    lost = (
        lost & (torch.arange(len(lost), device=lost.device) < len(lost) - 1)[:, None]
    )  # the last symbol is EOS
    going_on = torch.ones_like(
        symbols[0, :, EOS]
    )  # the probability that no lost symbol directly before was the end
    weights = []
    for step, is_lost in zip(symbols, lost, strict=True):
        stopped = 1 - going_on[:, None]
        weights.append(
            torch.cat([step[:, :1] * going_on[:, None] + stopped, step[:, 1:] * going_on[:, None]], -1)
        )
        going_on = torch.where(is_lost, going_on * (1 - step[:, EOS]), 1.0)
    places = _places(~lost)
    # A lost symbol and the next remaining one have the same position.
    moved_ends = (_at(places, len(ends)) * ends).sum(1)
    moved = _moved_weights(torch.stack(weights), places, ~lost)
    is_empty = torch.arange(len(lost), device=lost.device)[:, None] >= (~lost).sum(0)
    return _of_weights(message, torch.where(is_empty[..., None], _eos_like(moved), moved), moved_ends)


def with_inserted(message: Message, before: Tensor, inserted: Tensor) -> Message:
    """Insert symbols; later symbols move down, and symbols beyond the last position are lost.

    Args:
        message: Messages of variable length, with all steps.
        before: Mask of symbols before which one is inserted, if the message is that long, (num_steps, batch).
        inserted: Ids of the inserted symbols, (num_steps, batch).
    """
    symbols, ends = message.symbols, message.ends
    if ends is None:
        before = before & (symbols != PAD)
    places = _places(torch.ones_like(before)) + before.cumsum(0)
    is_room = torch.ones_like(before)
    if ends is None:
        moved = _moved(symbols, places, is_room) + _moved(inserted, places - 1, before) - PAD
        cut = torch.where((moved[:-1] == EOS).any(0), PAD, EOS)
        return _of_ids(message, torch.cat([moved[:-1], cut[None]]))
    known = torch.arange(symbols.shape[-1], device=symbols.device)
    new = (inserted[..., None] == known).to(symbols.dtype)
    moved = _moved_weights(symbols, places, is_room) + _moved_weights(new, places - 1, before)
    moved_ends = (_at(places, len(ends)) * ends).sum(1)[:-1]
    last = _eos_like(moved[:1])
    return _of_weights(
        message, torch.cat([moved[:-1], last]), torch.cat([moved_ends, 1 - moved_ends.sum(0, keepdim=True)])
    )


def rotated(message: Message, by: Tensor, vocab_size: int) -> Message:
    """Shift the ids of content symbols cyclically by `by`.

    Args:
        message: Messages with all steps.
        by: Shifts from 0 (unchanged) to vocab_size - 1, (num_steps, batch).
        vocab_size: Number of content symbols.
    """
    symbols = message.symbols
    if not symbols.is_floating_point():
        others = 1 + (symbols - 1 + by) % vocab_size
        return replace(message, symbols=torch.where(symbols > EOS, others, symbols))
    known = torch.arange(vocab_size, device=symbols.device)
    content = symbols[..., 1:].gather(-1, (known - by[..., None]) % vocab_size)
    return replace(message, symbols=torch.cat([symbols[..., :1], content], -1))


def erased(message: Message, lost: Tensor, symbol_size: int) -> Message:
    """Set the weights of symbols, including EOS, to 0; the end of a message stays known.

    Args:
        message: Messages with all steps.
        lost: Mask of erased symbols, (num_steps, batch).
        symbol_size: Number of content symbols and EOS.
    """
    weights = message.symbols
    if not weights.is_floating_point():
        weights = (weights[..., None] == torch.arange(symbol_size, device=weights.device)).float()
    return replace(message, symbols=weights * (~lost)[..., None])


def _places(kept: Tensor) -> Tensor:
    """Position of each symbol, (num_steps, batch): the number of earlier symbols that remain."""
    return kept.cumsum(0) - kept.long()


def _at(places: Tensor, num_steps: int) -> Tensor:
    """Whether a symbol has a position, (num_places, num_steps, batch)."""
    return torch.arange(num_steps, device=places.device)[:, None, None] == places


def _moved(ids: Tensor, places: Tensor, kept: Tensor) -> Tensor:
    """Ids at their new positions, and PAD at empty positions, (num_steps, batch)."""
    return ((_at(places, len(ids)) & kept) * (ids - PAD)).sum(1) + PAD


def _moved_weights(weights: Tensor, places: Tensor, kept: Tensor) -> Tensor:
    """Weights at their new positions, and zeros at empty positions, (num_steps, batch, symbol_size)."""
    is_at = _at(places, len(weights)) & kept  # (num_places, num_steps, batch)
    return torch.einsum("pnb,nbs->pbs", is_at.to(weights.dtype), weights)


def _eos_like(weights: Tensor) -> Tensor:
    """EOS as weights of the same shape."""
    return (
        (torch.arange(weights.shape[-1], device=weights.device) == EOS).to(weights.dtype).expand_as(weights)
    )


def _of_ids(message: Message, symbols: Tensor) -> Message:
    return replace(message, symbols=symbols, length=(symbols != PAD).sum(0).to(message.length.dtype))


def _of_weights(message: Message, symbols: Tensor, ends: Tensor) -> Message:
    steps = torch.arange(1, len(ends) + 1, device=ends.device, dtype=ends.dtype)
    return replace(message, symbols=symbols, ends=ends, length=steps @ ends)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareOptions:
    """Options of noise that affects each symbol independently."""

    probability: Accuracy = 0.1
    """Probability that a symbol is changed."""


class MessageNoise(ABC):
    """Base class of noise, including user code: maps sent messages to received messages.

    Args:
        options: Options of the class.
        vocab_size: Number of content symbols, with ids from 1.
        max_len: Maximum number of content symbols per message.
        has_eos: Whether messages end with EOS; otherwise all have `max_len` symbols.
    """

    Options: type[Any] = ShareOptions
    changes_length = False
    """Whether messages may become longer or shorter; rejected for messages of fixed length."""
    is_of_values = False
    """Whether real-valued words are supported; otherwise only symbols."""
    words: Callable[[Tensor], Tensor] | None = None
    """Function from numbers from 0 to 1, (num_steps, batch, word_size), to real-valued words; None: symbols."""
    position: int | None = None
    """The only position, from 0, whose symbols are affected: draws at other positions are 1; None: all positions."""

    def __init__(self, options: Any, *, vocab_size: int, max_len: int, has_eos: bool) -> None:
        self.options, self.vocab_size, self.has_eos = options, vocab_size, has_eos
        self.num_steps = max_len + has_eos

    @abstractmethod
    def change(self, message: Message, generator: Noise | None) -> Message:
        """Add noise to a message; the number of steps stays the same. See `ecsuite.games.channels.noise`.

        Args:
            message: Messages with all `num_steps`: ids with PAD after the end, or weights.
            generator: Source of all random draws.
        """

    def __call__(self, message: Message, generator: Noise | None) -> Message:
        """Add noise to a message."""
        return self.change(whole(message, self.num_steps), generator)

    def draw(self, message: Message, generator: Noise | None) -> Tensor:
        """Draw a uniform number from 0 to 1 for each symbol, (num_steps, batch)."""
        shape = (message.symbols.shape[1], self.num_steps)
        drawn = uniform(shape, generator, message.symbols.device).t()
        if self.position is None:
            return drawn
        return torch.where(self.steps(message) == self.position, drawn, 1.0)

    def steps(self, message: Message) -> Tensor:
        """Position of each symbol, from 0, (num_steps, 1)."""
        return torch.arange(self.num_steps, device=message.symbols.device)[:, None]

    def is_met(self, message: Message, generator: Noise | None) -> Tensor:
        """Draw whether noise affects each symbol, (num_steps, batch), with the option `probability`."""
        met: Tensor = self.draw(message, generator) < self.options.probability
        return met

    def any_of(self, number: int, message: Message, generator: Noise | None) -> Tensor:
        """Draw a uniform integer from 0 to `number` - 1 for each symbol, (num_steps, batch)."""
        return (self.draw(message, generator) * number).long().clamp(max=number - 1)


class NoNoise(MessageNoise):
    """No noise: the receiver gets the message as sent."""

    Options = NoOptions
    is_of_values = True

    def change(self, message: Message, generator: Noise | None) -> Message:
        """See the base class."""
        return message


class Erasure(MessageNoise):
    """Erasure channel: some symbols, or words, are lost, but the receiver knows their positions."""

    is_of_values = True

    def change(self, message: Message, generator: Noise | None) -> Message:
        """See the base class."""
        if self.has_eos:
            message = message.with_all_ends()
        return erased(message, self.is_met(message, generator), self.vocab_size + 1)


class Confusion(MessageNoise):
    """Symmetric channel: some symbols, except EOS, are replaced by another symbol, uniformly at random.

    Real-valued words are replaced by any word.
    """

    is_of_values = True

    def change(self, message: Message, generator: Noise | None) -> Message:
        """See the base class."""
        is_met = self.is_met(message, generator)
        if self.words is not None:
            symbols = message.symbols
            draws = uniform((symbols.shape[1], *symbols.shape[::2]), generator, symbols.device).transpose(
                0, 1
            )
            others = self.words(draws).to(symbols.dtype)
            return replace(message, symbols=torch.where(is_met[..., None], others, symbols))
        by = 1 + self.any_of(max(1, self.vocab_size - 1), message, generator)
        return rotated(message, torch.where(is_met, by, 0), self.vocab_size)


class Deletion(MessageNoise):
    """Deletion channel: some symbols, except EOS, are lost, and later symbols move up."""

    changes_length = True

    def change(self, message: Message, generator: Noise | None) -> Message:
        """See the base class."""
        return without(message, self.is_met(message, generator))


class Insertion(MessageNoise):
    """Insertion of uniformly random symbols before some symbols or EOS; symbols beyond the last position are lost."""

    changes_length = True

    def change(self, message: Message, generator: Noise | None) -> Message:
        """See the base class."""
        before = self.is_met(message, generator)
        return with_inserted(message, before, 1 + self.any_of(self.vocab_size, message, generator))


class Several(MessageNoise):
    """Several kinds of noise, applied in order."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of several kinds of noise."""

        of: tuple[str, ...] = ("confusion", "erasure")
        """Names with options, such as ["deletion,probability=0.1", confusion]; a list as the value of noise is short
        for this."""

        def __post_init__(self) -> None:
            """Check the kinds of noise; `ConfigError` if there are none, or one is unknown."""
            parts_in_list(NOISES, self.of, "of")

    def __init__(self, options: Options, **sizes: Any) -> None:
        super().__init__(options, **sizes)
        self.noises: list[MessageNoise] = [
            NOISES.make(part, **sizes) for part in parts_in_list(NOISES, options.of, "channel.noise.of")
        ]
        self.changes_length = any(noise.changes_length for noise in self.noises)
        self.is_of_values = all(noise.is_of_values for noise in self.noises)

    def change(self, message: Message, generator: Noise | None) -> Message:
        """See the base class."""
        for noise in self.noises:
            noise.position, noise.words = self.position, self.words
            message = noise(message, generator)
        return message


NO_NOISE = Part("none", NoOptions())
"""Default noise of channels."""
