"""Search of settings with Optuna, and pruning of runs that are worse than the median (Golovin et al., 2017).

Results of trials are reported to Optuna in the order of the trials, and a new trial is requested when all but the last
few trials before it have ended (`at_once`). So the tried settings depend only on the study and on the version of
Optuna, not on the machines or on which trial ends first. A search that was killed repeats its requests in the same
order and reads the stored results.

At each evaluation, the best figure of a run so far is compared with the median over finished trials, at that step and
with the same seed. These medians are an input of jobs, so that pruning does not depend on the machine.
"""

import json
import shlex
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import inf
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal, get_args

from safetensors import safe_open
from safetensors.numpy import save

from ecsuite.eval.experiments.grids import Range, Settings
from ecsuite.eval.experiments.jobs import PRUNED, VERSION, PlannedRun, needs_of, packed, plan_run
from ecsuite.eval.experiments.result import FollowedRun
from ecsuite.eval.experiments.study import Base, SweepStudy
from ecsuite.eval.results.logs import evaluations
from ecsuite.eval.results.sources import INCOMPLETE, setting_column
from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.eval.views.means import setting_heading
from ecsuite.games.runs.run_folder import LOG, RunFolder
from ecsuite.games.training.train import TrainingJob, train_in_job
from ecsuite.jobs.graph import make_plan
from ecsuite.jobs.job import Context, Job, Location, Outcome, Result, job_function
from ecsuite.jobs.store import Store
from ecsuite.runtime.errors import ConfigError, missing_extra
from ecsuite.tables.cells import number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

LEAST_RUNS = 4
"""Minimum number of earlier runs for a comparison."""
WARM_UP_SHARE = 0.25
"""Share of the training steps before which no run is pruned: early figures are not informative."""

Limits = Sequence[tuple[int, float]]
"""Medians by step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A pruning rule."""

    figure: str
    """The figure, as in the log: `valid.accuracy`."""
    is_maximised: bool
    """Whether higher is better."""
    limits: list[tuple[int, float]]
    """The median of earlier runs at each step."""

    def is_worse(self, value: float, step: int) -> bool:
        """Whether a figure is worse than the median at its step; false at steps without a median."""
        limit = dict(self.limits).get(step)
        return limit is not None and (value < limit if self.is_maximised else value > limit)


class MedianPruning:
    """A logger that requests the end of a run that is worse than its rule allows."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.best: float | None = None
        self.is_pruned = False

    def start(self, config: Mapping[str, Any], folder: Path, step: int) -> None:
        """Read the figures that an earlier attempt logged."""
        file = RunFolder(folder).log
        for evaluation in evaluations(file.read_bytes() if file.is_file() else b"", str(file)):
            if evaluation.step <= step:
                self.log(evaluation.step, evaluation.figures)

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Compare the figures of an evaluation with the rule."""
        value = figures.get(self.rule.figure)
        if value is None:
            return
        choose = max if self.rule.is_maximised else min
        self.best = value if self.best is None else choose(self.best, value)
        self.is_pruned = self.is_pruned or self.rule.is_worse(self.best, step)

    def close(self) -> None:
        """Do nothing: there is no open file."""


@job_function(
    version=VERSION,
    work=lambda *, game, **_: game.work,
    label=lambda *, game, **_: f"train {game.name}, seed {game.seed}",
    resources=needs_of,
)
def train_while_promising(
    *,
    game: TrainingJob,
    folder: Location,
    device: str,
    rule: Rule,
    keeps_weights: bool = False,
    context: Context,
) -> Outcome:
    """Train a game, and prune it by a rule.

    Args:
        game: The experiment, with its seed.
        folder: Parent of the run folder; a stopped run in it is resumed.
        device: cpu, cuda or mps.
        rule: The pruning rule.
        keeps_weights: See `train_game`.
        context: See `Context`.

    Returns:
        As `train_game`; a pruned run has `stopped` set to pruned, and no corpus.

    Raises:
        DivergedError: If the loss is not finite.
        Stopped: If the training was asked to stop.
    """
    run_folder = folder.path / game.folder_name
    pruning = MedianPruning(rule)
    result = train_in_job(game, run_folder, device, context, LanguageMetrics, pruning)
    value = result.to_json() | {"was_done": False}
    if result.stopped == "preempted":
        value["stopped"] = PRUNED
    return Outcome(value=value, arrays=save(packed(run_folder, keeps_weights)))


def medians(runs: Iterable[bytes], figure: str) -> list[tuple[int, float]]:
    """The median at each step at which enough runs were evaluated, after the warm-up steps.

    Args:
        runs: Logs of runs.
        figure: Name of the figure.
    """
    values: defaultdict[int, list[float]] = defaultdict(list)
    for log in runs:
        for evaluation in evaluations(log):
            if figure in evaluation.figures:
                values[evaluation.step].append(evaluation.figures[figure])
    first = max(values, default=0) * WARM_UP_SHARE
    return [
        (step, median(found))
        for step, found in sorted(values.items())
        if len(found) >= LEAST_RUNS and step >= first
    ]


def kept_log(arrays: Path) -> bytes:
    """The log of a run, from the arrays of its stored result."""
    with safe_open(arrays, framework="np") as opened:
        return bytes(opened.get_tensor(LOG).tobytes())


State = Literal["done", "pruned", "incomplete", "failed"]
"""Final state of a trial; incomplete: a run was ended by the clock or a limit, and would count in no table."""
LEAST_TRIALS = 4
"""Minimum number of finished trials for the importance of settings."""


@dataclass(kw_only=True)
class SearchTrial:
    """A combination of settings, run with every seed."""

    number: int
    """Index from 0, in the order of the requests."""
    settings: Settings
    """The settings."""
    runs: tuple[PlannedRun, ...]
    """A run for each seed; empty if the settings cannot be combined."""
    same_as: "SearchTrial | None" = None
    """The earlier trial with the same settings, whose results are used."""
    tries: dict[int, Job] = field(default_factory=dict)
    """Training jobs that may prune their run, by seed."""
    is_whole: bool = False
    """Whether no run was pruned."""
    state: State | None = None
    """Final state; None: unfinished."""
    value: float | None = None
    """The mean objective over seeds; None unless done."""
    reason: str | None = None
    """Reason of the failure, or of the end before all steps."""

    def to_json(self) -> dict[str, Any]:
        """The trial as JSON-ready data."""
        return {
            "number": self.number,
            "settings": dict(self.settings),
            "value": self.value,
            "state": self.state,
            "reason": self.reason,
        }


class Search:
    """The trials of a search so far.

    Args:
        study: A study with a search.
        runs: Parent of the run folders.
        store: The stored results of its jobs.

    Raises:
        ConfigError: If Optuna is not installed.
    """

    def __init__(self, study: SweepStudy, runs: Path, store: Store) -> None:
        assert study.search is not None
        self.study, self.settings, self.runs, self.store = study, study.search, runs, store
        self.optuna = optuna_module()
        samplers, seed = self.optuna.samplers, self.settings.header.seed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant_liar is an experimental option
            sampler = (
                samplers.RandomSampler(seed=seed)
                if self.settings.header.method == "random"
                else samplers.TPESampler(seed=seed, constant_liar=True)
            )
            direction = "maximize" if self.settings.is_maximised else "minimize"
            self.sampler = self.optuna.create_study(direction=direction, sampler=sampler)
        self.trials: list[SearchTrial] = []
        self.asked: list[Any] = []
        self.num_told = 0

    @property
    def best(self) -> SearchTrial | None:
        """The best finished trial; in a tie the first."""
        sign = 1 if self.settings.is_maximised else -1
        done = [trial for trial in self.trials if trial.state == "done"]
        return max(done, key=lambda trial: sign * (trial.value or 0.0), default=None)

    def more(self, results: Mapping[Job, Result]) -> list[Job]:
        """The jobs to run next, given the results so far; see `ecsuite.jobs.graph.Runner.run`."""
        wanted: list[Job] = []
        while True:
            if len(self.trials) < self.settings.trials and self._num_under_way < self.settings.header.at_once:
                wanted += self._ask()
            elif self._num_under_way and self._has_ended(self.trials[self.num_told], results):
                self._tell(self.trials[self.num_told], results)
                self.num_told += 1
            else:
                break
        for trial in self.trials[self.num_told :]:
            wanted += self._trained(trial, results)
        return list(dict.fromkeys(wanted))

    def known_jobs(self) -> list[Job]:
        """The jobs that follow from the stored results, and the jobs that depend on no result."""
        wanted: dict[Job, None] = {}
        results: dict[Job, Result] = {}
        while new := self.more(results):
            wanted |= dict.fromkeys(new)
            results |= make_plan(new, self.store).kept
        return list(wanted)

    def followed_runs(self) -> list[FollowedRun]:
        """The runs of all trials so far, without repeats of earlier trials."""
        trials = [trial for trial in self.trials if trial.same_as is None]
        return [
            FollowedRun.of(run, None if trial.is_whole else trial.tries.get(run.seed))
            for trial in trials
            for run in trial.runs
        ]

    @property
    def _num_under_way(self) -> int:
        return len(self.trials) - self.num_told

    def jobs_of(self, trial: SearchTrial) -> list[Job]:
        """The jobs of a trial that is not pruned."""
        return [job for run in trial.runs for job in run.jobs]

    def to_json(self) -> dict[str, Any]:
        """The search as JSON-ready data."""
        best = self.best
        return {
            "method": self.settings.header.method,
            "objective": self.settings.objective,
            "direction": "higher" if self.settings.is_maximised else "lower",
            "optuna": self.optuna.__version__,
            "trials": [trial.to_json() for trial in self.trials],
            "best": None if best is None else best.number,
            "importance": self.importance(),
        }

    def importance(self) -> dict[str, float] | None:
        """Share of the variance between trials that each setting explains (fANOVA); None for too few trials."""
        values = {trial.value for trial in self.trials if trial.state == "done"}
        if len(values) < LEAST_TRIALS:
            return None
        importance = self.optuna.importance
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluator = importance.FanovaImportanceEvaluator(n_trees=32, seed=0)
            shares = importance.get_param_importances(self.sampler, evaluator=evaluator)
        return {name: round(float(value), 4) for name, value in shares.items()}

    def _ask(self) -> list[Job]:
        """Request the next trial from Optuna, and return its jobs."""
        asked = self.sampler.ask()
        chosen: dict[str, Any] = {}
        for key, values in self.settings.over.items():
            if isinstance(values, Range):
                suggest = asked.suggest_int if values.is_int else asked.suggest_float
                chosen[key] = values.value(suggest(key, values.low, values.high, log=values.is_log))
            else:
                # Use the index: a choice may be a list, which Optuna does not accept.
                chosen[key] = values[asked.suggest_categorical(key, list(range(len(values))))]
        trial = SearchTrial(number=len(self.trials), settings=chosen, runs=())
        earlier = next((each for each in self.trials if each.settings == chosen), None)
        self.trials.append(trial)
        self.asked.append(asked)
        try:
            variant = self.study.base.variant(chosen, "settings")
        except ConfigError as error:
            trial.state, trial.reason = "failed", str(error)
            return []
        trial.runs = tuple(plan_run(self.study, variant, seed, self.runs) for seed in self.study.seeds)
        if earlier is not None:
            trial.same_as = earlier
            return []
        for run in trial.runs:
            rule = self._rule(run)
            if rule.limits and self.store.read(run.training) is None:
                inputs = dict(run.training.inputs)
                trial.tries[run.seed] = Job(train_while_promising, **inputs, rule=rule)
        if not trial.tries:
            return self.jobs_of(trial)
        return [trial.tries.get(run.seed, run.training) for run in trial.runs]

    def _rule(self, run: PlannedRun) -> Rule:
        """The pruning rule for a run, from the runs with its seed in the trials reported to Optuna."""
        if self.settings.header.prune == "none":
            limits = []
        else:
            earlier = [
                each.training
                for trial in self.trials[: self.num_told]
                for each in trial.runs
                if trial.state == "done" and trial.same_as is None and each.seed == run.seed
            ]
            stored = [self.store.read(training, needs_arrays=True) for training in earlier]
            limits = medians(
                (kept_log(each.arrays) for each in stored if each is not None and each.arrays is not None),
                self.settings.intermediate,
            )
        return Rule(figure=self.settings.intermediate, is_maximised=self.settings.is_maximised, limits=limits)

    def _trained(self, trial: SearchTrial, results: Mapping[Job, Result]) -> list[Job]:
        """Mark a trial as whole if no run was pruned, and return the jobs to run then."""
        if trial.is_whole or not trial.tries or any(job not in results for job in trial.tries.values()):
            return []
        if any(_was_ended(results[job]) for job in trial.tries.values()):
            return []
        for run in trial.runs:
            job = trial.tries.get(run.seed)
            if job is not None and self.store.read(run.training) is None:
                stored = self.store.read(job, needs_arrays=True)
                assert stored is not None and stored.arrays is not None
                whole = Outcome(value=stored.value, arrays=stored.arrays.read_bytes())
                self.store.write(run.training, whole, seconds=stored.seconds)
        trial.is_whole = True
        return self.jobs_of(trial)

    def _has_ended(self, trial: SearchTrial, results: Mapping[Job, Result]) -> bool:
        """Set the state of a trial if it has ended, and return whether it has."""
        if trial.state is None and trial.same_as is not None:
            same = trial.same_as
            trial.state, trial.value, trial.reason = same.state, same.value, same.reason
        elif trial.state is None:
            tried = [results[job] for job in trial.tries.values() if job in results]
            trained = [results[job] for job in self.jobs_of(trial) if job in results]
            failures = [each.failure for each in (*tried, *trained) if each.failure is not None]
            num_left = len(trial.tries) - len(tried)
            if num_left == 0 and any(_was_ended(each) for each in tried) and not failures:
                trial.state = "pruned"
            elif num_left == 0 and (failures or len(trained) == len(self.jobs_of(trial))):
                self._judge(trial, failures, results)
        return trial.state is not None

    def _judge(self, trial: SearchTrial, failures: Sequence[str], results: Mapping[Job, Result]) -> None:
        values = [] if failures else [self._figure(run, results) for run in trial.runs]
        known = [value for value in values if value is not None]
        capped = [
            f"{run.folder.name} was ended by {why}"
            for run in trial.runs
            if not failures and (why := results[run.training].value["stopped"]) in INCOMPLETE
        ]
        if capped:
            trial.state, trial.reason = "incomplete", capped[0]
        elif failures or len(known) < len(trial.runs):
            trial.state, trial.reason = "failed", [*failures, f"{self.settings.objective} is not defined"][0]
        else:
            trial.state, trial.value = "done", fmean(known)

    def _figure(self, run: PlannedRun, results: Mapping[Job, Result]) -> float | None:
        """The objective of a run; None if undefined."""
        name = self.settings.objective
        if self.settings.is_measure:
            value = results[run.training].value["measures"].get(name)
        else:
            scores = [score for job in run.scores.values() for score in results[job].value["scores"]]
            value = next((score["value"] for score in scores if score["name"] == name), None)
        return None if value is None else float(value)

    def _tell(self, trial: SearchTrial, results: Mapping[Job, Result]) -> None:
        """Report the result of a trial to Optuna."""
        states = self.optuna.trial.TrialState
        asked = self.asked[trial.number]
        if trial.state == "done":
            self.sampler.tell(asked, trial.value)
        elif trial.state == "pruned":
            for step, value in self._intermediate((trial.same_as or trial), results):
                asked.report(value, step)
            self.sampler.tell(asked, state=states.PRUNED)
        else:
            self.sampler.tell(asked, state=states.FAIL)

    def _intermediate(self, trial: SearchTrial, results: Mapping[Job, Result]) -> Sequence[tuple[int, float]]:
        """Step and value of the last figure of the run that was pruned first."""
        name = self.settings.objective
        pruned = [
            results[job].value for job in trial.tries.values() if results[job].value["stopped"] == PRUNED
        ]
        first = min(pruned, key=lambda value: int(value["step"]), default=None)
        if first is None:
            return []
        value = first["measures"].get(name, first.get("metrics", {}).get(name))
        return [] if value is None or not -inf < value < inf else [(int(first["step"]), float(value))]


def optuna_module() -> Any:
    """Import Optuna, without its log lines about trials.

    Raises:
        ConfigError: If it is not installed.
    """
    try:
        optuna = import_module("optuna")
    except ImportError:
        raise missing_extra("search needs the package optuna", "search") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _was_ended(result: Result) -> bool:
    """Whether a run failed or was pruned."""
    return result.failure is not None or result.value["stopped"] == PRUNED


MOST_ROWS = 10
"""Maximum number of trials in the table; all trials are in the JSON."""


def trials_table(search: Mapping[str, Any]) -> Table:
    """The best trials first, then pruned, incomplete and failed trials.

    Args:
        search: The key `search` of `sweep.json`.
    """
    sign = -1 if search["direction"] == "higher" else 1
    trials = sorted(
        search["trials"],
        key=lambda trial: (
            get_args(State).index(trial["state"]),
            sign * (trial["value"] or 0.0),
            trial["number"],
        ),
    )
    settings = list(trials[0]["settings"])
    names = [setting_column(name, ("trial", search["objective"])) for name in settings]
    columns = [name_column("trial"), *(Column(name, heading=setting_heading(name)) for name in names)]
    columns.append(number_column(search["objective"], search["objective"]))
    rows = []
    for trial in trials[:MOST_ROWS]:
        is_defined = trial["value"] is not None
        value = number(trial["value"], 4) if is_defined else text(None, shown=trial["state"], role="dim")
        rows.append(
            row_of(text(trial["number"]), *(text(trial["settings"][name]) for name in settings), value)
        )
    return Table(columns=columns, rows=rows)


def search_lines(search: Mapping[str, Any], base: Base, seeds: Sequence[int]) -> list[str]:
    """Number of trials, the best trial with a study that repeats it, and the importance of settings.

    The best of many values is chosen for its noise too, so the study has other seeds than the trials (`seeds`).
    """
    trials = search["trials"]
    states = [trial["state"] for trial in trials]
    counts = [f"{states.count(state)} {state}" for state in get_args(State) if state in states]
    lines = [f"{len(trials)} trials: {', '.join(counts)}"]
    if search["best"] is not None:
        best = trials[search["best"]]
        settings = {**base.set, **best["settings"]}
        further = list(range(max(seeds) + 1, max(seeds) + 1 + max(3, len(seeds))))
        lines += [
            f"best: trial {best['number']}, {search['objective']} {best['value']:.4f}, "
            f"{'too high' if search['direction'] == 'higher' else 'too low'} if others were near, as the best of "
            f"{states.count('done')}; to measure it, a study with other seeds:",
            f"  base: {base.name}",
            f"  set: {_flow(settings)}",
            f"  seeds: {further}",
            "or, with one seed,",
            f"  ecsuite train-game {shlex.quote(base.name)} {_assignments(settings)}",
        ]
    reasons = dict.fromkeys((trial["state"], trial["reason"]) for trial in trials if trial["reason"])
    lines += [f"{state}: {reason}" for state, reason in list(reasons)[:MOST_ROWS]]
    if search["importance"]:
        shares = ", ".join(f"{key} {share:.0%}" for key, share in search["importance"].items())
        lines.append(f"share of the differences between trials (fANOVA): {shares}")
    return lines


def _flow(settings: Settings) -> str:
    """Settings as YAML in one line."""
    return "{" + ", ".join(f"{key}: {_value(value)}" for key, value in settings.items()) + "}"


def _assignments(settings: Settings) -> str:
    return " ".join(f"--set {shlex.quote(f'{key}={_value(value)}')}" for key, value in settings.items())


def _value(value: Any) -> str:
    """A value as JSON, which is valid YAML; plain texts without quotes."""
    return value if isinstance(value, str) and value.isidentifier() else json.dumps(value)
