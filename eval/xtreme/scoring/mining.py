"""Finds translations by sentence embeddings: nearest neighbours for Tatoeba, mined pairs for BUCC.

Hu et al. (2020), section 3.2; Artetxe and Schwenk (2019), "Margin-based Parallel Corpus Mining", section 3: the margin
is the similarity of two sentences relative to the mean similarity of their neighbours. For BUCC, the paper of XTREME
describes plain cosine, but its program uses the margin.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.xtreme.scoring.examples import Bitext

NUM_NEIGHBOURS = 4
"""Number of neighbours on each side over which the margin averages."""

Embeddings = NDArray[np.floating[Any]]
"""One row per sentence, shape (num_sentences, width)."""
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Pair = tuple[str, str]

_ROUNDING = 1e-6
"""Rounding error of a cosine of 0 in single precision."""
_ROWS = 256
"""Queries whose similarities to all candidates are in memory at a time: 0.5 GB for the largest set of BUCC."""


def nearest(queries: Embeddings, candidates: Embeddings) -> Ints:
    """The row of the candidate with the highest cosine for each query, the first of equals, shape (num_queries,).

    Raises:
        ValueError: If there are no candidates, or widths differ.
    """
    return _neighbours(_unit(queries), _unit(candidates), 1)[1][:, 0]


def mine_pairs(
    sources: Embeddings, targets: Embeddings, num_neighbours: int = NUM_NEIGHBOURS
) -> tuple[Ints, Ints, Floats]:
    """Select pairs greedily by score; each sentence is in at most one pair.

    The score of a pair is its cosine over the mean cosine of both sentences with their nearest neighbours on the
    other side (the ratio margin). Candidates are the best-scored neighbour of each source and of each target.

    Args:
        sources: Embeddings of one side.
        targets: Embeddings of the other.
        num_neighbours: Number of neighbours, at most all.

    Returns:
        Rows of sources, rows of targets and scores of the pairs, shape (num_pairs,) each, by decreasing score. A score
        is 0 if the mean over neighbours is not above 0.

    Raises:
        ValueError: If one side is empty, or widths differ.
    """
    sources, targets = _unit(sources), _unit(targets)
    source_cosines, targets_near = _neighbours(sources, targets, min(num_neighbours, len(targets)))
    target_cosines, sources_near = _neighbours(targets, sources, min(num_neighbours, len(sources)))
    source_level, target_level = source_cosines.mean(1), target_cosines.mean(1)
    from_sources = _margin(source_cosines, (source_level[:, None] + target_level[targets_near]) / 2)
    from_targets = _margin(target_cosines, (target_level[:, None] + source_level[sources_near]) / 2)
    best_target, score = _best(from_sources, targets_near)
    best_source, target_score = _best(from_targets, sources_near)

    source_rows = np.concatenate((np.arange(len(sources)), best_source))
    target_rows = np.concatenate((best_target, np.arange(len(targets))))
    scores = np.concatenate((score, target_score))
    kept = []
    paired_sources, paired_targets = np.zeros(len(sources), dtype=bool), np.zeros(len(targets), dtype=bool)
    for pair in np.argsort(-scores, kind="stable"):  # by decreasing score, as a pair excludes later ones
        source, target = source_rows[pair], target_rows[pair]
        if not (paired_sources[source] or paired_targets[target]):
            paired_sources[source] = paired_targets[target] = True
            kept.append(pair)
    return source_rows[kept], target_rows[kept], scores[kept]


def mine_bitext(bitext: Bitext, sources: Embeddings, targets: Embeddings) -> dict[Pair, float]:
    """Scores of the pairs of names that `mine_pairs` finds in a bitext, best first.

    As in the benchmark's program, sentences with the same text count as one neighbour and are in no pair, as their
    names are ambiguous.
    """
    source_rows, is_source_single = _distinct(bitext.sources)
    target_rows, is_target_single = _distinct(bitext.targets)
    found = mine_pairs(sources[source_rows], targets[target_rows])
    return {
        (bitext.source_ids[source_rows[source]], bitext.target_ids[target_rows[target]]): float(score)
        for source, target, score in zip(*found, strict=True)
        if is_source_single[source] and is_target_single[target]
    }


def tune_threshold(scores: Mapping[Pair, float], gold: AbstractSet[Pair]) -> float:
    """The threshold with the highest F1 of the pairs that reach it, for use on other sentences.

    Returns:
        The midpoint between the last accepted score and the next; the first maximum of F1. 0 if no pair is correct.
    """
    values = np.array(list(scores.values()), dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    values = values[order]
    num_right = np.cumsum(np.array([pair in gold for pair in scores], dtype=np.int64)[order])
    if not len(values) or num_right[-1] == 0:
        return 0.0
    # F1 = 2 correct / (accepted + gold); pairs with equal scores are accepted together.
    f1 = 2 * num_right / (np.arange(1, len(values) + 1) + len(gold))
    f1[:-1][values[:-1] == values[1:]] = 0.0
    best = int(f1.argmax())
    following = values[min(best + 1, len(values) - 1)]
    return float((values[best] + following) / 2)


def pairs_above(scores: Mapping[Pair, float], threshold: float) -> set[Pair]:
    """The pairs with at least the threshold score: predictions for BUCC."""
    return {pair for pair, score in scores.items() if score >= threshold}


def _unit(embeddings: Embeddings) -> Floats:
    """Rows normalised to length 1; zero rows stay zero, with cosine 0 to all."""
    if embeddings.ndim != 2 or not len(embeddings):
        raise ValueError(f"expected embeddings of at least one sentence, got shape {embeddings.shape}")
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return (embeddings / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _neighbours(queries: Floats, candidates: Floats, num_neighbours: int) -> tuple[Floats, Ints]:
    """The highest cosines and their candidates, in decreasing order, shape (num_queries, num_neighbours) each."""
    if queries.shape[1] != candidates.shape[1]:
        raise ValueError(f"expected equal widths, got {queries.shape[1]} and {candidates.shape[1]}")
    cosines = np.empty((len(queries), num_neighbours), dtype=np.float32)
    rows = np.empty((len(queries), num_neighbours), dtype=np.int64)
    for begin in range(0, len(queries), _ROWS):
        block = slice(begin, begin + _ROWS)
        values = queries[block] @ candidates.T  # (rows, num_candidates)
        places = np.arange(len(values))
        for rank in range(num_neighbours):  # faster than a partition for a small number; the first of equals
            best = values.argmax(1)
            rows[block, rank], cosines[block, rank] = best, values[places, best]
            values[places, best] = -np.inf
    return cosines, rows


def _margin(cosine: Floats, level: Floats) -> Floats:
    return np.divide(cosine, level, out=np.zeros_like(cosine), where=level > _ROUNDING)


def _best(scores: Floats, rows: Ints) -> tuple[Ints, Floats]:
    """The neighbour with the highest score in each row, and its score."""
    column = scores.argmax(1)[:, None]
    return np.take_along_axis(rows, column, 1)[:, 0], np.take_along_axis(scores, column, 1)[:, 0]


def _distinct(sentences: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
    """The first row of each distinct sentence, and whether that sentence occurs once."""
    numbers: dict[str, int] = {}
    text = np.array([numbers.setdefault(sentence.strip(), len(numbers)) for sentence in sentences])
    _, first, times = np.unique(text, return_index=True, return_counts=True)
    return first, times == 1
