"""What came out of a study: the rows of its protocol, and why runs are missing."""

from dataclasses import asdict, dataclass
from typing import Any

from ecsuite.eval.icy.budget import BudgetRow
from ecsuite.eval.icy.end_to_end import PairRow
from ecsuite.eval.icy.grammar_metrics import MetricRow
from ecsuite.eval.icy.resolved import Study
from ecsuite.eval.icy.rows import Row

AnyRow = Row | BudgetRow | PairRow | MetricRow


@dataclass(frozen=True, kw_only=True, slots=True)
class IcyResult:
    """The rows of a study."""

    study: Study
    rows: tuple[AnyRow, ...]
    """Of the class of the protocol: `Row`, `BudgetRow`, `PairRow` or `MetricRow`."""
    failures: tuple[str, ...] = ()
    """Which runs are left out, and why."""

    def to_json(self) -> dict[str, Any]:
        """The settings and all rows, for `json.dumps(…, allow_nan=False)`."""
        rows = [asdict(row) for row in self.rows]
        if self.study.config.protocol == "metrics":
            return {
                "grammars": self.study.grammars,
                "geometry": asdict(self.study.geometry),
                "seeds": self.study.seeds,
                "metrics": self.study.metrics,
                "rows": rows,
                "about": self.study.config.about,
            }
        return {"study": asdict(self.study.config) | {"seeds": self.study.seeds}, "rows": rows}
