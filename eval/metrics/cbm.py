"""Concept best matching: match words and concepts one to one, and measure which share of the language the map explains.

A word is a symbol, a concept an atomic part of the meaning. The rest is divided into ambiguous words, paraphrases and
unmatched concepts.
"""

import functools
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.matching import assigned_concepts, best_match, tied_pairs
from ecsuite.eval.metrics.phrase_counts import Group, groups_of
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.translation_graph import Translation, translate
from ecsuite.eval.statistics.cooccurrence import Count
from ecsuite.eval.statistics.counting import Floats, Ints, num_labels, row_labels
from ecsuite.eval.statistics.resampling import Statistic, resample

VERSION = 2
NUM_SUBSAMPLES = 30
"""Half-samples for the interval: a matching of each is slow, and Student's t allows for their number."""


def cbm(corpus: Corpus, options: Options) -> list[Score]:
    """Score a corpus by concept best matching: Carmeli et al. (2024), section 3, https://arxiv.org/abs/2403.14705.

    The weight of word w and concept v is the number of their co-occurrences in samples, with all repeated occurrences
    counted; B is the one-to-one matching of maximum weight (equation 1). Words and concepts are counted with
    repetitions and without EOS, as in the authors' program. With Q the sum over samples of max(number of words,
    number of concepts):

    - the score is the share of Q that is words whose matched concept is in the phrase of their sample;
    - `ambiguity` is the share of Q that is words whose matched concept is not in this phrase;
    - `paraphrase` is the share of Q that is words without a matched concept;
    - `unmatched` is the share of all concept occurrences whose concept has no matched word;
    - `precision` and `recall` are the means over samples of the number of distinct words whose concept is in the
      phrase, divided by the number of words and of concepts (appendix D); 0 if there are none;
    - `null_mean` is the mean score with the phrases shuffled over the messages; 95 % of these scores are between
      `null_low` and `null_high`; `p_value` is (1 + number of shuffles with at least this score) / (1 + `permutations`).

    Every draw of the null distribution and of the interval has a new matching; see `resampling.resample`. There are 100
    permutations and 30 half-samples, and fewer, down to 20, if the number of words times concepts plus a tenth of the
    co-occurrences is above 600,000.

    A pair of weight 0 is not a match, so `unmatched` does not depend on how a solver completes its assignment. The
    authors' program counts such pairs, so that no concept is unmatched if there are as many words as concepts:
    `unmatched_program`.

    `tied` is true if another matching has the same weight; `tied_pairs` is the number of pairs that such a matching may
    lack. The values listed in `tie_dependent` are then those of the matching in `map`, a list of `[word, concept,
    weight]` in order of decreasing weight. `map_shares` has for each pair the share of the word's occurrences with the
    concept in their phrase, and the share of the concept's occurrences with the word in their message. `counts` has
    the columns of table 4 of the paper.
    """
    return _score(corpus, options, "cbm", "words that occur with their matched concept", "tokens")


def cbm_types(corpus: Corpus, options: Options) -> list[Score]:
    """Concept best matching as in the text of the paper: the words and the concepts of a sample are sets.

    As `cbm`, but a word counts once per message and a concept once per phrase. The two metrics differ only if messages
    repeat words or phrases repeat concepts.
    """
    return _score(corpus, options, "cbm_types", "cbm with words counted once per message", "types")


def _score(corpus: Corpus, options: Options, name: str, about: str, count: Count) -> list[Score]:
    """The score, with tokens or types counted."""
    score = unscored(name, about, VERSION, count=count, eos="strip")
    translation = translate(corpus, count)
    if translation is None or corpus.concepts is None:
        return [score(value=None, reason="the corpus has no concepts")]
    words, concepts = translation.words, translation.concepts

    concept_of = np.full(len(words.ids), -1)
    concept_of[translation.word] = translation.concept
    named = concept_of[words.kind]
    num_concepts = len(concepts.ids)
    present = np.isin(words.row * num_concepts + named, concepts.row * num_concepts + concepts.kind)
    good, ambiguous, paraphrase = (named >= 0) & present, (named >= 0) & ~present, named < 0
    unmatched = ~np.isin(concepts.kind, translation.concept)
    unassigned = ~np.isin(concepts.kind, assigned_concepts(translation.weights))

    num_rows = len(corpus.messages)
    larger = np.maximum(words.per_row, concepts.per_row)
    different_in_row = np.bincount(words.row[good], minlength=num_rows)
    total_edges, total_concepts = int(larger.sum()), int(concepts.count.sum())
    counts = {
        "good": int(words.count[good].sum()),
        "ambiguous": int(words.count[ambiguous].sum()),
        "paraphrase": int(words.count[paraphrase].sum()),
        "unmatched": int(concepts.count[unmatched].sum()),
        "unmatched_program": int(concepts.count[unassigned].sum()),
        "total_edges": total_edges,
        "total_concepts": total_concepts,
        "unique_messages": num_labels(row_labels(corpus.content())),
        "unique_words": len(words.ids),
        "unique_phrases": num_labels(row_labels(corpus.concepts)),
        "unique_concepts": num_concepts,
    }
    value = counts["good"] / total_edges
    details: dict[str, Any] = {
        "ambiguity": counts["ambiguous"] / total_edges,
        "paraphrase": counts["paraphrase"] / total_edges,
        "unmatched": counts["unmatched"] / total_concepts,
        "unmatched_program": counts["unmatched_program"] / total_concepts,
        "precision": float(np.mean(different_in_row / np.maximum(1, words.per_row))),
        "recall": float(np.mean(different_in_row / np.maximum(1, concepts.per_row))),
    }
    tied = int(tied_pairs(translation.weights, translation.word, translation.concept).sum())
    dependent = [*details, "map", "map_shares"] if tied else []
    if tied and (concepts.count > 1).any():
        dependent.insert(0, "value")
    (found,) = resample(
        paired_score(translation),
        [value],
        num_rows=num_rows,
        seed=options.seed,
        work=_work(translation),
        max_subsamples=NUM_SUBSAMPLES,
    )
    details |= found.details
    details |= {"tied": tied > 0, "tied_pairs": tied, "tie_dependent": dependent, "counts": counts}
    pairs = list(zip(translation.word.tolist(), translation.concept.tolist(), strict=True))
    details["map"] = [
        [words.name(word), concepts.name(concept), int(translation.weights[word, concept])]
        for word, concept in pairs
    ]
    details["map_shares"] = translation.shares()
    details["resamples"] = details["subsamples"]
    return [score(value=value, ci95=found.ci95, details=details)]


def paired_score(translation: Translation) -> Statistic:
    """The score as a function of a pairing of messages and phrases, with a new best matching each time."""
    words, concepts = translation.words, translation.concepts
    # Consecutive counts are then close in memory, which is faster.
    by_word = np.argsort(words.kind, kind="stable")
    row = np.repeat(words.row[by_word], words.count[by_word])
    kind = np.repeat(words.kind[by_word], words.count[by_word])
    num_words = translation.weights.shape[0]
    phrases = groups_of(concepts, num_words, len(kind))
    repeats = bool((concepts.count > 1).any())
    different = groups_of(concepts.once(), num_words, len(kind)) if repeats else phrases

    def statistic(rows: Ints, partners: Ints) -> Floats:
        partner_of, used_row, used_kind = partners, row, kind
        if len(rows) < len(words.per_row):
            partner_of = np.full(len(words.per_row), -1)
            partner_of[rows] = partners
            used = np.flatnonzero(partner_of[row] >= 0)
            used_row, used_kind = row[used], kind[used]

        def cooccurrences(groups: list[Group]) -> Ints:
            tables = (group.cooccurrences(used_kind, used_row, partner_of, num_words) for group in groups)
            return functools.reduce(np.add, tables)

        weights = cooccurrences(phrases)
        word, concept = best_match(weights)
        present = cooccurrences(different) if repeats else weights
        edges = np.maximum(words.per_row[rows], concepts.per_row[partners]).sum()
        return np.array([present[word, concept].sum() / edges if edges else np.nan])

    return statistic


def _work(translation: Translation) -> int:
    """Table entries counted by a draw; co-occurrences are sorted, so counting them is ten times as fast."""
    longest, num_tokens = int(translation.concepts.per_row.max()), int(translation.words.count.sum())
    return longest * num_tokens // 10 + translation.weights.size
