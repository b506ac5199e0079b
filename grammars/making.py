"""From what a user asks for to a corpus: one door to the languages with meanings and to those without."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecsuite.config import ConfigError, look_up
from ecsuite.corpus import Corpus
from ecsuite.grammars.baselines import BASELINES
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import ALIASES, LANGUAGES, language
from ecsuite.grammars.words import stream

GRAMMARS: dict[str, Callable[..., Any]] = {**LANGUAGES, **BASELINES}
"""What each grammar does, by the names that users write; `make_corpus` makes any of them."""

NUM_SYMBOLS = 1_000_000
"""Symbols that a baseline says, if it is not told how many."""
MAX_SYMBOLS = 2**30
"""Most symbols of a baseline: they are kept in memory."""
MAX_TYPES = 2**26
"""Most types of a baseline: so are their probabilities."""
VERSION = 1
"""Raised whenever a baseline would say something else than before."""


def make_corpus(
    name: str,
    *,
    seed: int = 0,
    num_attributes: int | None = None,
    num_values: int | None = None,
    word_length: int | None = None,
    vocab_size: int | None = None,
    num_symbols: int | None = None,
    text: Path | None = None,
) -> Corpus:
    """Make the corpus of a grammar: a pure function of its arguments and the text.

    A language with meanings (see `icy.language`) says one message for each meaning. A baseline has no meanings
    and says as many symbols as it is asked for. None stands for the default; what a grammar has no use for must
    be None.

    Args:
        name: A grammar, with options after commas: `shufdet,decides=first`, `rot+perm`, `regular,runs=5`.
        seed: Of every random draw; at least 0.
        num_attributes: Attributes of a meaning; 5 by default.
        num_values: Values of an attribute; 10 by default.
        word_length: Symbols of an attribute's word; 4 by default.
        vocab_size: Content symbols; by default 4 for languages with meanings, 30,000 for baselines.
        num_symbols: How many symbols a baseline says in all; a million by default.
        text: A text or corpus that `text_parentheses` takes its frequencies from.

    Raises:
        ConfigError: With what is wrong and what to change.
        CorpusError: If the text can't be read.
    """
    of_meanings = {"num_attributes": num_attributes, "num_values": num_values, "word_length": word_length}
    first, *options = (part.strip() for part in name.split(","))
    if first.lower() in BASELINES:
        _refuse(first, "has no meanings", of_meanings)
        return _baseline(first.lower(), options, seed, vocab_size, num_symbols, text)
    grammar = first.split("+")[0].strip().lower()
    look_up("grammar", ALIASES.get(grammar, grammar), GRAMMARS)
    _refuse(name, "says one message for each meaning", {"num_symbols": num_symbols, "text": text})
    given = {key: value for key, value in of_meanings.items() if value is not None}
    if vocab_size is not None:
        given["vocab_size"] = vocab_size
    return language(name, Geometry(**given), seed).corpus()


def _baseline(
    name: str,
    options: list[str],
    seed: int,
    vocab_size: int | None,
    num_symbols: int | None,
    text: Path | None,
) -> Corpus:
    function = BASELINES[name]
    settings = _options(name, options, function.__kwdefaults__ or {})
    if vocab_size is not None:
        settings["num_types"] = _between("--vocab-size", vocab_size, MAX_TYPES)
    if name == "text_parentheses":
        settings["text"] = text
    else:
        _refuse(name, "takes no text", {"text": text})
    num_symbols = NUM_SYMBOLS if num_symbols is None else _between("--num-symbols", num_symbols, MAX_SYMBOLS)
    corpus = function(num_symbols, stream(seed, name), **settings)
    made = {key: value for key, value in corpus.metadata.items() if key != "grammar"}
    details = made | {"symbols": num_symbols, "seed": seed, "v": VERSION}
    signature = "|".join([name, *(f"{key}:{value}" for key, value in details.items())])
    metadata = {"signature": signature, "seed": seed, "vocab_size": made["num_types"]}
    return replace(corpus, metadata={**corpus.metadata, **metadata})


def _options(name: str, options: list[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Read a baseline's options, such as `runs=5`; each is a number of the kind that its default is."""
    defaults = {key: value for key, value in defaults.items() if key not in ("num_types", "text")}
    settings = {}
    for option in options:
        key, equals, value = (part.strip() for part in option.partition("="))
        if not equals or not defaults:
            choices = f"expected one such as {next(iter(defaults))}=…" if defaults else "it has none"
            raise ConfigError(f"grammar '{name}': '{option}' is not an option: {choices}")
        default = look_up(f"option of {name}", key, defaults)
        try:
            settings[key] = type(default)(value)
        except ValueError:
            raise ConfigError(f"{name}: {key}: expected a number such as {default}, got '{value}'") from None
    return settings


def _between(option: str, value: int, most: int) -> int:
    if not 1 <= value <= most:
        raise ConfigError(f"{option}: expected 1 to {most:,}, got {value:,}")
    return value


def _refuse(name: str, because: str, settings: Mapping[str, object]) -> None:
    """Refuse settings that a grammar has no use for."""
    for key, value in settings.items():
        if value is not None:
            raise ConfigError(f"{name} {because}: leave out --{key.replace('_', '-')}")
