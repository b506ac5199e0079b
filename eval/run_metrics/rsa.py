"""Representational similarity of agents: do they see objects alike, and as the objects are?"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.correlation import average_ranks
from ecsuite.eval.statistics.resampling import resample

if TYPE_CHECKING:
    from ecsuite.games.runs import Run

MAX_OBJECTS = 300
"""Of more objects, so many are compared, drawn at random."""

RSA = Traits(
    name="rsa",
    about="sender and receiver see objects alike",
    title="representational similarity analysis",
    high="1 if both rank all pairs of objects alike, which need not be how the objects are",
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
    about="the sender sees objects as they are",
    title="representational similarity of the sender and the input",
    high="1 if the sender's vectors rank all pairs of objects as the input does",
)
RSA_RECEIVER = replace(
    RSA,
    name="rsa_receiver",
    about="the receiver sees objects as they are",
    title="representational similarity of the receiver and the input",
    high="1 if the receiver's vectors rank all pairs of objects as the input does",
)
COMPARED = ((RSA, "sender", "receiver"), (RSA_SENDER, "sender", "input"), (RSA_RECEIVER, "receiver", "input"))
"""What is compared in each score."""


@metric(RSA, RSA_SENDER, RSA_RECEIVER)
def rsa(run: "Run", options: Options) -> list[Score]:
    """Spearman's correlation between the similarities of objects for the sender, for the receiver, and in the input.

    Bouchacourt & Baroni (2018), https://arxiv.org/abs/1808.10696: the cosines of all pairs of objects, in the
    vectors of an agent, are correlated with those in the other's (`rsa`) and with those of the input (`rsa_sender`,
    `rsa_receiver`). Agents that agree on objects while both stray from the input communicate about something else than
    what objects are. An agent's vectors are the first that it learns: the output of its perception, or where this
    learns nothing, as `identity`, of the sender's first layer, and of the receiver's layer between candidates and
    states. A receiver that sees no candidates is compared by its states after the messages.

    Of a society the first pair is compared. At most 300 objects of the corpus are used. The null distribution shuffles
    the objects of one side (Mantel's test), and the interval is that of `resampling.jackknife_interval` over objects,
    with ranks over all pairs.

    Undefined for fewer than three objects, if all pairs are equally similar, where the sender sees several objects, and
    for an agent that learns no representation of them, such as a scripted one.
    """
    from ecsuite.eval.run_metrics.representations import (
        NOTHING_LEARNT,
        inputs,
        objects_of,
        of_receiver,
        of_sender,
    )

    objects = objects_of(run.pair.world, MAX_OBJECTS, options.seed)
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
            reason = f"all objects are equally similar for the {which}"
            if vectors[which] is None:
                reason = NOTHING_LEARNT.format(which)
            found.append(score(value=None, reason=reason))
        else:
            found.append(_compared(score, one, other, options))
    return found


def _compared(score: partial[Score], one: Floats, other: Floats, options: Options) -> Score:
    """The score of two tables of standard ranks, each (num_objects, num_objects)."""

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
