"""Concept best matching: pair words with concepts one to one, and see how much of the language that explains.

A word is a symbol, a concept an atomic piece of the meaning. What the best pairing leaves over is named:
ambiguous words, paraphrases, unmatched concepts.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.matching import assigned_concepts, best_match, tied_pairs
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.metrics.translation_graph import Count, Occurrences, Translation, translate
from ecsuite.eval.statistics.counting import Floats, Ints, row_labels
from ecsuite.eval.statistics.resampling import NUM_PERMUTATIONS, describe_null, num_draws

VERSION = 1
NUM_RESAMPLES = 1_000
"""Bootstrap samples behind the interval."""


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
      concept, over the number of words and of concepts (appendix D); 0 where there is none;
    - `null_mean` is the mean score of the same messages with the phrases shuffled over them, each time matched
      anew; `null_low` and `null_high` hold 95 % of such scores, and `p_value` is (1 + number of shuffles that
      score as high) / (1 + `permutations`). There are 100 permutations, and fewer, down to 20, where words
      times concepts and a tenth of the meetings are more than 600,000 in all.

    A pair of weight 0 is no pair: so `unmatched` does not depend on how a solver fills its table. The authors' program
    counts such a pair, so that no concept is unmatched where there are as many words: `unmatched_program`.

    `tied` says whether another pairing is as good, and `tied_pairs` how many pairs such a pairing may lack;
    then the figures in `tie_dependent` are those of the pairing shown in `map`, which is `[word, concept,
    weight]` by falling weight. Beside it `map_shares` has for each pair the share of the word's occurrences
    that have the concept in their phrase, and the share of the concept's that have the word in their message.
    `counts` are the columns of the paper's table 4. The interval is a bootstrap over samples with the pairing
    kept.
    """
    return _score(corpus, options, "cbm", "words that name their one concept", "tokens")


def cbm_types(corpus: Corpus, options: Options) -> list[Score]:
    """Concept best matching as the paper's text has it: the words and the concepts of a sample are sets.

    Everything is as in `cbm`, but that a word counts once a message and a concept once a phrase. The two
    differ only where messages repeat words or phrases repeat concepts.
    """
    return _score(corpus, options, "cbm_types", "cbm with words counted once a message", "types")


def _score(corpus: Corpus, options: Options, name: str, about: str, count: Count) -> list[Score]:
    """The score under one way of counting."""
    score = partial(
        Score, name=name, about=about, signature=signature(name, VERSION, count=count, eos="strip")
    )
    translation = translate(corpus, count)
    if translation is None or corpus.concepts is None:
        return [score(value=None, reason="the corpus names no concepts")]
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
    good_in_row = np.bincount(words.row[good], words.count[good], num_rows)
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
        "unique_messages": len(np.unique(row_labels(corpus.content()))),
        "unique_words": len(words.ids),
        "unique_phrases": len(np.unique(row_labels(corpus.concepts))),
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
    shuffled = shuffled_scores(translation, np.random.default_rng([options.seed, num_rows]))
    details |= describe_null(value, shuffled, "high")
    details |= {"tied": tied > 0, "tied_pairs": tied, "tie_dependent": dependent, "counts": counts}
    pairs = list(zip(translation.word.tolist(), translation.concept.tolist(), strict=True))
    details["map"] = [
        [words.name(word), concepts.name(concept), int(translation.weights[word, concept])]
        for word, concept in pairs
    ]
    details["map_shares"] = translation.shares()
    details |= {"resamples": NUM_RESAMPLES, "permutations": len(shuffled), "seed": options.seed}
    interval = _interval(good_in_row, larger, np.random.default_rng(options.seed))
    return [score(value=value, ci95=interval, details=details)]


def shuffled_scores(translation: Translation, rng: np.random.Generator) -> Floats:
    """Scores by chance: each time the phrases are shuffled over the messages and the best pairing is sought anew.

    Returns:
        Shape (num_permutations,).
    """
    words, concepts = translation.words, translation.concepts
    by_word = np.argsort(words.kind, kind="stable")  # so that each count lands near the last one
    kind = np.repeat(words.kind[by_word], words.count[by_word])
    row = np.repeat(words.row[by_word], words.count[by_word])
    phrases = _phrase_columns(concepts)
    repeats = bool((concepts.count > 1).any())
    different = _phrase_columns(concepts.once()) if repeats else phrases
    num_words, num_concepts = translation.weights.shape
    cells = kind * (num_concepts + 1)

    def meet(columns: Ints, order: Ints) -> Ints:
        table = np.zeros(num_words * (num_concepts + 1), np.int64)
        for column in columns:
            table += np.bincount(cells + column[order][row], minlength=len(table))
        return table.reshape(num_words, num_concepts + 1)[:, :-1]

    scores = []
    work = len(phrases) * len(kind) // 10 + translation.weights.size  # sorted, a meeting is soon counted
    for _ in range(num_draws(NUM_PERMUTATIONS, work)):
        order = rng.permutation(len(words.per_row))
        weights = meet(phrases, order)
        word, concept = best_match(weights)
        present = meet(different, order) if repeats else weights
        edges = np.maximum(words.per_row, concepts.per_row[order]).sum()
        scores.append(present[word, concept].sum() / edges)
    return np.array(scores)


def _phrase_columns(concepts: Occurrences) -> Ints:
    """The first, second, … concept of every phrase, shape (longest phrase, num_rows); beyond its end `num_kinds`."""
    kind, row = np.repeat(concepts.kind, concepts.count), np.repeat(concepts.row, concepts.count)
    starts = np.cumsum(concepts.per_row) - concepts.per_row
    columns = np.full((int(concepts.per_row.max()), len(concepts.per_row)), len(concepts.ids))
    columns[np.arange(len(kind)) - starts[row], row] = kind
    return columns


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
