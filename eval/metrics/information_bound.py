"""Bounds for a space of meanings: the information bottleneck, cached on disk, and the rate-distortion curve."""

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
    """Mutual information I(X; Y) in bits of a joint distribution, (num_x, num_y)."""
    return max(0.0, _entropy(joint.sum(0)) + _entropy(joint.sum(1)) - _entropy(joint))


def complexity(space: Space, encoder: Floats) -> float:
    """Complexity I(M; W) in bits: information of words about meanings; Zaslavsky et al. (2018), equation 2.

    Args:
        space: The meanings.
        encoder: q(w|m), (num_meanings, num_words).
    """
    return mutual_information(encoder * space.need[:, None])


def accuracy(space: Space, encoder: Floats) -> float:
    """Accuracy I(W; U) in bits: information of words about referents; equation 3 up to the constant I(M; U).

    Args:
        space: The meanings.
        encoder: q(w|m), (num_meanings, num_words).
    """
    return mutual_information((encoder * space.need[:, None]).T @ space.beliefs)


def generalized_distance(space: Space, encoder: Floats, other: Floats) -> float:
    """Generalised normalised information distance (gNID) of two languages, 0 to 1: Zaslavsky et al. (2018), equation 5.

    1 - I(W; V) / max(I(W; W'), I(V; V')), where w and w' are two independent uses of the first language for a meaning,
    and v, v' of the second. It is the normalised information distance of Vinh et al. (2010) for soft categories; 0 if
    both are the same partition of the meanings.

    Args:
        space: The meanings.
        encoder: q(w|m), (num_meanings, num_words).
        other: q(v|m), (num_meanings, num_other_words).

    Returns:
        0 if neither language carries information.
    """
    weighted = encoder * space.need[:, None]
    both = mutual_information(weighted.T @ other)
    most = max(
        mutual_information(weighted.T @ encoder),
        mutual_information((other * space.need[:, None]).T @ other),
    )
    return 1 - both / most if most > 1e-12 else 0.0


def _entropy(probabilities: Floats) -> float:
    positive = probabilities[probabilities > 0]
    return -float(positive @ np.log2(positive))


NUM_BETAS = 400
"""Number of values of beta."""
MOST_BETA, LEAST_BETA = 10, -10
"""First and last exponent of 2 in beta - 1. Below beta = 1 the optimal language has one word, for any space."""
PRECISION = 1e-8
"""Improvement of the objective per step, in nats, below which a value of beta is done."""
MOST_STEPS = 20_000
"""Maximum number of steps per value of beta."""
UNUSED = 1e-12
"""Probability below which words are dropped."""
SAME = 1e-3
"""Summed difference of q(m|w) below which words are merged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class InformationBound:
    """Curve of optimal languages, by descending beta."""

    betas: Floats
    """Values of beta, (num_betas,)."""
    complexity: Floats
    """I(M; W) in bits, (num_betas,)."""
    accuracy: Floats
    """I(W; U) in bits, (num_betas,)."""
    encoders: Sequence[NDArray[np.float32]]
    """Encoder q(w|m) of each language, (num_meanings, num_words)."""

    @property
    def objective(self) -> Floats:
        """F* of each beta in bits: the minimum of I(M; W) - beta I(W; U) over all languages of the curve.

        Every language is a bound for every beta, so the minimum is over all languages; it is then concave in beta.
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
    """Deviation epsilon in bits: excess complexity over an optimal language of the same trade-off, divided by beta."""
    beta: float
    """Beta of the nearest optimal language, which has the least loss."""
    distance: float
    """Distance gNID to that language."""


def fit(space: Space, bound: InformationBound, encoder: Floats) -> Fit:
    """Find the nearest optimal language, as in Zaslavsky et al. (2018) and their program.

    beta_l minimises F_beta[q] - F*_beta over the values of beta, where F_beta[q] = I(M; W) - beta I(W; U); the loss
    epsilon is that minimum divided by beta_l (https://github.com/nogazs/ib-color-naming).

    Args:
        space: The meanings.
        bound: The bound of the space.
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

    Beta falls from 2^10 + 1, where every meaning has its own word, to 1, where all share one. For each value the steps
    of Tishby et al. (1999), equations 27 to 29, continue from the language of the value before: q(w|m) = q(w) exp(-beta
    D[p(u|m) || q(u|w)]) / Z. Words that have become equal are merged, which only saves time.

    Args:
        space: The meanings.
        progress: Called with the number of values that are done, and the total.
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
    """Iterate until no step improves the language."""
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
    """Language with words of equal q(m|w) merged, the most probable words first."""
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
"""Further inputs of a bound, in addition to its space."""


def bound_of(
    space: Space,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> InformationBound:
    """The bound of a space, from the cache in the folder of downloaded data, or else computed and cached.

    Args:
        space: The meanings.
        progress: Called with the number of values of beta that are done, and the total.
    """
    kept = kept_bound(space.digest)
    if kept is not None:
        return kept
    bound = compute_bound(space, progress)
    _write(_file(space.digest), space, bound)
    return bound


def kept_bound(digest: str) -> InformationBound | None:
    """The cached bound of the space with this digest, as in signatures.

    Returns:
        None if there is none on this machine, or if it is damaged or of another version.
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
    """Write a bound to the cache; a folder that is not writable is ignored."""
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
"""Change of the objective per step, in nats, below which a slope is done."""
MOST_RATE_STEPS = 20_000
"""Maximum number of steps per slope."""

Listener = Literal["bayesian", "literal"]
"""Guess of the listener: bayesian: by p(m) q(w|m); literal: by q(w|m) alone, without knowledge of the need."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RateDistortionCurve:
    """The least rate for each distortion, by descending slope."""

    slopes: Floats
    """Slopes, (num_slopes,)."""
    rates: Floats
    """Rates in bits, (num_slopes,)."""
    distortions: Floats
    """Expected distortion, (num_slopes,)."""


def communicative_cost(
    need: Floats, encoder: Floats, distortion: Floats, listener: Listener = "bayesian"
) -> float:
    """Expected distortion of a listener's guesses: Kemp, Xu and Regier (2018), equation 2, for any distortion.

    With distortion 1 - utility and one word per meaning, it is 1 - `informativity` of ULTK
    (https://github.com/CLMBRs/ultk): its literal informativity for a literal listener, its pragmatic one for a
    Bayesian.

    Args:
        need: p(m), (num_meanings,).
        encoder: q(w|m), (num_meanings, num_words).
        distortion: Distortion of each guess for each meaning, (num_meanings, num_meanings).
        listener: The rule of its guesses.

    Raises:
        ConfigError: If the distortion has another shape or infinite values.
    """
    _require_square(distortion, len(need))
    likely = encoder * need[:, None] if listener == "bayesian" else encoder
    total = likely.sum(0)
    guesses = (likely / np.where(total > 0, total, 1)).T
    return float((need[:, None] * (encoder @ guesses) * distortion).sum())


def rate_distortion(need: Floats, distortion: Floats, slopes: Floats | None = None) -> RateDistortionCurve:
    """The rate-distortion function: Blahut (1972), "Computation of channel capacity and rate-distortion functions".

    For each slope beta, q(g|m) = q(g) exp(-beta d(m, g)) / Z is iterated to the minimum of I(M; G) + beta E[d].

    Args:
        need: p(m), (num_meanings,).
        distortion: Distortion of each guess for each meaning, (num_meanings, num_guesses).
        slopes: In nats per unit of distortion, (num_slopes,); None: 2^-6 to 2^10.
    """
    if distortion.ndim != 2 or len(distortion) != len(need) or not np.isfinite(distortion).all():
        raise ConfigError(f"distortion: expected finite numbers in {len(need)} rows, one per meaning")
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
