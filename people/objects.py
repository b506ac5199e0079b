"""The two datasets of the game: their coloured shapes, and the codes of these in a language (section K.1)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language
from ecsuite.runtime.errors import look_up

COLOURS = {
    "red": (228, 60, 50),
    "green": (40, 180, 75),
    "blue": (70, 140, 255),
    "yellow": (250, 220, 50),
    "magenta": (235, 95, 235),
}
"""RGB from 0 to 255, each with a contrast of at least 4 to the black ground."""
SHAPES = ("circle", "triangle", "square", "pentagon", "hexagon")
ABBREVIATIONS = (("red", "grn", "blu", "yel", "mag"), ("cir", "tri", "box", "pnt", "hex"))
"""The words of `eng`: those of the colours and those of the shapes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """Objects and letters; an object is `colour * num_values + shape`."""

    name: str
    geometry: Geometry
    words: tuple[tuple[str, ...], ...] | None
    """The words of the colours and of the shapes; None if they are drawn."""

    @property
    def num_objects(self) -> int:
        """Number of combinations of a colour and a shape."""
        return self.geometry.num_meanings

    def values(self, meaning: int) -> tuple[int, int]:
        """Colour and shape of an object, from 0."""
        return divmod(meaning, self.geometry.num_values)

    def description(self, meaning: int) -> str:
        """An object in words: `red circle`."""
        colour, shape = self.values(meaning)
        return f"{tuple(COLOURS)[colour]} {SHAPES[shape]}"


DATASETS = {
    "synth": Dataset(
        name="synth",
        geometry=Geometry(num_attributes=2, num_values=3, word_length=2, vocab_size=4),
        words=None,
    ),
    "eng": Dataset(
        name="eng",
        geometry=Geometry(num_attributes=2, num_values=5, word_length=3, vocab_size=26),
        words=ABBREVIATIONS,
    ),
}
"""Datasets: three colours and shapes with two-letter words over four letters; five with English abbreviations."""


def letters_of(typed: str) -> str:
    """The letters from a to z of a typed text, in lower case; other characters are left out."""
    return "".join(letter for letter in typed.lower() if "a" <= letter <= "z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Codes:
    """The codes of all objects of a dataset in one language."""

    texts: tuple[str, ...]
    """Codes by object, in lower-case letters."""
    signature: str
    """Everything that determines them."""


@lru_cache(maxsize=4096)
def make_codes(dataset: str, grammar: str, seed: int) -> Codes:
    """The codes of the objects of a dataset: a pure function of its arguments.

    Args:
        dataset: `synth` or `eng`.
        grammar: As `ecsuite grammar` takes it, such as `shufdet` or `rot+perm`.
        seed: Seed of the words (`synth`) and of what the grammar draws.

    Raises:
        ConfigError: If a name is unknown.
    """
    chosen = look_up("dataset", dataset, DATASETS)
    words = None
    if chosen.words is not None:
        words = np.array(
            [[[ord(letter) - ord("a") for letter in word] for word in of] for of in chosen.words]
        )
    grammar_language = language(grammar, chosen.geometry, seed, words=words)
    texts = (
        "".join(chr(ord("a") + int(symbol) - 1) for symbol in message)
        for message in grammar_language.messages
    )
    return Codes(texts=tuple(texts), signature=grammar_language.signature)
