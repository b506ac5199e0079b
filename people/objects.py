"""The two datasets of coloured shapes, and their codes in a language (section K.1)."""

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
"""RGB values from 0 to 255; each has a contrast of at least 4 to the black background."""
SHAPES = ("circle", "triangle", "square", "pentagon", "hexagon")
ABBREVIATIONS = (("red", "grn", "blu", "yel", "mag"), ("cir", "tri", "box", "pnt", "hex"))
"""The words of `eng`: for the colours and for the shapes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """Objects and letters; an object is `colour * num_values + shape`."""

    name: str
    geometry: Geometry
    words: tuple[tuple[str, ...], ...] | None
    """The words of the colours and of the shapes; None: random words."""

    @property
    def num_objects(self) -> int:
        """Number of combinations of colour and shape."""
        return self.geometry.num_meanings

    def values(self, meaning: int) -> tuple[int, int]:
        """Colour and shape of an object, from 0."""
        return divmod(meaning, self.geometry.num_values)

    def description(self, meaning: int) -> str:
        """Description of an object in words: `red circle`."""
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
"""Datasets: `synth`, 3 colours and 3 shapes, words of two letters out of four; `eng`, 5 and 5, abbreviations."""


def letters_of(typed: str) -> str:
    """The letters from a to z of a typed text, in lower case; other characters are left out."""
    return "".join(letter for letter in typed.lower() if "a" <= letter <= "z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Codes:
    """The codes of all objects of a dataset in one language."""

    texts: tuple[str, ...]
    """Codes by object, in lower-case letters."""
    signature: str
    """Everything that determines the codes."""


@lru_cache(maxsize=4096)
def make_codes(dataset: str, grammar: str, seed: int) -> Codes:
    """Make the codes of a dataset's objects; a pure function of its arguments.

    Args:
        dataset: `synth` or `eng`.
        grammar: A name that `ecsuite grammar` takes, such as `shufdet` or `rot+perm`.
        seed: Seed of the words (`synth`) and of the grammar.

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
