"""What may be said in plays of rounds, by their options."""

from string import ascii_lowercase
from typing import Any

from ecsuite.language_models.allowed import Allowed
from ecsuite.parts.config import require_defaults
from ecsuite.runtime.errors import ConfigError


def require_words_read(options: Any) -> None:
    """Raise `ConfigError` if one of `names`, `pool` and `max_symbols` is set that nothing reads.

    With other `symbols`, a `pool` is kept for those runs of a sweep whose names are of one.
    """
    symbols = f"with symbols={options.symbols}"
    if options.symbols == "text":
        require_defaults(options, ("names",), symbols)
    if options.symbols == "pool":
        require_defaults(options, ("max_symbols",), symbols)
    if options.names:
        require_defaults(options, ("pool",), "with names")


def words_of(options: Any) -> Allowed:
    """What speakers may say, by the options `names`, `symbols`, `pool` and `max_symbols` of a play.

    Raises:
        ConfigError: If there is none, or a name is there twice.
    """
    names = options.names
    if options.symbols == "pool":
        names = names or tuple(ascii_lowercase[: options.pool])
        if len(names) < 2:
            raise ConfigError("play.pool: expected at least 2 names")
        if len(set(names)) < len(names) or not all(
            name.strip() == name and name.isprintable() and name for name in names
        ):
            raise ConfigError("play.names: expected different names without spaces around them")
        return Allowed(choices=tuple(names))
    if options.symbols == "text":
        return Allowed(max_len=options.max_symbols)
    if options.symbols == "letters":
        return Allowed(symbols=tuple(names or ascii_lowercase), max_len=options.max_symbols)
    if options.symbols == "syllables":
        return Allowed(
            symbols=tuple(names or (f"{c}{v}" for c in "pkmnlw" for v in "aiu")), max_len=options.max_symbols
        )
    if not names:
        raise ConfigError("play.names: expected the words of which messages are made")
    return Allowed(symbols=tuple(names), separator=" ", max_len=options.max_symbols)
