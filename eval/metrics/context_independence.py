"""Context independence: does each concept have a word of its own, whatever else is being said?"""

from functools import partial

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.statistics.cooccurrence import Incidence, concept_rows
from ecsuite.eval.statistics.counting import Floats, Ints
from ecsuite.eval.statistics.resampling import resample

VERSION = 1


def context_independence(corpus: Corpus, options: Options) -> list[Score]:
    """Context independence: Bogin et al. (2018), https://arxiv.org/abs/1809.00549.

    The mean over concepts c of p(w_c | c) p(c | w_c), where w_c is the word with the greatest p(c | w); of
    equals, the one that is likeliest given c. Range 0 to 1; 1 where every concept has a word that is said
    whenever, and only when, the concept is meant.

    The paper aligns words with concepts before it counts. Here nothing is aligned and messages are counted: p(w | c)
    is the share of messages about c that have w in them, p(c | w) the share of messages with w that are
    about c (`count:messages`). With tokens in place of messages, a language of A attributes with a word each
    could not score above 1 / A^2; that figure is `by_tokens` in the details, and `likeliest` has w_c chosen by
    p(w | c) besides, as the program of Korbak et al. (2020) does.

    A constant message scores the mean share of the concepts. Null: meanings shuffled over messages.
    """
    kind, _ = concept_rows(corpus)
    line = signature("context_independence", VERSION, count="messages", label=kind, eos="strip")
    score = partial(
        Score, name="context_independence", about="concepts have words of their own", signature=line
    )
    incidence = Incidence.of(corpus)
    if isinstance(incidence, str):
        return [score(value=None, reason=incidence)]
    tokens, in_messages = incidence, Incidence(words=incidence.words.minimum(1), concepts=incidence.concepts)

    def statistic(rows: Ints, partners: Ints) -> Floats:
        return np.array([independence(in_messages.paired(rows, partners), own_total=True)])

    num_rows = len(corpus.messages)
    everyone = np.arange(num_rows)
    value = float(statistic(everyone, everyone)[0])
    (found,) = resample(
        statistic, [value], num_rows=num_rows, seed=options.seed, work=4 * tokens.work(), tails=["high"]
    )
    variants = {
        "by_tokens": independence(tokens, own_total=False),
        "likeliest": independence(tokens, own_total=False, likeliest=True),
    }
    return [score(value=value, ci95=found.ci95, details=variants | found.details)]


def independence(incidence: Incidence, *, own_total: bool, likeliest: bool = False) -> float:
    """The mean over concepts of p(w_c | c) p(c | w_c).

    Args:
        incidence: Words and concepts; what is counted are its entries.
        own_total: Whether a probability's whole is the number of rows that have the word or the concept, rather
            than the number of times that it meets anything.
        likeliest: Whether w_c is the word of greatest p(w | c) rather than p(c | w).

    Returns:
        NaN where no concept is meant. A concept that meets no word counts as 0.
    """
    table = (incidence.words.T @ incidence.concepts).tocoo()
    word, concept = table.coords
    if own_total:
        of_word, of_concept = incidence.words.sum(axis=0), incidence.concepts.sum(axis=0)
    else:
        of_word, of_concept = table.sum(axis=1), table.sum(axis=0)
    num_concepts = int((incidence.concepts.sum(axis=0) > 0).sum())
    if not num_concepts:
        return float("nan")
    of_concept_given, of_word_given = table.data / of_word[word], table.data / of_concept[concept]
    keys = (of_concept_given, of_word_given) if likeliest else (of_word_given, of_concept_given)
    order = np.lexsort(
        (*keys, concept)
    )  # by concept, then by the choosing probability, then by the other one
    is_last = np.diff(concept[order], append=-1) != 0
    chosen = order[is_last]
    return float((of_concept_given[chosen] * of_word_given[chosen]).sum() / num_concepts)
