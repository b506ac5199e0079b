"""The size of an artificial language: what there is to say, and with how many symbols it is said."""

from dataclasses import dataclass

from ecsuite.config import ConfigError

MAX_SYMBOLS = 2**30
"""Most symbols in all messages of a language together: they are kept in memory."""

LIMITS = {"num_attributes": 30, "num_values": 2**30, "word_length": 10_000, "vocab_size": 2**31 - 1}
"""The most that each may be, so that nothing overflows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Geometry:
    """Attributes, values, words; the defaults are those of ICY's tables (Perkins 2021, section 4.1)."""

    num_attributes: int = 5
    """Attributes of a meaning."""
    num_values: int = 10
    """Values of each attribute."""
    word_length: int = 4
    """Symbols in the word of an attribute's value."""
    vocab_size: int = 4
    """Content symbols."""

    def __post_init__(self) -> None:
        """Refuse what no language can have.

        Raises:
            ConfigError: With the number and what to change.
        """
        for name, most in LIMITS.items():
            value = getattr(self, name)
            if not 1 <= value <= most:
                option = "--" + name.replace("_", "-")
                raise ConfigError(f"{option}: expected 1 to {most:,}, got {value:,}")
        if self.num_meanings * self.message_length > MAX_SYMBOLS:
            raise ConfigError(
                f"{self.num_values}^{self.num_attributes} meanings in messages of {self.message_length} symbols are "
                f"too much to keep in memory (at most {MAX_SYMBOLS:,} symbols in all): lower --num-attributes or "
                "--num-values"
            )

    @property
    def message_length(self) -> int:
        """Symbols in a message: a word for each attribute."""
        return self.num_attributes * self.word_length

    @property
    def num_meanings(self) -> int:
        """How many different meanings there are."""
        return int(self.num_values**self.num_attributes)

    def __str__(self) -> str:
        """As signatures have it, such as `5x10|w4|V4`."""
        return f"{self.num_attributes}x{self.num_values}|w{self.word_length}|V{self.vocab_size}"
