"""Normalised cross-entropies and the confidence intervals of the paper.

Boldt & Mortensen (2024), appendix E: mean and standard deviation differ between languages, so cross-entropies are
normalised over the sources of each language (equation 4), and the mean normalised score of a source is bootstrapped
over languages. There are two different ways to convert the bounds back to nats:

- `paper`: equations 5 and 6. They do not specify the language t, so each language has its own bounds; the bounds here
  are the means over languages, as the score itself is a mean over languages.
- `program`: the authors' program, `analysis.py`: the distances of the bounds from the mean normalised score, times the
  standard deviation of the sources' scores, are added to the score. Figure 2 of the paper shows these.

Both depend on the set of sources, and neither includes seed noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ecsuite.eval.results.samples import Sample, as_matrix
from ecsuite.eval.statistics.bootstrap import mean_interval
from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.statistics.differences import Interval


@dataclass(frozen=True, kw_only=True, slots=True)
class Normalised:
    """Normalised score of a source."""

    name: str
    """The source's name."""
    mean: float
    """Mean over languages of the normalised scores, in standard deviations; below 0 is better than average."""
    ci95: Interval | None
    """Bootstrap interval of the mean; None for few languages."""
    paper: Interval | None
    """The bounds in nats by equations 5 and 6."""
    program: Interval | None
    """The bounds in nats as computed by the authors' program."""


def normalise(values: Floats) -> Floats | None:
    """Equation 4: cross-entropies of each language minus their mean, divided by their standard deviation (ddof 1).

    Args:
        values: Cross-entropies, shape (num_sources, num_targets).

    Returns:
        Normalised values, same shape; None for one source, or if all sources are equal on some language.
    """
    if len(values) < 2:
        return None
    spread = values.std(0, ddof=1)
    return (values - values.mean(0)) / spread if (spread > 1e-12).all() else None


def normalised_scores(results: Sequence[Sample]) -> list[Normalised] | str:
    """The paper's procedure for all sources.

    Returns:
        One item per source, or the reason for having none.
    """
    if len(results) < 2:
        return "normalisation needs at least two sources"
    values = as_matrix(results, results[0].targets)
    normalised = normalise(values)
    if normalised is None:
        return "all sources are equal on some language: its standard deviation is 0"
    scores = values.mean(1)
    return [
        _with_bounds(result.name, row, score, values, scores.std(ddof=1))
        for result, row, score in zip(results, normalised, scores, strict=True)
    ]


def _with_bounds(name: str, row: Floats, score: float, values: Floats, spread: float) -> Normalised:
    """Mean and interval of a source on both scales."""
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
