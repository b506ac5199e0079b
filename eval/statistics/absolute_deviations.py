"""Least absolute deviations: the smallest summed absolute difference of targets from linear combinations of columns.

Many targets of one design are computed together, by an interior point method in numpy, as each programme is small and
most of the time of a solver would go into calling it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.contingency import Floats

Flags = NDArray[np.bool_]

NUM_TOGETHER = 64
"""Targets that are computed together: more would not fit the processor's cache."""
MAX_STEPS = 40
"""Of the interior point method; most targets need 4 to 9."""
TOLERANCE = 1e-9
"""Largest difference between an error and what is shown to be below it, relative to 1 and the target's sum."""
STEP = 0.9995
"""Share of the way to the bounds in one step."""
RIDGE = 1e-14
"""Relative to the mean of the diagonal: keeps singular equations solvable."""


def least_absolute_errors(design: Floats, targets: Floats, is_used: Flags | None = None) -> Iterator[float]:
    """The minimum sum of absolute deviations of each target from linear combinations of the columns of a design.

    Each is shown to be the minimum: for all signs t in [-1, 1] with X't = 0, y·t is at most the minimum, and signs are
    found for which it is the error up to `TOLERANCE`. Many targets need one least squares (`_zero_is_best`), others the
    method of `_Interior`; where rounding stops that, which was never seen with one-hot targets, it is done by simplex.

    Args:
        design: X, shape (num_rows, num_parameters).
        targets: y, shape (num_targets, num_rows).
        is_used: The rows that count for each target, the same shape; None: all.

    Yields:
        The minimum of each target.
    """
    if is_used is None:
        is_used = np.ones(targets.shape, bool)
    products = _Products(design)
    for start in range(0, len(targets), NUM_TOGETHER):
        part = slice(start, start + NUM_TOGETHER)
        used = is_used[part]
        values = targets[part] * used
        errors = np.abs(values).sum(1)
        others = np.flatnonzero(~_zero_is_best(products, values, used))
        if len(others):
            errors[others] = _Interior(products, values[others], used[others]).errors()
        for place in np.flatnonzero(np.isnan(errors)):
            errors[place] = simplex_error(design[used[place]], values[place, used[place]])
        yield from np.where(errors > TOLERANCE, errors, 0).tolist()


def simplex_error(design: Floats, target: Floats) -> float:
    """The same of one target by simplex, from the dual linear programme: max y·t over t in [-1, 1] with X't = 0."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # a tenth of a second, and hardly ever needed

    found = milp(-target, constraints=LinearConstraint(design.T, 0, 0), bounds=Bounds(-1, 1))
    assert found.success, found.message  # t = 0 is feasible and the box is bounded
    return -float(found.fun)


class _Products:
    """X'WX for many diagonal W at once: one matrix product of the weights with the products of pairs of columns."""

    def __init__(self, design: Floats) -> None:
        self.design = design
        width = design.shape[1]
        first, second = np.triu_indices(width)
        self.pairs = design[:, first] * design[:, second]
        place = np.zeros((width, width), int)
        place[first, second] = place[second, first] = np.arange(len(first))
        self.place = place.ravel()

    def weighted(self, weights: Any, ridge: float = 0.0) -> Floats:
        """X'WX of each row of weights, (num_targets, num_rows), with a ridge beside the relative one."""
        width = self.design.shape[1]
        found = (weights @ self.pairs).take(self.place, axis=1)
        found[:, :: width + 1] += RIDGE * found[:, :: width + 1].mean(1, keepdims=True) + ridge
        return np.asarray(found.reshape(-1, width, width))

    def solved(self, weighted: Floats, values: Floats) -> Floats:
        """The solution b of X'WX b = X'v for each row v of values."""
        return np.asarray(np.linalg.solve(weighted, (values @ self.design)[..., None])[..., 0])


def _zero_is_best(products: _Products, targets: Floats, is_used: Flags) -> Flags:
    """Whether it is shown that no combination of the columns comes nearer to a target than zero does.

    It is if t exists as in `least_absolute_errors` that has the signs of the target where this is not 0. Those of least
    squares at its zeros are looked at alone, so that False shows nothing.
    """
    signs = np.sign(targets)
    is_zero = is_used & (targets == 0)
    weighted = products.weighted(is_zero.astype(float), ridge=1e-12)
    signs -= is_zero * (products.solved(weighted, signs) @ products.design.T)
    outside = np.abs(np.where(is_zero, signs, 0)).max(1) > 1 - TOLERANCE
    return np.asarray(~outside & (np.abs(signs @ products.design).max(1) <= TOLERANCE))


class _Interior:
    """The interior point method of Portnoy and Koenker (1997), "The Gaussian hare and the Laplacian tortoise".

    Statistical Science 12; with Mehrotra's predictor and corrector. `signs` t stay within (-1, 1) and have X't = 0.
    `above` and `below` are what residuals y - Xb are above and below 0 at the minimum, where above (1 - t) = 0 and
    below (1 + t) = 0: both products go to 0 together. `weights` are b, (num_targets, num_parameters); other arrays are
    (num_targets, num_rows).
    """

    def __init__(self, products: _Products, targets: Floats, is_used: Flags) -> None:
        self.products = products
        self.of = np.arange(len(targets))  # the targets that are left
        self.found = np.full(len(targets), np.nan)
        self.targets, self.is_used = targets, is_used
        self.weights = products.solved(products.weighted(is_used.astype(float)), targets)
        self.residuals = targets - self.weights @ products.design.T
        used_residuals = np.abs(self.residuals * is_used)
        self.scale = used_residuals.sum(1, keepdims=True) / is_used.sum(1, keepdims=True)
        self.scale += 1e-12 * (1 + np.abs(targets).max(1, keepdims=True))
        self.signs = np.zeros(targets.shape)
        # those of rows that are not used take no part, and stay 1
        self.above = np.where(is_used, np.maximum(self.residuals, 0) + 0.3 * self.scale, 1)
        self.below = np.where(is_used, np.maximum(-self.residuals, 0) + 0.3 * self.scale, 1)
        self.tolerance = TOLERANCE * (1 + np.abs(targets).sum(1))
        self.goal = self.tolerance

    def errors(self) -> Floats:
        """The error of each target; NaN if it is not shown to be the minimum."""
        for _ in range(MAX_STEPS):
            gap = self._gap(self.above, self.below, self.signs)
            is_near = ~(gap > self.goal)
            if is_near.any():
                self.goal = np.where(is_near, self.goal / 100, self.goal)
                is_near[is_near] = self._is_shown(is_near)
                gap = gap[~is_near]
                self._leave(~is_near)
            if not len(self.of):
                break
            self._step(gap)
        return self.found

    def _gap(self, above: Floats, below: Floats, signs: Floats) -> Floats:
        """What the objectives still differ by."""
        return np.asarray(((above * (1 - signs) + below * (1 + signs)) * self.is_used).sum(1))

    def _leave(self, which: Flags) -> None:
        """Go on with some of the targets."""
        names = ("of", "targets", "is_used", "weights", "residuals", "scale", "signs", "above", "below")
        for name in (*names, "tolerance", "goal"):
            setattr(self, name, getattr(self, name)[which])

    def _step(self, gap: Floats) -> None:
        """One predictor and corrector."""
        to_high, to_low = 1 / (1 - self.signs), 1 / (1 + self.signs)
        spread = self.is_used / (self.above * to_high + self.below * to_low)
        weighted = self.products.weighted(spread)

        def direction(high: Floats, low: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
            """Changes of weights, residuals, signs, above, below that change both products so, in first order."""
            rest = self.residuals - self.above + self.below - high * to_high + low * to_low
            weights = self.products.solved(weighted, spread * rest + self.signs)
            residuals = weights @ self.products.design.T
            signs = spread * (rest - residuals)
            above, below = (high + self.above * signs) * to_high, (low - self.below * signs) * to_low
            return weights, residuals, signs, above, below

        def lengths(signs: Floats, above: Floats, below: Floats) -> tuple[Floats, Floats]:
            """How far signs, and above and below, can be changed within their bounds."""
            faster = np.maximum(signs * to_high, -signs * to_low).max(1, keepdims=True)
            slower = np.maximum(-above / self.above, -below / self.below).max(1, keepdims=True)
            return STEP / np.maximum(STEP, faster), STEP / np.maximum(STEP, slower)

        high, low = -self.above * (1 - self.signs), -self.below * (1 + self.signs)
        *_, signs, above, below = direction(high * self.is_used, low * self.is_used)
        of_signs, of_others = lengths(signs, above, below)
        after = self._gap(
            self.above + of_others * above, self.below + of_others * below, self.signs + of_signs * signs
        )
        aim = ((after / gap) ** 3 * gap / (2 * self.is_used.sum(1)))[:, None]
        high, low = high + aim + signs * above, low + aim - signs * below
        weights, residuals, signs, above, below = direction(high * self.is_used, low * self.is_used)
        of_signs, of_others = lengths(signs, above, below)
        self.signs = self.signs + of_signs * signs
        self.weights = self.weights + of_others * weights
        self.residuals = self.residuals - of_others * residuals
        self.above, self.below = self.above + of_others * above, self.below + of_others * below

    def _is_shown(self, which: Flags) -> Flags:
        """Keep the errors of some targets where they are shown to be minima, and tell where.

        The rows that seem to have no residual are given none: without rounding, weights are then a minimum, and signs
        a proof.
        """
        design, targets, is_used = self.products.design, self.targets[which], self.is_used[which]
        high, low = self.scale * (1 - self.signs), self.scale * (1 + self.signs)
        is_met = is_used & ((self.above < high) & (self.below < low))[which]
        weights, signs = self.weights[which], np.where(is_met, self.signs[which], np.sign(self.signs[which]))
        weighted = self.products.weighted(is_met.astype(float), ridge=1e-10)
        for _ in range(2):  # the second removes rounding
            weights = weights + self.products.solved(weighted, is_met * (targets - weights @ design.T))
            signs = signs - is_met * (self.products.solved(weighted, signs) @ design.T)
        errors = (np.abs(targets - weights @ design.T) * is_used).sum(1)
        proved = (signs * targets).sum(1) / np.maximum(1, np.abs(signs).max(1))
        is_shown = errors - proved <= self.tolerance[which]
        is_shown &= np.abs(signs @ design).max(1) <= self.tolerance[which]
        self.found[self.of[which][is_shown]] = errors[is_shown]
        return np.asarray(is_shown)
