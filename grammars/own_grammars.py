"""A user's own function as a grammar: it gets all meanings, and returns a message for each."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import ecsuite.foreign as foreign
from ecsuite.corpus import Corpus, CorpusError
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import Language
from ecsuite.grammars.words import all_meanings, stream

VERSION = 1
"""Increased whenever the same function and arguments would give another corpus than before."""


def own_corpus(kind: str, geometry: Geometry, seed: int) -> Corpus:
    """The corpus of a grammar of a user's file.

    Args:
        kind: Its name, such as `./mine.py:my_grammar`. The function is called as `function(meanings, rng, geometry)`,
            or with fewer of these, and returns a list of symbols from 1 for each meaning.
        geometry: Sizes of the language.
        seed: Seed of `rng`, a `numpy.random.Generator`.

    Raises:
        UntrustedError: If nobody named the file.
        ConfigError: If the file can't be imported, or the function returns anything else.
    """
    function: Callable[..., Any] = foreign.load(kind, "grammar", None, (), None)
    meanings = all_meanings(geometry)
    number = min(3, len(inspect.signature(function).parameters))
    found = function(*(meanings, stream(seed, foreign.name_of(kind)), geometry)[:number])
    rows = list(found) if isinstance(found, list | tuple | np.ndarray) else []
    if len(rows) != len(meanings):
        raise foreign.PartError(f"{kind}: expected {len(meanings)} messages, got {len(rows)}")
    try:
        messages = Corpus(rows).messages  # type: ignore[arg-type]
    except CorpusError as error:
        raise foreign.PartError(f"{kind}: {error}") from None
    if messages.values.min(initial=1) < 1:
        raise foreign.PartError(f"{kind}: symbols are counted from 1; 0 is EOS")
    digest = foreign.checksum(foreign.source_of(kind))[:12]
    language = Language(
        name=foreign.name_of(kind),
        geometry=geometry,
        seed=seed,
        meanings=meanings,
        messages=np.zeros((len(meanings), 0), dtype=np.int32),
        signature=f"{foreign.name_of(kind)}|{geometry}|seed:{seed}|code:{digest}|v:{VERSION}",
    )
    return replace(language.corpus(), messages=messages)
