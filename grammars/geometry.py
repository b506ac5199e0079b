"""The sizes of an artificial language: attributes, values, word length and vocabulary."""

from dataclasses import dataclass

from ecsuite.runtime.errors import ConfigError

MAX_SYMBOLS = 2**30
"""Maximum number of symbols in all messages of a language, which are held in memory."""

LIMITS = {"num_attributes": 30, "num_values": 2**30, "word_length": 10_000, "vocab_size": 2**31 - 1}
"""Maximum of each size, to avoid integer overflow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Geometry:
    """Sizes of a language; the defaults are the sizes of ICY's tables (Perkins 2021, section 4.1)."""

    num_attributes: int = 5
    """Number of attributes of a meaning."""
    num_values: int = 10
    """Number of values of each attribute."""
    word_length: int = 4
    """Number of symbols in the word of an attribute value."""
    vocab_size: int = 4
    """Number of content symbols."""

    def __post_init__(self) -> None:
        """Reject invalid sizes.

        Raises:
            ConfigError: If a size is out of its range, or all messages together are too large for memory.
        """
        for name, maximum in LIMITS.items():
            value = getattr(self, name)
            if not 1 <= value <= maximum:
                option = "--" + name.replace("_", "-")
                raise ConfigError(f"{option}: expected 1 to {maximum:,}, got {value:,}")
        if self.num_meanings * self.message_length > MAX_SYMBOLS:
            raise ConfigError(
                f"{self.num_values}^{self.num_attributes} meanings in messages of {self.message_length} symbols do "
                f"not fit in memory (at most {MAX_SYMBOLS:,} symbols in total): lower --num-attributes or --num-values"
            )

    @property
    def message_length(self) -> int:
        """Number of symbols in a message: one word for each attribute."""
        return self.num_attributes * self.word_length

    @property
    def num_meanings(self) -> int:
        """Number of different meanings."""
        return int(self.num_values**self.num_attributes)

    def __str__(self) -> str:
        """Text for signatures, such as `5x10|w4|V4`."""
        return f"{self.num_attributes}x{self.num_values}|w{self.word_length}|V{self.vocab_size}"
