"""Need probabilities of meanings, p(m): a power law, or the capacity-achieving prior of a language."""

import numpy as np

from ecsuite.spaces.space import Floats

PRECISION = 1e-6
"""Maximum gap in bits between the information of a capacity-achieving prior and the capacity."""
MOST_STEPS = 200_000
"""Maximum number of iterations of the capacity-achieving prior."""


def power_law(number: int, exponent: float = 1.0) -> Floats:
    """Zipf's law in the order of the meanings: p(m) is proportional to 1 / rank^exponent, (number,)."""
    weights = 1.0 / np.arange(1, number + 1) ** exponent
    need: Floats = weights / weights.sum()
    return need


def capacity_achieving(encoder: Floats) -> Floats:
    """Compute the capacity-achieving prior: p(m) that maximises I(M; W).

    The algorithm of Blahut (1972) and Arimoto (1972) for the capacity of the channel q(w|m), until the capacity is
    bounded within `PRECISION`. Meanings that the language does not name have need 0.

    Args:
        encoder: q(w|m), (num_meanings, num_words); rows of zeros are meanings without a word, columns of zeros
            are unused words.

    Returns:
        p(m), (num_meanings,).
    """
    is_named = encoder.sum(1) > 0
    table = encoder[is_named][:, encoder.any(0)]
    entropies = (table * np.log(np.where(table > 0, table, 1))).sum(1)
    need = np.full(len(table), 1 / max(1, len(table)))
    for _ in range(MOST_STEPS):
        gains = entropies - table @ np.log(need @ table)  # D[q(w|m) || q(w)] of each meaning, in nats
        if gains.max() - need @ gains < PRECISION * np.log(2):
            break
        need = need * np.exp(gains - gains.max())
        need /= need.sum()
    whole = np.zeros(len(encoder))
    whole[is_named] = need
    return whole
