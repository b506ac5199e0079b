"""Bounds of a space of meanings: the information bottleneck, cached on disk, and the rate-distortion curve."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.files.data_folder import data_folder
from ecsuite.runtime.errors import ConfigError, DamagedError
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
class InformationBound:
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
    """Position of a language relative to the bound."""

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


def fit(space: Space, bound: InformationBound, encoder: Floats) -> Fit:
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


def compute_bound(
    space: Space, progress: Callable[[int, int], None] = lambda done, total: None
) -> InformationBound:
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
    return InformationBound(
        betas=betas, complexity=np.array(rates), accuracy=np.array(told), encoders=encoders
    )


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


VERSION = f"{NUM_BETAS} {MOST_BETA} {LEAST_BETA} {PRECISION:g}"
"""Further dependencies of a bound, in addition to its space."""


def bound_of(
    space: Space,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> InformationBound:
    """The bound of a space, read where it was kept, else computed and kept in the folder of downloaded data.

    Args:
        space: The meanings.
        progress: Called with the number of values of beta that are done, and of all.
    """
    kept = kept_bound(space.digest)
    if kept is not None:
        return kept
    bound = compute_bound(space, progress)
    _write(_file(space.digest), space, bound)
    return bound


def kept_bound(digest: str) -> InformationBound | None:
    """The bound of the space of a digest, such as that of a signature.

    Returns:
        None if there is none on this machine, or it is damaged or of another version.
    """
    from ecsuite.files.tensor_files import read_tensors

    try:
        tensors, values = read_tensors(_file(digest))
    except (OSError, DamagedError):
        return None
    if values != {"space": digest, "version": VERSION}:
        return None
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    return InformationBound(
        betas=arrays["betas"],
        complexity=arrays["complexity"],
        accuracy=arrays["accuracy"],
        encoders=[arrays[f"encoder {place}"] for place in range(len(arrays["betas"]))],
    )


def _file(digest: str) -> Path:
    return data_folder("bounds") / f"{digest}.safetensors"


def _write(file: Path, space: Space, bound: InformationBound) -> None:
    """Keep a bound; a folder that can't be written keeps nothing."""
    import torch

    from ecsuite.files.tensor_files import write_tensors

    curves = {"betas": bound.betas, "complexity": bound.complexity, "accuracy": bound.accuracy}
    tensors = {name: torch.from_numpy(each) for name, each in curves.items()}
    for place, encoder in enumerate(bound.encoders):
        tensors[f"encoder {place}"] = torch.from_numpy(encoder)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(file, tensors, {"space": space.digest, "version": VERSION})
    except OSError:
        return


RATE_PRECISION = 1e-10
"""A slope is done when a step changes the objective by less, in nats."""
MOST_RATE_STEPS = 20_000
"""Steps for a slope."""

Listener = Literal["bayesian", "literal"]
"""bayesian: guesses by p(m) q(w|m); literal: by q(w|m) alone, as of a listener that knows no need."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RateDistortionCurve:
    """The least rate for each distortion, by descending slope."""

    slopes: Floats
    """(num_slopes,)."""
    rates: Floats
    """Bits, (num_slopes,)."""
    distortions: Floats
    """Expected distortion, (num_slopes,)."""


def communicative_cost(
    need: Floats, encoder: Floats, distortion: Floats, listener: Listener = "bayesian"
) -> float:
    """The expected distortion of what a listener guesses: Kemp, Xu and Regier (2018), equation 2, for any distortion.

    With distortion 1 - utility, and where each meaning has one word, it is 1 - `informativity` of ULTK
    (https://github.com/CLMBRs/ultk): of a literal listener its literal one, of a Bayesian one its pragmatic one.

    Args:
        need: p(m), (num_meanings,).
        encoder: q(w|m), (num_meanings, num_words).
        distortion: Of a meaning by the guess, (num_meanings, num_meanings).
        listener: How it guesses.

    Raises:
        ConfigError: If the distortion is no such matrix.
    """
    _require_square(distortion, len(need))
    likely = encoder * need[:, None] if listener == "bayesian" else encoder
    total = likely.sum(0)
    guesses = (likely / np.where(total > 0, total, 1)).T
    return float((need[:, None] * (encoder @ guesses) * distortion).sum())


def rate_distortion(need: Floats, distortion: Floats, slopes: Floats | None = None) -> RateDistortionCurve:
    """The rate-distortion function: Blahut (1972), "Computation of channel capacity and rate-distortion functions".

    For each slope beta, q(g|m) = q(g) exp(-beta d(m, g)) / Z until nothing improves: the least I(M; G) + beta E[d].

    Args:
        need: p(m), (num_meanings,).
        distortion: Of a meaning by a guess, (num_meanings, num_guesses).
        slopes: In nats per unit of distortion, (num_slopes,); 2^-6 to 2^10 if not given.
    """
    if distortion.ndim != 2 or len(distortion) != len(need) or not np.isfinite(distortion).all():
        raise ConfigError(f"distortion: expected a row for each of {len(need)} meanings, of finite numbers")
    slopes = 2.0 ** np.linspace(10, -6, 200) if slopes is None else np.asarray(slopes, np.float64)
    rates, expected = [], []
    for slope in slopes.tolist():
        weights = np.exp(-slope * (distortion - distortion.min(1, keepdims=True)))
        of_guess = np.full(distortion.shape[1], 1 / distortion.shape[1])
        before = np.inf
        for _ in range(MOST_RATE_STEPS):
            sums = weights @ of_guess
            objective = -float(need @ np.log(sums))
            of_guess = of_guess * (need / sums @ weights)
            if before - objective < RATE_PRECISION:
                break
            before = objective
        decoder = weights * of_guess / (weights @ of_guess)[:, None]
        rates.append(mutual_information(decoder * need[:, None]))
        expected.append(float((need[:, None] * decoder * distortion).sum()))
    return RateDistortionCurve(slopes=slopes, rates=np.array(rates), distortions=np.array(expected))


def _require_square(distortion: Floats, number: int) -> None:
    if distortion.shape != (number, number) or not np.isfinite(distortion).all():
        raise ConfigError(
            f"distortion: expected finite numbers of shape ({number}, {number}), got {distortion.shape}"
        )
