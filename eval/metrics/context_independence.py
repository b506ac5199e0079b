"""Context independence: does each concept have its own word, independent of the other concepts?"""

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.cooccurrence import Incidence, concept_rows
from ecsuite.eval.statistics.counting import Floats, Ints
from ecsuite.eval.statistics.resampling import resample

CONTEXT_INDEPENDENCE = Traits(
    name="context_independence",
    about="concepts have their own words",
    high="1 if each concept has a word that stands in exactly its messages; low where words have several symbols",
    question="concepts",
    direction="higher",
    version=2,
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("concepts",),
    depends_on_size="in small corpora the best word of a concept fits noise, too",
    details={
        "by_tokens": "with words counted by occurrence, not by message",
        "likeliest": "by_tokens, each concept with its likeliest word",
    },
)


@metric(CONTEXT_INDEPENDENCE)
def context_independence(corpus: Corpus, options: Options) -> list[Score]:
    """Context independence: Bogin et al. (2018), https://arxiv.org/abs/1809.00549.

    The mean over concepts c of p(w_c | c) p(c | w_c), where w_c is the word with the highest p(c | w); in case of ties,
    the one with the highest p(w | c). Range 0 to 1; 1 if every concept has a word that occurs in exactly the messages
    with this concept.

    The paper aligns words with concepts before counting. Here there is no alignment and messages are counted: p(w | c)
    is the share of the messages with concept c that contain w, p(c | w) the share of the messages containing w that
    have concept c (`count:messages`). With counts of tokens instead of messages, a language with one word for each of A
    attributes could not score above 1 / A^2; this value is `by_tokens` in the details. `likeliest` also counts tokens,
    but chooses w_c by p(w | c), as the program of Korbak et al. (2020) does.

    A constant message scores the mean frequency of the concepts. Null distribution: meanings shuffled over messages.
    """
    kind, _ = concept_rows(corpus)
    how = {"count": "messages", "label": kind, "eos": "strip"}
    score = unscored(CONTEXT_INDEPENDENCE, **how)
    incidence = Incidence.of(corpus)
    if isinstance(incidence, str):
        return [score(value=None, reason=incidence)]
    tokens, in_messages = incidence, Incidence(words=incidence.words.minimum(1), concepts=incidence.concepts)

    def statistic(rows: Ints, partners: Ints) -> Floats:
        return np.array([independence(in_messages.paired(rows, partners), own_total=True)])

    num_rows = len(corpus.messages)
    all_rows = np.arange(num_rows)
    value = float(statistic(all_rows, all_rows)[0])
    (found,) = resample(statistic, [value], num_rows=num_rows, seed=options.seed, work=4 * tokens.work())
    variants = {
        "by_tokens": independence(tokens, own_total=False),
        "likeliest": independence(tokens, own_total=False, likeliest=True),
    }
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=variants | found.details)]


def independence(incidence: Incidence, *, own_total: bool, likeliest: bool = False) -> float:
    """The mean over concepts of p(w_c | c) p(c | w_c).

    Args:
        incidence: Words and concepts; its entries are counted.
        own_total: Divide by the number of rows with the word or the concept instead of the number of its
            co-occurrences.
        likeliest: Choose w_c by the highest p(w | c) instead of p(c | w).

    Returns:
        NaN if there is no concept. A concept that co-occurs with no word counts as 0.
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
    # by concept, then by the first probability, then by the other one
    order = np.lexsort((*keys, concept))
    is_last = np.diff(concept[order], append=-1) != 0
    chosen = order[is_last]
    return float((of_concept_given[chosen] * of_word_given[chosen]).sum() / num_concepts)
