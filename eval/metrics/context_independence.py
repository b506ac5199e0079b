"""Context independence: does each concept have its own word, independent of the other concepts?"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import Cells, Incidence, incidence_of
from ecsuite.eval.counts.exchange import of_phrases
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.resampling import resample

CONTEXT_INDEPENDENCE = Traits(
    name="context_independence",
    about="concepts have their own words",
    high="1 if each concept has a word that stands in exactly its messages; low where words have several symbols",
    question="concepts",
    direction="higher",
    version=3,
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("concepts",),
    shares="words with concepts",
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

    A constant message scores the mean frequency of the concepts. Null distribution: messages exchanged between
    meanings.
    """
    kind, incidence = incidence_of(corpus)
    how = {"count": "messages", "label": kind, "eos": "strip"}
    score = unscored(CONTEXT_INDEPENDENCE, **how)
    if isinstance(incidence, str):
        return [score(value=None, reason=incidence)]

    def statistic(rows: Ints, partners: Ints) -> Floats:
        return np.array([independence(incidence, rows, partners)])

    every = incidence.all_rows
    value = float(statistic(every, every)[0])
    (found,) = resample(
        statistic,
        [value],
        num_rows=incidence.num_rows,
        exchange=of_phrases(corpus),
        seed=options.seed,
        work=4 * incidence.work(),
    )
    variants = {
        "by_tokens": independence(incidence, every, every, by_tokens=True),
        "likeliest": independence(incidence, every, every, by_tokens=True, likeliest=True),
    }
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=variants | found.details)]


def independence(
    incidence: Incidence, rows: Ints, partners: Ints, *, by_tokens: bool = False, likeliest: bool = False
) -> float:
    """The mean over concepts of p(w_c | c) p(c | w_c).

    Args:
        incidence: Words and concepts.
        rows: The messages, ascending.
        partners: The messages whose concepts they are paired with.
        by_tokens: Count the occurrences of a word instead of its messages, and divide by the number of co-occurrences
            instead of that of the messages with the word or the concept.
        likeliest: Choose w_c by the highest p(w | c) instead of p(c | w).

    Returns:
        NaN if there is no concept. A concept that co-occurs with no word counts as 0.
    """
    in_messages = incidence.totals(partners)
    num_concepts = int((in_messages > 0).sum())
    if not num_concepts:
        return float("nan")
    of_word: NDArray[Any] = np.zeros(incidence.num_words)
    table = Cells(incidence.num_cells)
    for units in incidence.units(rows, partners):
        weights = units.tokens if by_tokens else units.messages
        for cells in incidence.cells(units):
            table.add(cells, weights)
        of_word += np.bincount(units.word, weights, incidence.num_words)
    cells, count = table.sums()
    word, concept = np.divmod(cells, incidence.num_concepts + 1)
    kept = concept < incidence.num_concepts
    word, concept, count = word[kept], concept[kept], count[kept]
    of_concept: NDArray[Any] = in_messages
    if by_tokens:
        of_word = np.bincount(word, count, len(of_word))
        of_concept = np.bincount(concept, count, len(of_concept))
    of_concept_given, of_word_given = count / of_word[word], count / of_concept[concept]
    keys = (of_concept_given, of_word_given) if likeliest else (of_word_given, of_concept_given)
    # by concept, then by the first probability, then by the other one
    order = np.lexsort((*keys, concept))
    is_last = np.diff(concept[order], append=-1) != 0
    chosen = order[is_last]
    return float((of_concept_given[chosen] * of_word_given[chosen]).sum() / num_concepts)
