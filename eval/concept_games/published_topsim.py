"""Topographic similarity as the CBM paper defines it; `ecsuite score` has another one (see docs/concept_games.md)."""

import numpy as np
from scipy.stats import spearmanr

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import concept_sets
from ecsuite.eval.metrics.score import Score, unscored
from ecsuite.eval.metrics.topsim import cosine_distance, edit_distance
from ecsuite.eval.metrics.traits import Traits


def topsim_published(corpus: Corpus) -> Score:
    """Topographic similarity as defined in the CBM paper (section 2.3): Spearman correlation over all pairs.

    The distance of messages is the unnormalised Levenshtein distance on words, that of phrases the cosine distance of
    multi-hot vectors. The paper uses the cosine of object representations, which sets of objects do not have.
    """
    num_rows = len(corpus.messages)
    how = {"dist": "lev", "mdist": "cosine-of-concepts", "eos": "strip", "pairs": "all", "n": num_rows}
    score = unscored(Traits(name="topsim_published", about="close phrases have close messages"), **how)
    phrases = concept_sets(corpus)
    if phrases is None or num_rows < 3:
        return score(value=None, reason="expected at least three messages with concepts")
    left, right = np.triu_indices(num_rows, 1)
    content = corpus.content()
    mean_lengths = (content.lengths[left] + content.lengths[right]) / 2
    message_distances = np.rint(edit_distance(content)(left, right) * np.maximum(0.5, mean_lengths))
    vectors = np.zeros((num_rows, int(phrases.values.max(initial=0)) + 1))
    vectors[np.repeat(np.arange(num_rows), phrases.lengths), phrases.values] = 1
    phrase_distances = cosine_distance(vectors)(left, right)
    for distances, what in ((message_distances, "messages"), (phrase_distances, "phrases")):
        if np.ptp(distances) == 0:
            return score(value=None, reason=f"all {what} are equally far apart")
    return score(value=float(spearmanr(message_distances, phrase_distances).statistic))
