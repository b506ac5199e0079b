"""Checks of plays and of their parts: participants, backends, environments, meetings, and loggers of their runs."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ecsuite.formats import read_corpus
from ecsuite.formats.directory import CORPUS
from ecsuite.games.config.experiment import from_tree, load_experiment
from ecsuite.games.config.registry import ENVIRONMENTS, MEETINGS
from ecsuite.games.environments.environment import Environment, Floats, Integers, Moment
from ecsuite.games.environments.fitting import require_described, require_fitting, stepped
from ecsuite.games.players.schedule import Meeting, Meetings
from ecsuite.games.plays.checks import fault_of_measures
from ecsuite.games.plays.rounds import Rounds
from ecsuite.games.runs.checkpoints import weights_of_corpus
from ecsuite.games.runs.run_folder import CONFIG, RunFolder
from ecsuite.games.training.loggers import Logger, make_loggers
from ecsuite.language_models.asking import FILE as ANSWERS
from ecsuite.language_models.asking import KeptAnswers
from ecsuite.parts.registry import read_part
from ecsuite.parts.strict_yaml import load_yaml
from ecsuite.runtime.errors import ConfigError
from ecsuite.testing import Check, bound, games, require
from ecsuite.testing.trial import Trial, same, scratch_folder


def play_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of a play. See `ecsuite.testing.checks`."""
    trial = Trial.of(kind, name, settings)

    return bound(PLAYS, lambda: trial)


def gives_a_corpus(trial: Trial) -> None:
    """It produces a corpus at its end, and finite figures with the names that it declares."""
    with scratch_folder() as folder:
        result = trial.train(folder / "run")
        require(len(read_corpus(folder / "run").messages) > 0, "its corpus has no messages")
        play = trial.play()
        fault = fault_of_measures(result.measures, (*play.figures, *play.chance()))
        require(fault is None, str(fault))


def evaluations_change_nothing(trial: Trial) -> None:
    """A repeated evaluation gives equal figures, and leaves its state unchanged."""
    with scratch_folder() as folder:
        trial.train(folder / "run")
        weights = weights_of_corpus(folder / "run", lambda _: None)
    require(weights is not None, "its run has no checkpoint")
    play = trial.play()
    play.restore(weights or {})
    before = {name: tensor.clone() for name, tensor in play.state().items()}
    first, again = play.evaluate(), play.evaluate()
    require(first == again, f"two evaluations of one state differ: {first} and {again}")
    require(same(before, dict(play.state())), "an evaluation changes its state")


PLAYS = (
    games.options_survive_yaml, games.training_repeats, games.training_resumes, gives_a_corpus,
    evaluations_change_nothing,
)  # fmt: skip


def participant_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of a participant, or of a backend. See `ecsuite.testing.checks`."""
    trial = Trial.of(kind, name, settings)
    return bound((*PARTICIPANTS, *(BACKENDS if kind == "backend" else ())), lambda: trial)


def answers_are_recorded(trial: Trial) -> None:
    """Its answers are allowed, and recorded in the rounds of the run."""
    with scratch_folder() as folder:
        trial.train(folder / "run")
        lines = RunFolder(folder / "run").rounds.read_bytes().splitlines()
    play = trial.play()
    require(isinstance(play, Rounds), "expected a play of rounds")
    require(len(lines) == play.num_rounds * trial.experiment.training.num_epochs, "rounds are missing")


def memory_is_restored(trial: Trial) -> None:
    """Its memory follows from the rounds: restored from them, it continues in the same way."""
    first, second = trial.play(), trial.play()
    first.train_step(0)
    second.restore(first.state())
    first.train_step(1)
    second.train_step(1)
    require(bool(first.state()["rounds"].equal(second.state()["rounds"])), "it continues differently")


def answers_are_stored(trial: Trial) -> None:
    """Every answer is stored with the name of its model."""
    with scratch_folder() as folder:
        trial.train(folder / "run")
        require((folder / "run" / ANSWERS).is_file(), "no answers were stored")
        answers = KeptAnswers(folder / "run")
        require(
            all(reply.model for reply in answers.replies.values()),
            "an answer lacks the name of its model",
        )


def is_replayed(trial: Trial) -> None:
    """A run is repeated byte for byte from its stored answers, without new questions."""
    with scratch_folder() as folder:
        trial.train(folder / "run")
        trial.train(folder / "again", replay=folder / "run")
        for name in (CORPUS, RunFolder(folder).rounds.name, ANSWERS):
            contents = [(folder / run / name).read_bytes() for run in ("run", "again")]
            require(contents[0] == contents[1], f"{name} differs when it is replayed")


PARTICIPANTS = (
    games.options_survive_yaml,
    games.training_repeats,
    games.training_resumes,
    answers_are_recorded,
    memory_is_restored,
)
BACKENDS = (answers_are_stored, is_replayed)


BATCH = 6
"""Episodes per batch."""
MakeEnvironment = Callable[[], Environment]


def environment_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of an environment. See `ecsuite.testing.checks`."""
    if settings:
        raise ConfigError(
            f"--set: not allowed for an environment: give its options after its name, {name},key=value"
        )
    part = read_part(ENVIRONMENTS, [("", name)], kind)

    def make() -> Environment:
        environment: Environment = ENVIRONMENTS.make(part)
        require_described(environment)
        return environment

    return bound(ENVIRONMENT, lambda: make)


def _episode(environment: Environment, episodes: Sequence[int], seed: int = 3) -> list[tuple[Moment, Floats]]:
    """The moments of episodes with the rewards before them; actions are pure functions of step and episode."""
    numbers = np.array(episodes)
    moment = environment.reset(seed, numbers)
    require_fitting(environment, moment, len(numbers), "reset")
    played = [(moment, np.zeros((len(numbers), len(environment.agents))))]
    for step in range(environment.max_steps):
        chosen = [
            (np.random.default_rng(step).integers(spec.num_actions, size=99)[numbers % 99] + agent)
            % spec.num_actions
            for agent, spec in enumerate(environment.agents)
        ]
        moment, rewards = _stepped(environment, moment, np.stack(chosen, 1) * moment.active, step)
        played.append((moment, np.asarray(rewards)))
        if moment.done.all():
            break
    return played


def _stepped(environment: Environment, moment: Moment, actions: Integers, step: int) -> tuple[Moment, Floats]:
    """Step all episodes; if the environment rejects valid actions, the error names the step and the actions."""
    try:
        return stepped(environment, moment, actions)
    except AssertionError as error:
        highest = ", ".join(map(str, actions.max(0)))
        raise AssertionError(f"step {step}, with actions up to {highest} of each agent: {error}") from error


def _equal(one: tuple[Moment, Floats], other: tuple[Moment, Floats], was_done: np.ndarray) -> bool:
    """Whether two moments and the rewards before them are equal, in episodes that were not done before."""
    arrays = [(*_arrays(moment), rewards) for moment, rewards in (one, other)]
    return all(np.array_equal(a[~was_done], b[~was_done]) for a, b in zip(*arrays, strict=True))


def _arrays(moment: Moment) -> tuple[np.ndarray, ...]:
    """The arrays of a moment, with an entry per episode."""
    fields = (moment.heard, moment.active, moment.speaking, moment.acting, moment.right)
    known = (np.zeros(len(moment.done)) if each is None else each for each in fields)
    return (*moment.observations, *known, moment.done, moment.meanings)


def _compared(one: list[tuple[Moment, Floats]], other: list[tuple[Moment, Floats]]) -> int | None:
    """The first step at which two batches of episodes differ; None if they are equal."""
    was_done = np.zeros(len(one[0][0].done), bool)
    for step, (first, second) in enumerate(zip(one, other, strict=False)):
        if not _equal(first, second, was_done):
            return step
        was_done = first[0].done
    return None if len(one) == len(other) else min(len(one), len(other))


def it_repeats(make: MakeEnvironment) -> None:
    """Equal seeds, episodes and actions give equal observations, rewards and ends."""
    step = _compared(_episode(make(), range(BATCH)), _episode(make(), range(BATCH)))
    require(step is None, f"repeated episodes differ at step {step}")


def earlier_episodes_do_not_matter(make: MakeEnvironment) -> None:
    """Episodes do not depend on earlier episodes."""
    environment = make()
    first = _episode(environment, range(BATCH))
    _episode(environment, range(BATCH, 2 * BATCH))
    step = _compared(first, _episode(environment, range(BATCH)))
    require(step is None, f"episodes repeated after other episodes differ at step {step}")


def episodes_stand_alone(make: MakeEnvironment) -> None:
    """An episode does not depend on the other episodes of its batch."""
    both, alone = _episode(make(), range(BATCH)), _episode(make(), [BATCH - 1])
    was_done = False
    for step, ((moment, rewards), (own, own_rewards)) in enumerate(zip(both, alone, strict=False)):
        pairs = [*zip(_arrays(moment), _arrays(own), strict=True), (rewards, own_rewards)]
        same = all(np.allclose(one[-1:], other, atol=1e-9) for one, other in pairs)
        require(
            was_done or same, f"episode {BATCH - 1} differs alone and with other episodes, at step {step}"
        )
        was_done = was_done or bool(own.done[0])


def episodes_differ(make: MakeEnvironment) -> None:
    """Different episode numbers and different seeds give different episodes."""
    environment, numbers = make(), range(4 * BATCH)
    first = _episode(environment, numbers)
    others = (
        _episode(environment, numbers, seed=4),
        _episode(environment, [each + 1000 for each in numbers]),
    )
    for what, other in zip(("seeds 3 and 4 give", "episodes from 0 and from 1000 are"), others, strict=True):
        require(_compared(first, other) is not None, f"{what} the same episodes")


def episodes_end(make: MakeEnvironment) -> None:
    """Every episode is done after `max_steps`, and rewards are finite."""
    environment = make()
    played = _episode(environment, range(BATCH))
    require(bool(played[-1][0].done.all()), f"episodes are not done after max_steps, {environment.max_steps}")
    for step, (_, rewards) in enumerate(played):
        require(bool(np.isfinite(rewards).all()), f"step {step}: a reward is not finite")


def hearers_hear_speakers(make: MakeEnvironment) -> None:
    """Agents hear only agents that speak, in the number that they declare."""
    environment = make()
    specs = environment.agents
    may_speak = np.array([*(spec.speaks for spec in specs), True])
    for step, (moment, _) in enumerate(_episode(environment, range(BATCH))):
        for agent, spec in enumerate(specs):
            heard = moment.heard[:, agent, : spec.num_heard]
            require(
                bool(((heard >= -1) & (heard < len(specs))).all()),
                f"step {step}: {spec.name} hears agents that do not exist",
            )
            require(
                bool(may_speak[heard].all()), f"step {step}: {spec.name} hears an agent that does not speak"
            )


ENVIRONMENT = (
    it_repeats,
    earlier_episodes_do_not_matter,
    episodes_stand_alone,
    episodes_differ,
    episodes_end,
    hearers_hear_speakers,
)


SOCIETY = ("society.senders=4", "society.receivers=4")
"""The society in which meetings are checked, unless the user gives another one."""


def meeting_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of meetings. See `ecsuite.testing.checks`."""
    given = (
        tuple(settings) if any(each.startswith("society.") for each in settings) else (*SOCIETY, *settings)
    )
    trial = Trial.of(kind, name, given)
    trained = [Check((each.__doc__ or "").rstrip("."), partial(each, trial)) for each in TRAINED_MEETING]
    return [*bound(MEETING, lambda: trial), *trained]


def _pairs(trial: Trial, seed: int = 1) -> list[Meeting]:
    society = trial.experiment.society
    meetings: Meetings = MEETINGS.make(society.meets)
    numbers: Any = society.number("sender"), society.number("receiver")
    return meetings.pairs(*numbers, are_agents=society.agents is not None, seed=seed)


def meetings_survive_yaml(trial: Trial) -> None:
    """Its options are unchanged after writing them to YAML and reading them again."""
    again = from_tree(load_yaml(trial.experiment.to_yaml()), CONFIG)
    require(again == trial.experiment, f"{trial.experiment.society.meets} changes in YAML")


def pairs_are_of_the_society(trial: Trial) -> None:
    """Pairs consist of existing senders and receivers, have weights above 0, and meet in some epoch."""
    society = trial.experiment.society
    for pair in _pairs(trial):
        is_there = 0 <= pair.sender < society.number("sender") and 0 <= pair.receiver < society.number(
            "receiver"
        )
        require(is_there, f"{pair}: no such sender or receiver")
        require(0 < pair.weight < float("inf"), f"{pair}: expected a weight above 0")
        require(
            pair.since >= 0 and (pair.until is None or pair.until > pair.since),
            f"{pair}: it never meets",
        )


def a_seed_gives_the_same_pairs(trial: Trial) -> None:
    """Equal seeds give equal pairs."""
    require(_pairs(trial) == _pairs(trial), "two calls with the same seed differ")


def everyone_meets_someone(trial: Trial) -> None:
    """Every agent meets another agent, no pair occurs twice in an epoch, and agents do not meet themselves."""
    trial.play()


MEETING = (
    meetings_survive_yaml,
    pairs_are_of_the_society,
    a_seed_gives_the_same_pairs,
    everyone_meets_someone,
)
TRAINED_MEETING = (games.training_repeats, games.training_resumes)


FIGURES = {"epoch": 0.5, "train.loss": 1.25, "valid.accuracy": 0.5}
MakeLogger = Callable[[], Logger]


def logger_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of a logger. See `ecsuite.testing.checks`."""

    def make() -> Logger:
        (logger,) = make_loggers([name])
        return logger

    return bound(LOGGER, lambda: make)


def takes_the_figures_of_a_run(make: MakeLogger) -> None:
    """It can be started, log figures, and be closed."""
    with scratch_folder() as folder:
        _run(make(), folder, 0, [1, 2])


def figures_may_come_and_go(make: MakeLogger) -> None:
    """A figure may be new at a later evaluation, or missing."""
    with scratch_folder() as folder:
        logger = make()
        logger.start(_config(), folder, 0)
        logger.log(1, {"train.loss": 1.0})
        logger.log(2, {"valid.loss": 2.0, "metrics.topsim": 0.5})
        logger.close()


def goes_on_after_an_interruption(make: MakeLogger) -> None:
    """It can be started again in the same folder, at the step of an earlier checkpoint."""
    with scratch_folder() as folder:
        _run(make(), folder, 0, [1, 2, 3])
        _run(make(), folder, 2, [3, 4])


def leaves_the_figures_and_the_generators(make: MakeLogger) -> None:
    """It changes neither the figures nor a global random generator."""
    before = _generators()
    with scratch_folder() as folder:
        given = dict(FIGURES)
        logger = make()
        logger.start(_config(), folder, 0)
        logger.log(1, given)
        logger.close()
    require(given == FIGURES, "it changed the figures")
    require(_generators() == before, "it drew from a global random generator")


def closes_without_figures(make: MakeLogger) -> None:
    """It can be closed before the first figure, as after an error."""
    with scratch_folder() as folder:
        _run(make(), folder, 0, [])


def _run(logger: Logger, folder: Path, step: int, steps: Sequence[int]) -> None:
    logger.start(_config(), folder, step)
    for each in steps:
        logger.log(each, dict(FIGURES))
    logger.close()


def _config() -> dict[str, object]:
    return load_experiment("disc_tiny").to_tree()


def _generators() -> tuple[object, ...]:
    return random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()


LOGGER = (
    takes_the_figures_of_a_run,
    figures_may_come_and_go,
    goes_on_after_an_interruption,
    closes_without_figures,
    leaves_the_figures_and_the_generators,
)
