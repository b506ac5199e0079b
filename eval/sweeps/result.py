"""What came out of a sweep: for each run its settings, how its training ended, and its scores."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.files import save_scores
from ecsuite.eval.results.means import means_of
from ecsuite.eval.results.reading import sweep_sources
from ecsuite.eval.results.sources import SWEEP, Source, run_frame
from ecsuite.eval.sweeps.grids import Settings
from ecsuite.eval.sweeps.jobs import SCORES, PlannedRun, unpack
from ecsuite.eval.sweeps.study import Study
from ecsuite.eval.views.comparison import means_table
from ecsuite.eval.views.scorecard import describe
from ecsuite.files.atomic_files import remove_abandoned, write_atomically
from ecsuite.files.checksums import sealed
from ecsuite.files.format_numbers import with_format
from ecsuite.formats import read_corpus
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job
from ecsuite.jobs.job import Result as JobResult
from ecsuite.parts.error_messages import path_text
from ecsuite.tables.table import Table

NO_TRIES: Mapping[Job, Job] = {}
"""Where no run may be pruned."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweptRun:
    """One run of a sweep."""

    settings: Settings
    """The settings that vary, with their values in this run."""
    seed: int
    """Its seed."""
    folder: Path
    """The run folder."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """The fields of `ecsuite.games.training.Result`; empty if the training failed."""
    scores: tuple[Mapping[str, Any], ...] = ()
    """Its scores, as in the JSON of `ecsuite score`."""
    failure: str | None = None
    """Why the training or a score failed; None if nothing did."""

    def to_json(self) -> dict[str, Any]:
        """The run as JSON-ready data."""
        return {
            "settings": dict(self.settings),
            "seed": self.seed,
            "folder": path_text(self.folder),
            "training": dict(self.training),
            "scores": [Score.of_json(score).to_json() for score in self.scores],
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
    """The metrics that were asked for."""
    search: Mapping[str, Any] | None = None
    """Of a search: objective, direction, trials, the best one, and the importance of settings; JSON-ready."""

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

    def sources(self) -> list[Source]:
        """The runs with their records."""
        place = self.runs[0].folder.parent.parent if self.runs else Path()
        return sweep_sources(self.to_json(), place / SWEEP)

    def table(self) -> Table:
        """Means over seeds: accuracy and the metrics that were asked for."""
        return means_table(means_of(self.sources()))

    def to_frame(self) -> Any:
        """A row a run, as a `pandas.DataFrame`: settings, seed, measures and scores.

        Raises:
            ConfigError: If pandas is not installed.
        """
        return run_frame(self.sources())

    def to_json(self) -> dict[str, Any]:
        """The sweep as JSON-ready data."""
        return {
            "name": self.name,
            "metrics": list(self.metrics),
            "runs": [run.to_json() for run in self.runs],
            **({} if self.search is None else {"search": dict(self.search)}),
        }


def collect(
    study: Study,
    planned: Sequence[PlannedRun],
    results: Mapping[Job, JobResult],
    runner: Runner,
    tries: Mapping[Job, Job] = NO_TRIES,
) -> Sweep:
    """The sweep from the results of its jobs; run folders that are missing are written again without checkpoints.

    Args:
        study: What was asked.
        planned: Its runs.
        results: The results of their jobs.
        runner: Reads arrays of kept results.
        tries: For a training without a result, the job that was pruned instead.
    """
    runs = []
    for run in planned:
        is_whole = run.training in results
        training = results[run.training if is_whole else tries[run.training]]
        scored = {name: results[job] for name, job in run.scores.items() if job in results}
        failures = [f"{name}: {found.failure}" for name, found in scored.items() if found.failure]
        failure = training.failure or "; ".join(failures) or None
        scores = [score for found in scored.values() for score in found.value or ()]
        if is_whole and training.failure is None:
            _complete(run, training, scores, runner)
        runs.append(
            SweptRun(
                settings=run.variant.settings,
                seed=run.seed,
                folder=run.folder,
                training=training.value or {},
                scores=tuple(scores),
                failure=failure,
            )
        )
    return Sweep(name=study.name, runs=tuple(runs), metrics=study.metrics)


def _complete(run: PlannedRun, training: JobResult, scores: list[dict[str, Any]], runner: Runner) -> None:
    """Write what the run folder lacks, and the scores."""
    if not (run.folder / "corpus.jsonl").exists():
        kept = runner.run([run.training], needs_arrays=True)[run.training]
        assert kept.arrays is not None
        unpack(kept.arrays, run.folder)
    if scores:
        data = {"corpus": describe(read_corpus(run.folder)), "scores": scores}
        save_scores(run.folder / SCORES, with_format("scores", data))


def save_sweep(folder: Path, sweep: Sweep) -> None:
    """Write the file that `ecsuite compare table` reads."""
    text = json.dumps(
        sealed(with_format("result", sweep.to_json())), indent=1, ensure_ascii=False, allow_nan=False
    )
    remove_abandoned(folder, SWEEP)
    write_atomically(folder / SWEEP, text.encode() + b"\n")
