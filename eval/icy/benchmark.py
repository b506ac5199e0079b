"""The benchmark: agents learn artificial grammars, and pairs of them are trained end to end."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.icy.announcement import announce, expected_seconds
from ecsuite.eval.icy.corpus_generation import write_corpora
from ecsuite.eval.icy.jobs import learn_grammar, plan, plan_corpora
from ecsuite.eval.icy.resolved import Study
from ecsuite.eval.icy.result import MEASUREMENTS, IcyResult
from ecsuite.eval.reports.console import Report
from ecsuite.eval.results.sources import Source
from ecsuite.jobs.graph import Runner, require_results
from ecsuite.jobs.job import Job, Result
from ecsuite.runtime.errors import ConfigError


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

    def seconds_of(self, study: Study, jobs: Sequence[Job]) -> float | None:
        """From the updates that each model makes here in a second; of pairs and metrics it is not measured."""
        return (
            None
            if any(job.function is not learn_grammar for job in jobs)
            else expected_seconds(study, jobs, 1)
        )

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
        rows = MEASUREMENTS[study.config.protocol].rows(study, found)
        write_corpora(study, {job: results[job] for job in plan_corpora(study).values()})
        return IcyResult(
            study=study,
            rows=tuple(rows),
            failures=tuple(
                f"{count} of {len(set(jobs.values()))} runs left out: {reason}"
                for reason, count in reasons.items()
            ),
        )

    def record(self, study: Study, finding: IcyResult) -> list[Source]:
        """A source for each run, see `Measurement.record`."""
        return finding.measurement.record(study, finding.rows)

    def report(self, study: Study, finding: IcyResult) -> Report:
        """The table of the protocol, with the paper's figures."""
        measurement, rows = finding.measurement, finding.rows
        notes = [*finding.failures, *measurement.notes(study, rows), *precision_notes(study)]
        return Report(
            tables=(measurement.table(study, rows),),
            notes=tuple(notes),
            data=finding.to_json(),
            draw=(lambda file: measurement.draw(study, rows, file)) if study.config.has_picture else None,
        )


def precision_notes(study: Study) -> list[str]:
    """What was computed where it is not what was asked for."""
    asked, used = study.config.precision, study.training.precision
    if asked == used:
        return []
    return [f"--precision {asked}: this {study.device} device computed in {used}, which the signature says."]
