"""Checks of participants of plays of rounds, and of backends of language models: in a small naming game."""

from collections.abc import Sequence

from ecsuite.games.plays.rounds import Rounds
from ecsuite.games.runs.log import ROUNDS
from ecsuite.language_models.kept import FILE as ANSWERS
from ecsuite.language_models.kept import KeptAnswers
from ecsuite.testing import games
from ecsuite.testing.check import Check, bound, require
from ecsuite.testing.trial import Trial, scratch_folder


def checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """The checks of a participant, or of a backend. See `ecsuite.testing.checks`."""
    trial = Trial.of(kind, name, settings)
    return bound((*ALL, *(BACKENDS if kind == "backend" else ())), lambda: trial)


def is_asked_and_remembered(trial: Trial) -> None:
    """What it says is allowed, and stands in the rounds of the run."""
    with scratch_folder() as folder:
        trial.train(folder / "run")
        lines = (folder / "run" / ROUNDS).read_bytes().splitlines()
    play = trial.play()
    require(isinstance(play, Rounds), "expected a play of rounds")
    require(len(lines) == play.num_rounds * trial.experiment.training.num_epochs, "rounds are missing")


def knows_what_it_was_told(trial: Trial) -> None:
    """What it knows follows from the rounds: told them again, it goes on as it would have."""
    first, second = trial.play(), trial.play()
    first.train_step(0)
    second.restore(first.state())
    first.train_step(1)
    second.train_step(1)
    require(bool(first.state()["rounds"].equal(second.state()["rounds"])), "it goes on otherwise")


def answers_are_kept(trial: Trial) -> None:
    """Every answer is kept, and says which model gave it."""
    with scratch_folder() as folder:
        trial.train(folder / "run")
        require((folder / "run" / ANSWERS).is_file(), "no answers were kept")
        answers = KeptAnswers(folder / "run")
        require(
            all(reply.model for reply in answers.replies()), "an answer does not say of which model it is"
        )


def is_replayed(trial: Trial) -> None:
    """A run is repeated from its answers to the byte, and nothing is asked."""
    with scratch_folder() as folder:
        trial.train(folder / "run")
        trial.train(folder / "again", replay=folder / "run")
        for name in ("corpus.jsonl", ROUNDS, ANSWERS):
            contents = [(folder / run / name).read_bytes() for run in ("run", "again")]
            require(contents[0] == contents[1], f"{name} differs when it is replayed")


ALL = (
    games.options_survive_yaml,
    games.training_repeats,
    games.training_resumes,
    is_asked_and_remembered,
    knows_what_it_was_told,
)
BACKENDS = (answers_are_kept, is_replayed)
