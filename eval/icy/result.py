"""What came out of a study: the rows of its protocol, and why runs are missing."""

from dataclasses import asdict, dataclass
from typing import Any

from ecsuite.eval.icy.budget import Budget
from ecsuite.eval.icy.end_to_end import EndToEnd
from ecsuite.eval.icy.grammar_metrics import GrammarMetrics
from ecsuite.eval.icy.ratios import Ratios
from ecsuite.eval.icy.resolved import Study
from ecsuite.eval.icy.rows import Measurement, Row
from ecsuite.eval.icy.study import ProtocolName

MEASUREMENTS: dict[ProtocolName, Measurement] = {
    "exact": Ratios(),
    "paper": Ratios(),
    "budget": Budget(),
    "end-to-end": EndToEnd(),
    "metrics": GrammarMetrics(),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class IcyResult:
    """The rows of a study."""

    study: Study
    rows: tuple[Row, ...]
    failures: tuple[str, ...] = ()
    """Which runs are left out, and why."""

    @property
    def measurement(self) -> Measurement:
        """What its protocol measures."""
        return MEASUREMENTS[self.study.config.protocol]

    def to_json(self) -> dict[str, Any]:
        """The settings and all rows, for `json.dumps(…, allow_nan=False)`."""
        study, rows = self.study, self.measurement.to_json(self.study, self.rows)
        if study.config.protocol != "metrics":
            return {"study": asdict(study.config) | {"seeds": study.seeds}, "rows": rows}
        return {
            "grammars": study.grammars,
            "geometry": asdict(study.geometry),
            "seeds": study.seeds,
            "metrics": study.metrics,
            "rows": rows,
            "about": study.config.about,
        }
