"""Protocol `metrics`: compositionality metrics of the artificial grammars (ICY's figure 3, Tables 9 and 10)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ecsuite.eval.icy.jobs import Name
from ecsuite.eval.icy.published import GRAMMAR_METRICS
from ecsuite.eval.icy.resolved import Study
from ecsuite.eval.statistics.t_intervals import mean_and_half_width


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricRow:
    """One metric of one grammar, over the seeds."""

    grammar: str
    measure: str
    mean: float | None
    """Mean over the seeds for which it is defined; None if there are none."""
    ci95: float | None
    """Half-width of the 95 % confidence interval, Student's t over the seeds; None for fewer than two values."""
    values: tuple[float | None, ...]
    """One per seed."""
    reason: str | None
    """Why the first undefined value is undefined."""
    published: float | None
    """The paper's figure, if it reports one."""
    signatures: tuple[str, ...]
    """One per seed: signatures of language and metric."""


def collect_metrics(study: Study, found: Mapping[Name, Mapping[str, Any]]) -> list[MetricRow]:
    """A row for each grammar and metric, ordered by grammar, then metric, from the jobs that did not fail."""
    table = study.config.published
    figures = {} if table is None else GRAMMAR_METRICS[table]
    rows = []
    for grammar in study.grammars:
        measured = [found[grammar, seed] for seed in study.seeds if (grammar, seed) in found]
        for metric in study.metrics if measured else ():
            scores = [each[metric] for each in measured]
            values = tuple(score["value"] for score in scores)
            defined = [value for value in values if value is not None]
            mean, half_width = mean_and_half_width(defined) if defined else (None, None)
            rows.append(
                MetricRow(
                    grammar=grammar,
                    measure=metric,
                    mean=mean,
                    ci95=half_width,
                    values=values,
                    reason=next((score["reason"] for score in scores if score["reason"]), None),
                    published=figures.get(metric, {}).get(grammar),
                    signatures=tuple(score["signature"] for score in scores),
                )
            )
    return rows
