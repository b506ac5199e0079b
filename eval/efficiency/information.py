"""Complexity and accuracy of a language in bits, and how far apart two languages are."""

import numpy as np
from numpy.typing import NDArray

from ecsuite.spaces.space import Space

Floats = NDArray[np.float64]


def mutual_information(joint: Floats) -> float:
    """I(X; Y) in bits of a joint distribution, (num_x, num_y)."""
    return max(0.0, _entropy(joint.sum(0)) + _entropy(joint.sum(1)) - _entropy(joint))


def complexity(space: Space, encoder: Floats) -> float:
    """I(M; W) in bits: what a language's words tell of the meaning; Zaslavsky et al. (2018), equation 2.

    Args:
        space: The meanings.
        encoder: q(w|m), (num_meanings, num_words).
    """
    return mutual_information(encoder * space.need[:, None])


def accuracy(space: Space, encoder: Floats) -> float:
    """I(W; U) in bits: what its words tell of the referent; equation 3 up to the constant I(M; U).

    Args:
        space: The meanings.
        encoder: q(w|m), (num_meanings, num_words).
    """
    return mutual_information((encoder * space.need[:, None]).T @ space.beliefs)


def generalized_distance(space: Space, encoder: Floats, other: Floats) -> float:
    """GNID of two languages, from 0 to 1: Zaslavsky et al. (2018), equation 5.

    1 - I(W; V) / max(I(W; W'), I(V; V')), where w and w' are two independent uses of one language for the same meaning,
    and v, v' those of the other. It is the normalised information distance of Vinh et al. (2010) for soft categories; 0
    if both are the same partition of the meanings.

    Args:
        space: The meanings.
        encoder: q(w|m), (num_meanings, num_words).
        other: q(v|m), (num_meanings, num_other_words).

    Returns:
        0 where neither language tells anything.
    """
    weighted = encoder * space.need[:, None]
    both = mutual_information(weighted.T @ other)
    most = max(
        mutual_information(weighted.T @ encoder),
        mutual_information((other * space.need[:, None]).T @ other),
    )
    return 1 - both / most if most > 1e-12 else 0.0


def _entropy(probabilities: Floats) -> float:
    """In bits."""
    positive = probabilities[probabilities > 0]
    return -float(positive @ np.log2(positive))
