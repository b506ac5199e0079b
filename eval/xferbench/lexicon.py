"""Sounds, words and endings of the embedded artificial languages.

All random draws come from `RandomStream`, which uses only `random.Random.random`: Python guarantees its sequence for an
integer seed, so that a language is the same on every machine and Python version.
"""

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate, product
from random import Random
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")

CONSONANTS = "tnkslrmpdvbghfjzcwšžčñx"
"""Ordered roughly from common to rare in the world's languages."""
VOWELS = "aieoué"
FRONTED = str.maketrans("aou", "äöü")
"""Vowel harmony: replaces the vowels of a front word and of its endings."""
OFFSET = 2.7
"""The item of rank r has weight 1 / (r + OFFSET): Boldt & Mortensen (2024), equation 2."""


class RandomStream:
    """A stream of random choices."""

    def __init__(self, seed: int) -> None:
        """Start the stream of `seed`."""
        self.random = Random(seed).random

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.random() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        """Draw an item uniformly."""
        return items[int(self.random() * len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """Draw `count` different items; they keep their order."""
        kept = sorted(range(len(items)), key=lambda _: self.random())[:count]
        return [items[index] for index in sorted(kept)]


class Ranked(Generic[Item]):
    """Items ordered from common to rare, drawn by Zipf-Mandelbrot's law."""

    def __init__(self, items: Sequence[Item], rng: RandomStream) -> None:
        """Rank the items in the given order."""
        self.items = items
        self.rng = rng
        self.cumulative = list(accumulate(1 / (rank + OFFSET) for rank in range(1, len(items) + 1)))

    def draw(self) -> Item:
        """Draw an item."""
        return self.items[bisect(self.cumulative, self.rng.random() * self.cumulative[-1])]


class Sounds:
    """Phonotactics of a language: its letters and its syllables."""

    def __init__(
        self, rng: RandomStream, *, num_consonants: int, num_vowels: int, clusters: float, codas: float
    ) -> None:
        """Draw the letters; `clusters`, `codas`: shares of syllables with two initial consonants, with a coda."""
        consonants = rng.sample(CONSONANTS, num_consonants)
        self.onsets = Ranked(consonants, rng)
        self.seconds = Ranked([letter for letter in consonants if letter in "lrjvn"] or consonants, rng)
        self.codas = Ranked(rng.sample(consonants, max(3, num_consonants // 2)), rng)
        self.vowels = Ranked(VOWELS[:num_vowels], rng)
        self.rng, self.cluster_share, self.coda_share = rng, clusters, codas
        self.taken: set[str] = set()

    def syllable(self) -> str:
        """A syllable: onset, vowel, optional coda."""
        first = self.onsets.draw()
        second = self.seconds.draw() if self.rng.chance(self.cluster_share) else ""
        coda = self.codas.draw() if self.rng.chance(self.coda_share) else ""
        return first + (second if second != first else "") + self.vowels.draw() + coda

    def word(self, num_syllables: int) -> str:
        """A unique form; it gets more syllables than `num_syllables` if short forms are exhausted."""
        for attempt in range(1000):
            form = "".join(self.syllable() for _ in range(num_syllables + attempt // 4))
            if form not in self.taken:
                self.taken.add(form)
                return form
        raise AssertionError("no unused form in a thousand attempts, up to 250 syllables")

    def ending(self) -> str:
        """A short ending: a vowel, with a consonant before or after it."""
        vowel, consonant = self.vowels.draw(), self.onsets.draw()
        return self.rng.pick((vowel, vowel + consonant, consonant + vowel))


class Lexeme(NamedTuple):
    """A word of the lexicon, not inflected."""

    stem: str
    """Form without ending, after vowel harmony."""
    front: bool
    """Whether its endings have front vowels."""
    gender: int
    """Index of the noun class."""
    field: int
    """Index of the semantic field; for a verb or an adjective, the field of its noun."""


class Endings:
    """A paradigm: an ending for each combination of feature values, in back and front words."""

    def __init__(self, sounds: Sounds, sizes: Sequence[int], *, fused: bool) -> None:
        """Draw endings.

        Args:
            sounds: Phonotactics of the language.
            sizes: Number of values of each feature that endings distinguish. Value 0 is unmarked.
            fused: One ending for each combination (fusional) rather than one for each value (agglutinative).
        """
        self.sizes = tuple(sizes)
        combinations = list(product(*map(range, sizes)))
        if fused:
            forms = {values: sounds.ending() if any(values) else "" for values in combinations}
        else:
            marks = [["", *(sounds.ending() for _ in range(1, size))] for size in sizes]
            forms = {
                values: "".join(mark[value] for mark, value in zip(marks, values, strict=True))
                for values in combinations
            }
        self.forms = {False: forms, True: {values: form.translate(FRONTED) for values, form in forms.items()}}

    def inflect(self, lexeme: Lexeme, *values: int) -> str:
        """The word with the ending for these feature values; values that are not distinguished are unmarked."""
        known = tuple(value if value < size else 0 for value, size in zip(values, self.sizes, strict=True))
        return lexeme.stem + self.forms[lexeme.front][known]
