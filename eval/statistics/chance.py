"""Chance levels: scores without structure, and the probability of a score under them.

A chance level is created and evaluated here. It is the mean score of permutations, whose scores are stored one by one:
means over speakers or agents are then means per draw, which have the right spread and shape for any distribution of the
parts. Or it is a single number without a spread, from the best constant answer or from theory; then the error of the
score decides.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import msgspec
import numpy as np

from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import (
    ALPHA,
    NO_SPREAD,
    CrossedMean,
    share_p_value,
    standard_error,
    student_quantile,
    student_tail,
)

Kind = Literal["shuffle", "constant", "theory"]
"""Source of a chance level: scores of permutations; the best answer without reading messages; a formula."""
Basis = Literal["ranks", "tail", "error", "theory"]
"""Basis of a p-value, see `Chance.p_value`."""
LEAST_SPREAD = 0.01
"""Minimum half-width of the interval of permutations, as a share of their score, if all scores are equal: the true
spread is not 0, but too small to be visible in 100 permutations."""
ROUNDING = 1e-12
"""Difference below which draws are equal; or `NO_SPREAD` times the largest draw, if that is more."""
LEAST_DEFINED = 0.5
"""Minimum share of permutations with a score; a level from fewer would come from unusual permutations."""


class Chance(msgspec.Struct, frozen=True, kw_only=True):
    """The chance level of a score.

    Example:
        >>> chance = Chance(kind="shuffle", level=0.2, draws=(0.1, 0.2, 0.3), num_drawn=3, seed=0)
        >>> chance.low < 0.2 < chance.high
        True
    """

    kind: Kind
    """Source of the level."""
    level: float
    """Expected score without structure."""
    draws: tuple[float | None, ...] = ()
    """Scores of permutations, None for a permutation without a score."""
    seed: int | None = None
    """Seed of the permutations."""
    bounds: tuple[float, float] | None = None
    """Range of the score; None without bounds."""
    compared: float | None = None
    """Value to compare with the level, if it is not the score: the score of fewer messages, or from a faster search."""
    num_rows: int | None = None
    """Messages of a permutation, if not all."""
    num_meanings: int | None = None
    """Number of meanings whose messages are exchanged; None if other units are exchanged."""
    num_pairings: int | None = None
    """Number of distinct pairings of messages and meanings; None if unknown, or above 2^53."""
    error: float | None = None
    """Standard error of the score, for a level without spread."""
    freedom: float | None = None
    """Degrees of freedom of `error`."""
    p_of_theory: float | None = None
    """Probability of at least this score without structure, if theory gives it."""
    printed: tuple[float | None, float | None] = (None, None)
    """Values of `low` and `high` in a file without draws."""

    @property
    def defined(self) -> Floats:
        """Draws with a score, (num_defined,)."""
        return np.array([each for each in self.draws if each is not None])

    @property
    def interval(self) -> tuple[float, float]:
        """Range of a further draw, see `prediction_interval`; for a level without spread, the level twice."""
        draws = self.defined
        if not len(draws):
            low, high = self.printed
            return self.level if low is None else low, self.level if high is None else high
        low, high = prediction_interval(draws)
        least, most = (low, high) if self.bounds is None else self.bounds
        return min(max(least, low), self.level), max(min(most, high), self.level)

    @property
    def low(self) -> float:
        """Lower end of `interval`."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """Upper end of `interval`."""
        return self.interval[1]

    @property
    def is_exact(self) -> bool:
        """Whether the draws are all distinct pairings, including the pairing of the corpus."""
        return len(self.draws) == self.num_pairings

    def distance(self, value: float) -> float:
        """Difference between the compared value and the level."""
        return (value if self.compared is None else self.compared) - self.level

    def p_value(self, value: float) -> tuple[float | None, Basis]:
        """Two-sided p-value against chance, and its basis.

        - `ranks`: (1 + k) / (1 + n), where k of n permutations are at least as far as the score from the mean of all,
          including the score (Phipson and Smyth 2010, "Permutation p-values should never be zero", Statistical
          Applications in Genetics and Molecular Biology 9, equation 2). It is valid even for a level that is skewed or
          has few values. If the draws are all pairings, it is exact: k / n. Draws that differ only by rounding are
          equally far.
        - `tail`: if no permutation is as far, ranks give no p-value below 1 / (1 + n), which for 100 permutations is
          above 5 % after a correction for 16 scores. The p-value is then from Student's t with n - 1 degrees of
          freedom, for the distance in units of the half-width of `prediction_interval` on this side, if that is
          smaller. It is at least 1 / number of pairings, if known.
        - `error`: Student's t for the distance in standard errors of the score, for a level without spread.
        - `theory`: `p_of_theory`.

        Returns:
            No p-value if all permutations have the score 0, which does not show the spread, if fewer than half of the
            permutations have a score, or if neither level nor score has a spread.
        """
        distance = self.distance(value)
        if not self.draws:
            return self._p_of_level(distance)
        draws = self.defined
        if len(draws) < max(1 if self.is_exact else 2, LEAST_DEFINED * len(self.draws)):
            return None, "ranks"
        others = 0 if self.is_exact else 1  # the compared value, if it is not among the draws
        compared = self.level + distance
        middle = self.level + distance * others / (others + len(draws))  # the mean of all
        rounding = max(ROUNDING, NO_SPREAD * float(np.abs([*draws, compared]).max()))
        reached = int((np.abs(draws - middle) >= abs(compared - middle) - rounding).sum())
        if self.is_exact:
            return max(1, reached) / len(draws), "ranks"
        p_value = (1 + reached) / (1 + len(draws))
        if reached:
            return p_value, "ranks"
        freedom, (low, high) = len(draws) - 1, prediction_interval(draws)
        if np.ptp(draws) < NO_SPREAD:
            half_width = LEAST_SPREAD * abs(self.level)
        else:  # if almost all draws are equal, their range does not show the spread
            half_width = max(high - self.level if distance > 0 else self.level - low, _half_width(draws))
        if half_width < NO_SPREAD:
            return None, "ranks"
        tail = 2 * student_tail(
            abs(distance) / half_width * student_quantile(1 - ALPHA / 2, freedom), freedom
        )
        if self.num_pairings is not None:
            tail = max(tail, 1 / self.num_pairings)
        return (tail, "tail") if tail < p_value else (p_value, "ranks")

    def to_json(self, value: float | None) -> dict[str, Any]:
        """The level as printed: JSON-ready data without the draws."""
        p_value, basis = (None, None) if value is None else self.p_value(value)
        low, high = self.interval
        return {
            "kind": self.kind,
            "level": self.level,
            "low": low,
            "high": high,
            "p_value": p_value,
            "basis": basis,
            "compared": self.compared,
            "shuffles": len(self.draws),
            "defined": len(self.defined),
            "num_rows": self.num_rows,
            "num_meanings": self.num_meanings,
            "num_pairings": self.num_pairings,
            "seed": self.seed,
        }

    def kept(self) -> dict[str, Any]:
        """Further JSON fields, such as the draws, from which with `to_json` the level can be restored."""
        return {
            "draws": list(self.draws),
            "bounds": None if self.bounds is None else list(self.bounds),
            "error": self.error,
            "freedom": self.freedom,
            "p_of_theory": self.p_of_theory,
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Self | None:
        """Read the level in the JSON of a score, with its draws if stored; None without a numeric level."""
        if type(data.get("level")) not in (int, float):
            return None
        values = {name: data[name] for name in cls.__struct_fields__ if name in data}
        values["draws"] = tuple(data.get("draws") or ())
        if "draws" not in data:
            values["printed"] = data.get("low"), data.get("high")
        values["bounds"] = tuple(data["bounds"]) if data.get("bounds") else None
        return cls(**{"kind": "shuffle", **values})

    @staticmethod
    def from_permutations(
        draws: Sequence[float] | Floats,
        *,
        seed: int | None,
        bounds: tuple[float, float] | None,
        compared: float | None = None,
        num_rows: int | None = None,
        num_meanings: int | None = None,
        num_pairings: int | None = None,
    ) -> "Chance | None":
        """Make the chance level of permutations, their mean score; None if no permutation has a score.

        Args:
            draws: The score of each permutation, NaN if undefined, (num_draws,).
            seed: Seed of the permutations.
            bounds: Range of the score.
            compared: Value to compare with the level, if it is not the score.
            num_rows: Messages of a permutation, if not all.
            num_meanings: Number of meanings whose messages are exchanged.
            num_pairings: Number of distinct pairings.
        """
        values = np.asarray(draws, float)
        if np.isnan(values).all():
            return None
        return Chance(
            kind="shuffle",
            level=float(np.nanmean(values)),
            draws=tuple(None if math.isnan(each) else each for each in values.tolist()),
            seed=seed,
            bounds=bounds,
            compared=compared,
            num_rows=num_rows,
            num_meanings=num_meanings,
            num_pairings=num_pairings,
        )

    @staticmethod
    def from_guesses(level: float, values: Sequence[float]) -> "Chance":
        """Make a chance level without spread, from the best constant answer, for a mean of independent values.

        Equal shares do not show the error of their mean: their p-value is binomial, for as many trials as values.

        Args:
            level: The level.
            values: Values whose mean is the score.
        """
        error, number = standard_error(values), math.fsum(values)
        are_shares = 0 <= min(values) <= max(values) <= 1 and 0 < level < 1
        is_exact = error is not None and error < NO_SPREAD and are_shares
        return Chance(
            kind="constant",
            level=level,
            error=error,
            freedom=len(values) - 1,
            p_of_theory=share_p_value(number, len(values), level) if is_exact else None,
        )

    @staticmethod
    def from_pairs(level: float, mean: CrossedMean) -> "Chance":
        """Make a chance level without spread for a mean share over pairs; equal pairs have a binomial p-value."""
        number, is_share = mean.num_equal, 0 < level < 1
        return Chance(
            kind="constant",
            level=level,
            error=mean.error,
            freedom=mean.freedom,
            p_of_theory=share_p_value(mean.mean * number, number, level) if number and is_share else None,
        )

    @staticmethod
    def average(
        parts: "Sequence[Chance | None]",
        values: Sequence[float],
        error: float | None,
        freedom: float,
        num_meanings: int | None = None,
    ) -> "Chance | None":
        """Average the chance levels of scores that are averaged, such as speakers' scores, draw by draw.

        The mean of a draw is over the parts with a score in it. Parts with the same number of meanings have the same
        permutations, so speakers who share a language do not count as independent. If numbers of draws differ, the
        smallest number is used; draws of a part that are all its pairings are repeated.

        Args:
            parts: Chance level of each score.
            values: The scores.
            error: Standard error of the mean score; None for one score.
            freedom: Degrees of freedom of `error`.
            num_meanings: Number of distinct meanings in all parts, as meanings of several parts count once; None: no
                part has a meaning of another.

        Returns:
            None if a part has no chance level, or no draw has a score.
        """
        if not parts or any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        first = known[0]
        if not all(part.draws for part in known):
            level = float(np.mean([part.level for part in known]))
            return Chance(kind=first.kind, level=level, bounds=first.bounds, error=error, freedom=freedom)
        sizes = [len(part.draws) for part in known if not part.is_exact]
        number = min(sizes) if sizes else max(len(part.draws) for part in known)
        table = np.array([np.resize(np.array(part.draws, float), number) for part in known])
        has_score = ~np.isnan(table)
        means = np.full(number, np.nan)
        np.divide(np.where(has_score, table, 0).sum(0), has_score.sum(0), where=has_score.any(0), out=means)
        meanings = [part.num_meanings for part in known]
        number_of_all = sum(each or 0 for each in meanings)
        compared = [part.level + part.distance(value) for part, value in zip(known, values, strict=True)]
        return Chance.from_permutations(
            means,
            seed=first.seed,
            bounds=_mean_bounds([part.bounds for part in known]),
            compared=float(np.mean(compared)) if any(part.compared is not None for part in known) else None,
            num_meanings=None if None in meanings else min(number_of_all, num_meanings or number_of_all),
        )

    def _p_of_level(self, distance: float) -> tuple[float | None, Basis]:
        if abs(distance) < NO_SPREAD:
            return 1.0, "theory"
        if self.p_of_theory is not None:
            return self.p_of_theory, "theory"
        if self.error is None or not self.freedom:
            return None, "error"
        error = max(self.error, LEAST_SPREAD * abs(self.level))
        if error < NO_SPREAD:
            return None, "error"
        return 2 * student_tail(abs(distance) / error, self.freedom), "error"


def _mean_bounds(bounds: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    ends = [each for each in bounds if each is not None]
    if len(ends) < len(bounds):
        return None
    low, high = np.mean(ends, axis=0).tolist()
    return low, high


def prediction_interval(draws: Floats) -> tuple[float, float]:
    """Interval that contains a further draw of the same distribution with probability 95 %.

    From 39 draws on, its bounds are order statistics, which is exact for every continuous distribution: with 39 draws
    the lowest and the highest, with more draws interpolated. With fewer draws it is Student's prediction interval,
    which is exact for normal draws; a single draw is both bounds.

    Args:
        draws: Shape (num_draws,), without NaN.
    """
    number, tail = len(draws), ALPHA / 2
    if round(tail * (number + 1), 9) >= 1:  # rounded: with 39 draws it is 1
        low, high = np.quantile(draws, [tail, 1 - tail], method="weibull").tolist()
        return low, high
    mean, half_width = float(draws.mean()), _half_width(draws) if number > 1 else 0.0
    return mean - half_width, mean + half_width


def _half_width(draws: Floats) -> float:
    """Half-width of Student's prediction interval, for at least two draws."""
    number = len(draws)
    quantile = student_quantile(1 - ALPHA / 2, number - 1)
    return quantile * float(draws.std(ddof=1)) * math.sqrt(1 + 1 / number)
