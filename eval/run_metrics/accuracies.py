"""Accuracies of agents: on held-out meanings, on objects of noise, and of agents that never met."""

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.estimates import mean_and_half_width, mean_of_shares
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ecsuite.eval.run_metrics.noise_grid import EvaluatedRounds
    from ecsuite.games.runs.run import Run

GENERALISATION = Traits(
    name="generalisation",
    about="accuracy on held-out meanings",
    high="1 if agents always understand each other about new combinations; compare with `seen` in the details",
    question="agents",
    direction="higher",
    version=3,
    bounds=(0.0, 1.0),
    is_censored_at_bounds=True,
    chance="guesses",
    needs=("agents",),
)


@metric(GENERALISATION)
def generalisation(run: "Run", options: Options) -> list[Score]:
    """Accuracy on combinations of values that were held out of training.

    Chaabouni et al. (2020), https://arxiv.org/abs/2004.09124: training has all values, but not these combinations of
    values (`world.held_out`). The score is the mean over held-out meanings of the accuracy in the rounds of evaluation
    about each meaning, with Student's 95 % interval over meanings; for a society it is also averaged over all pairs
    that meet.

    The details have the accuracy on meanings of the training (`seen`), if the world evaluates them, the `gap` between
    both, and the chance level. If agents see attribute values, `by_unseen_pairs` has the accuracy by the number of
    pairs of values of the meaning that no training object combines; with two attributes it is always one. `rare` has
    the accuracy on values that were rare in training (`world.rare_combinations`; Auersperger & Pecina 2022,
    https://arxiv.org/abs/2206.04751).

    Undefined if nothing was held out.
    """
    from ecsuite.eval.run_metrics.noise_grid import HELD_OUT, TRAINED, played
    from ecsuite.games.worlds.objects import RARE

    evaluation = run.experiment.evaluation
    score = unscored(GENERALISATION, task=run.experiment.task.kind, mode=evaluation.mode)
    rounds = played(run)
    is_held_out, is_trained = rounds.split == HELD_OUT, rounds.split == TRAINED
    if not is_held_out.any():
        return [score(value=None, reason="nothing was held out of training: set world.held_out")]
    of_meanings = _by_meaning(rounds, is_held_out)
    value, ci95 = mean_of_shares(of_meanings)
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
    chance = Chance.from_guesses(run.players.chance()["accuracy"], of_meanings)
    return [score(value=value, ci95=ci95, chance=chance, details=details)]


def unseen_pairs(trained: NDArray[np.int64], meanings: NDArray[np.generic]) -> NDArray[np.int64]:
    """Number of pairs of values of each meaning that no training meaning combines.

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


def _by_meaning(rounds: "EvaluatedRounds", chosen: NDArray[np.bool_]) -> list[float]:
    _, meaning = np.unique(rounds.meanings[chosen], axis=0, return_inverse=True)
    meaning = meaning.ravel()
    means: list[float] = (np.bincount(meaning, rounds.accuracy[chosen]) / np.bincount(meaning)).tolist()
    return means


NOISE_OBJECTS = Traits(
    name="noise_objects",
    about="accuracy on objects of noise (a control)",
    high="above chance, agents communicate single pixels or features; at chance level, properties of objects",
    question="agents",
    version=2,
    bounds=(0.0, 1.0),
    is_censored_at_bounds=True,
    chance="guesses",
    needs=("agents",),
)


@metric(NOISE_OBJECTS)
def noise_objects(run: "Run", options: Options) -> list[Score]:
    """Accuracy in rounds of evaluation with noise images or vectors instead of the objects of the world.

    Bouchacourt & Baroni (2018, section 4), https://arxiv.org/abs/1808.10696: agents that understand each other about
    noise communicate single pixels or features, not properties of objects. The score is the mean over the rounds of
    validation with Student's 95 % interval over rounds (rounds of a batch share objects); for a society it is also
    averaged over all pairs that meet. The details have the accuracy on the objects of the world (`accuracy`) and the
    chance level.

    Undefined if agents see attribute values instead of images or features.
    """
    from ecsuite.eval.run_metrics.noise_grid import played
    from ecsuite.games.worlds.world import with_noise_objects

    evaluation = run.experiment.evaluation
    score = unscored(NOISE_OBJECTS, task=run.experiment.task.kind, mode=evaluation.mode)
    world = run.pair.world
    try:
        noisy = with_noise_objects(world)
    except ConfigError:
        return [
            score(value=None, reason="the objects of this world are attribute values, not images or features")
        ]
    rounds = played(run, [(noisy, "valid")]).accuracy.tolist()
    value, ci95 = mean_of_shares(rounds)
    chance = Chance.from_guesses(run.players.chance()["accuracy"], rounds)
    details = {"accuracy": float(played(run, [(world, "valid")]).accuracy.mean())}
    return [score(value=value, ci95=ci95, chance=chance, details=details)]


CROSS_PLAY = Traits(
    name="cross_play",
    about="accuracy of pairs that never met",
    high="as high as for pairs that met if all share one language; at chance level also for renamed symbols",
    question="agents",
    direction="higher",
    version=2,
    bounds=(0.0, 1.0),
    is_censored_at_bounds=True,
    chance="guesses",
    needs=("agents",),
)


@metric(CROSS_PLAY)
def cross_play(run: "Run", options: Options) -> list[Score]:
    """Accuracy of the pairs of a society that never met in training, without learning (zero-shot).

    The score is the mean over these pairs. They share agents, so its 95 % interval is from a jackknife over
    agents. The details have the mean over pairs that met (`met`), and the accuracy of every sender
    (rows) with every receiver (`matrix`). `ecsuite cross-play` does this for agents of several runs.

    Undefined if all pairs met.
    """
    from ecsuite.eval.run_metrics.pairings import every_pairing

    evaluation = run.experiment.evaluation
    score = unscored(CROSS_PLAY, task=run.experiment.task.kind, mode=evaluation.mode)
    pairings = every_pairing([run])
    strangers = pairings.where("strangers")
    if not strangers.any():
        return [score(value=None, reason="every sender met every receiver")]
    found = pairings.mean("strangers")
    details = {
        "met": float(pairings.accuracy[pairings.where("met")].mean()),
        "pairs": int(strangers.sum()),
        "matrix": pairings.accuracy.tolist(),
    }
    chance = Chance.from_pairs(pairings.chance, found)
    return [score(value=found.mean, ci95=found.interval(0.0, 1.0), chance=chance, details=details)]
