"""The benchmark: games are trained with several seeds, and their corpora scored."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ecsuite.eval.concept_games.jobs import plan
from ecsuite.eval.concept_games.report import report
from ecsuite.eval.concept_games.result import MeasuredRow
from ecsuite.eval.concept_games.study import Study
from ecsuite.eval.results.sources import CAPPED, CONFIG, Record, Source
from ecsuite.eval.studies.benchmark import Benchmark
from ecsuite.eval.studies.training_time import measured_seconds
from ecsuite.eval.views.console import Report
from ecsuite.jobs.graph import require_results
from ecsuite.jobs.job import Job, Result


class ConceptGames(Benchmark[Study, list[MeasuredRow]]):
    """The games of the CBM paper, and its tables."""

    def plan(self, study: Study) -> list[Job]:
        """A job for each game and seed."""
        return list(plan(study).values())

    def device(self, study: Study) -> str:
        """Where the games are trained."""
        return study.device.type

    def seconds_of(self, study: Study, jobs: Sequence[Job]) -> float | None:
        """From a few games that are begun and given up."""
        return measured_seconds(jobs)

    def collect(self, study: Study, results: Mapping[Job, Result]) -> list[MeasuredRow]:
        """A row for each game.

        Raises:
            DivergedError: If no run of any row ended.
        """
        jobs = plan(study)
        require_results(results)
        rows = []
        for row in study.rows:
            runs, failures = [], {}
            for seed in study.header.seeds:
                job = jobs[row.name, seed]
                result = results[job]
                if result.failure is not None:
                    failures[seed] = result.failure
                    continue
                folder = study.folder / job.inputs["game"].folder_name
                place = str(folder) if folder.is_dir() else None  # results are kept without it, too
                runs.append({**result.value, "folder": place, "seconds": result.seconds})
            rows.append(MeasuredRow(row=row, runs=tuple(runs), failures=failures))
        return rows

    def record(self, study: Study, finding: list[MeasuredRow]) -> list[Source]:
        """A source for each run and for each seed that failed; its scores have signatures, its measures have none."""
        return [
            source for row in finding for source in (*_ended(row, study.folder), *_failed(row, study.folder))
        ]

    def report(self, study: Study, finding: list[MeasuredRow]) -> Report:
        """The tables of the paper, the findings, and the curves of figure 4."""
        return report(study, finding)


def _ended(row: MeasuredRow, study_folder: Path) -> list[Source]:
    sources = []
    for run in row.runs:
        folder = None if run["folder"] is None else Path(run["folder"])
        sources.append(
            Source(
                name=f"{row.row.name}, seed {run['seed']}" if folder is None else folder.name,
                file=study_folder if folder is None else folder / CONFIG,
                folder=folder,
                is_run=True,
                game=row.row.name,
                group=row.row.name,
                seed=run["seed"],
                stopped=run["stopped"],
                status="capped" if run["stopped"] in CAPPED else "done",
                records=tuple(
                    Record(score=name, value=value, signature=line, is_measure=line is None)
                    for name, value in run["values"].items()
                    for line in [run["signatures"].get(name)]
                ),
            )
        )
    return sources


def _failed(row: MeasuredRow, folder: Path) -> list[Source]:
    return [
        Source(
            name=f"{row.row.name}, seed {seed}",
            file=folder,
            game=row.row.name,
            group=row.row.name,
            seed=seed,
            status="failed",
            failure=reason,
        )
        for seed, reason in row.failures.items()
    ]
