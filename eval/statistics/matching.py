"""The assignment problem of concept best matching: the best one-to-one matching, and its tied pairs."""

from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack

from ecsuite.eval.statistics.contingency import Ints

MAX_TABLE = 1 << 19
"""Maximum number of entries of a dense table of weights; larger ones are processed as sparse tables."""


@cache
def assignment_solver() -> Callable[..., tuple[Ints, Ints]]:
    """Load `scipy.optimize.linear_sum_assignment`, without its package if possible.

    Importing all of `scipy.optimize` takes longer than all matchings of a small corpus.
    """
    spec = PathFinder.find_spec("_lsap", [str(Path(scipy.__file__).parent / "optimize")])
    if spec is None or spec.loader is None:  # another version of SciPy has it elsewhere
        from scipy.optimize import linear_sum_assignment
    else:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        linear_sum_assignment = module.linear_sum_assignment
    solver: Callable[..., tuple[Ints, Ints]] = linear_sum_assignment
    return solver


def best_match(weights: NDArray[Any] | csr_array) -> tuple[Ints, Ints]:
    """The one-to-one matching of maximum total weight: Carmeli et al. (2024), equation 1.

    Args:
        weights: Non-negative whole numbers, shape (num_words, num_concepts); large tables may be sparse.

    Returns:
        The words and the concepts of the pairs of positive weight, ordered by word.
    """
    num_words, num_concepts = weights.shape
    if num_words * num_concepts > MAX_TABLE:
        return _match_of_sparse(csr_array(weights))
    kept = np.arange(num_words)
    if num_words > 10 * num_concepts**2:
        # An optimal matching needs only the num_concepts best words of each concept.
        kept = np.unique(np.argpartition(-weights, num_concepts, axis=0)[:num_concepts])
    place, concept = assignment_solver()(weights[kept], maximize=True)
    word = kept[place]
    positive = weights[word, concept] > 0
    return word[positive], concept[positive]


def _match_of_sparse(weights: csr_array) -> tuple[Ints, Ints]:
    """Match a large, mostly zero table, as `best_match`: Jonker and Volgenant (1987) for sparse tables.

    Every word gets an additional concept of its own with weight 0, so that a matching of all words exists. All weights
    are raised by one, as entries of 0 count as missing.
    """
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    num_words, num_concepts = weights.shape
    weights.eliminate_zeros()
    own = eye_array(num_words, dtype=np.float64, format="csr")
    table = hstack(
        [csr_array((weights.data + 1.0, weights.indices, weights.indptr), weights.shape), own], "csr"
    )
    word, concept = min_weight_full_bipartite_matching(table, maximize=True)
    matched = concept < num_concepts
    return word[matched].astype(np.int64), concept[matched].astype(np.int64)


def assigned_concepts(weights: NDArray[Any]) -> Ints:
    """Concepts that the authors' program counts as matched: all that the solver assigns, even with weight 0.

    Args:
        weights: As for `best_match`.

    Returns:
        All concepts, if there are at least as many words; otherwise as many concepts as words.
    """
    num_words, num_concepts = weights.shape
    if num_words >= num_concepts:
        return np.arange(num_concepts)
    _, concept = assignment_solver()(weights, maximize=True)
    return np.asarray(concept, dtype=np.int64)


def tied_pairs(weights: NDArray[Any], word: Ints, concept: Ints) -> NDArray[np.bool_]:
    """Pairs of the best matching that are missing in another matching of the same total weight.

    Two matchings differ by cycles in a directed graph of the pairs: an edge moves the word of one pair to the concept
    of the next. An additional node represents the unmatched words and concepts: an edge from it takes the best free
    word, an edge to it takes the best free concept or none. No cycle has a positive gain, since the matching is
    optimal; a pair is tied if it lies on a cycle of gain 0. With the maximum gain of a path as potential, such a cycle
    consists of tight edges only, so it lies within a strongly connected component of tight edges.

    Args:
        weights: As for `best_match`.
        word: The words of the best matching, shape (num_pairs,).
        concept: The concepts matched with these words.

    Returns:
        Shape (num_pairs,); all False if the best matching of positive weights is unique.
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
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(csr_array(tight), connection="strong")
    shared: NDArray[np.bool_] = np.bincount(component)[component] > 1
    return shared[:-1]
