"""Concept best matching: pair words with concepts one to one, and see how much of the language that explains.

A word is a symbol, a concept an atomic piece of the meaning. What the best pairing leaves over is named:
ambiguous words, paraphrases, unmatched concepts.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.counting import Ints, row_labels, row_of
from ecsuite.eval.score import Options, Score, signature

VERSION = 1
NUM_RESAMPLES = 1_000
"""Bootstrap samples behind the interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Occurrences:
    """How often each kind of token, a word or a concept, occurs in each sample where it does."""

    row: Ints
    """The sample, shape (num_occurrences,)."""
    kind: Ints
    """The kind, from 0."""
    count: Ints
    """How often."""
    ids: NDArray[np.int32]
    """The id of each kind in the corpus, shape (num_kinds,)."""
    per_row: Ints
    """Tokens in each sample, shape (num_rows,)."""

    @classmethod
    def of(cls, rows: Ragged) -> Self:
        kinds, ids = rows.reindexed()
        num_kinds = max(1, len(ids))
        cell, count = np.unique(row_of(rows) * num_kinds + kinds.values, return_counts=True)
        return cls(row=cell // num_kinds, kind=cell % num_kinds, count=count, ids=ids, per_row=rows.lengths)

    def matrix(self) -> Any:
        """The counts as a sparse array, shape (num_rows, num_kinds)."""
        shape = (len(self.per_row), len(self.ids))
        return csr_array((self.count, (self.row, self.kind)), shape=shape)


def cbm(corpus: Corpus, options: Options) -> list[Score]:
    """Score a corpus by concept best matching: Carmeli et al. (2024), section 3, https://arxiv.org/abs/2403.14705.

    The weight of word w and concept v is the number of times that they meet in a sample, every occurrence
    counted; B is the one-to-one pairing of greatest weight (equation 1). With words and concepts counted as
    they occur and without EOS, as the authors' program does, and Q the sum over samples of max(number of
    words, number of concepts):

    - the score is the share of Q made of words whose paired concept is in their sample's phrase;
    - `ambiguity` is the share of Q made of words whose paired concept is not there;
    - `paraphrase` is the share of Q made of words that have no concept;
    - `unmatched` is the share of all concept occurrences whose concept has no word;
    - `precision` and `recall` are the means over samples of the number of different words that meet their
      concept, over the number of words and of concepts (appendix D); 0 where there is none.

    A pair of weight 0 is no pair: so `unmatched` does not depend on how a solver fills its table.

    `tied` says whether another pairing is as good; then the figures in `tie_dependent` are those of the
    pairing shown in `map`, which is `[word, concept, weight]` by falling weight. The interval is a bootstrap
    over samples with the pairing kept.
    """
    score = partial(
        Score,
        name="cbm",
        about="words that name their one concept",
        signature=signature("cbm", VERSION, count="tokens", eos="strip"),
    )
    if corpus.concepts is None or not corpus.concepts.values.size:
        return [score(value=None, reason="the corpus names no concepts")]
    words, concepts = _Occurrences.of(corpus.content()), _Occurrences.of(corpus.concepts)
    weights = (words.matrix().T @ concepts.matrix()).toarray()  # (num_words, num_concepts)
    paired_word, paired_concept = best_match(weights)

    concept_of = np.full(len(words.ids), -1)
    concept_of[paired_word] = paired_concept
    named = concept_of[words.kind]
    num_concepts = len(concepts.ids)
    present = np.isin(words.row * num_concepts + named, concepts.row * num_concepts + concepts.kind)
    good, ambiguous, paraphrase = (named >= 0) & present, (named >= 0) & ~present, named < 0
    unmatched = ~np.isin(concepts.kind, paired_concept)

    num_rows = len(corpus.messages)
    larger = np.maximum(words.per_row, concepts.per_row)
    good_in_row = np.bincount(words.row[good], words.count[good], num_rows)
    different_in_row = np.bincount(words.row[good], minlength=num_rows)
    total_edges, total_concepts = int(larger.sum()), int(concepts.count.sum())
    counts = {
        "good": int(words.count[good].sum()),
        "ambiguous": int(words.count[ambiguous].sum()),
        "paraphrase": int(words.count[paraphrase].sum()),
        "unmatched": int(concepts.count[unmatched].sum()),
        "total_edges": total_edges,
        "total_concepts": total_concepts,
        "unique_messages": len(np.unique(row_labels(corpus.content()))),
        "unique_words": len(words.ids),
        "unique_phrases": len(np.unique(row_labels(corpus.concepts))),
        "unique_concepts": num_concepts,
    }
    details: dict[str, Any] = {
        "ambiguity": counts["ambiguous"] / total_edges,
        "paraphrase": counts["paraphrase"] / total_edges,
        "unmatched": counts["unmatched"] / total_concepts,
        "precision": float(np.mean(different_in_row / np.maximum(1, words.per_row))),
        "recall": float(np.mean(different_in_row / np.maximum(1, concepts.per_row))),
    }
    tied = is_tied(weights, paired_word, paired_concept)
    dependent = [*details, "map"] if tied else []
    if tied and (concepts.count > 1).any():
        dependent.insert(0, "value")
    details |= {"tied": tied, "tie_dependent": dependent, "counts": counts}
    details["map"] = [
        [
            _name(words.ids[word], corpus.symbol_names),
            _name(concepts.ids[concept], corpus.concept_names),
            weight,
        ]
        for weight, word, concept in sorted(
            zip(weights[paired_word, paired_concept].tolist(), paired_word, paired_concept, strict=True),
            key=lambda pair: -pair[0],
        )
    ]
    details |= {"resamples": NUM_RESAMPLES, "seed": options.seed}
    interval = _interval(good_in_row, larger, np.random.default_rng(options.seed))
    return [score(value=counts["good"] / total_edges, ci95=interval, details=details)]


def best_match(weights: Ints) -> tuple[Ints, Ints]:
    """The one-to-one pairing of greatest total weight: Carmeli et al. (2024), equation 1.

    Args:
        weights: Not negative, shape (num_words, num_concepts).

    Returns:
        The words and the concepts of the pairs of positive weight.
    """
    word, concept = linear_sum_assignment(weights, maximize=True)
    positive = weights[word, concept] > 0
    return word[positive], concept[positive]


def is_tied(weights: Ints, word: Ints, concept: Ints) -> bool:
    """Whether another pairing of positive weights has the same total as the best one.

    Two pairings differ by cycles of moves, in which the word of one pair takes the concept of the next. One
    more node stands for what is not paired: the best free word comes from it, and a word goes to it for the
    best free concept or for none. No cycle gains, the pairing being the best; it is tied if one loses
    nothing. With the greatest gain of any path as potential, such a cycle runs through tight moves alone.

    Args:
        weights: As for `best_match`.
        word: The words of the best pairing, shape (num_pairs,).
        concept: Their concepts.
    """
    own = weights[word, concept]
    free_words = np.delete(np.arange(weights.shape[0]), word)
    free_concepts = np.delete(np.arange(weights.shape[1]), concept)
    gain = np.zeros((len(word) + 1, len(word) + 1), np.int64)
    gain[:-1, :-1] = weights[np.ix_(word, concept)] - own[:, None]
    gain[:-1, -1] = weights[np.ix_(word, free_concepts)].max(axis=1, initial=0) - own
    gain[-1, :-1] = weights[np.ix_(free_words, concept)].max(axis=0, initial=0)
    potential = np.zeros(len(gain), np.int64)
    while not np.array_equal(better := (potential[:, None] + gain).max(axis=0), potential):
        potential = better
    tight = potential[:, None] + gain == potential
    np.fill_diagonal(tight, False)
    num_components, _ = connected_components(csr_array(tight), connection="strong")
    return bool(num_components < len(gain))


def _name(token: int, names: tuple[str, ...] | None) -> str | int:
    """What to call a token: its name, or its id where it has none."""
    return names[token] if names else int(token)


def _interval(good: NDArray[Any], larger: Ints, rng: np.random.Generator) -> tuple[float, float] | None:
    """Percentile bootstrap of sum(good) / sum(larger) over samples; None if a resample is empty."""
    outcomes, repeats = np.unique(np.stack([good, larger]), axis=1, return_counts=True)
    estimates = []
    for _ in range(NUM_RESAMPLES):
        hits, edges = outcomes @ rng.multinomial(len(good), repeats / len(good))
        if not edges:
            return None
        estimates.append(hits / edges)
    low, high = np.quantile(estimates, [0.025, 0.975]).tolist()
    return low, high
