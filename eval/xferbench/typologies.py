"""Typology of the ten artificial target languages, which differ as human languages do."""

from dataclasses import dataclass
from typing import Literal

import msgspec

from ecsuite.parts.config import packaged_yaml


@dataclass(frozen=True, kw_only=True, slots=True)
class Typology:
    """Typological features of a language."""

    order: str
    """Order of subject, verb and object in a main clause."""
    head_final: bool
    """Whether modifiers, objects of adpositions and relative clauses precede their head."""
    endings: Literal["none", "separate", "fused"]
    """Isolating, agglutinative or fusional."""
    num_cases: int = 1
    """1 (no case) to 4, in the order nominative, accusative, genitive, oblique."""
    num_genders: int = 1
    """Noun classes; adjectives, articles and pronouns agree with them."""
    agreement: bool = False
    """Whether the verb agrees with its subject in person and number."""
    articles: bool = False
    """Whether nouns take an article."""
    pronouns: bool = True
    """Whether subject pronouns are used; otherwise the verb's ending marks the person."""
    harmony: bool = False
    """Whether a word's vowels are all back or all front."""
    consonants: int = 14
    """Size of the consonant inventory."""
    vowels: int = 5
    """Size of the vowel inventory."""
    clusters: float = 0.0
    """Share of syllables that begin with two consonants."""
    codas: float = 0.2
    """Share of syllables that end with a consonant."""


TYPOLOGIES: tuple[Typology, ...] = msgspec.convert(
    packaged_yaml(__package__, "typologies.yaml"), tuple[Typology, ...]
)
"""By number of the language, from 1."""
