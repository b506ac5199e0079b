"""The translation graph: co-occurrences of words and concepts, and their best matching.

All metrics and figures of concept best matching are computed from this graph (Carmeli et al. 2024, section 3 and
figure 2, https://arxiv.org/abs/2403.14705).
"""

from dataclasses import dataclass

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import Count
from ecsuite.eval.counts.samples import Samples
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.matching import best_match


@dataclass(frozen=True, kw_only=True, slots=True)
class Translation:
    """Words and concepts of a corpus, their co-occurrences and their best matching."""

    samples: Samples
    """The words of each sample, without EOS, and its phrase."""
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

    @property
    def edges(self) -> int:
        """The sum over samples of max(number of words, number of concepts)."""
        return int(np.maximum(self.samples.words_per_row(), self.samples.concepts_per_row()).sum())

    @property
    def share(self) -> float:
        """The score: the share of the edges that is words whose matched concept is in the phrase of their sample."""
        return int(self.present[self.word, self.concept].sum()) / self.edges

    def shares(self, with_word: Ints | None = None) -> Floats:
        """Purity of each pair of the best matching, shape (num_pairs, 2).

        Args:
            with_word: The second result of `Samples.understood` of the pairs, if it is there already.

        Returns:
            The share of the word's occurrences with the concept in their phrase, and the share of the concept's
            occurrences with the word in their message.
        """
        if with_word is None:
            with_word = self.samples.understood(self.word, self.concept)[1]
        of_word = self.present[self.word, self.concept] / self.samples.word_totals[self.word]
        return np.stack([of_word, with_word / self.samples.concept_totals[self.concept]], axis=1)


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
    samples = Samples(corpus, count)
    weights, present = samples.cooccurrences()
    word, concept = best_match(weights)
    order = np.argsort(-weights[word, concept], kind="stable")
    return Translation(
        samples=samples, weights=weights, present=present, word=word[order], concept=concept[order]
    )
