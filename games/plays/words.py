"""Allowed messages in plays of rounds, from their options."""

from itertools import chain, count, islice, pairwise, product
from string import ascii_lowercase
from typing import Any

from ecsuite.language_models.backend import Allowed
from ecsuite.parts.config import require_defaults
from ecsuite.runtime.errors import ConfigError, shown


def require_words_read(options: Any) -> None:
    """Raise `ConfigError` if one of `names`, `pool` and `max_symbols` is given and not read.

    With other `symbols`, `pool` is accepted, since other runs of the same sweep may read it.
    """
    symbols = f"with symbols={options.symbols}"
    if options.symbols == "text":
        require_defaults(options, ("names",), symbols)
    if options.symbols == "pool":
        require_defaults(options, ("max_symbols",), symbols)
    if options.names:
        require_defaults(options, ("pool",), "with names")


def words_of(options: Any) -> Allowed:
    """Make the set of allowed messages from the options `names`, `symbols`, `pool` and `max_symbols` of a play.

    Raises:
        ConfigError: If names are too few or not unique, or make messages ambiguous.
    """
    names = options.names
    _require_names(names, options.symbols)
    if options.symbols == "pool":
        names = names or letters(options.pool)
        if len(names) < 2:
            raise ConfigError("play.pool: expected at least 2 names")
        return Allowed(choices=names)
    if options.symbols == "text":
        return Allowed(max_len=options.max_symbols)
    if options.symbols == "letters":
        return Allowed(symbols=names or tuple(ascii_lowercase), max_len=options.max_symbols)
    if options.symbols == "syllables":
        return Allowed(
            symbols=names or tuple(f"{c}{v}" for c in "pkmnlw" for v in "aiu"), max_len=options.max_symbols
        )
    if not names:
        raise ConfigError("play.names: expected the words that messages are made of")
    return Allowed(symbols=names, separator=" ", max_len=options.max_symbols)


def letters(number: int) -> tuple[str, ...]:
    """The first `number` names: a to z, then aa, ab and so on."""
    words = (map("".join, product(ascii_lowercase, repeat=length)) for length in count(1))
    return tuple(islice(chain.from_iterable(words), number))


def _require_names(names: tuple[str, ...], symbols: str) -> None:
    """Raise `ConfigError` for names that are not printable or unique, or that make messages ambiguous."""
    if len(set(names)) < len(names) or not all(
        name.strip() == name and name.isprintable() and name for name in names
    ):
        raise ConfigError("play.names: expected unique names without surrounding spaces")
    if symbols == "words" and (split := next((name for name in names if " " in name), None)):
        raise ConfigError(f"play.names: expected words without spaces, got {shown(split)}")
    if symbols in ("letters", "syllables"):
        for first, second in pairwise(sorted(names)):
            if second.startswith(first):
                raise ConfigError(
                    f"play.names: {shown(second)} begins with {shown(first)}, so that a message could be read in two "
                    "ways: expected others, or symbols: words"
                )
