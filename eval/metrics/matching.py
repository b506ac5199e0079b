"""The assignment problem under concept best matching: the best one-to-one pairing, and what of it is forced."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ecsuite.eval.statistics.counting import Ints


def best_match(weights: NDArray[Any]) -> tuple[Ints, Ints]:
    """The one-to-one pairing of greatest total weight: Carmeli et al. (2024), equation 1.

    Args:
        weights: Not negative, shape (num_words, num_concepts).

    Returns:
        The words and the concepts of the pairs of positive weight, by word.
    """
    num_words, num_concepts = weights.shape
    kept = np.arange(num_words)
    if num_words > 10 * num_concepts**2:
        # A concept never needs a word beyond its best num_concepts: the others can't take all of those.
        kept = np.unique(np.argpartition(-weights, num_concepts, axis=0)[:num_concepts])
    place, concept = linear_sum_assignment(weights[kept], maximize=True)
    word = kept[place]
    positive = weights[word, concept] > 0
    return word[positive], concept[positive]


def assigned_concepts(weights: NDArray[Any]) -> Ints:
    """The concepts that the authors' program calls matched: all that the solver gives a word, if only at weight 0.

    Args:
        weights: As for `best_match`.

    Returns:
        All concepts, where there are as many words; otherwise as many concepts as words.
    """
    num_words, num_concepts = weights.shape
    if num_words >= num_concepts:
        return np.arange(num_concepts)
    _, concept = linear_sum_assignment(weights, maximize=True)
    return np.asarray(concept, dtype=np.int64)


def tied_pairs(weights: NDArray[Any], word: Ints, concept: Ints) -> NDArray[np.bool_]:
    """Which pairs of the best pairing are missing from another one of the same total.

    Two pairings differ by cycles of moves, in which the word of one pair takes the concept of the next. One
    more node stands for what is not paired: the best free word comes from it, and a word goes to it for the
    best free concept or for none. No cycle gains, the pairing being the best; a pair is tied if it lies on
    one that loses nothing. With the greatest gain of any path as potential, such a cycle runs through tight
    moves alone, so that it lies within a strong component of these.

    Args:
        weights: As for `best_match`.
        word: The words of the best pairing, shape (num_pairs,).
        concept: Their concepts.

    Returns:
        Shape (num_pairs,); nowhere True if the best pairing of positive weights is the only one.
    """
    own = weights[word, concept]
    free_words = np.delete(np.arange(weights.shape[0]), word)
    free_concepts = np.delete(np.arange(weights.shape[1]), concept)
    gain = np.zeros((len(word) + 1, len(word) + 1), np.int64)
    gain[:-1, :-1] = weights[np.ix_(word, concept)] - own[:, None]
    gain[:-1, -1] = weights[np.ix_(word, free_concepts)].max(axis=1, initial=0) - own
    gain[-1, :-1] = weights[np.ix_(free_words, concept)].max(axis=0, initial=0)
    potential = np.zeros(len(gain), np.int64)
    while not np.array_equal(better := (potential[:, None] + gain).max(axis=0), potential):
        potential = better
    tight = potential[:, None] + gain == potential
    np.fill_diagonal(tight, False)
    _, component = connected_components(csr_array(tight), connection="strong")
    shared: NDArray[np.bool_] = np.bincount(component)[component] > 1
    return shared[:-1]
