"""What came out of a study: for each game the results of all seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ecsuite.eval.concept_games.study import Row


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredRow:
    """A game with the results of all seeds."""

    row: Row
    runs: tuple[dict[str, Any], ...]
    """One result per seed that has one, in the order of the seeds; see `play_and_score`."""
    failures: Mapping[int, str] = field(default_factory=dict)
    """Why a seed has no result, by seed."""

    def values(self, measure: str) -> list[float | None]:
        """A measure for each seed, in ascending order; None where it is not defined, or the run failed."""
        found = dict.fromkeys(self.failures) | {run["seed"]: run["values"].get(measure) for run in self.runs}
        return [found[seed] for seed in sorted(found)]

    def mean(self, measure: str) -> float | None:
        """Mean over the runs; None unless defined for all of them."""
        values = self._defined(measure)
        return None if values is None else float(np.mean(values))

    def deviation(self, measure: str) -> float | None:
        """Standard deviation over the runs (n - 1); None for one run or without a mean."""
        values = self._defined(measure)
        return None if values is None or len(values) == 1 else float(np.std(values, ddof=1))

    def _defined(self, measure: str) -> list[float] | None:
        """A measure for each run; None if there is no run, or it is not defined for one."""
        values = [run["values"].get(measure) for run in self.runs]
        return values if values and None not in values else None

    def to_json(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        names = list(self.runs[0]["values"]) if self.runs else []
        return {
            "name": self.row.name,
            "config": self.row.experiment.to_tree(),
            "mean": {name: self.mean(name) for name in names},
            "sd": {name: self.deviation(name) for name in names},
            "published": dict(self.row.published),
            "runs": list(self.runs),
            "failures": {str(seed): reason for seed, reason in self.failures.items()},
        }


def sensitivity_curves(rows: Sequence[MeasuredRow]) -> dict[str, Any]:
    """Match scores by sample size, for the first seed of each row; input of `draw_sensitivity`."""
    return {measured.row.name: measured.runs[0]["sensitivity"] for measured in rows if measured.runs}
