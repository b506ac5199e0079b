"""Training of an experiment in a run folder, also as a job.

The required memory and disk space are checked before training. The key of a job consists of the settings and the
data; a job stops when its executor requests it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

import torch

import ecsuite.parts.own_code as own_code
from ecsuite.games.config.experiment import from_tree, ignore
from ecsuite.games.config.sections import ROLES, Experiment, with_training
from ecsuite.games.plays.checks import try_play
from ecsuite.games.plays.notes import choose_game_precision
from ecsuite.games.plays.play import TrainedPlay, make_play
from ecsuite.games.plays.rounds import Rounds
from ecsuite.games.runs.checkpoints import read_initial_weights
from ecsuite.games.runs.identity import RunContext, check_data
from ecsuite.games.runs.result import RunResult
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.games.training.loggers import Logger
from ecsuite.games.training.trainer import Scorer, Trainer, TrainingCallbacks
from ecsuite.jobs.job import Context, Stopped, hash_of
from ecsuite.jobs.signals import StopRequest
from ecsuite.language_models.backend import Person
from ecsuite.runtime.devices import choose_device, fixed_threads


def train(
    experiment: Experiment,
    folder: Path,
    *,
    resume: bool = False,
    replay: Path | None = None,
    person: Person | None = None,
    device: str = "auto",
    scorer: Callable[[Experiment], Scorer] | None = None,
    loggers: Sequence[Logger] = (),
    progress: Callable[[str, float, float], None],
    note: Callable[[str], None],
    announce: Callable[[str], None] = ignore,
    should_stop: Callable[[], StopRequest | None] = lambda: None,
) -> RunResult:
    """Train the agents of an experiment and write their corpus.

    Works in any thread, without changing signal handlers.

    Args:
        experiment: The experiment.
        folder: The run folder; created if missing.
        resume: Continue from the newest checkpoint of the folder, if there is one.
        replay: A run folder whose stored answers are used instead of participants; None: participants are queried.
        person: Person who answers on a page, in a play of rounds.
        device: auto, cpu, cuda or mps.
        scorer: Makes the scorer of the language, such as `ecsuite.eval.run_metrics.language_metrics.LanguageMetrics`;
            needed if the experiment has `evaluation.metrics`.
        loggers: Loggers of the figures of every evaluation; see `ecsuite.games.training.loggers.make_loggers`.
        progress: Called as `progress(label, steps done, steps in total)` before the first and after each step; the last
            evaluation and the corpus count as an estimated number of steps.
        note: Called with each message for the user.
        announce: Called with lines about the game and the run folder, before the first step.
        should_stop: Called after every step. After `interrupt` the run ends with a checkpoint and a corpus, after
            `preempted` with a checkpoint; None: it continues. See `ecsuite.jobs.signals.stop_signals`.

    Raises:
        ConfigError: If the experiment can't be run, or the folder holds another run. Another process that uses it is
            waited for.
        DamagedError: If the folder's checkpoints can't be read.
        DivergedError: If the loss, the weights or an evaluation are not finite. The last state with a finite loss is
            saved if its weights are known to be finite; `outcome` has the fields of `RunResult`.
    """
    place = choose_device(device)
    score = None
    if experiment.evaluation.metrics:  # first: reports unknown names before data are downloaded or read
        if scorer is None:
            raise ValueError("evaluation.metrics: expected a scorer, see `train`")
        score = scorer(experiment)
    callbacks = TrainingCallbacks(
        progress=progress, note=note, announce=announce, should_stop=should_stop, loggers=loggers
    )
    with RunFolder(folder).lock(note, should_stop):
        precision = choose_game_precision(experiment, place)
        context = RunContext.of(experiment, precision=precision, data=check_data(experiment))
        weights, initial = read_initial_weights(experiment, folder, note)
        context = replace(context, weights=weights)
        play = make_play(experiment, place)
        for role, agents in initial.items():
            play.take_agents(role, agents, experiment.training.init_of(role) or "")
        if replay is not None:
            play.replay(replay)
        if person is not None and isinstance(play, Rounds):
            play.seat(person)
        play.check(folder, note)
        has_hook = experiment.training.after_step is not None and isinstance(play, TrainedPlay)
        if own_code.is_foreign(experiment.play.kind) or has_hook:
            try_play(experiment, place)
        trainer = Trainer(play, context, folder, device=place, callbacks=callbacks, scorer=score)
        return trainer.run(resume=resume)


def cost(experiment: Experiment, device: str = "auto") -> dict[str, Any]:
    """Cost of a run, JSON-ready: steps, rounds, and for queried participants calls, tokens and hours.

    Args:
        experiment: The experiment; nothing is written, and no participant is queried.
        device: auto, cpu, cuda or mps.

    Raises:
        ConfigError: If the experiment can't be run.
    """
    place = choose_device(device)
    choose_game_precision(experiment, place)
    RunContext.of(experiment, data=check_data(experiment))
    return make_play(experiment, place).cost()


SLOWNESS = {"thing": 1.0, "shape": 3.0}
"""Relative time per example of a world; only used to order jobs and to estimate the remaining time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingJob:
    """An experiment as the input of a job: identified by its settings and the content of its data files."""

    tree: dict[str, Any]
    """Every setting as in a YAML file, with the checksums of data files and initial weights."""

    @classmethod
    def of(cls, experiment: Experiment, seed: int, device: torch.device) -> Self:
        """Make the job of an experiment with a seed, and with the precision of a device."""
        experiment = with_training(experiment, seed=seed)
        precision = choose_game_precision(experiment, device)
        data = check_data(experiment)
        weights, _ = read_initial_weights(experiment, None, ignore)
        context = RunContext.of(
            experiment, precision=precision, schedule=experiment.schedule, data=data, weights=weights
        )
        return cls(tree=context.to_tree())

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return from_tree(self.tree, self.name)

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return str(self.tree["name"])

    @property
    def seed(self) -> int:
        """Seed of the training."""
        return int(self.tree["training"]["seed"])

    @property
    def folder_name(self) -> str:
        """Name of the run folder: `NAME-SEED-KEY`."""
        return f"{self.name}-{self.seed}-{hash_of(self.job_key())[:8]}"

    @property
    def work(self) -> float:
        """Expected cost, in a common unit of all games."""
        settings = self.tree["training"]
        taught = [self.tree.get(role, {}).get("taught", {}).get("epochs", 0) for role in ROLES]
        examples = settings["num_examples"] * (settings["num_epochs"] + max(taught))
        return float(examples * SLOWNESS.get(self.tree.get("world", {}).get("kind"), 1.0))

    def job_key(self) -> Any:
        """All settings except the description and the paths of data files."""
        experiment = self.experiment
        tree = RunContext.of(experiment, schedule=experiment.schedule).identity()
        if not tree["training"]["deterministic"]:  # results from before this setting existed keep their keys
            del tree["training"]["deterministic"]
        return tree


class EarlyEnd(Logger, Protocol):
    """A logger that may end a run."""

    @property
    def is_pruned(self) -> bool:
        """Whether to end the run with a checkpoint."""


def train_in_job(
    game: TrainingJob,
    folder: Path,
    device: str,
    context: Context,
    scorer: Callable[[Experiment], Scorer],
    early_end: EarlyEnd | None = None,
) -> RunResult:
    """Train a game with one thread; an unfinished run in the folder is continued.

    Args:
        game: The game.
        folder: The run folder.
        device: cpu, cuda or mps.
        context: See `Context`.
        scorer: See `train`.
        early_end: Logger that may end the run, which is then `preempted`.

    Raises:
        DivergedError: If the loss is not finite.
        Stopped: If a stop was requested.
    """

    def is_pruned() -> bool:
        return early_end is not None and early_end.is_pruned

    with fixed_threads(1):
        result = train(
            game.experiment,
            folder,
            resume=True,
            device=device,
            scorer=scorer,
            progress=lambda label, done, total: context.report_progress(
                f"{game.name} {game.seed}: {label}", done / total
            ),
            note=lambda _: None,  # notes of single runs are not shown in a study
            should_stop=lambda: "preempted" if is_pruned() or context.should_stop() else None,
            loggers=[] if early_end is None else [early_end],
        )
    if result.stopped == "preempted" and not is_pruned():
        raise Stopped
    return result
