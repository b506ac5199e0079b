"""The benchmark: agents learn artificial grammars, and pairs of them are trained end to end."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ecsuite.eval.icy.announcement import announce
from ecsuite.eval.icy.budget import collect_budget
from ecsuite.eval.icy.corpus_generation import write_corpora
from ecsuite.eval.icy.end_to_end import collect_pairs
from ecsuite.eval.icy.grammar_metrics import collect_metrics
from ecsuite.eval.icy.jobs import Name, plan, plan_corpora
from ecsuite.eval.icy.report import report
from ecsuite.eval.icy.resolved import Study
from ecsuite.eval.icy.result import AnyRow, IcyResult
from ecsuite.eval.icy.rows import collect_rows
from ecsuite.eval.icy.study import ProtocolName
from ecsuite.eval.reports.console import Report
from ecsuite.eval.studies.benchmark import Benchmark
from ecsuite.jobs.graph import Runner, require_results
from ecsuite.jobs.job import Job, Result
from ecsuite.runtime.errors import ConfigError

COLLECTORS: dict[ProtocolName, Callable[[Study, Mapping[Name, Mapping[str, Any]]], Sequence[AnyRow]]] = {
    "exact": collect_rows,
    "paper": collect_rows,
    "budget": collect_budget,
    "end-to-end": collect_pairs,
    "metrics": collect_metrics,
}


class Icy(Benchmark[Study, IcyResult]):
    """How fast do agents learn artificial grammars?"""

    def plan(self, study: Study) -> list[Job]:
        """The runs, and the messages of the trained senders where corpora are wanted."""
        return [*plan(study).values(), *plan_corpora(study).values()]

    def require_figure(self, study: Study) -> None:
        """A figure of pairs is of one pair over one channel."""
        if not study.config.has_picture:
            raise ConfigError("--plot: expected one model and one channel")

    def device(self, study: Study) -> str:
        """Where agents are trained."""
        return study.device

    def announce(self, study: Study, runner: Runner) -> list[str]:
        """How many runs there are, how long they are likely to take, and which may fail."""
        return announce(study, runner)

    def needs_arrays(self, study: Study) -> bool:
        """Whether messages are written."""
        return study.corpora is not None

    def collect(self, study: Study, results: Mapping[Job, Result]) -> IcyResult:
        """The rows of a study; the messages of trained senders are written into its folder of corpora.

        Raises:
            ConfigError: If a model does not learn CONCAT in `exact` or `paper`.
            DivergedError: If all jobs failed.
        """
        jobs = plan(study)
        require_results({job: results[job] for job in jobs.values()})
        found = {
            name: {**results[job].value, "seconds": results[job].seconds}
            for name, job in jobs.items()
            if results[job].failure is None
        }
        reasons = Counter(results[job].failure for job in dict.fromkeys(jobs.values()))
        del reasons[None]
        rows = COLLECTORS[study.config.protocol](study, found)
        write_corpora(study, {job: results[job] for job in plan_corpora(study).values()})
        return IcyResult(
            study=study,
            rows=tuple(rows),
            failures=tuple(
                f"{count} of {len(set(jobs.values()))} runs left out: {reason}"
                for reason, count in reasons.items()
            ),
        )

    def report(self, study: Study, finding: IcyResult) -> Report:
        """The table of the protocol, with the paper's figures."""
        return report(finding)
