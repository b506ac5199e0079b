"""A sweep as a benchmark: games are trained with many settings and seeds, and every corpus is scored."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ecsuite.eval.results.files import require_no_other
from ecsuite.eval.results.sources import CONFIG, STORE, SWEEP, Source
from ecsuite.eval.studies.benchmark import Benchmark
from ecsuite.eval.studies.training_time import calls_notes, measured_seconds
from ecsuite.eval.sweeps.jobs import PlannedRun, plan
from ecsuite.eval.sweeps.result import Sweep, collect, save_sweep
from ecsuite.eval.sweeps.search import Search
from ecsuite.eval.sweeps.search_report import search_lines, trials_table
from ecsuite.eval.sweeps.standing import FollowedRun, Standing
from ecsuite.eval.sweeps.study import Study
from ecsuite.eval.views.console import Report
from ecsuite.games.run_identity import CANDIDATES, may_hold_out, require_same_rules, worlds_of
from ecsuite.jobs.graph import Runner, require_results
from ecsuite.jobs.job import Job, Result
from ecsuite.jobs.store import Store
from ecsuite.parts.config import read_yaml
from ecsuite.runtime.errors import DivergedError


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweeps(Benchmark[Study, Sweep]):
    """Games with many settings and seeds."""

    folder: Path
    """Of the runs, their kept results, and the file of all figures."""
    part: tuple[int, int] | None = None
    """Only every run of a part, such as (2, 10), the second of ten."""
    source: str = ""
    """How the user named the study."""
    kept: Path | None = None
    """The folder of kept results; None: in that of the sweep."""

    def __post_init__(self) -> None:
        """Refuse the folder of a run."""
        require_no_other(self.folder, "a sweep")

    @property
    def store(self) -> Path:
        """The folder of kept results."""
        return self.kept or self.folder / STORE

    def runs(self, study: Study) -> list[PlannedRun]:
        """The runs, those of a part if one is asked for; of a search there are none yet."""
        runs = plan(study, self.folder)
        return runs if self.part is None else runs[self.part[0] - 1 :: self.part[1]]

    def plan(self, study: Study) -> list[Job]:
        """The training and the scores of each run; of a search, as far as the kept results tell."""
        if study.search is not None:
            return self._search(study).known_jobs()
        return [job for run in self.runs(study) for job in (run.training, *run.scores.values())]

    def notes_on_plan(self, study: Study) -> list[str]:
        """How often models are asked in all runs; of a search, how many of its trials are in the plan."""
        if study.search is None:
            return calls_notes([run.training for run in self.runs(study)])
        search = self._search(study)
        search.known_jobs()
        return [
            f"these are the jobs of {len(search.trials)} of {study.search.trials} trials; the others follow from what "
            "comes out"
        ]

    def _search(self, study: Study) -> Search:
        return Search(study, self.folder, Store(self.store))

    def seconds_of(self, study: Study, jobs: Sequence[Job]) -> float | None:
        """From a few training runs that are begun and given up."""
        return measured_seconds(jobs)

    def device(self, study: Study) -> str:
        """Where the games are trained."""
        return study.device.type

    def collect(self, study: Study, results: Mapping[Job, Result]) -> Sweep:
        """The runs with their scores, of a study without a search."""
        return collect(study, self.runs(study), results, Runner(folder=self.store))

    def measure(self, study: Study, runner: Runner) -> Sweep:
        """Train and score what is not kept, write the scores of each run into its folder, and all into one file.

        A search chooses its trials from what came out before; of a part, the file of all runs is not written.

        Raises:
            DivergedError: If no run ended.
        """
        self._require_same_rules(study)
        if study.search is not None:
            return self._measure_search(study, runner)
        runs = self.runs(study)
        followed = [FollowedRun.of(run) for run in runs]
        runner = replace(runner, describe=Standing(lambda: followed).text)
        results = runner.run(self.plan(study))
        require_results({run.training: results[run.training] for run in runs})
        sweep = collect(study, runs, results, runner)
        if self.part is None:
            save_sweep(self.folder, sweep)
        return sweep

    def _require_same_rules(self, study: Study) -> None:
        """Refuse a folder whose runs were begun under rules that the study does not ask for."""
        earlier = [
            read_yaml(str(config), "run", {})
            for config in sorted(self.folder.glob(f"runs/*/{CONFIG}"))
            if CANDIDATES not in config.read_text(encoding="utf-8")
        ]
        worlds = [world for each in study.variants for world in worlds_of(each.experiment.to_tree())]
        mixes = study.search is not None or any(
            world.get(CANDIDATES) == "all" and may_hold_out(world) for world in worlds if earlier
        )
        for tree in earlier:
            require_same_rules(self.folder, tree, mixes=mixes)

    def _measure_search(self, study: Study, runner: Runner) -> Sweep:
        """Try settings until there are as many trials as asked for."""
        assert runner.folder is not None
        search = Search(study, self.folder, Store(runner.folder, runner.note))
        runner = replace(runner, describe=Standing(search.followed_runs).text)
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
        save_sweep(self.folder, sweep)
        return sweep

    def record(self, study: Study, finding: Sweep) -> list[Source]:
        """The runs with their measures and scores."""
        return finding.sources()

    def report(self, study: Study, finding: Sweep) -> Report:
        """The table over seeds, or that of the trials; and which runs are not in it."""
        lines = [] if finding.search is None else search_lines(finding.search, study.base)
        for run in finding:
            if run.failure is not None:
                lines.append(f"failed: {run.folder.name}: {run.failure}")
            elif run.training["stopped"] == "minutes":
                name = run.folder.name
                lines.append(f"not complete, and not in the means: {name} was ended by training.max_minutes")
        runs = self.folder / "runs"
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
