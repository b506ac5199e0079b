"""The information-bottleneck bound of a space: the least complexity for each accuracy, and the languages on it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.efficiency.information import Floats, accuracy, complexity, generalized_distance
from ecsuite.spaces.space import Space

NUM_BETAS = 400
"""Values of beta."""
MOST_BETA, LEAST_BETA = 10, -10
"""Powers of 2 of beta - 1, from the first to the last. Below beta = 1 nothing is worth a word, for any space."""
PRECISION = 1e-8
"""A value of beta is done when a step improves the objective by less, in nats."""
MOST_STEPS = 20_000
"""Steps for a value of beta."""
UNUSED = 1e-12
"""Words of less probability are dropped."""
SAME = 1e-3
"""Words are one if their q(m|w) differ in all by less: then each says what both say."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Bound:
    """The curve, by descending beta, and a language for each value."""

    betas: Floats
    """(num_betas,)."""
    complexity: Floats
    """I(M; W) in bits, (num_betas,)."""
    accuracy: Floats
    """I(W; U) in bits, (num_betas,)."""
    encoders: Sequence[NDArray[np.float32]]
    """q(w|m) of each, (num_meanings, num_words)."""

    @property
    def objective(self) -> Floats:
        """F* of each beta in bits: the least I(M; W) - beta I(W; U) of all languages here.

        Each language bounds it for every beta, so the least is taken over all: it is then concave in beta.
        """
        least: Floats = (self.complexity[None] - self.betas[:, None] * self.accuracy[None]).min(1)
        return least


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """Where a language is, beside the bound."""

    complexity: float
    """I(M; W) in bits."""
    accuracy: float
    """I(W; U) in bits."""
    loss: float
    """Epsilon in bits: how much less complex an optimal language of the same trade-off could be, divided by beta."""
    beta: float
    """Beta of the optimal language that is nearest, for which the loss is least."""
    distance: float
    """gNID to that language."""


def fit(space: Space, bound: Bound, encoder: Floats) -> Fit:
    """Find the optimal language that is nearest to one, as Zaslavsky et al. (2018), and as their program.

    beta_l minimises F_beta[q] - F*_beta over the values of beta, where F_beta[q] = I(M; W) - beta I(W; U); the loss
    epsilon is that minimum divided by beta_l (https://github.com/nogazs/ib-color-naming).

    Args:
        space: The meanings.
        bound: Of the space.
        encoder: q(w|m), (num_meanings, num_words).
    """
    rate, told = complexity(space, encoder), accuracy(space, encoder)
    excess = rate - bound.betas * told - bound.objective
    place = int(excess.argmin())
    beta = float(bound.betas[place])
    return Fit(
        complexity=rate,
        accuracy=told,
        loss=max(0.0, float(excess[place])) / beta,
        beta=beta,
        distance=generalized_distance(space, encoder, bound.encoders[place].astype(np.float64)),
    )


def compute_bound(space: Space, progress: Callable[[int, int], None] = lambda done, total: None) -> Bound:
    """Compute the bound by reverse deterministic annealing: Zaslavsky et al. (2018), SI section 1.3.

    Beta falls from 2^10 + 1, where every meaning has a word of its own, to 1, where all share one. For each value the
    steps of Tishby et al. (1999), equations 27 to 29, go on from the language of the value before:
    q(w|m) = q(w) exp(-beta D[p(u|m) || q(u|w)]) / Z. Words that have become the same are merged, which changes nothing
    but the time of a step.

    Args:
        space: The meanings.
        progress: Called with the number of values that are done, and of all.
    """
    betas = np.append(1 + 2.0 ** np.linspace(MOST_BETA, LEAST_BETA, NUM_BETAS), 1.0)
    encoder = np.eye(len(space))
    encoders, rates, told = [], [], []
    for done, beta in enumerate(betas.tolist()):
        progress(done, len(betas))
        encoder = _merged(space, _optimal(space, beta, encoder)) if beta > 1 else np.ones((len(space), 1))
        encoders.append(encoder.astype(np.float32))
        rates.append(complexity(space, encoder))
        told.append(accuracy(space, encoder))
    progress(len(betas), len(betas))
    return Bound(betas=betas, complexity=np.array(rates), accuracy=np.array(told), encoders=encoders)


def _optimal(space: Space, beta: float, encoder: Floats) -> Floats:
    """A language that no step improves any more."""
    beliefs, need = space.beliefs, space.need
    entropies = (beliefs * np.log(np.where(beliefs > 0, beliefs, 1))).sum(1)
    before = np.inf
    for _ in range(MOST_STEPS):
        of_word = need @ encoder
        if (of_word < UNUSED).any():
            encoder = encoder[:, of_word >= UNUSED]
            of_word = need @ encoder
        of_referent = (encoder * need[:, None]).T @ beliefs / of_word[:, None]
        divergences = entropies[:, None] - beliefs @ np.log(np.maximum(of_referent, 1e-300)).T
        exponents = np.log(of_word) - beta * divergences
        highest = exponents.max(1, keepdims=True)
        encoder = np.exp(exponents - highest)
        sums = encoder.sum(1, keepdims=True)
        encoder /= sums
        objective = -float(need @ (np.log(sums) + highest).ravel())
        if before - objective < PRECISION:
            break
        before = objective
    return encoder


def _merged(space: Space, encoder: Floats) -> Floats:
    """The language with those words as one that have the same q(m|w), the more probable ones first."""
    of_word = space.need @ encoder
    meant = ((encoder * space.need[:, None]) / of_word).T
    kinds: list[int] = []
    columns: list[Floats] = []
    for word in np.argsort(-of_word, kind="stable").tolist():
        near = np.flatnonzero(np.abs(meant[kinds] - meant[word]).sum(1) < SAME) if kinds else np.zeros(0, int)
        if len(near):
            columns[int(near[0])] += encoder[:, word]
        else:
            kinds.append(word)
            columns.append(encoder[:, word].copy())
    return np.stack(columns, axis=1)
