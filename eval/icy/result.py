"""What came out of a study: the rows of its protocol, and why runs are missing."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from ecsuite.eval.icy.budget import BudgetRow, collect_budget
from ecsuite.eval.icy.corpus_generation import write_sender_corpus
from ecsuite.eval.icy.end_to_end import PairRow, collect_pairs
from ecsuite.eval.icy.grammar_metrics import MetricRow, collect_metrics
from ecsuite.eval.icy.jobs import Name, plan, plan_corpora
from ecsuite.eval.icy.resolved import Study
from ecsuite.eval.icy.rows import Row, collect_rows
from ecsuite.eval.icy.study import ProtocolName
from ecsuite.jobs.graph import Runner, require_results
from ecsuite.jobs.job import Job, Result

AnyRow = Row | BudgetRow | PairRow | MetricRow

COLLECTORS: dict[ProtocolName, Callable[[Study, Mapping[Name, Mapping[str, Any]]], Sequence[AnyRow]]] = {
    "exact": collect_rows,
    "paper": collect_rows,
    "budget": collect_budget,
    "end-to-end": collect_pairs,
    "metrics": collect_metrics,
}


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


def collect(study: Study, results: Mapping[Job, Result]) -> IcyResult:
    """The rows of a study from the results of the jobs of `plan`.

    Raises:
        ConfigError: If a model does not learn CONCAT in `exact` or `paper`.
        DivergedError: If all jobs failed.
    """
    jobs = plan(study)
    require_results(results)
    found = {
        name: {**results[job].value, "seconds": results[job].seconds}
        for name, job in jobs.items()
        if results[job].failure is None
    }
    reasons = Counter(failure for job in dict.fromkeys(jobs.values()) if (failure := results[job].failure))
    return IcyResult(
        study=study,
        rows=tuple(COLLECTORS[study.config.protocol](study, found)),
        failures=tuple(
            f"{count} of {len(set(jobs.values()))} runs left out: {reason}"
            for reason, count in reasons.items()
        ),
    )


def measure(study: Study, runner: Runner, *, corpora: Path | None = None) -> IcyResult:
    """Run a study.

    Args:
        study: What is asked.
        runner: Runs the jobs.
        corpora: Folder for the messages of the trained senders for all meanings; only of senders, none of them a
            hashtable, and with a runner that has a folder. Runs that are kept are not trained again.
    """
    jobs = [*plan(study).values(), *(plan_corpora(study) if corpora else {}).values()]
    results = runner.run(jobs, needs_arrays=corpora is not None)
    found = collect(study, results)
    if corpora is not None:
        write_corpora(study, results, corpora)
    return found


def write_corpora(study: Study, results: Mapping[Job, Result], folder: Path) -> list[Path]:
    """Write the messages of the trained senders of a study into folders in a folder, and return these.

    The results are those of the jobs of `plan_corpora`, with arrays.
    """
    folders = []
    for job in plan_corpora(study).values():
        result = results[job]
        if result.failure is None and result.value["is_trained"]:
            assert result.arrays is not None
            messages = load_file(result.arrays)["messages"]
            folders.append(write_sender_corpus(study, job.inputs["model"], result.value, messages, folder))
    return folders
