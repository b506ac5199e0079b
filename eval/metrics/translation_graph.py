"""The translation graph: how often words and concepts meet, and which word translates which concept.

All that concept best matching measures or draws is read off this graph (Carmeli et al. 2024, section 3 and
figure 2, https://arxiv.org/abs/2403.14705).
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.matching import best_match
from ecsuite.eval.statistics.counting import Ints, row_of

Count = Literal["tokens", "types"]
"""Whether a word, or a concept, counts each time that it occurs in a sample, or once a sample."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrences:
    """How often each kind of token, a word or a concept, occurs in each sample where it does."""

    row: Ints
    """The sample, ascending, shape (num_occurrences,)."""
    kind: Ints
    """The kind, from 0."""
    count: Ints
    """How often; always 1 where types are counted."""
    ids: NDArray[np.int32]
    """The id of each kind in the corpus, shape (num_kinds,)."""
    per_row: Ints
    """Tokens, or types, in each sample, shape (num_rows,)."""
    names: tuple[str, ...] | None
    """`names[id]`, where ids have names."""

    @classmethod
    def of(cls, rows: Ragged, count: Count, names: tuple[str, ...] | None) -> Self:
        """Count the tokens or the types of each row."""
        kinds, ids = rows.reindexed()
        num_kinds = max(1, len(ids))
        cell, times = np.unique(row_of(rows) * num_kinds + kinds.values, return_counts=True)
        row, kind = cell // num_kinds, cell % num_kinds
        tokens = cls(row=row, kind=kind, count=times, ids=ids, per_row=rows.lengths, names=names)
        return tokens if count == "tokens" else tokens.once()

    def matrix(self) -> Any:
        """The counts as a sparse array, shape (num_rows, num_kinds)."""
        starts = np.searchsorted(self.row, np.arange(len(self.per_row) + 1))
        return csr_array((self.count, self.kind, starts), shape=(len(self.per_row), len(self.ids)))

    def once(self) -> Self:
        """The same with every kind once a sample."""
        return replace(
            self, count=np.ones_like(self.count), per_row=np.bincount(self.row, minlength=len(self.per_row))
        )

    def totals(self) -> Ints:
        """How often each kind occurs in all, shape (num_kinds,)."""
        return np.bincount(self.kind, self.count, len(self.ids)).astype(np.int64)

    def name(self, kind: int) -> str | int:
        """What to call a kind: its name, or its id where it has none."""
        return self.names[self.ids[kind]] if self.names else int(self.ids[kind])


@dataclass(frozen=True, kw_only=True, slots=True)
class Translation:
    """Words and concepts of a corpus, how often they meet, and their best pairing."""

    words: Occurrences
    """The words of each sample, without EOS."""
    concepts: Occurrences
    """The concepts of each sample."""
    weights: Ints
    """How often word and concept meet in a sample, each occurrence of both counted,
    shape (num_words, num_concepts)."""
    present: Ints
    """How many occurrences of the word have the concept in their sample's phrase, shape as `weights`; the
    same where no phrase repeats a concept."""
    word: Ints
    """The words of the best pairing, by falling weight, shape (num_pairs,)."""
    concept: Ints
    """Their concepts."""

    def shares(self) -> list[list[float]]:
        """How pure each pair is, a row a pair.

        Returns:
            Of the word's occurrences the share that have the concept in their phrase, and of the concept's
            occurrences the share that have the word in their message.
        """
        meant_with = meetings(self.words.once(), self.concepts)
        of_word = self.present[self.word, self.concept] / self.words.totals()[self.word]
        of_concept = meant_with[self.word, self.concept] / self.concepts.totals()[self.concept]
        shares: list[list[float]] = np.stack([of_word, of_concept], axis=1).tolist()
        return shares


def meetings(words: Occurrences, concepts: Occurrences) -> Ints:
    """How often word and concept meet in a sample, summed over samples, shape (num_words, num_concepts)."""
    together: Ints = (words.matrix().T @ concepts.matrix()).toarray()
    return together


def translate(corpus: Corpus, count: Count = "tokens") -> Translation | None:
    """Pair the words of a corpus with its concepts: Carmeli et al. (2024), section 3.

    Args:
        corpus: Messages with their concepts.
        count: The authors' program counts tokens; the paper's text has sets of words and of concepts.

    Returns:
        None where the corpus names no concepts.
    """
    if corpus.concepts is None or not corpus.concepts.values.size:
        return None
    words = Occurrences.of(corpus.content(), count, corpus.symbol_names)
    concepts = Occurrences.of(corpus.concepts, count, corpus.concept_names or None)
    weights = meetings(words, concepts)
    repeats = (concepts.count > 1).any()
    present = meetings(words, concepts.once()) if repeats else weights
    word, concept = best_match(weights)
    order = np.argsort(-weights[word, concept], kind="stable")
    return Translation(
        words=words,
        concepts=concepts,
        weights=weights,
        present=present,
        word=word[order],
        concept=concept[order],
    )
