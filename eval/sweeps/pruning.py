"""Pruning: a run ends early where it is worse than the median of earlier trials (Golovin et al., 2017).

At each evaluation, the best figure of the run so far is compared with the median that the runs with the same seed of
the finished trials had then. These medians are known when a trial is begun and are an input of its jobs, so that
pruning needs no word from elsewhere while a run is trained: it is the same in this process, in Slurm and in Ray.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from safetensors import safe_open
from safetensors.numpy import save

from ecsuite.eval.results.logs import evaluations
from ecsuite.eval.sweeps.jobs import VERSION, needs_of, packed
from ecsuite.games.run_log import LOG
from ecsuite.games.training_jobs import Game, train_in_job
from ecsuite.jobs.job import Context, Location, Outcome, job_function

LEAST_RUNS = 4
"""Least earlier runs with which a run is compared."""
UNJUDGED = 0.25
"""Share of the steps of a training in which no run is ended: early figures say little."""
PRUNED = "pruned"
"""Why such a run ended."""

Limits = Sequence[tuple[int, float]]
"""Medians by step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """When a run is ended."""

    figure: str
    """The figure, as in the log: `valid.accuracy`."""
    is_maximised: bool
    """Whether higher is better."""
    limits: list[tuple[int, float]]
    """The median of earlier runs at each step."""

    def is_worse(self, value: float, step: int) -> bool:
        """Whether a figure at a step is worse than the median then; not at a step that earlier runs do not have."""
        limit = dict(self.limits).get(step)
        return limit is not None and (value < limit if self.is_maximised else value > limit)


class MedianPruning:
    """A logger that finds out whether a run is worse than the rule allows."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.best: float | None = None
        self.is_pruned = False

    def start(self, config: Mapping[str, Any], folder: Path, step: int) -> None:
        """Take the figures that an earlier attempt logged."""
        file = folder / LOG
        for evaluation in evaluations(file.read_bytes() if file.is_file() else b"", str(file)):
            if evaluation.step <= step:
                self.log(evaluation.step, evaluation.figures)

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Take the figures of an evaluation."""
        value = figures.get(self.rule.figure)
        if value is None:
            return
        choose = max if self.rule.is_maximised else min
        self.best = value if self.best is None else choose(self.best, value)
        self.is_pruned = self.is_pruned or self.rule.is_worse(self.best, step)

    def close(self) -> None:
        """Nothing is open."""


@job_function(
    version=VERSION,
    work=lambda *, game, **_: game.work,
    label=lambda *, game, **_: f"train {game.name}, seed {game.seed}",
    resources=needs_of,
)
def train_while_promising(
    *,
    game: Game,
    folder: Location,
    device: str,
    rule: Rule,
    keeps_weights: bool = False,
    context: Context,
) -> Outcome:
    """Train a game, and end it early by a rule.

    Args:
        game: The experiment, with its seed.
        folder: Parent of the run folder; a run that was stopped there goes on.
        device: cpu, cuda or mps.
        rule: When it is ended.
        keeps_weights: As of `train_game`.
        context: See `Context`.

    Returns:
        As `train_game`; of a run that was ended, `stopped` is pruned, and it has no corpus.

    Raises:
        DivergedError: If the loss is not finite.
        Stopped: If the training was asked to stop.
    """
    run_folder = folder.path / game.folder_name
    pruning = MedianPruning(rule)
    result = train_in_job(game, run_folder, device, context, pruning)
    value = result.to_json() | {"was_done": False}
    if result.stopped == "preempted":
        value["stopped"] = PRUNED
    return Outcome(value=value, arrays=save(packed(run_folder, keeps_weights)))


def medians(runs: Iterable[bytes], figure: str) -> list[tuple[int, float]]:
    """The median at each step at which enough runs were evaluated, but for the first steps.

    Args:
        runs: Their logs.
        figure: The figure.
    """
    values: defaultdict[int, list[float]] = defaultdict(list)
    for log in runs:
        for evaluation in evaluations(log):
            if figure in evaluation.figures:
                values[evaluation.step].append(evaluation.figures[figure])
    first = max(values, default=0) * UNJUDGED
    return [
        (step, median(found))
        for step, found in sorted(values.items())
        if len(found) >= LEAST_RUNS and step >= first
    ]


def kept_log(arrays: Path) -> bytes:
    """The log of a run, from the arrays of its kept result."""
    with safe_open(arrays, framework="np") as opened:
        return bytes(opened.get_tensor(LOG).tobytes())
