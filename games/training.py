"""Training of an experiment in a run folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ecsuite.parts.own_code as own_code
from ecsuite.games.experiment import ignore
from ecsuite.games.first_step import try_play
from ecsuite.games.initial_weights import with_initial_weights
from ecsuite.games.language_metrics import metrics_of
from ecsuite.games.loggers import Logger
from ecsuite.games.plays.play import make_play
from ecsuite.games.plays.rounds import Rounds
from ecsuite.games.precision import choose_game_precision
from ecsuite.games.run_folder import only_process
from ecsuite.games.run_identity import with_data, with_horizon
from ecsuite.games.sections import Experiment, with_training
from ecsuite.games.train_state import Callbacks
from ecsuite.games.trainer import Trainer
from ecsuite.games.training_result import Result
from ecsuite.jobs.signals import StopRequest
from ecsuite.language_models.backend import Person
from ecsuite.runtime.devices import choose_device


def train(
    experiment: Experiment,
    folder: Path,
    *,
    resume: bool = False,
    replay: Path | None = None,
    person: Person | None = None,
    device: str = "auto",
    loggers: Sequence[Logger] = (),
    progress: Callable[[str, float, float], None],
    note: Callable[[str], None],
    announce: Callable[[str], None] = ignore,
    should_stop: Callable[[], StopRequest | None] = lambda: None,
) -> Result:
    """Train the agents of an experiment and write their corpus.

    Works in any thread, and leaves the handlers of signals alone.

    Args:
        experiment: What to train.
        folder: The run folder; created if missing.
        resume: Continue from the newest checkpoint of the folder, if there is one.
        replay: A run folder whose kept answers are used, so that nobody is asked; None: participants are asked.
        person: Answers where a play of rounds asks a person at a page.
        device: auto, cpu, cuda or mps.
        loggers: Take the figures of every evaluation; see `ecsuite.games.loggers.make_loggers`.
        progress: Called as `progress(label, steps done, steps in total)` after every step; the last evaluation and
            the corpus count as so many steps as they are likely to take.
        note: Called with each message for the user.
        announce: Called with each line of what is trained and where it is written, before the first step.
        should_stop: Called after every step. After `interrupt` the run ends with a checkpoint and a corpus, after
            `preempted` with a checkpoint; None: it goes on. See `ecsuite.jobs.signals.stop_signals`.

    Raises:
        ConfigError: If the experiment can't be run, or the folder holds another one. Another process that uses it is
            waited for.
        DamagedError: If the folder's checkpoints can't be read.
        DivergedError: If the loss, the weights or an evaluation are not finite. The last state with a finite loss is
            saved if its weights are known to be finite; `outcome` has the fields of `Result`.
    """
    place = choose_device(device)
    metrics_of(experiment)  # a name that is none is told before data are downloaded or read
    callbacks = Callbacks(
        progress=progress, note=note, announce=announce, should_stop=should_stop, loggers=loggers
    )
    with only_process(folder, note, should_stop):
        precision = choose_game_precision(experiment, place)
        experiment = with_data(with_horizon(with_training(experiment, precision=precision)))
        experiment, initial = with_initial_weights(experiment, folder, note)
        play = make_play(experiment, place)
        for role, agents in initial.items():
            play.take_agents(role, agents, experiment.training.init_of(role) or "")
        if replay is not None:
            play.replay(replay)
        if person is not None and isinstance(play, Rounds):
            play.seat(person)
        play.check(folder, note)
        if own_code.is_foreign(experiment.play.kind):
            try_play(experiment, place)
        trainer = Trainer(play, experiment, folder, device=place, callbacks=callbacks)
        return trainer.run(resume=resume)


def cost(experiment: Experiment, device: str = "auto") -> dict[str, Any]:
    """What a run takes, JSON-ready: steps, rounds, and of participants who are asked calls, tokens and hours.

    Args:
        experiment: What is to be trained or played; nothing is written, and nobody is asked.
        device: auto, cpu, cuda or mps.

    Raises:
        ConfigError: If the experiment can't be run.
    """
    place = choose_device(device)
    precision = choose_game_precision(experiment, place)
    experiment = with_data(with_horizon(with_training(experiment, precision=precision)))
    return make_play(experiment, place).cost()
