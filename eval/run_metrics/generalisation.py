"""Generalisation: how well agents understand each other about what was kept out of training."""

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import of_guesses
from ecsuite.eval.statistics.estimates import clipped, mean_and_half_width

if TYPE_CHECKING:
    from ecsuite.eval.run_metrics.rounds import Rounds
    from ecsuite.games.runs import Run

GENERALISATION = Traits(
    name="generalisation",
    about="accuracy on held-out meanings",
    high="1 if agents always understand each other about new combinations; compare with `seen` in its details",
    question="agents",
    direction="higher",
    version=3,
    bounds=(0.0, 1.0),
    chance="guesses",
    needs=("agents",),
)


@metric(GENERALISATION)
def generalisation(run: "Run", options: Options) -> list[Score]:
    """Accuracy on combinations of values that were held out of training.

    Chaabouni et al. (2020), https://arxiv.org/abs/2004.09124: each value is seen in training, but not these
    combinations of values (`world.held_out`). The score is the mean over held-out meanings of the accuracy in the
    rounds of evaluation about each, with Student's 95 % interval over meanings; of a society, over all pairs that
    meet, too.

    The details have the same of meanings that were seen in training (`seen`), where the world evaluates them, the
    `gap` between both, and the chance level. Where agents see attribute values, `by_unseen_pairs` has the accuracy by
    the number of pairs of values of the meaning that no object of training has both; with two attributes it is always
    one.
    `rare` has the accuracy on values that were rare in training (`world.rare_combinations`; Auersperger & Pecina 2022,
    https://arxiv.org/abs/2206.04751).

    Undefined if nothing was held out.
    """
    from ecsuite.eval.run_metrics.rounds import HELD_OUT, TRAINED, played
    from ecsuite.games.worlds.splits import RARE

    evaluation = run.experiment.evaluation
    score = unscored(GENERALISATION, task=run.experiment.task.kind, mode=evaluation.mode)
    rounds = played(run)
    is_held_out, is_trained = rounds.split == HELD_OUT, rounds.split == TRAINED
    if not is_held_out.any():
        return [score(value=None, reason="nothing was held out of training: set world.held_out")]
    of_meanings = _by_meaning(rounds, is_held_out)
    value, half_width = mean_and_half_width(of_meanings)
    details: dict[str, object] = {
        "held_out_meanings": len(of_meanings),
        "held_out_rounds": int(is_held_out.sum()),
    }
    if is_trained.any():
        seen, _ = mean_and_half_width(_by_meaning(rounds, is_trained))
        details |= {"seen": seen, "gap": seen - value}
    if (is_rare := rounds.split == RARE).any():
        details["rare"], _ = mean_and_half_width(_by_meaning(rounds, is_rare))
    if (trained := run.pair.world.trained_values()) is not None:
        unseen = unseen_pairs(trained, rounds.meanings)
        details["by_unseen_pairs"] = {
            str(count): mean_and_half_width(_by_meaning(rounds, is_held_out & (unseen == count)))[0]
            for count in np.unique(unseen[is_held_out]).tolist()
        }
    chance = of_guesses(run.players.chance()["accuracy"], of_meanings)
    return [score(value=value, ci95=clipped(value, half_width, 0.0, 1.0), chance=chance, details=details)]


def unseen_pairs(trained: NDArray[np.int64], meanings: NDArray[np.generic]) -> NDArray[np.int64]:
    """The number of pairs of values of each meaning that no meaning of training has both.

    Args:
        trained: Attribute values, (num_trained, num_attributes).
        meanings: Attribute values, (num_meanings, num_attributes).

    Returns:
        Shape (num_meanings,).
    """
    values, size = meanings.astype(np.int64), int(trained.max(initial=0)) + 1
    unseen = np.zeros(len(values), np.int64)
    for first, second in combinations(range(values.shape[1]), 2):
        both = trained[:, first] * size + trained[:, second]
        unseen += ~np.isin(values[:, first] * size + values[:, second], both)
    return unseen


def _by_meaning(rounds: "Rounds", chosen: NDArray[np.bool_]) -> list[float]:
    """The accuracy in some rounds about each of their meanings."""
    _, meaning = np.unique(rounds.meanings[chosen], axis=0, return_inverse=True)
    meaning = meaning.ravel()
    means: list[float] = (np.bincount(meaning, rounds.accuracy[chosen]) / np.bincount(meaning)).tolist()
    return means
