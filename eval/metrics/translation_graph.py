"""The translation graph: co-occurrences of words and concepts, and their best matching.

All metrics and figures of concept best matching are computed from this graph (Carmeli et al. 2024, section 3 and
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
"""Whether a word or concept counts each time that it occurs in a sample, or once per sample."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrences:
    """Counts of each type (word or concept) in each sample in which it occurs."""

    row: Ints
    """Sample of each count, ascending, shape (num_occurrences,)."""
    kind: Ints
    """Type of each count, from 0."""
    count: Ints
    """The counts; all 1 if types are counted."""
    ids: NDArray[np.int32]
    """The id of each type in the corpus, shape (num_kinds,)."""
    per_row: Ints
    """Number of tokens (or types) in each sample, shape (num_rows,)."""
    names: tuple[str, ...] | None
    """Name of each id; None if ids have no names."""

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
        """The same with each type counted once per sample."""
        return replace(
            self, count=np.ones_like(self.count), per_row=np.bincount(self.row, minlength=len(self.per_row))
        )

    def totals(self) -> Ints:
        """Total count of each type, shape (num_kinds,)."""
        return np.bincount(self.kind, self.count, len(self.ids)).astype(np.int64)

    def name(self, kind: int) -> str | int:
        """The name of a type, or its id if it has no name."""
        return self.names[self.ids[kind]] if self.names else int(self.ids[kind])


@dataclass(frozen=True, kw_only=True, slots=True)
class Translation:
    """Words and concepts of a corpus, their co-occurrences and their best matching."""

    words: Occurrences
    """The words of each sample, without EOS."""
    concepts: Occurrences
    """The concepts of each sample."""
    weights: Ints
    """Co-occurrences of word and concept in samples, all repeated occurrences counted,
    shape (num_words, num_concepts)."""
    present: Ints
    """Number of occurrences of the word with the concept in the phrase of their sample, shape as `weights`;
    equal to `weights` if no phrase repeats a concept."""
    word: Ints
    """The words of the best matching, in order of decreasing weight, shape (num_pairs,)."""
    concept: Ints
    """Their concepts."""

    def shares(self) -> list[list[float]]:
        """Purity of each pair of the best matching, one row per pair.

        Returns:
            The share of the word's occurrences with the concept in their phrase, and the share of the concept's
            occurrences with the word in their message.
        """
        with_word = cooccurrences(self.words.once(), self.concepts)
        of_word = self.present[self.word, self.concept] / self.words.totals()[self.word]
        of_concept = with_word[self.word, self.concept] / self.concepts.totals()[self.concept]
        shares: list[list[float]] = np.stack([of_word, of_concept], axis=1).tolist()
        return shares


def cooccurrences(words: Occurrences, concepts: Occurrences) -> Ints:
    """Co-occurrences of word and concept, summed over samples, shape (num_words, num_concepts)."""
    together: Ints = (words.matrix().T @ concepts.matrix()).toarray()
    return together


def translate(corpus: Corpus, count: Count = "tokens") -> Translation | None:
    """Match the words of a corpus with its concepts: Carmeli et al. (2024), section 3.

    Args:
        corpus: Messages with concepts.
        count: `tokens` as in the authors' program, or `types` as in the text of the paper.

    Returns:
        None if the corpus has no concepts.
    """
    if corpus.concepts is None or not corpus.concepts.values.size:
        return None
    words = Occurrences.of(corpus.content(), count, corpus.symbol_names)
    concepts = Occurrences.of(corpus.concepts, count, corpus.concept_names or None)
    weights = cooccurrences(words, concepts)
    repeats = (concepts.count > 1).any()
    present = cooccurrences(words, concepts.once()) if repeats else weights
    word, concept = best_match(weights)
    order = np.argsort(-weights[word, concept], kind="stable")
    found = {"weights": weights, "present": present, "word": word[order], "concept": concept[order]}
    return Translation(words=words, concepts=concepts, **found)
