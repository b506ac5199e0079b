"""The benchmark: its jobs, and its result as tables, JSON and a picture."""

from collections.abc import Mapping

from ecsuite.eval.reports.console import Report
from ecsuite.eval.studies.benchmark import Benchmark
from ecsuite.eval.xtreme.jobs import plan
from ecsuite.eval.xtreme.report import report
from ecsuite.eval.xtreme.result import TransferResult, collect
from ecsuite.eval.xtreme.study import Study
from ecsuite.jobs.job import Job, Result


class Xtreme(Benchmark[Study, TransferResult]):
    """Does pretraining on a corpus help with tasks in human languages?"""

    def plan(self, study: Study) -> list[Job]:
        """The jobs of the tasks; they need the rest."""
        return list(plan(study).values())

    def device(self, study: Study) -> str:
        """The device of the models."""
        return study.machine.device

    def collect(self, study: Study, results: Mapping[Job, Result]) -> TransferResult:
        """The metrics of every backbone, see `result.collect`."""
        return collect(study, results)

    def report(self, study: Study, finding: TransferResult) -> Report:
        """Gains, tasks and languages, see `report.report`."""
        return report(finding)
