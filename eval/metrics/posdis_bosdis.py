"""Positional and bag-of-symbols disentanglement: does each part of a message speak of one attribute?

Both ask the same question of different variables (which symbol stands at a position, how often a symbol
occurs), so one function answers it for all variables at once, from the places where something is there.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.statistics.contingency import counted, renumbered
from ecsuite.eval.statistics.counting import Floats, Ints, attribute_codes, entropy, row_of
from ecsuite.eval.statistics.resampling import resample

VERSION = 1
_NOTHING = 1e-9
"""Bits below which an entropy is rounding noise: one odd row among 10^8 makes 3e-7."""


def posdis(corpus: Corpus, options: Options) -> list[Score]:
    """Positional disentanglement: Chaabouni et al. (2020), equation 1, https://arxiv.org/abs/2004.09124.

    The mean over positions j of (I(s_j; a1) - I(s_j; a2)) / H(s_j), where s_j is the symbol at j and a1, a2
    are the attributes that tell most and second most of it; positions where nothing varies are left out.
    Plug-in estimates over the corpus; beyond the end of a message, without EOS, stands a symbol of its
    own, a blank. Range 0 to 1; 1 where each position speaks of one attribute alone.

    Null: meanings shuffled over messages. It is above 0, as plug-in information is; interval: see
    `resampling.resample`. Undefined below two attributes.
    """
    line = signature("posdis", VERSION, past_end="blank", eos="strip")
    score = partial(Score, name="posdis", about="each position speaks of one attribute", signature=line)
    content, _ = corpus.reindexed()
    position = np.arange(len(content.values)) - np.repeat(content.offsets[:-1], content.lengths)
    observations = Observations.of(position, row_of(content), content.values, num_rows=len(content))
    return [_score(corpus, options, score, "position", observations)]


def bosdis(corpus: Corpus, options: Options) -> list[Score]:
    """Bag-of-symbols disentanglement: Chaabouni et al. (2020), equation 2, https://arxiv.org/abs/2004.09124.

    As `posdis`, null and interval too, with the number of times that a symbol occurs in the message in place
    of the symbol at a position, for every symbol in use but EOS. Range 0 to 1; 1 where each symbol speaks of
    one attribute.
    """
    line = signature("bosdis", VERSION, eos="strip")
    score = partial(Score, name="bosdis", about="each symbol speaks of one attribute", signature=line)
    content, _ = corpus.reindexed()
    num_rows = len(content)
    key, count = np.unique(content.values.astype(np.int64) * num_rows + row_of(content), return_counts=True)
    observations = Observations.of(key // num_rows, key % num_rows, count, num_rows=num_rows)
    return [_score(corpus, options, score, "symbol", observations)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Observations:
    """What was observed of some variables of the messages, where there was anything to observe.

    The rows where a variable was not observed are never listed: there it has its default value.
    """

    cell: Ints
    """A number for what was observed of which variable, from 0, shape (num_observations,)."""
    row: Ints
    """The message in which it was."""
    variable: Ints
    """The variable of each cell, ascending, shape (num_cells,)."""
    num_variables: int
    """Variables are numbered below this."""
    num_rows: int
    """How many messages there are."""

    @classmethod
    def of(cls, variable: Ints, row: Ints, value: NDArray[Any], *, num_rows: int) -> "Observations":
        """Collect observations.

        Args:
            variable: Which variable each is of, from 0, shape (num_observations,).
            row: Which message it was made in.
            value: What was observed, from 0.
            num_rows: How many messages there are.
        """
        num_variables, num_values = int(variable.max(initial=-1)) + 1, int(value.max(initial=-1)) + 1
        cell, originals = renumbered(variable * num_values + value, num_variables * num_values)
        return cls(
            cell=cell,
            row=row,
            variable=originals // max(1, num_values),
            num_variables=num_variables,
            num_rows=num_rows,
        )

    def of_rows(self, rows: Ints) -> "Observations":
        """Those in some messages, which are then numbered from 0 in the order given."""
        if len(rows) == self.num_rows:
            return self
        place = np.full(self.num_rows, -1)
        place[rows] = np.arange(len(rows))
        row = place[self.row]
        kept = np.flatnonzero(row >= 0)
        return Observations(
            cell=self.cell[kept],
            row=row[kept],
            variable=self.variable,
            num_variables=self.num_variables,
            num_rows=len(rows),
        )

    def joint_entropies(self, label: Ints) -> Floats:
        """H(X_k, label) in bits of each variable k with a label of the messages, shape (num_variables,).

        Entropy is log2 n - sum c log2 c / n over the counts c. Where k was not observed, there are of each
        label all its messages less the observed ones.

        Args:
            label: The label of each message, from 0, shape (num_rows,).
        """
        totals = np.bincount(label)
        num_labels = len(totals)
        own = label[self.row]
        joint, count = counted(self.cell * num_labels + own, len(self.variable) * num_labels)
        observed = np.bincount(self.variable[joint // num_labels], _weigh(count), self.num_variables)
        seen, count = counted(self.variable[self.cell] * num_labels + own, self.num_variables * num_labels)
        total = totals[seen % num_labels]
        missing = np.bincount(seen // num_labels, _weigh(total - count) - _weigh(total), self.num_variables)
        return np.asarray(
            np.log2(self.num_rows) - (observed + missing + _weigh(totals).sum()) / self.num_rows
        )

    def disentanglement(self, attributes: Ints) -> tuple[float, int]:
        """The mean gap between the two attributes that a variable tells most of, over its entropy.

        Args:
            attributes: Values from 0, shape (num_rows, num_attributes).

        Returns:
            The mean over the variables that vary, NaN if none does; and how many do.
        """
        alone = self.joint_entropies(np.zeros(self.num_rows, np.int64))
        shared = np.stack(
            [
                entropy(np.bincount(attribute)) + alone - self.joint_entropies(attribute)
                for attribute in attributes.T
            ]
        )
        second, first = np.sort(shared, axis=0)[-2:]
        varies = alone > _NOTHING
        if not varies.any():
            return float("nan"), 0
        gaps = (first[varies] - second[varies]) / alone[varies]
        return float(np.clip(gaps.mean(), 0, 1)), int(varies.sum())


def _score(
    corpus: Corpus, options: Options, score: partial[Score], what: str, observations: Observations
) -> Score:
    """Score the variables of a message against the attributes of its meaning.

    Args:
        corpus: Has the meanings.
        options: Has the seed.
        score: Everything of the score but its value.
        what: What a variable is, in a word.
        observations: Of the variables.
    """
    attributes = attribute_codes(corpus)
    if attributes is None:
        known = (
            "the corpus has no meanings" if corpus.meanings is None else "features are not attribute values"
        )
        return score(value=None, reason=known)
    if attributes.shape[1] < 2:
        return score(value=None, reason="disentanglement compares attributes: it takes two")
    if not len(observations.cell):
        return score(value=None, reason="every message is empty")
    value, num_varying = observations.disentanglement(attributes)
    if not num_varying:
        return score(value=None, reason=f"no {what} varies from message to message")

    def statistic(rows: Ints, partners: Ints) -> Floats:
        return np.array([observations.of_rows(rows).disentanglement(attributes[partners])[0]])

    (found,) = resample(
        statistic,
        [value],
        num_rows=len(attributes),
        seed=options.seed,
        work=2 * len(observations.cell) * (1 + attributes.shape[1]),
        tails=["high"],
    )
    return score(value=value, ci95=found.ci95, details={f"num_{what}s": num_varying} | found.details)


def _weigh(counts: Ints) -> Floats:
    """The terms c log2 c of an entropy, 0 for 0."""
    return np.asarray(counts * np.log2(np.maximum(1, counts)))
