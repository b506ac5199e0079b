"""Positional and bag-of-symbols disentanglement: does each part of a message speak of one attribute?

Both ask the same question of different variables (which symbol stands at a position, how often a symbol
occurs), so one function answers it for all variables at once, from the places where something is there.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counting import Floats, Ints, attribute_codes, entropy, row_of
from ecsuite.eval.score import Options, Score, signature

VERSION = 1
_NOTHING = 1e-9
"""Bits below which an entropy is rounding noise: one odd row among 10^8 makes 3e-7."""


def posdis(corpus: Corpus, options: Options) -> list[Score]:
    """Positional disentanglement: Chaabouni et al. (2020), equation 1, https://arxiv.org/abs/2004.09124.

    The mean over positions j of (I(s_j; a1) - I(s_j; a2)) / H(s_j), where s_j is the symbol at j and a1, a2
    are the attributes that tell most and second most of it; positions where nothing varies are left out.
    Plug-in estimates over the corpus; beyond the end of a message, without EOS, stands a symbol of its
    own, a blank. Range 0 to 1; 1 where each position speaks of one attribute alone.

    No interval: resampling inflates mutual information. Undefined below two attributes.
    """
    line = signature("posdis", VERSION, past_end="blank", eos="strip")
    score = partial(Score, name="posdis", about="each position speaks of one attribute", signature=line)
    content, _ = corpus.reindexed()
    position = np.arange(len(content.values)) - np.repeat(content.offsets[:-1], content.lengths)
    return [_disentanglement(corpus, score, "position", position, row_of(content), content.values)]


def bosdis(corpus: Corpus, options: Options) -> list[Score]:
    """Bag-of-symbols disentanglement: Chaabouni et al. (2020), equation 2, https://arxiv.org/abs/2004.09124.

    As `posdis`, with the number of times that a symbol occurs in the message in place of the symbol at a
    position, for every symbol in use but EOS. Range 0 to 1; 1 where each symbol speaks of one attribute.
    """
    line = signature("bosdis", VERSION, eos="strip")
    score = partial(Score, name="bosdis", about="each symbol speaks of one attribute", signature=line)
    content, _ = corpus.reindexed()
    num_rows = len(content)
    key, count = np.unique(content.values.astype(np.int64) * num_rows + row_of(content), return_counts=True)
    return [_disentanglement(corpus, score, "symbol", key // num_rows, key % num_rows, count)]


def _disentanglement(
    corpus: Corpus, score: partial[Score], what: str, variable: Ints, row: Ints, value: NDArray[Any]
) -> Score:
    """Score the variables of a message against the attributes of its meaning.

    Args:
        corpus: Has the meanings.
        score: Everything of the score but its value.
        what: What a variable is, in a word.
        variable: Which variable each observation is of, shape (num_observations,).
        row: Which message it was made in.
        value: What was observed. A row without an observation has the variable's default value.
    """
    attributes = attribute_codes(corpus)
    if attributes is None:
        known = (
            "the corpus has no meanings" if corpus.meanings is None else "features are not attribute values"
        )
        return score(value=None, reason=known)
    num_rows, num_attributes = attributes.shape
    if num_attributes < 2:
        return score(value=None, reason="disentanglement compares attributes: it takes two")
    if not len(variable):
        return score(value=None, reason="every message is empty")
    alone = _joint_entropies(variable, row, value, np.zeros(num_rows, np.int64))
    shared = np.stack(
        [
            entropy(np.bincount(attribute)) + alone - _joint_entropies(variable, row, value, attribute)
            for attribute in attributes.T
        ]
    )
    second, first = np.sort(shared, axis=0)[-2:]
    varies = alone > _NOTHING
    if not varies.any():
        return score(value=None, reason=f"no {what} varies from message to message")
    value_of_each = (first[varies] - second[varies]) / alone[varies]
    return score(
        value=float(np.clip(value_of_each.mean(), 0, 1)), details={f"num_{what}s": int(varies.sum())}
    )


def _joint_entropies(variable: Ints, row: Ints, value: NDArray[Any], label: Ints) -> Floats:
    """H(X_k, label) in bits of each variable k with a label of the rows, shape (num_variables,).

    Entropy is log2 n - sum c log2 c / n over the counts c. The rows where k was not observed are never
    listed: of each label they are all its rows less the observed ones.

    Args:
        variable: Which variable each observation is of, shape (num_observations,).
        row: The row it was made in.
        value: What was observed, from 0.
        label: The label of each row, 0, 1, …, shape (num_rows,).
    """
    num_rows, num_variables, num_values = len(label), variable.max() + 1, value.max() + 1
    totals = np.bincount(label)
    cell, cell_of, num_observed = np.unique(
        variable * len(totals) + label[row], return_inverse=True, return_counts=True
    )
    joint, num_joint = np.unique(cell_of * num_values + value, return_counts=True)
    total = totals[cell % len(totals)]
    observed = np.bincount(cell[joint // num_values] // len(totals), _weigh(num_joint), num_variables)
    missing = _weigh(total - num_observed) - _weigh(total)
    missing = np.bincount(cell // len(totals), missing, num_variables) + _weigh(totals).sum()
    return np.asarray(np.log2(num_rows) - (observed + missing) / num_rows)


def _weigh(counts: Ints) -> Floats:
    """The terms c log2 c of an entropy, 0 for 0."""
    return np.asarray(counts * np.log2(np.maximum(1, counts)))
