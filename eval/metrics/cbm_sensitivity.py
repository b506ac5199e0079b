"""How concept best matching depends on the size of the corpus: Carmeli et al. (2024), appendix E and figure 4.

Few samples are easy to match, whatever the language: a score means little where these curves still fall.
"""

from typing import Any

import numpy as np

from ecsuite.corpus import Corpus, CorpusError
from ecsuite.eval.metrics.matching import best_match
from ecsuite.eval.metrics.translation_graph import Count, translate
from ecsuite.eval.statistics.counting import Ints

STEP = 100
"""Samples a segment in figure 4."""
MAX_POINTS = 50
"""A long corpus gets longer segments, in multiples of `STEP`, so that a curve has at most so many points."""


def sensitivity(corpus: Corpus, count: Count = "tokens", step: int | None = None) -> dict[str, Any]:
    """The two curves of figure 4: the score of the first samples, and of each segment by itself.

    Args:
        corpus: Messages with their concepts.
        count: Tokens as in the metric `cbm`, types as in `cbm_types`.
        step: Samples a segment; None means `STEP`, and more in a corpus of over `STEP * MAX_POINTS`.

    Returns:
        JSON-ready: `step`; `sizes`, by steps up to the whole corpus; `accumulated`, the score of the first
        so many samples; `segmented`, the score of each whole segment by itself, in the order of the corpus,
        segment i ending at `sizes[i]`; and `accumulated_sd` and `segmented_sd`, the standard deviations of
        the two curves (n - 1; None where there are fewer than two values). A score is None where the samples
        have neither words nor concepts.

    Raises:
        CorpusError: If the corpus names no concepts.
        ValueError: If `step` is below 1.
    """
    translation = translate(corpus, count)
    if translation is None:
        raise CorpusError("the corpus names no concepts: there is nothing to match words with")
    num_rows = len(corpus.messages)
    if step is None:
        step = STEP * max(1, -(-num_rows // (STEP * MAX_POINTS)))
    if step < 1:
        raise ValueError(f"step {step}: expected at least 1 sample a segment")

    words, concepts = translation.words, translation.concepts
    repeats = bool((concepts.count > 1).any())
    said, meant, different = words.matrix(), concepts.matrix(), concepts.once().matrix()
    larger = np.maximum(words.per_row, concepts.per_row)
    weights, present = np.zeros_like(translation.weights), np.zeros_like(translation.weights)
    num_edges = 0
    sizes: list[int] = []
    accumulated: list[float | None] = []
    segmented: list[float | None] = []
    for begin in range(0, num_rows, step):
        end = min(begin + step, num_rows)
        part = slice(begin, end)
        used = np.unique(said[part].indices)  # a segment has few of the words, so its own problem is small
        of_segment = said[part][:, used].T
        its_weights = (of_segment @ meant[part]).toarray()
        its_present = (of_segment @ different[part]).toarray() if repeats else its_weights
        its_edges = int(larger[part].sum())
        weights[used] += its_weights
        present[used] += its_present
        num_edges += its_edges
        sizes.append(end)
        accumulated.append(_score(weights, present, num_edges))
        if end - begin == step:
            segmented.append(_score(its_weights, its_present, its_edges))
    return {
        "step": step,
        "count": count,
        "sizes": sizes,
        "accumulated": accumulated,
        "accumulated_sd": _deviation(accumulated),
        "segmented": segmented,
        "segmented_sd": _deviation(segmented),
    }


def _score(weights: Ints, present: Ints, num_edges: int) -> float | None:
    """The score of one part of a corpus; None where nothing is said nor meant."""
    word, concept = best_match(weights)
    return float(present[word, concept].sum() / num_edges) if num_edges else None


def _deviation(scores: list[float | None]) -> float | None:
    """Their standard deviation, None for fewer than two."""
    known = [score for score in scores if score is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None
