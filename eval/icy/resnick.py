"""Residual entropy as in the program of Resnick et al. (2020), for two symbols: only for comparison."""

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.residual_entropy import entropies_or_reason
from ecsuite.eval.statistics.positions import position_columns


def resnick_residual_bits(corpus: Corpus) -> float | None:
    """Mean residual entropy in bits, each position being assigned to the attribute whose values influence it most.

    The influence of attribute i on position j is the mean over its values v of |P(j has the first symbol | v) -
    that probability's mean over the values of all attributes|: Perkins (2021), Table 8, `resent_resnick`.
    The program adds 1e-8 to every count before it takes entropies; we add nothing.

    Returns:
        None unless every message has the same length, exactly two symbols are in use, and some
        attribute varies.
    """
    entropies, content = entropies_or_reason(corpus), corpus.reindexed()[0]
    if isinstance(entropies, str) or np.ptp(content.lengths) or content.values.max() != 1:
        return None
    is_first = (position_columns(corpus) == 1).astype(np.float64)
    shares = [
        np.stack([is_first[:, values == value].mean(axis=1) for value in np.unique(values)])
        for values in entropies.attributes
    ]
    mean = np.concatenate(shares).mean(axis=0)
    influence = [np.abs(share - mean).mean(axis=0) for share in shares]
    partition = tuple(np.argmax(np.round(influence, 9), axis=0).tolist())  # rounding errors break no ties
    return float(entropies.residuals(partition).mean())
