"""`make_corpus`: generates the corpus of any grammar by name, with or without meanings."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecsuite.corpus import Corpus
from ecsuite.grammars.clauses import ATTRIBUTES, NAME, clauses, is_clauses
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import ALIASES, language
from ecsuite.grammars.own_grammars import own_corpus
from ecsuite.grammars.registry import BASELINES, GRAMMARS
from ecsuite.grammars.words import stream
from ecsuite.parts.own_code import is_foreign
from ecsuite.runtime.errors import ConfigError, look_up, shown

NUM_SYMBOLS = 1_000_000
"""Default number of symbols of a baseline."""
MAX_SYMBOLS = 2**30
"""Maximum number of symbols of a baseline: they are held in memory."""
MAX_TYPES = 2**26
"""Maximum vocabulary size of a baseline: the probabilities are held in memory."""
VERSION = 1
"""Increased whenever the same arguments would give a different baseline corpus than before."""


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
    """Generate the corpus of a grammar: a pure function of its arguments and the text.

    A language with meanings (see `icy.language`) has one message for each meaning. A baseline has no meanings
    and `num_symbols` symbols. None: the default. Arguments that a grammar does not use must be None.

    Args:
        name: A grammar, with options after commas: `shufdet,decides=first`, `rot+perm`, `regular,runs=5`,
            `clauses,sov=1,osv=1,marker=0.67`; or a function or class of a user's file, `./mine.py:my_grammar`,
            `./mine.py:MyGrammar,flip=0.1`.
        seed: Seed of all random draws; at least 0.
        num_attributes: Number of attributes of a meaning; 5 by default.
        num_values: Number of values of an attribute; 10 by default.
        word_length: Number of symbols in the word of an attribute value; 4 by default.
        vocab_size: Number of content symbols; by default 4 for languages with meanings, 30,000 for baselines.
        num_symbols: Total number of symbols of a baseline; a million by default.
        text: A text or corpus from which `text_parentheses` takes its frequencies.

    Raises:
        ConfigError: If the grammar, an option or a number is invalid, or the grammar does not use an argument.
        CorpusError: If the text can't be read.
    """
    of_meanings = {"num_attributes": num_attributes, "num_values": num_values, "word_length": word_length}
    first, *options = (part.strip() for part in name.split(","))
    given = {key: value for key, value in of_meanings.items() if value is not None}
    if vocab_size is not None:
        given["vocab_size"] = vocab_size
    if is_foreign(first):
        _refuse(name, "has one message for each meaning", {"num_symbols": num_symbols, "text": text})
        return own_corpus(name, Geometry(**given), seed)
    if is_clauses(name):
        sizes = {} if num_values is None else {"entities": num_values}
        _refuse(NAME, "has words of one symbol", {"word_length": word_length, "vocab_size": vocab_size})
        _refuse(NAME, "has one message for each event", {"num_symbols": num_symbols, "text": text})
        if num_attributes not in (None, len(ATTRIBUTES)):
            raise ConfigError(f"--num-attributes: {NAME} has {', '.join(ATTRIBUTES)}: leave it out")
        return clauses(name, seed, **sizes)
    if first.lower() in BASELINES:
        _refuse(first, "has no meanings", of_meanings)
        return _baseline(first.lower(), options, seed, vocab_size, num_symbols, text)
    grammar = first.split("+")[0].strip().lower()
    look_up("grammar", ALIASES.get(grammar, grammar), GRAMMARS.parts)
    _refuse(name, "has one message for each meaning", {"num_symbols": num_symbols, "text": text})
    return language(name, Geometry(**given), seed).corpus()


def _baseline(
    name: str,
    options: list[str],
    seed: int,
    vocab_size: int | None,
    num_symbols: int | None,
    text: Path | None,
) -> Corpus:
    function = GRAMMARS.load(name)
    settings = _options(name, options, function.__kwdefaults__ or {})
    if vocab_size is not None:
        settings["num_types"] = _between("--vocab-size", vocab_size, MAX_TYPES)
    if name == "text_parentheses":
        settings["text"] = text
    else:
        _refuse(name, "takes no text", {"text": text})
    num_symbols = NUM_SYMBOLS if num_symbols is None else _between("--num-symbols", num_symbols, MAX_SYMBOLS)
    corpus: Corpus = function(num_symbols, stream(seed, name), **settings)
    made = {key: value for key, value in corpus.metadata.items() if key != "grammar"}
    details = made | {"symbols": num_symbols, "seed": seed, "v": VERSION}
    signature = "|".join([name, *(f"{key}:{value}" for key, value in details.items())])
    metadata = {"signature": signature, "seed": seed, "vocab_size": made["num_types"]}
    return replace(corpus, metadata={**corpus.metadata, **metadata})


def _options(name: str, options: list[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Read a baseline's options, such as `runs=5`; each is a number of the same type as its default."""
    defaults = {key: value for key, value in defaults.items() if key not in ("num_types", "text")}
    settings = {}
    for option in options:
        key, equals, value = (part.strip() for part in option.partition("="))
        if not equals or not defaults:
            choices = f"expected one such as {next(iter(defaults))}=…" if defaults else "the grammar has none"
            raise ConfigError(f"grammar '{name}': {shown(option)} is not an option: {choices}")
        default = look_up(f"option of {name}", key, defaults)
        try:
            settings[key] = type(default)(value)
        except ValueError:
            raise ConfigError(
                f"{name}: {key}: expected a number such as {default}, got {shown(value)}"
            ) from None
    return settings


def _between(option: str, value: int, maximum: int) -> int:
    if not 1 <= value <= maximum:
        raise ConfigError(f"{option}: expected 1 to {maximum:,}, got {value:,}")
    return value


def _refuse(name: str, reason: str, settings: Mapping[str, object]) -> None:
    """Raise if a setting is given that a grammar does not use."""
    for key, value in settings.items():
        if value is not None:
            raise ConfigError(f"{name} {reason}: leave out --{key.replace('_', '-')}")
