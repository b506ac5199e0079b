"""Complexity and cost for any cost of a wrong guess: cost of a language, and the rate-distortion curve."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ecsuite.eval.efficiency.information import Floats, mutual_information
from ecsuite.runtime.errors import ConfigError

PRECISION = 1e-10
"""A slope is done when a step changes the objective by less, in nats."""
MOST_STEPS = 20_000
"""Steps for a slope."""

Listener = Literal["bayesian", "literal"]
"""bayesian: guesses by p(m) q(w|m); literal: by q(w|m) alone, as of a listener that knows no need."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Curve:
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


def rate_distortion(need: Floats, distortion: Floats, slopes: Floats | None = None) -> Curve:
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
        for _ in range(MOST_STEPS):
            sums = weights @ of_guess
            objective = -float(need @ np.log(sums))
            of_guess = of_guess * (need / sums @ weights)
            if before - objective < PRECISION:
                break
            before = objective
        decoder = weights * of_guess / (weights @ of_guess)[:, None]
        rates.append(mutual_information(decoder * need[:, None]))
        expected.append(float((need[:, None] * decoder * distortion).sum()))
    return Curve(slopes=slopes, rates=np.array(rates), distortions=np.array(expected))


def _require_square(distortion: Floats, number: int) -> None:
    if distortion.shape != (number, number) or not np.isfinite(distortion).all():
        raise ConfigError(
            f"distortion: expected finite numbers of shape ({number}, {number}), got {distortion.shape}"
        )
