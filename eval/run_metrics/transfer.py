"""Transfer: what the agents of a run know of attributes, read from their vectors by linear models."""

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.run_metrics.representations import Vectors, after_messages, objects_of, of_sender
from ecsuite.eval.statistics.t_intervals import mean_and_half_width
from ecsuite.games.game import Game
from ecsuite.games.runs import Run
from ecsuite.games.society.society import make_players

VERSION = 1
MAX_OBJECTS = 1_000
"""Of more objects, so many are used, drawn at random."""
NUM_HALVES = 5
"""Random halves of the objects in which a linear model is trained; the other half tests it."""
MAX_UPDATES = 200
"""Iterations of the solver."""
SCORES = {
    "transfer": (after_messages, "attributes read from the receiver after a message"),
    "transfer_sender": (of_sender, "attributes read from the sender's perception"),
}
"""What vectors are read in each score, and its meaning."""


def transfer(run: Run, options: Options) -> list[Score]:
    """Accuracy of linear models that read the attributes of objects from the vectors of frozen agents.

    Chaabouni et al. (2022, https://openreview.net/forum?id=AUGBfDIV9rL) train a new head on a frozen agent for
    another task. The other task is here to name each attribute of an object: multinomial logistic regression (L2, C =
    1, standardised vectors) is trained on half of the objects and tested on the other half. `transfer` reads the
    receiver's state after the sender's most likely message, `transfer_sender` the output of the sender's perception.
    The score is the mean over attributes and over 5 random halves, with Student's 95 % interval over the halves, which
    share objects.

    Chance is the share of each attribute's most frequent value of the training half. `untrained` is the score of agents
    of the same shape before training (their first weights). `by_attribute` has each attribute's own accuracy.

    Undefined where the world has no attribute values, or no attribute varies, for fewer than 10 objects, and where the
    sender sees several objects. Of a society the first pair is used; at most 1,000 objects of the corpus.
    """
    objects = objects_of(run.game.world, MAX_OBJECTS, options.seed)
    reason, codes = None, np.zeros((0, 0), np.int64)
    if objects is None:
        reason = "the sender of this game sees several objects"
    elif objects.meanings.dtype.kind not in "biu":
        reason = "features are not attribute values"
    elif len(objects.meanings) < 10:
        reason = "fewer than ten objects"
    else:
        codes = objects.meanings.astype(np.int64)
        varies = (codes != codes[:1]).any(0)
        codes = codes[:, varies]
        reason = None if varies.any() else "no attribute varies"
    number = len(codes)
    scores = []
    for name, (vectors_of, about) in SCORES.items():
        score = unscored(name, about, VERSION, model="logistic", objects=number, seed=options.seed)
        if reason is not None or objects is None:
            scores.append(score(value=None, reason=reason))
            continue
        accuracy, chance = _read(vectors_of(run.game, objects), codes, options.seed)
        untrained, _ = _read(vectors_of(_untrained(run), objects), codes, options.seed)
        value, half_width = mean_and_half_width(accuracy.mean(1).tolist())
        level, spread = mean_and_half_width(chance.mean(1).tolist())
        assert half_width is not None and spread is not None
        scores.append(
            score(
                value=value,
                ci95=(max(0.0, value - half_width), min(1.0, value + half_width)),
                details={
                    "null_mean": level,
                    "null_low": level - spread,
                    "null_high": level + spread,
                    "untrained": float(untrained.mean()),
                    "by_attribute": dict(
                        zip(map(str, np.flatnonzero(varies).tolist()), accuracy.mean(0).tolist(), strict=True)
                    ),
                },
            )
        )
    return scores


def _untrained(run: Run) -> Game:
    """The game with the weights that it began with."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.experiment.training.seed)
        return make_players(run.experiment, run.game.world).eval().games()[0][1]


def _read(
    vectors: Vectors, codes: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Accuracy on the other half and chance, each (num_halves, num_attributes)."""
    accuracy, chance = np.zeros((2, NUM_HALVES, codes.shape[1]))
    for half in range(NUM_HALVES):
        order = np.random.default_rng([seed, half, *b"halves"]).permutation(len(codes))
        trained, tested = order[: len(order) // 2], order[len(order) // 2 :]
        for attribute, column in enumerate(codes.T):
            frequent = np.bincount(column[trained]).argmax()
            chance[half, attribute] = (column[tested] == frequent).mean()
            if np.ptp(column[trained]) == 0:
                accuracy[half, attribute] = chance[half, attribute]
                continue
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=MAX_UPDATES))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(vectors[trained], column[trained])
            accuracy[half, attribute] = (model.predict(vectors[tested]) == column[tested]).mean()
    return accuracy, chance
