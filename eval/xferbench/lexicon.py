"""Sounds, words and endings of the embedded artificial languages.

All chance comes from `Dice`, which uses only `random.Random.random`: Python guarantees its sequence for an
integer seed, so a language is the same on every machine and version.
"""

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate, product
from random import Random
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")

CONSONANTS = "tnkslrmpdvbghfjzcwšžčñx"
"""Roughly from common to rare among the world's languages."""
VOWELS = "aieoué"
FRONTED = str.maketrans("aou", "äöü")
"""Vowel harmony: what the vowels of a word and of its endings become in a front word."""
OFFSET = 2.7
"""The item of rank r has weight 1 / (r + OFFSET): Boldt & Mortensen (2024), equation 2."""


class Dice:
    """A stream of random choices."""

    def __init__(self, seed: int) -> None:
        """Start the stream of `seed`."""
        self.random = Random(seed).random

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items, all alike."""
        return items[int(self.random() * len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """This many different items, in the order they were given."""
        kept = sorted(range(len(items)), key=lambda _: self.random())[:count]
        return [items[index] for index in sorted(kept)]


class Ranked(Generic[Item]):
    """Items from common to rare, drawn by Zipf-Mandelbrot's law."""

    def __init__(self, items: Sequence[Item], dice: Dice) -> None:
        """Rank the items as they come."""
        self.items = items
        self.dice = dice
        self.cumulative = list(accumulate(1 / (rank + OFFSET) for rank in range(1, len(items) + 1)))

    def draw(self) -> Item:
        """One item."""
        return self.items[bisect(self.cumulative, self.dice.random() * self.cumulative[-1])]


class Sounds:
    """A language's phonotactics: which letters it has and which syllables they form."""

    def __init__(
        self, dice: Dice, *, num_consonants: int, num_vowels: int, clusters: float, codas: float
    ) -> None:
        """Draw the letters; a share of syllables begins with a cluster, a share ends with a coda."""
        consonants = dice.sample(CONSONANTS, num_consonants)
        self.onsets = Ranked(consonants, dice)
        self.seconds = Ranked([letter for letter in consonants if letter in "lrjvn"] or consonants, dice)
        self.codas = Ranked(dice.sample(consonants, max(3, num_consonants // 2)), dice)
        self.vowels = Ranked(VOWELS[:num_vowels], dice)
        self.dice, self.cluster_share, self.coda_share = dice, clusters, codas
        self.taken: set[str] = set()

    def syllable(self) -> str:
        """A syllable: onset, vowel, perhaps a coda."""
        first = self.onsets.draw()
        second = self.seconds.draw() if self.dice.chance(self.cluster_share) else ""
        coda = self.codas.draw() if self.dice.chance(self.coda_share) else ""
        return first + (second if second != first else "") + self.vowels.draw() + coda

    def word(self, num_syllables: int) -> str:
        """A form that no other word has; longer than asked where the short ones are used up."""
        for attempt in range(1000):
            form = "".join(self.syllable() for _ in range(num_syllables + attempt // 4))
            if form not in self.taken:
                self.taken.add(form)
                return form
        raise AssertionError("a thousand attempts, up to 250 syllables, cannot all be taken")

    def ending(self) -> str:
        """A short ending: a vowel, with a consonant before or after it."""
        vowel, consonant = self.vowels.draw(), self.onsets.draw()
        return self.dice.pick((vowel, vowel + consonant, consonant + vowel))


class Lexeme(NamedTuple):
    """A word of the lexicon, before it is inflected."""

    stem: str
    """Its form without ending, harmony applied."""
    front: bool
    """Whether its endings have front vowels."""
    gender: int
    """Which nouns it agrees like."""
    field: int
    """What it is about; for a verb or an adjective, what its noun is about."""


class Endings:
    """A paradigm: the ending of every combination of features, for back and for front words."""

    def __init__(self, sounds: Sounds, sizes: Sequence[int], *, fused: bool) -> None:
        """Draw endings.

        Args:
            sounds: Of the language.
            sizes: How many values of each feature are told apart. Value 0 is unmarked.
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
        """The word with the ending for these feature values; what is not told apart is unmarked."""
        known = tuple(value if value < size else 0 for value, size in zip(values, self.sizes, strict=True))
        return lexeme.stem + self.forms[lexeme.front][known]
