"""Checks of plays: their runs repeat, resume to the same bytes, and give a corpus."""

from collections.abc import Sequence

from ecsuite.formats import read_corpus
from ecsuite.games.runs.checkpoints import weights_of_corpus
from ecsuite.games.training.checks import fault_of_measures
from ecsuite.testing import games
from ecsuite.testing.check import Check, bound, require
from ecsuite.testing.trial import Trial, same, scratch_folder


def checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """The checks of a play. See `ecsuite.testing.checks`."""
    trial = Trial.of(kind, name, settings)

    return bound(PLAYS, lambda: trial)


def gives_a_corpus(trial: Trial) -> None:
    """It gives a corpus at its end, and finite figures under the names that it says."""
    with scratch_folder() as folder:
        result = trial.train(folder / "run")
        require(len(read_corpus(folder / "run").messages) > 0, "its corpus has no messages")
        play = trial.play()
        fault = fault_of_measures(result.measures, (*play.figures, *play.chance()))
        require(fault is None, str(fault))


def evaluations_change_nothing(trial: Trial) -> None:
    """An evaluation gives the same figures again, and leaves its state as it is."""
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
