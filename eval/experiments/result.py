"""Results of a sweep, and its progress while it runs."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Self

from ecsuite.eval.experiments.corpora import FACTS, FileFacts, files_of
from ecsuite.eval.experiments.grids import Settings
from ecsuite.eval.experiments.jobs import PRUNED, SOURCE_PATH, PlannedRun, in_order_of, unpack
from ecsuite.eval.experiments.study import SweepStudy
from ecsuite.eval.results.files import save_scores, sweep_sources
from ecsuite.eval.results.results import Results
from ecsuite.eval.views.means import means_table
from ecsuite.files.atomic_files import remove_abandoned, write_if_changed
from ecsuite.files.checksums import changed, sealed
from ecsuite.files.format_numbers import with_format
from ecsuite.formats.strict_json import read_json
from ecsuite.games.runs.run_folder import SWEEP, RunFolder
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result
from ecsuite.parts.config import dotted_values
from ecsuite.parts.error_messages import path_text
from ecsuite.tables.cells import value_text
from ecsuite.tables.table import Table

ONLY_STORED = ("draws", "bounds", "error", "freedom", "p_of_theory")
"""Keys of a stored score's chance level that are not printed, see `Chance.kept`."""
NO_TRIES: Mapping[Job, Job] = {}
"""Default of `collect`: no pruned runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweptRun:
    """One run of a sweep."""

    settings: Settings
    """Values of the varied settings in this run."""
    seed: int
    """Its seed."""
    folder: Path
    """The run folder."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """The fields of `ecsuite.games.runs.run_folder.RunResult`; empty if the training failed."""
    scores: tuple[Mapping[str, Any], ...] = ()
    """Scores, as in the JSON of `ecsuite score`."""
    failure: str | None = None
    """Reason if the training or a score failed; None: neither failed."""
    further: Any = None
    """Result of `PlannedRun.further`."""
    seconds: float = 0.0
    """Computing time of its jobs."""

    def to_json(self) -> dict[str, Any]:
        """The run as JSON-ready data, with scores as `ecsuite score` prints them."""
        scores = []
        for score in self.scores:
            chance = score["chance"]
            printed = chance and {key: value for key, value in chance.items() if key not in ONLY_STORED}
            scores.append({**score, "chance": printed})
        return {
            "settings": dict(self.settings),
            "seed": self.seed,
            "folder": path_text(self.folder),
            "training": dict(self.training),
            "scores": scores,
            "failure": self.failure,
        }


@dataclass(frozen=True, kw_only=True)
class Sweep(Sequence[SweptRun]):
    """The runs of a sweep, in the order of the study."""

    name: str
    """Name of the sweep."""
    runs: tuple[SweptRun, ...]
    """The runs."""
    metrics: tuple[str, ...] = ()
    """The requested metrics."""
    fixed: Settings = field(default_factory=dict)
    """Settings of all runs, the key `set` of the study."""
    search: Mapping[str, Any] | None = None
    """Objective, direction, trials, best trial, and importance of settings of a search; JSON-ready."""

    def __getitem__(self, index: Any) -> Any:
        """One run, or several."""
        return self.runs[index]

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.runs)

    def __iter__(self) -> Iterator[SweptRun]:
        """The runs."""
        return iter(self.runs)

    def __repr__(self) -> str:
        """The table over seeds as text."""
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().html()

    def sources(self) -> Results:
        """The runs with their scores."""
        place = self.runs[0].folder.parent.parent if self.runs else Path()
        return Results(sweep_sources(self.to_json(), place / SWEEP))

    def table(self) -> Table:
        """Means over seeds: accuracy and the requested metrics."""
        return means_table(self.sources().means())

    def to_frame(self) -> Any:
        """A row per run, see `ecsuite.eval.results.results.Results.to_frame`."""
        return self.sources().to_frame()

    def to_json(self) -> dict[str, Any]:
        """The sweep as JSON-ready data."""
        return {
            "name": self.name,
            "metrics": list(self.metrics),
            "set": dotted_values(self.fixed),
            "runs": [run.to_json() for run in self.runs],
            **({} if self.search is None else {"search": dict(self.search)}),
        }


def collect(
    study: SweepStudy,
    planned: Sequence[PlannedRun],
    results: Mapping[Job, Result],
    runner: Runner,
    tries: Mapping[Job, Job] = NO_TRIES,
    *,
    restores: bool = True,
) -> Sweep:
    """Build a sweep from the results of its jobs; missing run folders are restored without checkpoints.

    Args:
        study: The study.
        planned: Its runs.
        results: The results of their jobs.
        runner: Reads arrays of stored results.
        tries: By training without a result, the job that pruned it.
        restores: Whether missing run folders are restored.
    """
    facts = FileFacts((runner.folder or Path(os.devnull)) / FACTS)
    runs = []
    for run in planned:
        is_whole = run.training in results
        training = results[run.training if is_whole else tries[run.training]]
        scored = {name: results[job] for name, job in run.scores.items() if job in results}
        further = None if run.further is None else results.get(run.further)
        failures = [f"{name}: {found.failure}" for name, found in scored.items() if found.failure]
        failures += [further.failure] if further is not None and further.failure else []
        known = [found.value for found in scored.values() if found.value is not None]
        scores = in_order_of(
            study.metrics, ((score["name"], score) for value in known for score in value["scores"])
        )
        if is_whole and training.failure is None and (restores or RunFolder(run.folder).corpus.exists()):
            _complete(run, training, known[0]["corpus"] if scores else None, scores, runner, facts)
        runs.append(
            SweptRun(
                settings=run.variant.settings,
                seed=run.seed,
                folder=run.folder,
                training=training.value or {},
                scores=tuple(scores),
                failure=training.failure or "; ".join(failures) or None,
                further=further.value if further is not None else None,
                seconds=sum(results[job].seconds for job in run.jobs if job in results),
            )
        )
    if runner.folder is not None and facts.entries:
        facts.save()
    return Sweep(name=study.name, runs=tuple(runs), metrics=study.metrics, fixed=study.base.set)


def _complete(
    run: PlannedRun,
    training: Result,
    corpus: Mapping[str, Any] | None,
    scores: Sequence[Mapping[str, Any]],
    runner: Runner,
    facts: FileFacts,
) -> None:
    """Write missing files of a run folder, and its scores; an unchanged folder is not read again."""
    folder = RunFolder(run.folder)
    if not folder.corpus.exists():
        kept = runner.run([run.training], needs_arrays=True)[run.training]
        assert kept.arrays is not None
        unpack(kept.arrays, run.folder)
    if corpus is None:
        return
    file, jobs = folder.scores, [job.digest for job in run.scores.values()]
    if facts.get(run.folder.name, [*files_of(run.folder), file]) == jobs:
        return
    metadata = read_json(folder.metadata)
    for name, digest in metadata.get("sha256", {}).items():
        content = run.folder / name
        if not content.is_file() or hashlib.sha256(content.read_bytes()).hexdigest() != digest:
            raise changed(content)
    described = {SOURCE_PATH: path_text(folder.corpus), **corpus}
    save_scores(file, with_format("scores", {"corpus": described, "scores": scores}))
    facts.put(run.folder.name, [*files_of(run.folder), file], jobs)


def save_sweep(file: Path, sweep: Sweep) -> None:
    """Write the file of a sweep that `ecsuite compare table` reads."""
    text = json.dumps(
        sealed(with_format("result", sweep.to_json())), indent=1, ensure_ascii=False, allow_nan=False
    )
    remove_abandoned(file.parent, file.name)
    write_if_changed(file, text.encode() + b"\n")


MOST_RUNNING = 6
"""Maximum number of lines about running runs."""
MOST_ENDED = 4
"""Maximum number of lines about ended runs; the latest are shown."""
WIDEST = 40
"""Maximum number of characters for the settings of a run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FollowedRun:
    """A run in the progress display."""

    name: str
    """Settings and seed."""
    training: Job
    """Training job."""
    scores: tuple[Job, ...]
    """Scoring jobs."""

    @classmethod
    def of(cls, run: PlannedRun, training: Job | None = None) -> Self:
        """A planned run; `training` replaces its training job."""
        varied = run.variant.settings.items()
        settings = (
            ", ".join(f"{key.rpartition('.')[2]}={value_text(value)}" for key, value in varied)
            or run.variant.name
        )
        settings = settings if len(settings) <= WIDEST else f"{settings[: WIDEST - 1]}…"
        return cls(
            name=f"{settings}, seed {run.seed}",
            training=training or run.training,
            scores=run.jobs[1:],
        )

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All its jobs."""
        return (self.training, *self.scores)

    def accuracy(self, results: Mapping[Job, Result]) -> float | None:
        """The accuracy at the end of the training; None if undefined, or before the end."""
        found = results.get(self.training)
        measures: Mapping[str, float] = (
            {} if found is None or found.value is None else found.value["measures"]
        )
        return measures.get("accuracy")

    def how_it_ended(self, results: Mapping[Job, Result]) -> str | None:
        """Outcome in a few words; None before the end."""
        found = [results[job].failure for job in self.jobs if job in results]
        if (reason := next((reason for reason in found if reason is not None), None)) is not None:
            return f"failed: {reason}"
        is_pruned = self.training in results and results[self.training].value["stopped"] == PRUNED
        if not is_pruned and any(job not in results for job in self.jobs):
            return None
        accuracy = self.accuracy(results)
        return ("pruned" if is_pruned else "done") + (
            "" if accuracy is None else f", accuracy {accuracy:.1%}"
        )


class ProgressText:
    """Progress display of the runs of a sweep; see `Runner.describe`.

    Args:
        runs: Returns the runs so far.
    """

    def __init__(self, runs: Callable[[], Sequence[FollowedRun]]) -> None:
        self.runs = runs
        self.ended: dict[FollowedRun, str] = {}  # in the order of their ends

    def text(self, results: Mapping[Job, Result], latest: Mapping[Job, str]) -> str:
        """One line with the counts, then a line for each of some runs.

        Args:
            results: Results of jobs that are done or failed.
            latest: Latest progress label of each running job.
        """
        runs = self.runs()
        for run in runs:
            if run not in self.ended and (how := run.how_it_ended(results)) is not None:
                self.ended[run] = how
        num_failed = sum(how.startswith("failed") for how in self.ended.values())
        now = [(run, latest[job]) for run in runs for job in run.jobs if job in latest]
        accuracies = [value for run in self.ended if (value := run.accuracy(results)) is not None]
        counts = [f"{len(self.ended) - num_failed} of {len(runs)} runs done", f"{len(now)} running"]
        counts += [f"{num_failed} failed"] if num_failed else []
        counts += [f"mean accuracy {fmean(accuracies):.1%}"] if accuracies else []
        lines = [", ".join(counts)]
        lines += [f"  {run.name}: {label.rpartition(': ')[2]}" for run, label in now[:MOST_RUNNING]]
        lines += [f"  and {len(now) - MOST_RUNNING} more running"] if len(now) > MOST_RUNNING else []
        lines += [f"  {run.name}: {how}" for run, how in list(self.ended.items())[: -MOST_ENDED - 1 : -1]]
        return "\n".join(lines)
