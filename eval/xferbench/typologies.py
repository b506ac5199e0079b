"""Typology of the ten artificial target languages, which differ as human languages do."""

from dataclasses import dataclass
from typing import Literal


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


TYPOLOGIES = (
    Typology(
        order="SVO", head_final=False, endings="fused", num_genders=2, agreement=True, articles=True,
        clusters=0.1,
    ),
    Typology(
        order="SOV", head_final=True, endings="separate", num_cases=4, agreement=True, harmony=True, codas=0.4
    ),
    Typology(order="SVO", head_final=False, endings="none", consonants=18, vowels=6, codas=0.3),
    Typology(
        order="VSO", head_final=False, endings="fused", num_genders=2, num_cases=3, agreement=True, codas=0.5
    ),
    Typology(order="SOV", head_final=True, endings="none", consonants=12, codas=0.05),
    Typology(
        order="SVO", head_final=False, endings="fused", num_genders=3, num_cases=4, agreement=True,
        pronouns=False, consonants=20, clusters=0.25,
    ),
    Typology(
        order="SOV", head_final=True, endings="fused", num_genders=2, num_cases=2, agreement=True,
        consonants=20,
    ),
    Typology(
        order="SVO", head_final=False, endings="separate", num_cases=4, agreement=True, pronouns=False,
        consonants=10,
    ),
    Typology(order="VSO", head_final=False, endings="none", articles=True, consonants=9, codas=0.0),
    Typology(
        order="SVO", head_final=True, endings="separate", num_genders=3, agreement=True, articles=True,
        codas=0.5,
    ),
)  # fmt: skip
