"""The benchmark: its jobs, and its result as tables, JSON and a picture."""

from collections.abc import Mapping

from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.reports.console import Report
from ecsuite.eval.results.sources import Record, Source
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

    def record(self, study: Study, finding: TransferResult) -> list[Source]:
        """A source for each backbone and seed, with a record for each metric of each task and language."""
        return [
            Source(
                name=body,
                file=study.data,
                settings={"preset": finding.preset, "protocol": finding.protocol},
                seed=seed,
                group=body,
                records=tuple(
                    Record(
                        score=metric,
                        value=value,
                        unit={"task": task, "language": language},
                        signature=finding.signature,
                    )
                    for task, by_language in by_task.items()
                    for language, metrics in by_language.items()
                    for metric, value in metrics.items()
                ),
            )
            for body, by_seed in finding.by_body.items()
            for seed, by_task in by_seed.items()
        ]

    def report(self, study: Study, finding: TransferResult) -> Report:
        """Gains, tasks and languages, see `report.report`."""
        return report(finding)
