"""Figure of a comparison: scores with intervals beside published ones, and differences to the baseline."""

from collections.abc import Iterator
from pathlib import Path

from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.eval.xferbench.comparison.anchors import anchors_for
from ecsuite.eval.xferbench.comparison.comparison import Comparison
from ecsuite.eval.xferbench.comparison.differences import in_words

FAINT = ("inside the noise", "unknown")
"""Conclusions that say of no difference that there is one."""


def draw_comparison(comparison: Comparison, *paths: Path) -> None:
    """Draw a row per source, best first, as in the paper's figure 2.

    The left panel shows the score of each source, its seeds as small marks, and the interval of the paper's procedure
    as computed by the authors' program, among comparable published scores. With a baseline, the right panel shows the
    difference for each language, their mean, and its interval.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    scores = sorted(_scores(comparison), key=lambda point: point.value or 0.0)
    panels = [Panel(points=scores, axis="XferBench, nats per token (lower is better)")]
    if comparison.baseline is not None and comparison.differences:
        axis = f"difference to {comparison.baseline.name}"
        panels.append(Panel(points=list(_differences(comparison)), axis=axis, single_name="one language"))
    has_intervals = any(point.low is not None for point in scores)
    note = "lines in the first panel: 95 % CI of the paper's program" if has_intervals else ""
    save(intervals(*panels, title=_title(comparison), notes=[note]), *paths)


def _scores(comparison: Comparison) -> Iterator[Point]:
    """What was scored, and what is published."""
    anchors = anchors_for(comparison.signature)
    bounds = {each.name: each.program for each in comparison.normalised}
    for result in comparison.results:
        low, high = bounds.get(result.name) or (None, None)
        yield Point(
            row=result.name,
            value=result.score,
            low=low,
            high=high,
            series="scored here" if anchors else "",
            single=result.seed_scores.tolist(),
        )
    for name, score in anchors.items():
        yield Point(row=f"{name} (published)", value=score, series="published")


def _differences(comparison: Comparison) -> Iterator[Point]:
    """The difference of each source, by conclusion."""
    of_source = {each.source: each for each in comparison.differences}
    for result in comparison.results:
        if (each := of_source.get(result.name)) is None:
            yield Point(row=result.name, value=0.0, text="baseline", is_faint=True)
            continue
        low, high = each.ci95 or (None, None)
        yield Point(
            row=result.name,
            value=each.mean,
            low=low,
            high=high,
            series=in_words(each),
            single=tuple(each.details["by_target"].values()),
            is_faint=in_words(each) in FAINT,
        )


def _title(comparison: Comparison) -> str:
    """What is compared, with the settings of the signature that have a name."""
    parts = dict(part.partition(":")[::2] for part in comparison.signature.split("|"))
    settings = [parts[key] for key in ("preset", "protocol") if parts.get(key)]
    number = len(comparison.results)
    sources = comparison.results[0].name if number == 1 else f"{number} sources, best first"
    return f"XferBench ({', '.join(settings)}): {sources}" if settings else f"XferBench: {sources}"
