"""Noise of a channel: edits of symbols between the sender and the receiver, and their random numbers.

Each edit treats ids and relaxed symbols alike, and returns a message whose symbols, ends and length agree. EOS, which
ends the message, is never lost and never becomes another symbol. The random numbers of a pair of agents come from its
generator; pairs that train side by side have one each.
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
    """The generators of pairs that play side by side under `torch.func.vmap`.

    With generators of their own, each pair gets the noise that it would get alone.
    """

    generators: Sequence[torch.Generator]
    """The generator of each pair; several may have the same."""
    replica: Tensor
    """The number of the pair, a single value under vmap."""


Noise = torch.Generator | ReplicaNoise
"""A source of noise."""


def noise_generator(seed: int, purpose: str, index: int, device: torch.device) -> torch.Generator:
    """The random generator for one purpose and index: a pure function of its arguments, so no state is saved."""
    return seeded(torch.Generator(device), seed, purpose, index)


def seeded(generator: torch.Generator, seed: int, purpose: str, index: int) -> torch.Generator:
    """A generator, which from now on draws what a new one for one purpose and index would draw."""
    words = np.random.SeedSequence([seed, index, *purpose.encode()]).generate_state(1, np.uint64)
    return generator.manual_seed(int(words[0] >> np.uint64(1)))


def exponential(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draws from the exponential distribution of rate 1, (batch, ...)."""

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.empty(shape, device=device).exponential_(generator=each)

    return _drawn(draw, shape, noise, device)


def gumbel(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draws from the standard Gumbel distribution, (max_len, batch, ...)."""
    tiny = torch.finfo(torch.float32).tiny

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.empty(shape, device=device).exponential_(generator=each).clamp_(min=tiny).log_().neg_()

    return _drawn(draw, shape, noise, device)


def normal(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draws from the standard normal distribution, (max_len, batch, ...)."""

    def draw(shape: Sequence[int], each: torch.Generator) -> Tensor:
        return torch.randn(shape, generator=each, device=device)

    return _drawn(draw, shape, noise, device)


def uniform(shape: Sequence[int], noise: Noise | None, device: torch.device) -> Tensor:
    """Draws from the uniform distribution from 0 to 1, (batch, ...)."""

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
    if device.type == "meta":  # which has shapes and no values
        return torch.empty(shape, device=device)
    assert noise is not None, "something is drawn in a call that said it would not be: expected a generator"
    if not isinstance(noise, ReplicaNoise):
        return draw(shape, noise)
    first, *others = noise.generators
    if all(each is first for each in others):
        return draw((len(noise.generators), *shape), first)[noise.replica]
    return torch.stack([draw(shape, each) for each in noise.generators])[noise.replica]


def whole(message: Message, num_steps: int) -> Message:
    """A message of ids with PAD up to `num_steps`, as on every device; others have all steps anyway."""
    missing = num_steps - len(message.symbols)
    if message.symbols.is_floating_point() or missing <= 0:
        return message
    fill = torch.full_like(message.symbols[:1], PAD).expand(missing, -1)
    return replace(message, symbols=torch.cat([message.symbols, fill]))


def without(message: Message, lost: Tensor) -> Message:
    """Leave symbols out; those after them move up.

    Relaxed, a symbol that is lost may also have been the end: that probability goes to where the next symbol moves.

    Args:
        message: Of variable length, with all steps.
        lost: Which symbols are lost, (num_steps, batch); where that would be EOS, it is not.
    """
    symbols, ends = message.symbols, message.ends
    if ends is None:
        lost = lost & (symbols > EOS)
        return _of_ids(message, _moved(symbols, _places(~lost), ~lost))
    lost = (
        lost & (torch.arange(len(lost), device=lost.device) < len(lost) - 1)[:, None]
    )  # the last one is EOS alone
    going_on = torch.ones_like(
        symbols[0, :, EOS]
    )  # the probability that no lost symbol just before was the end
    weights = []
    for step, is_lost in zip(symbols, lost, strict=True):
        stopped = 1 - going_on[:, None]
        weights.append(
            torch.cat([step[:, :1] * going_on[:, None] + stopped, step[:, 1:] * going_on[:, None]], -1)
        )
        going_on = torch.where(is_lost, going_on * (1 - step[:, EOS]), 1.0)
    places = _places(~lost)
    # A lost symbol and the next that is kept have one place.
    moved_ends = (_at(places, len(ends)) * ends).sum(1)
    moved = _moved_weights(torch.stack(weights), places, ~lost)
    is_empty = torch.arange(len(lost), device=lost.device)[:, None] >= (~lost).sum(0)
    return _of_weights(message, torch.where(is_empty[..., None], _eos_like(moved), moved), moved_ends)


def with_inserted(message: Message, before: Tensor, inserted: Tensor) -> Message:
    """Put symbols in; those after them move down, and what has no room any more is lost.

    Args:
        message: Of variable length, with all steps.
        before: Before which symbols one is put in, if the message goes on to there, (num_steps, batch).
        inserted: Ids of the symbols, (num_steps, batch).
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
    """Let each content symbol be the one that comes so many ids after it, in a ring; 0: it stays.

    Args:
        message: With all steps.
        by: From 0 to vocab_size - 1, (num_steps, batch).
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
    """Take the weights of symbols away, also of EOS; where a message ends stays known.

    Args:
        message: With all steps.
        lost: Which symbols, (num_steps, batch).
        symbol_size: Number of content symbols and EOS.
    """
    weights = message.symbols
    if not weights.is_floating_point():
        weights = (weights[..., None] == torch.arange(symbol_size, device=weights.device)).float()
    return replace(message, symbols=weights * (~lost)[..., None])


def _places(kept: Tensor) -> Tensor:
    """The place of each symbol, (num_steps, batch): the number of those before it that are kept."""
    return kept.cumsum(0) - kept.long()


def _at(places: Tensor, num_steps: int) -> Tensor:
    """Whether a symbol has a place, (num_places, num_steps, batch)."""
    return torch.arange(num_steps, device=places.device)[:, None, None] == places


def _moved(ids: Tensor, places: Tensor, kept: Tensor) -> Tensor:
    """Ids at their places, and PAD where there is none, (num_steps, batch)."""
    return ((_at(places, len(ids)) & kept) * (ids - PAD)).sum(1) + PAD


def _moved_weights(weights: Tensor, places: Tensor, kept: Tensor) -> Tensor:
    """Weights at their places, and zeros where there are none, (num_steps, batch, symbol_size)."""
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
    """Options of noise that each symbol meets by itself."""

    probability: Accuracy = 0.1
    """Share of the symbols that it changes."""


class MessageNoise(ABC):
    """Base class of noise, also of users' own: a message as it is said to a message as the receiver gets it.

    Args:
        options: Those of the class.
        vocab_size: Number of content symbols, with ids from 1.
        max_len: Most content symbols of a message.
        has_eos: Whether messages end with EOS; otherwise all have `max_len` symbols.
    """

    Options: type[Any] = ShareOptions
    changes_length = False
    """Whether messages may get longer or shorter; refused where all are equally long."""
    is_of_values = False
    """Whether it works on words of values, too; otherwise it is of symbols."""
    words: Callable[[Tensor], Tensor] | None = None
    """Words of values, from numbers from 0 to 1, (num_steps, batch, word_size); None: there are symbols."""
    position: int | None = None
    """The only position, from 0, whose symbols may meet it: all other draws are 1; None: all may."""

    def __init__(self, options: Any, *, vocab_size: int, max_len: int, has_eos: bool) -> None:
        self.options, self.vocab_size, self.has_eos = options, vocab_size, has_eos
        self.num_steps = max_len + has_eos

    @abstractmethod
    def change(self, message: Message, generator: Noise | None) -> Message:
        """The message as the receiver gets it, of as many steps; see `ecsuite.games.channels.noise`.

        Args:
            message: With all `num_steps`: ids with PAD after the end, or weights.
            generator: Source of all that is drawn.
        """

    def __call__(self, message: Message, generator: Noise | None) -> Message:
        """The message as the receiver gets it."""
        return self.change(whole(message, self.num_steps), generator)

    def draw(self, message: Message, generator: Noise | None) -> Tensor:
        """A number from 0 to 1 for each symbol, (num_steps, batch), all equally likely."""
        shape = (message.symbols.shape[1], self.num_steps)
        drawn = uniform(shape, generator, message.symbols.device).t()
        if self.position is None:
            return drawn
        return torch.where(self.steps(message) == self.position, drawn, 1.0)

    def steps(self, message: Message) -> Tensor:
        """The position of each symbol, from 0, (num_steps, 1)."""
        return torch.arange(self.num_steps, device=message.symbols.device)[:, None]

    def is_met(self, message: Message, generator: Noise | None) -> Tensor:
        """Whether a symbol meets the noise, (num_steps, batch): with the option `probability`."""
        met: Tensor = self.draw(message, generator) < self.options.probability
        return met

    def any_of(self, number: int, message: Message, generator: Noise | None) -> Tensor:
        """A whole number from 0 for each symbol, (num_steps, batch), less than `number`."""
        return (self.draw(message, generator) * number).long().clamp(max=number - 1)


class NoNoise(MessageNoise):
    """The receiver gets what was said."""

    Options = NoOptions
    is_of_values = True

    def change(self, message: Message, generator: Noise | None) -> Message:
        """See the base class."""
        return message


class Erasure(MessageNoise):
    """The receiver does not get some symbols, or words, and knows that there was one (the erasure channel)."""

    is_of_values = True

    def change(self, message: Message, generator: Noise | None) -> Message:
        """See the base class."""
        if self.has_eos:
            message = message.with_all_ends()
        return erased(message, self.is_met(message, generator), self.vocab_size + 1)


class Confusion(MessageNoise):
    """Some symbols become another one, all others equally likely (the symmetric channel); EOS does not.

    Words of values become any word.
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
    """Some symbols get lost, and those after them move up (the deletion channel); EOS does not."""

    changes_length = True

    def change(self, message: Message, generator: Noise | None) -> Message:
        """See the base class."""
        return without(message, self.is_met(message, generator))


class Insertion(MessageNoise):
    """Before some symbols, or before EOS, comes one more, all equally likely; what has no room is lost."""

    changes_length = True

    def change(self, message: Message, generator: Noise | None) -> Message:
        """See the base class."""
        before = self.is_met(message, generator)
        return with_inserted(message, before, 1 + self.any_of(self.vocab_size, message, generator))


class Several(MessageNoise):
    """Several kinds of noise, one after the other."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of several kinds of noise."""

        of: tuple[str, ...] = ("confusion", "erasure")
        """Names with options, such as ["deletion,probability=0.1", confusion]; a list in the place of a name is short
        for this."""

        def __post_init__(self) -> None:
            """Check each of them; `ConfigError` if there is none, or one is unknown."""
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
"""The noise of a channel that names none."""
