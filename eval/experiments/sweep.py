"""The sweep as a benchmark: games are trained with many settings and seeds, and every corpus is scored."""

import shlex
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.experiments.jobs import PlannedRun, plan
from ecsuite.eval.experiments.result import FollowedRun, ProgressText, Sweep, collect, save_sweep
from ecsuite.eval.experiments.search import Search, search_lines, trials_table
from ecsuite.eval.experiments.study import SweepStudy
from ecsuite.eval.results.files import require_no_other
from ecsuite.eval.results.sources import PROVENANCE, STORE, Source, read_config
from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.eval.views.console import Report
from ecsuite.formats.strict_json import read_json
from ecsuite.games.config.experiment import CANDIDATES, may_hold_out, require_same_rules, worlds_of
from ecsuite.games.plays.rounds import is_asked
from ecsuite.games.runs.run_folder import CONFIG, SWEEP
from ecsuite.games.training.train import TrainingJob, cost, train_in_job
from ecsuite.jobs.graph import Runner, require_results
from ecsuite.jobs.job import Context, Job, Result, Stopped
from ecsuite.jobs.store import Store
from ecsuite.parts.config import dotted_values, read_yaml
from ecsuite.runtime.errors import DivergedError
from ecsuite.tables.cells import value_text

MOST_TIMED = 3
"""Maximum number of timed runs; other runs are assumed to take their mean time per example."""
SECONDS = 1.5
"""Training time of a timed run after its first step, which also imports and compiles."""


def measured_seconds(jobs: Sequence[Job]) -> dict[Job, float] | None:
    """Measure the time of training runs on this machine, without scores.

    Args:
        jobs: Missing jobs.

    Returns:
        Seconds of each training run; None if no run can be measured here.
    """
    trainings = [job for job in jobs if isinstance(job.inputs.get("game"), TrainingJob)]
    if not trainings or any(job.inputs["device"] != "cpu" for job in trainings):
        return None
    rates = [_seconds_of(job) / job.work for job in _some(trainings)]
    return {job: job.work * sum(rates) / len(rates) for job in trainings}


def calls_notes(jobs: Sequence[Job]) -> list[str]:
    """Line with the number of language model calls in training runs; empty without calls.

    Args:
        jobs: The training runs; the number is estimated from a few runs, without any call.
    """
    games = [job for job in jobs if is_asked(job.inputs["game"].experiment)]
    if not games:
        return []
    some = _some(games)
    costs = [
        each
        for job in some
        for each in cost(job.inputs["game"].experiment, job.inputs["device"])["participants"].values()
    ]
    whole = sum(job.work for job in games) / sum(job.work for job in some)
    calls, prompts, answers, price = (
        whole * sum(each[name] for each in costs)
        for name in ("calls", "prompt_tokens", "answer_tokens", "cost")
    )
    paid = f"; {price:,.2f} by their prices" if price else ""
    return [f"about {calls:,.0f} calls, {prompts:,.0f} tokens of prompts and {answers:,.0f} of answers{paid}"]


def _some(jobs: Sequence[Job]) -> list[Job]:
    """A sample of up to `MOST_TIMED` jobs."""
    return [jobs[place] for place in sorted({0, len(jobs) // 2, len(jobs) - 1})[:MOST_TIMED]]


def _seconds_of(job: Job) -> float:
    """Time of a whole run, from the share trained in `SECONDS`, without calls of language models."""
    game: TrainingJob = job.inputs["game"]
    if is_asked(game.experiment):
        participants = cost(game.experiment, job.inputs["device"])["participants"]
        return float(sum(3600 * each["hours"] for each in participants.values()))
    began = time.monotonic()
    reports: list[tuple[float, float]] = []

    def report_progress(label: str, share: float) -> None:
        reports.append((time.monotonic(), share))

    def should_stop() -> bool:
        return bool(reports) and time.monotonic() - reports[0][0] > SECONDS

    with tempfile.TemporaryDirectory() as folder:
        context = Context(
            scratch=Path(folder) / "scratch", report_progress=report_progress, should_stop=should_stop
        )
        with suppress(Stopped):
            train_in_job(game, Path(folder) / "run", job.inputs["device"], context, LanguageMetrics)
            return time.monotonic() - began
    (first, before), (last, after) = reports[0], reports[-1]
    return (last - first) / (after - before) if after > before else last - first


MOST_COMPARED = 100
"""Maximum number of runs of a study and of a folder whose settings a plan compares."""
MOST_REASONS = 4
"""Maximum number of differing settings that a plan names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweeps(Benchmark[SweepStudy, Sweep]):
    """Games with many settings and seeds."""

    folder: Path
    """Folder of the runs, their stored results, and the file of all figures."""
    part: tuple[int, int] | None = None
    """Index and number of parts, such as (2, 10); only the runs of this part are computed. None: all."""
    source: str = ""
    """Name of the study as the user gave it."""
    kept: Path | None = None
    """Folder of stored results; None: in the folder of the sweep."""

    is_flat: ClassVar[bool] = False
    """Whether the folder itself holds runs and stored results, is never completed, and has no file of all figures."""

    def __post_init__(self) -> None:
        """Raise `ConfigError` if the folder is a run folder."""
        if not self.is_flat:
            require_no_other(self.folder, "a sweep")

    @property
    def store(self) -> Path:
        """The folder of stored results."""
        return self.kept or (self.folder if self.is_flat else self.folder / STORE)

    @property
    def runs_folder(self) -> Path:
        """Parent of the run folders."""
        return self.folder if self.is_flat else self.folder / "runs"

    def runs(self, study: SweepStudy) -> list[PlannedRun]:
        """The runs, or the runs of `part`; none for a search."""
        runs = plan(study, self.runs_folder)
        return runs if self.part is None else runs[self.part[0] - 1 :: self.part[1]]

    def plan(self, study: SweepStudy) -> list[Job]:
        """The training and the scores of each run; in a search, the jobs that follow from stored results."""
        if study.search is not None:
            return self._search(study).known_jobs()
        return [job for run in self.runs(study) for job in run.jobs]

    def notes_on_plan(self, study: SweepStudy) -> list[str]:
        """Number of language model calls, or of planned trials; and the file that would be replaced."""
        if study.search is not None:
            search = self._search(study)
            search.known_jobs()
            return [
                f"these are the jobs of {len(search.trials)} of {study.search.trials} trials; the other "
                "trials depend on results"
            ]
        runs = self.runs(study)
        notes = calls_notes([run.training for run in runs])
        file = self.folder / SWEEP
        if self.part is None and not self.is_flat and file.is_file():
            known = {Path(str(run["folder"])).name for run in read_json(file)["runs"]}
            shared = known & {run.folder.name for run in runs}
            if len(known) > len(shared):
                notes.append(
                    f"{file} would be replaced: {len(shared)} of its {len(known)} runs are in this study"
                )
        return notes

    def plan_groups(self, study: SweepStudy) -> dict[Job, tuple[str, int]]:
        """The combination of settings and the seed of each job."""
        if study.search is not None:
            search = self._search(study)
            search.known_jobs()
            pairs = [(trial, run) for trial in search.trials for run in trial.runs if trial.same_as is None]
            return {
                job: (run.variant.name, run.seed)
                for trial, run in pairs
                for job in (*run.jobs, trial.tries.get(run.seed))
                if job is not None
            }
        return {job: (run.variant.name, run.seed) for run in self.runs(study) for job in run.jobs}

    def why_nothing_is_stored(self, study: SweepStudy) -> list[str]:
        """Settings without a value that this study and the runs of the folder share."""
        configs = sorted(self.runs_folder.glob(f"*/{CONFIG}"))[:MOST_COMPARED]
        there = [dotted_values(read_config(config)) for config in configs]
        here = [
            dotted_values({key: value for key, value in tree.items() if key not in PROVENANCE})
            for run in self.runs(study)[:MOST_COMPARED]
            for tree in [run.training.inputs["game"].tree]
        ]
        reasons = []
        for key in dict.fromkeys(key for values in here for key in values) if there else ():
            ours, theirs = (
                {value_text(values[key]): None for values in found if key in values}
                for found in (here, there)
            )
            if theirs and not ours.keys() & theirs.keys():
                reasons.append(f"{key} is {', '.join(ours)} here, {', '.join(theirs)} in the folder")
        return reasons[:MOST_REASONS]

    def _search(self, study: SweepStudy) -> Search:
        return Search(study, self.runs_folder, Store(self.store))

    def seconds_of(self, study: SweepStudy, jobs: Sequence[Job]) -> Mapping[Job, float] | None:
        """Time of training runs, measured on a few runs that are stopped early."""
        return measured_seconds(jobs)

    def device(self, study: SweepStudy) -> str:
        """Type of the device on which the games are trained."""
        return study.device.type

    def collect(self, study: SweepStudy, results: Mapping[Job, Result]) -> Sweep:
        """The runs with their scores, of a study without a search."""
        return collect(study, self.runs(study), results, Runner(folder=self.store), restores=not self.is_flat)

    def measure(self, study: SweepStudy, runner: Runner) -> Sweep:
        """Run the missing jobs, write the scores of each run into its folder, and all scores into one file.

        A search chooses trials by earlier results. For a part, the file of all runs is not written.

        Raises:
            DivergedError: If no run ended.
        """
        self._require_same_rules(study)
        if study.search is not None:
            return self._measure_search(study, runner)
        runs = self.runs(study)
        followed = [FollowedRun.of(run) for run in runs]
        runner = replace(runner, describe=ProgressText(lambda: followed).text)
        results = runner.run([job for run in runs for job in run.jobs])
        require_results({run.training: results[run.training] for run in runs})
        sweep = collect(study, runs, results, runner, restores=not self.is_flat)
        if self.part is None and not self.is_flat:
            save_sweep(self.folder / SWEEP, sweep)
        return sweep

    def _require_same_rules(self, study: SweepStudy) -> None:
        """Raise if runs in the folder were started with other rules than the study's."""
        earlier = [
            read_yaml(str(config), "run", {})
            for config in sorted(self.runs_folder.glob(f"*/{CONFIG}"))
            if CANDIDATES not in config.read_text(encoding="utf-8")
        ]
        worlds = [world for each in study.variants for world in worlds_of(each.experiment.to_tree())]
        mixes = study.search is not None or any(
            world.get(CANDIDATES) == "all" and may_hold_out(world) for world in worlds if earlier
        )
        for tree in earlier:
            require_same_rules(self.folder, tree, mixes=mixes)

    def _measure_search(self, study: SweepStudy, runner: Runner) -> Sweep:
        """Try settings until the requested number of trials is reached."""
        assert runner.folder is not None
        search = Search(study, self.runs_folder, Store(runner.folder, runner.note))
        runner = replace(runner, describe=ProgressText(search.followed_runs).text)
        results = runner.run([], more=search.more)
        ended = [trial for trial in search.trials if trial.same_as is None]
        if all(trial.state == "failed" for trial in ended):
            raise DivergedError(f"trial 0: {ended[0].reason}")
        runs = [run for trial in ended for run in trial.runs]
        tries = {
            run.training: job
            for trial in ended
            for run in trial.runs
            if (job := trial.tries.get(run.seed)) is not None
        }
        sweep = replace(collect(study, runs, results, runner, tries), search=search.to_json())
        save_sweep(self.folder / SWEEP, sweep)
        return sweep

    def record(self, study: SweepStudy, finding: Sweep) -> list[Source]:
        """The runs with their measures and scores."""
        return list(finding.sources())

    def report(self, study: SweepStudy, finding: Sweep) -> Report:
        """The table over seeds or of the trials, and the runs that are not in it."""
        lines = [] if finding.search is None else search_lines(finding.search, study.base, study.seeds)
        for run in finding:
            if run.failure is not None:
                lines.append(f"failed: {run.folder.name}: {run.failure}")
            elif run.training["stopped"] == "minutes":
                name = run.folder.name
                lines.append(f"not complete, and not in the means: {name} was ended by training.max_minutes")
        runs = self.runs_folder
        if self.part is not None:
            number, parts = self.part
            place = [] if self.folder == Path("runs") / study.name else ["--out", str(self.folder)]
            whole = shlex.join(["ecsuite", "sweep", self.source, *place])
            lines.append(
                f"part {number}/{parts}: {len(finding)} runs in {runs}; when all parts are done there: {whole}"
            )
            return Report(tables=(), notes=tuple(lines), data=finding.to_json())
        table = finding.table() if finding.search is None else trials_table(finding.search)
        lines.append(
            f"Runs in {runs}, all figures in {self.folder / SWEEP}; "
            f"next: ecsuite compare table {shlex.quote(str(self.folder))} --as latex"
        )
        return Report(tables=(table,), notes=tuple(lines), data=finding.to_json())
