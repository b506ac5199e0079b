"""Concept best matching as a function of the corpus size: Carmeli et al. (2024), appendix E and figure 4.

Few samples are easy to match in any language: a score is not reliable at sizes where the curves still fall.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import Count
from ecsuite.eval.counts.samples import Samples
from ecsuite.eval.statistics.contingency import Ints
from ecsuite.eval.statistics.matching import best_match
from ecsuite.runtime.errors import CorpusError

STEP = 100
"""Samples per segment in figure 4."""
MAX_POINTS = 50
"""Maximum number of points of a curve; long corpora have longer segments, in multiples of `STEP`."""


def sensitivity(corpus: Corpus, count: Count = "tokens", step: int | None = None) -> dict[str, Any]:
    """The two curves of figure 4: scores of growing prefixes of the corpus, and of separate segments.

    Args:
        corpus: Messages with concepts.
        count: Tokens as in the metric `cbm`, types as in `cbm_types`.
        step: Samples per segment; None: `STEP`, or more if the corpus has more than `STEP * MAX_POINTS` samples.

    Returns:
        JSON-ready data: `step`; `sizes`, numbers of samples in steps up to the whole corpus; `accumulated`, the score
        of the first `sizes[i]` samples; `segmented`, the score of each complete segment, in corpus order, where
        segment i ends at `sizes[i]`; `accumulated_sd` and `segmented_sd`, the standard deviations of the two curves
        (n - 1; None for fewer than two values). A score is None if the samples have neither words nor concepts.

    Raises:
        CorpusError: If the corpus has no concepts.
        ValueError: If `step` is below 1.
    """
    if corpus.concepts is None or not corpus.concepts.values.size:
        raise CorpusError("the corpus has no concepts to match words with")
    num_rows = len(corpus.messages)
    if step is None:
        step = STEP * max(1, -(-num_rows // (STEP * MAX_POINTS)))
    if step < 1:
        raise ValueError(f"step {step}: expected at least 1 sample per segment")

    samples = Samples(corpus, count)
    phrases = samples.phrases
    repeats = bool((phrases.count > 1).any())
    tables = [phrases.matrix(), *([phrases.once().matrix()] if repeats else [])]
    larger = np.maximum(samples.words_per_row(), samples.concepts_per_row())
    weights, present = np.zeros((2, len(samples.word_ids), len(phrases.ids)), np.int64)
    num_edges = 0
    sizes: list[int] = []
    accumulated: list[float | None] = []
    segmented: list[float | None] = []
    for part in samples.parts(step):
        # Few words, so the assignment problem is small.
        used, kind = np.unique(part.kind, return_inverse=True)
        segment_words = replace(part, kind=kind).matrix(len(used)).T
        segment_weights, *once = ((segment_words @ table[part.phrase]).toarray() for table in tables)
        segment_present = once[0] if once else segment_weights
        segment_edges = int(larger[part.rows].sum())
        weights[used] += segment_weights
        present[used] += segment_present
        num_edges += segment_edges
        sizes.append(part.rows.stop)
        accumulated.append(_score(weights, present, num_edges))
        if len(part.phrase) == step:
            segmented.append(_score(segment_weights, segment_present, segment_edges))
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
    """The score of a part of a corpus; None if it has neither words nor concepts."""
    word, concept = best_match(weights)
    return float(present[word, concept].sum() / num_edges) if num_edges else None


def _deviation(scores: list[float | None]) -> float | None:
    """The standard deviation of the scores that are not None; None for fewer than two."""
    known = [score for score in scores if score is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None
