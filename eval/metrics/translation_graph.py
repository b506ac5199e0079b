"""The translation graph: co-occurrences of words and concepts, and their best matching.

All metrics and figures of concept best matching are computed from this graph (Carmeli et al. 2024, section 3 and
figure 2, https://arxiv.org/abs/2403.14705).
"""

from dataclasses import dataclass

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.matching import best_match
from ecsuite.eval.statistics.cooccurrence import Count, Occurrences
from ecsuite.eval.statistics.counting import Ints


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
