"""The artificial languages of ICY: a concatenation grammar, its corruptions, and a holistic language.

Perkins (2021), "Neural networks can understand compositional functions that humans do not, in the context of
emergent communication", section 3.1 and appendix H.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.grammars.corruptions import OPTIONS
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.registry import BASES, CORRUPTIONS, GRAMMARS
from ecsuite.grammars.words import (
    Symbols,
    all_meanings,
    concatenate,
    draw_messages,
    draw_words,
    has_distinct_words,
    stream,
    symbol_type,
)
from ecsuite.runtime.errors import ConfigError, look_up, shown
from ecsuite.runtime.ragged import Ragged

VERSION = 1
"""Increased whenever the same name, geometry and seed would give different messages than before."""

ALIASES = {
    "comp": "concat",
    "compositional": "concat",
    "permute": "perm",
    "randomproj": "proj",
    "cumrot": "rot",
    "shufflewordsdet": "shufdet",
    "shufflewords": "shuf",
    "holistic": "hol",
    "wordpairsums": "pairsum",
}
"""Registry name by name in the paper's program."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GrammarLanguage:
    """The messages of all meanings: a pure function of name, geometry and seed."""

    name: str
    """The grammar, with the options that differ from the default, such as `shufdet,decides=first`."""
    geometry: Geometry
    seed: int
    messages: Symbols
    """Content ids from 1, shape (num_meanings, message_length)."""
    meanings: NDArray[np.int64]
    """Attribute values, shape (num_meanings, num_attributes); the last attribute changes fastest."""
    signature: str
    """Everything that determines the messages, such as `shufdet,decides:last|5x10|w4|V4|seed:123|v:1`."""

    def corpus(self) -> Corpus:
        """Return all messages with their meanings and concepts (`attribute0=3`), without EOS."""
        geometry = self.geometry
        num_attributes = geometry.num_attributes
        ids = self.meanings + geometry.num_values * np.arange(num_attributes)
        names = (f"attribute{a}={v}" for a in range(num_attributes) for v in range(geometry.num_values))
        return Corpus(
            messages=_rows(self.messages.astype(np.int32)),
            meanings=self.meanings,
            attribute_names=tuple(f"attribute{a}" for a in range(num_attributes)),
            concepts=_rows(ids.astype(np.int32)),
            concept_names=tuple(names),
            metadata={
                "grammar": self.name,
                "signature": self.signature,
                "seed": self.seed,
                "num_attributes": num_attributes,
                "num_values": geometry.num_values,
                "word_length": geometry.word_length,
                "vocab_size": geometry.vocab_size,
            },
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ChainStep:
    """One grammar of a chain, with the values of all its options."""

    name: str
    options: Mapping[str, str]


def language(name: str, geometry: Geometry, seed: int, *, words: Symbols | None = None) -> GrammarLanguage:
    """Generate a language.

    Each step has its own random generator, so that all grammars with a seed have the same words, and `perm` and
    `rot+perm` the same permutation.

    Args:
        name: `concat`, `perm`, `proj`, `rot`, `shufdet`, `shuf`, `pairsum`, `hol` or their names in the paper's
            program; several joined by `+` are applied from left to right. Options follow after a comma:
            `shufdet,decides=first`, `pairsum,last=program`.
        geometry: Sizes of the language.
        seed: Seed of all random draws; at least 0.
        words: Words instead of random words, symbols from 0, (num_attributes, num_values, word_length).

    Raises:
        ConfigError: If the grammar or an option is unknown, or the geometry has too few words.
    """
    chain = parse(name)
    meanings = all_meanings(geometry)
    if chain[0].name == "concat":
        drawn = draw_words(geometry, stream(seed, "words")) if words is None else words
        messages = concatenate(drawn, meanings)
    else:
        messages = draw_messages(geometry, stream(seed, "messages"))
    messages = corrupted(messages, meanings, geometry, chain[1:], seed)
    parts = [_text(chain, all_options=True), str(geometry), f"seed:{seed}", f"v:{VERSION}"]
    if chain[0].name == "concat" and not has_distinct_words(geometry):
        parts.insert(2, "words:distinct-per-attribute")
    if words is not None and chain[0].name == "concat":
        parts.insert(2, f"words:{hashlib.sha256(words.astype(np.int32).tobytes()).hexdigest()[:8]}")
    return GrammarLanguage(
        name=_text(chain, all_options=False),
        geometry=geometry,
        seed=seed,
        messages=messages + symbol_type(geometry.vocab_size).type(1),
        meanings=meanings,
        signature="|".join(parts),
    )


def corrupted(
    messages: Symbols,
    meanings: NDArray[np.int64],
    geometry: Geometry,
    chain: Sequence[ChainStep],
    seed: int,
    which: str = "",
) -> Symbols:
    """Apply the corruptions of a chain to messages, sequentially.

    Args:
        messages: Symbols from 0, (num_messages, message_length).
        meanings: Attribute values, (num_messages, num_attributes).
        geometry: Sizes of the language.
        chain: The corruptions.
        seed: Seed of all random draws.
        which: Label of these messages; other labels have independent random numbers.
    """
    times: dict[str, int] = {}
    for step in chain:
        times[step.name] = times.get(step.name, 0) + 1
        rng = stream(seed, f"{step.name}{times[step.name]}{which}")
        messages = GRAMMARS.load(step.name)(messages, meanings, geometry, rng, **step.options)
    return messages


def parse(name: str) -> list[ChainStep]:
    """Parse the name of a grammar into the steps of its chain, the base first.

    Raises:
        ConfigError: If the grammar or an option is unknown, or a base is not the first step of a chain.
    """
    known = BASES | CORRUPTIONS
    steps: list[ChainStep] = []
    typed = ""  # the current step, as written by the user
    for part in re.split(r"[+,]", name):
        key, equals, value = (text.strip().lower() for text in part.partition("="))
        if equals and steps:
            choices = OPTIONS.get(steps[-1].name, {})
            if not choices:
                raise ConfigError(f"grammar {shown(name)}: {typed} has no options, got {shown(part.strip())}")
            look_up(f"option of {typed}", key, choices)
            look_up(f"{key} of {typed}", value, dict.fromkeys(choices[key]))
            steps[-1] = replace(steps[-1], options={**steps[-1].options, key: value})
            continue
        typed, key = part.strip(), ALIASES.get(key, key)
        look_up("grammar", key, known)
        if steps and key in BASES:
            raise ConfigError(
                f"grammar {shown(name)}: {typed} generates messages, so it must be the first step of a chain"
            )
        if not steps and key not in BASES:
            steps.append(ChainStep(name="concat", options={}))
        defaults = {option: values[0] for option, values in OPTIONS.get(key, {}).items()}
        steps.append(ChainStep(name=key, options=defaults))
    return steps


def canonical(name: str) -> str:
    """The canonical name of a grammar, with the options that differ from the default.

    Raises:
        ConfigError: If the grammar or an option is unknown.
    """
    return _text(parse(name), all_options=False)


def majority_accuracy(messages: NDArray[np.integer]) -> float:
    """Accuracy of always choosing each position's most frequent symbol: the baseline of any symbol accuracy.

    Args:
        messages: Symbols, shape (num_messages, message_length).

    Returns:
        Accuracy of symbols, 0 to 1.

    Raises:
        ValueError: If there are no symbols.
    """
    if not messages.size:
        raise ValueError("majority accuracy: expected symbols, got no symbols")
    return float(np.mean([np.bincount(column).max() for column in messages.T]) / len(messages))


def _text(chain: list[ChainStep], *, all_options: bool) -> str:
    """A chain as text, in the form of names or, with all options, of signatures."""
    texts = []
    for step in chain[1:] if chain[0].name == "concat" and chain[1:] else chain:
        shown = [
            f",{key}{':' if all_options else '='}{value}"
            for key, value in step.options.items()
            if all_options or value != OPTIONS[step.name][key][0]
        ]
        texts.append(step.name + "".join(shown))
    return "+".join(texts)


def _rows(table: NDArray[np.int32]) -> Ragged:
    """A table of rows of equal length, shape (rows, length), as `Ragged`."""
    return Ragged.from_lengths(table.ravel(), np.full(len(table), table.shape[1], dtype=np.int64))
