"""Cross-entropies on one scale for all languages, and the confidence intervals that the paper builds on it.

Boldt & Mortensen (2024), appendix E: languages differ in level and spread, so cross-entropies are normalised over the
sources of each language (equation 4), and a source's mean normalised score is bootstrapped over languages. Bounds go
back to nats in one of two ways, which differ:

- `paper`: equations 5 and 6. They leave the language t open, so each language has bounds of its own; these here are
  their means over languages, as the score itself is a mean over languages.
- `program`: the authors' program, `analysis.py`: the distances of the bounds from the mean normalised score, times the
  standard deviation of the sources' scores, are put around the score. Their figure 2 is drawn with these.

Both change with the set of sources, and neither holds the noise of training.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ecsuite.eval.comparison.results import Result, as_matrix
from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.statistics.intervals import Interval, mean_interval


@dataclass(frozen=True, kw_only=True, slots=True)
class Normalised:
    """One source on the scale that languages share."""

    name: str
    """The source's name."""
    mean: float
    """Mean over languages of its normalised scores, in standard deviations; below 0 is better than average."""
    ci95: Interval | None
    """Bootstrap of that mean; None with few languages."""
    paper: Interval | None
    """The bounds in nats by equations 5 and 6."""
    program: Interval | None
    """The bounds in nats as the authors' program has them."""


def normalise(values: Floats) -> Floats | None:
    """Equation 4: each language's cross-entropies less their mean, over their standard deviation (ddof 1).

    Args:
        values: Cross-entropies, shape (num_sources, num_targets).

    Returns:
        The same shape; None with one source, or where all sources are equal on some language.
    """
    if len(values) < 2:
        return None
    spread = values.std(0, ddof=1)
    return (values - values.mean(0)) / spread if (spread > 1e-12).all() else None


def normalised_scores(results: Sequence[Result]) -> list[Normalised] | str:
    """The paper's procedure for all sources.

    Returns:
        One a source, or why there is none.
    """
    if len(results) < 2:
        return "it normalises over sources, of which there is one"
    values = as_matrix(results, results[0].targets)
    normalised = normalise(values)
    if normalised is None:
        return "all sources are equal on some language, which leaves nothing to normalise by"
    scores = values.mean(1)
    return [
        _with_bounds(result.name, row, score, values, scores.std(ddof=1))
        for result, row, score in zip(results, normalised, scores, strict=True)
    ]


def _with_bounds(name: str, row: Floats, score: float, values: Floats, spread: float) -> Normalised:
    """A source's mean and interval, on both scales."""
    mean = float(row.mean())
    ci95 = mean_interval(row, expanded=False)
    if ci95 is None:
        return Normalised(name=name, mean=mean, ci95=None, paper=None, program=None)
    level, scale = float(values.mean()), float(values.std(0, ddof=1).mean())
    return Normalised(
        name=name,
        mean=mean,
        ci95=ci95,
        paper=(level + scale * ci95[0], level + scale * ci95[1]),
        program=(float(score + spread * (ci95[0] - mean)), float(score + spread * (ci95[1] - mean))),
    )
