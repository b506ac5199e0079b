"""Users' functions and classes as grammars: they get all meanings and return a message for each meaning."""

from dataclasses import replace

import numpy as np

import ecsuite.parts.own_code as own_code
from ecsuite.corpus import Corpus
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import GrammarLanguage
from ecsuite.grammars.words import all_meanings, stream
from ecsuite.parts.own_functions import called, own_function
from ecsuite.parts.registry import Registry
from ecsuite.runtime.errors import CorpusError, PartError

OWN = Registry(word="grammar", parts={})
"""Grammars from users' files; see `ecsuite.grammars.making` for the built-in ones."""
VERSION = 1
"""Increased whenever the same function and arguments would give another corpus."""


def own_corpus(kind: str, geometry: Geometry, seed: int) -> Corpus:
    """Generate the corpus of a grammar from a user's file.

    Args:
        kind: Its name, such as `./mine.py:my_grammar` or `./mine.py:MyGrammar,flip=0.1`. It is called as
        `function(meanings, rng, geometry)`, or with fewer arguments, and returns a list of symbols from 1 for each
        meaning.
        geometry: Sizes of the language.
        seed: Seed of `rng`, a `numpy.random.Generator`.

    Raises:
        UntrustedError: If no command, config or caller named the file.
        ConfigError: If the file can't be imported, an option is not valid, or the function returns something else.
    """
    function, options = own_function(OWN, kind)
    source, _, named = kind.partition(":")
    name = named.partition(",")[0]
    meanings = all_meanings(geometry)
    found = called(function, meanings, stream(seed, name), geometry)
    place = f"{own_code.place_of(f'{source}:{name}', '__call__')}: {name}"
    rows = list(found) if isinstance(found, list | tuple | np.ndarray) else []
    if len(rows) != len(meanings):
        raise PartError(f"{place}: expected {len(meanings)} messages, got {len(rows)}")
    try:
        messages = Corpus(rows).messages  # type: ignore[arg-type]
    except CorpusError as error:
        raise PartError(f"{place}: {error}") from None
    if messages.values.min(initial=1) < 1:
        raise PartError(f"{place}: expected symbols of at least 1; 0 is EOS")
    details = {**options, "seed": seed, "code": own_code.checksum(source)[:12], "v": VERSION}
    signature = "|".join([name, str(geometry), *(f"{key}:{value}" for key, value in details.items())])
    language = GrammarLanguage(
        name=named,
        geometry=geometry,
        seed=seed,
        meanings=meanings,
        messages=np.zeros((len(meanings), 0), dtype=np.int32),
        signature=signature,
    )
    return replace(language.corpus(), messages=messages)
