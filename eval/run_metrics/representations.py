"""Representations of agents: their similarity (RSA), and attributes that linear models read from them (transfer)."""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.estimates import average_ranks, clipped, resampled_mean
from ecsuite.eval.statistics.resampling import num_draws, resample

if TYPE_CHECKING:
    from ecsuite.eval.metrics.agent_answers import Vectors
    from ecsuite.games.players.pair import Pair
    from ecsuite.games.runs.run import Run

MAX_COMPARED = 300
"""Maximum number of objects that are compared; above this, a random sample."""

RSA = Traits(
    name="rsa",
    about="similarity of sender's and receiver's objects",
    title="representational similarity analysis",
    high="1 if both rank all pairs of objects alike, even if unlike the input",
    question="agents",
    direction="higher",
    version=2,
    bounds=(-1.0, 1.0),
    chance="shuffled meanings",
    needs=("agents",),
)
RSA_SENDER = replace(
    RSA,
    name="rsa_sender",
    about="similarity of sender's objects and the input",
    title="representational similarity of the sender and the input",
    high="1 if the sender's vectors rank all pairs of objects as the input does",
)
RSA_RECEIVER = replace(
    RSA,
    name="rsa_receiver",
    about="similarity of receiver's objects and the input",
    title="representational similarity of the receiver and the input",
    high="1 if the receiver's vectors rank all pairs of objects as the input does",
)
COMPARED = ((RSA, "sender", "receiver"), (RSA_SENDER, "sender", "input"), (RSA_RECEIVER, "receiver", "input"))
"""Pairs of vectors that each score compares."""


@metric(RSA, RSA_SENDER, RSA_RECEIVER)
def rsa(run: "Run", options: Options) -> list[Score]:
    """Spearman's correlation between the similarities of objects for the sender, for the receiver, and in the input.

    Bouchacourt & Baroni (2018), https://arxiv.org/abs/1808.10696: the cosines of all pairs of objects, in the vectors
    of an agent, are correlated with the cosines in the other agent's vectors (`rsa`) and in the input (`rsa_sender`,
    `rsa_receiver`). If agents agree with each other but not with the input, they communicate something other than
    properties of objects. An agent's vectors are the first that it learns: the output of its perception or, if this
    learns nothing, as `identity`, of the sender's first layer, and of the receiver's layer between candidates and
    states. A receiver without candidates is compared by its states after the messages.

    For a society the first pair is compared. At most 300 objects of the corpus are used. The null distribution permutes
    the objects of one side (Mantel's test), and the interval is a jackknife over objects, with
    ranks over all pairs.

    Undefined for fewer than three objects, if all pairs are equally similar, if the sender sees several objects, and
    for an agent that learns no representation of objects, such as a scripted one.
    """
    from ecsuite.eval.metrics.agent_answers import (
        NOTHING_LEARNT,
        inputs,
        objects_of,
        of_receiver,
        of_sender,
    )

    objects = objects_of(run.pair.world, MAX_COMPARED, options.seed)
    number = 0 if objects is None else len(objects.meanings)
    found = []
    vectors: dict[str, Floats | None] = {}
    if objects is not None and number >= 3:
        vectors = {
            "input": inputs(objects),
            "sender": of_sender(run.pair, objects),
            "receiver": of_receiver(run.pair, objects),
        }
    tables = {name: None if each is None else _standard_ranks(each) for name, each in vectors.items()}
    for traits, first, second in COMPARED:
        score = unscored(traits, similarity="cosine", objects=number, seed=options.seed)
        if objects is None:
            found.append(score(value=None, reason="the sender of this game sees several objects"))
        elif number < 3:
            found.append(score(value=None, reason="fewer than three objects"))
        elif (one := tables[first]) is None or (other := tables[second]) is None:
            which = first if tables[first] is None else second
            reason = f"all pairs of objects are equally similar for the {which}"
            if vectors[which] is None:
                reason = NOTHING_LEARNT.format(which)
            found.append(score(value=None, reason=reason))
        else:
            found.append(_compared(score, one, other, options))
    return found


def _compared(score: partial[Score], one: Floats, other: Floats, options: Options) -> Score:
    """Score of two tables of ranks, each (num_objects, num_objects)."""

    def statistic(rows: Ints, partners: Ints) -> Floats:
        above = np.triu_indices(len(rows), 1)
        x, y = (table[np.ix_(each, each)][above] for table, each in ((one, rows), (other, partners)))
        x, y = x - x.mean(), y - y.mean()
        spread = np.sqrt((x @ x) * (y @ y))
        return np.array([x @ y / spread if spread > 0 else np.nan])

    everything = np.arange(len(one))
    value = float(np.clip(statistic(everything, everything)[0], -1, 1))
    (found,) = resample(
        statistic, [value], num_rows=len(one), seed=options.seed, work=len(one) ** 2, bounds=(-1.0, 1.0)
    )
    return score(value=value, ci95=found.ci95, chance=found.chance, details=found.details)


def _standard_ranks(vectors: Floats) -> Floats | None:
    """Ranks of the cosines of all pairs, (num_objects, num_objects), ties averaged; None if all are equal."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms > 0, norms, 1)
    above = np.triu_indices(len(unit), 1)
    cosines = np.round((unit @ unit.T)[above], 9)
    if np.ptp(cosines) == 0:
        return None
    table = np.zeros((len(unit), len(unit)))
    table[above] = average_ranks(cosines)
    return table + table.T


MAX_READ = 1_000
"""Maximum number of objects; above this, a random sample."""
NUM_HALVES = 5
"""Number of random halves of the objects; a linear model is trained on a half and tested on the other."""
NUM_SHUFFLES = 20
"""Permutations of the attribute values over the objects, each with its own models."""
MAX_UPDATES = 200
"""Maximum number of iterations of the solver."""

TRANSFER = Traits(
    name="transfer",
    about="attributes decoded from the receiver's states",
    high="1 if linear models decode every attribute from the receiver's states after messages",
    question="agents",
    direction="higher",
    version=3,
    bounds=(0.0, 1.0),
    is_censored_at_bounds=True,
    chance="training",
    needs=("agents",),
)
TRANSFER_SENDER = replace(
    TRANSFER,
    name="transfer_sender",
    about="attributes decoded from the sender's vectors",
    high="1 if linear models decode every attribute from the first representation that the sender learns",
)


@metric(TRANSFER, TRANSFER_SENDER)
def transfer(run: "Run", options: Options) -> list[Score]:
    """Accuracy of linear models that decode the attributes of objects from the vectors of frozen agents.

    Chaabouni et al. (2022, https://openreview.net/forum?id=AUGBfDIV9rL) train a new head on a frozen agent for another
    task. Here this task is to name each attribute of an object: multinomial logistic regression (L2, C = 1,
    standardised vectors) is trained on half of the objects and tested on the other half. `transfer` uses the receiver's
    state after the sender's most likely message, `transfer_sender` the first representation of objects that the sender
    learns: the output of its perception or, if this learns nothing, as `identity`, of its first layer. The score is the
    mean over attributes and over 5 random halves. As halves share objects, its 95 % interval is from the corrected
    resampled t: Nadeau and Bengio (2003, "Inference for the generalization error", Machine Learning 52, section 3.3.1).

    Chance: the mean with the attribute values permuted over the objects, 20 times. `most_frequent` is the accuracy of
        each attribute's most frequent value in the training half. `untrained` is the score of agents of the same shape
        before training (their initial weights). `by_attribute` has the accuracy of each attribute.

    Undefined if the world has no attribute values, or no attribute varies, for fewer than 10 objects, and if the sender
    sees several objects; `transfer_sender` also for a sender that learns no representation, such as a scripted one. For
    a society the first pair is used; at most 1,000 objects of the corpus.
    """
    from ecsuite.eval.metrics.agent_answers import NOTHING_LEARNT, after_messages, objects_of, of_sender

    objects = objects_of(run.pair.world, MAX_READ, options.seed)
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
    for traits, vectors_of in ((TRANSFER, after_messages), (TRANSFER_SENDER, of_sender)):
        score = unscored(traits, model="logistic", objects=number, seed=options.seed)
        if reason is not None or objects is None:
            scores.append(score(value=None, reason=reason))
            continue
        vectors, first = vectors_of(run.pair, objects), vectors_of(_untrained(run), objects)
        if vectors is None or first is None:
            scores.append(score(value=None, reason=NOTHING_LEARNT.format("sender")))
            continue
        found = read_attributes(vectors, codes, options.seed)
        untrained, _ = _read(first, codes, options.seed)
        by_attribute = zip(map(str, np.flatnonzero(varies).tolist()), found.by_attribute, strict=True)
        scores.append(
            score(
                value=found.value,
                ci95=clipped(found.value, found.half_width, 0.0, 1.0),
                chance=found.chance,
                details={
                    "most_frequent": found.most_frequent,
                    "untrained": float(untrained.mean()),
                    "by_attribute": dict(by_attribute),
                },
            )
        )
    return scores


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadAttributes:
    """Accuracy of linear models that decode attributes from vectors."""

    value: float
    """Mean accuracy over attributes and halves."""
    half_width: float | None
    """Half-width of its 95 % interval; None if all halves have the same accuracy."""
    chance: Chance | None
    """Chance level from permuted attributes."""
    most_frequent: float
    """Accuracy of each attribute's most frequent value."""
    by_attribute: list[float]
    """Accuracy of each attribute."""


def read_attributes(vectors: "Vectors", codes: NDArray[np.int64], seed: int) -> ReadAttributes:
    """Train and test linear models that decode attributes from vectors.

    Args:
        vectors: Shape (num_objects, width).
        codes: Attribute values, (num_objects, num_attributes).
        seed: Seed of the halves and permutations.
    """
    accuracy, frequent = _read(vectors, codes, seed)
    rng = np.random.default_rng([seed, *b"shuffled"])
    shuffled = [
        float(_read(vectors, rng.permutation(codes), seed)[0].mean())
        for _ in range(num_draws(NUM_SHUFFLES, 1))
    ]
    value, half_width = resampled_mean(accuracy.mean(1).tolist(), tested_per_trained=1.0)
    return ReadAttributes(
        value=value,
        half_width=half_width,
        chance=Chance.from_permutations(shuffled, seed=seed, bounds=(0.0, 1.0)),
        most_frequent=float(frequent.mean()),
        by_attribute=accuracy.mean(0).tolist(),
    )


def _untrained(run: "Run") -> "Pair":
    from ecsuite.games.plays.play import players_of

    return players_of(run.experiment, run.pair.world).eval().first_pair


def _read(
    vectors: "Vectors", codes: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Accuracy on the test half, and of the most frequent value, each (num_halves, num_attributes)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

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
