"""Noise of a channel: what happens to symbols after they are said and before the receiver gets them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ecsuite.agents.message import Message
from ecsuite.games.message_edits import erased, rotated, whole, with_inserted, without
from ecsuite.games.noise import Noise, uniform
from ecsuite.games.registry import NOISES
from ecsuite.parts.config import Accuracy
from ecsuite.parts.registry import Part, parts_in_list


@dataclass(frozen=True, kw_only=True, slots=True)
class NoOptions:
    """No noise has no options."""


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
        """The message as the receiver gets it, of as many steps; see `ecsuite.games.message_edits`.

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
