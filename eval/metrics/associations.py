"""Associations of messages or words with meanings: AMI, NPMI, words per concept, context independence."""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import NO_CONCEPTS, Cells, Incidence, WordPhrases, incidence_of
from ecsuite.eval.counts.counting import (
    concept_labels,
    has_attributes,
    meaning_labels,
    message_labels,
)
from ecsuite.eval.counts.exchange import of_phrases
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import CORRECTED, Traits, metric
from ecsuite.eval.statistics.cache import cached_per_corpus
from ecsuite.eval.statistics.contingency import (
    Floats,
    Ints,
    chao_shen,
    conditional_entropies,
    counted,
    counts_in_order,
    num_labels,
)
from ecsuite.eval.statistics.resampling import Pairing, Uncertainty, in_batches, resample, single_rows

AMI = Traits(
    name="ami",
    about="information of messages above chance",
    title="adjusted mutual information",
    high="1 if each meaning has its own message, 0 as by chance; high also for names without parts",
    question="consistent",
    direction="higher",
    version=3,
    bounds=(-1.0, 1.0),
    chance="shuffled meanings",
    needs=("concepts",),
    least_messages=5000,
    depends_on_size="chance is subtracted, but the rest grows with the number of repetitions of a meaning",
)
AMI_ARITHMETIC = replace(
    AMI,
    name="ami_arithmetic",
    about="ami, normalised by the mean entropy",
    title="adjusted mutual information, arithmetic mean",
)


@metric(AMI, AMI_ARITHMETIC)
def ami(corpus: Corpus, options: Options) -> list[Score]:
    """Adjusted mutual information of messages M and meanings L, by two normalisers.

    AMI = (I(M, L) - E I(M, L)) / (N - E I(M, L)), after Vinh et al. (2009). N is max(H(M), H(L)) in `ami`, as in
    Carmeli et al. (2024), equation 3, and their mean in `ami_arithmetic`, the default of scikit-learn and so what the
    program of Mu & Goodman (2021) reports; the latter is never below the former if they are above 0. E I is the mean
    over all permutations of the meanings; 0 is the chance level, 1 is one message per meaning. Messages (without EOS)
    and meanings are compared as wholes; a meaning is the tuple of all attribute values or, in a corpus without
    attributes, the set of concepts.

    Undefined if the messages, or the meanings, are all equal or all different, as every permutation then has the same
    mutual information. So meanings must recur; the score grows with the number of repetitions, so compare only corpora
    of the same size.

    Null distribution: single messages exchanged; its mean is 0 by construction. Interval: see
    docs/reading_a_score.md; none if half of the rows may have no repetition at all.
    """
    kind, meanings = labels_of_meanings(corpus)
    scores = [
        unscored(traits, normaliser=normaliser, label=kind, eos="strip")
        for traits, normaliser in ((AMI, "max"), (AMI_ARITHMETIC, "arithmetic"))
    ]
    messages = message_labels(corpus)
    if meanings is None or (reason := _without_recurrence(message=messages, meaning=meanings)):
        return [score(value=None, reason=NO_CONCEPTS if meanings is None else reason) for score in scores]
    num_rows = len(messages)
    expected = expected_information(np.bincount(messages), np.bincount(meanings))
    values = adjusted_information(messages, meanings, expected)

    def statistic(rows: Ints, partners: Ints) -> Floats:
        is_whole = len(rows) == num_rows  # E I then equals that of the corpus
        return adjusted_information(messages[rows], meanings[partners], expected if is_whole else None)

    found = resample(
        statistic,
        values.tolist(),
        num_rows=num_rows,
        exchange=single_rows(num_rows, messages, meanings),
        seed=options.seed,
        work=20 * num_rows,
        bounds=(-1.0, 1.0),
    )
    return [
        score(value=value, ci95=of_value.ci95, chance=of_value.chance, details=of_value.details)
        for score, value, of_value in zip(scores, values.tolist(), found, strict=True)
    ]


def _without_recurrence(**labels: NDArray[np.integer[Any]]) -> str | None:
    """Reason why AMI is undefined: each label of one kind occurs once, or all are equal; None if it is defined."""
    for what, label in labels.items():
        num_distinct = num_labels(label)
        if num_distinct <= 1:
            return f"there is only one distinct {what}: every permutation has the same score"
        if num_distinct == len(label):
            return f"no {what} occurs twice: every permutation has the same score"
    return None


@cached_per_corpus
def labels_of_meanings(corpus: Corpus) -> tuple[str, NDArray[np.integer[Any]] | None]:
    """Type of the meanings (`attributes`, `concepts` or `none`) and a label for each whole meaning, (num_rows,).

    The labels are numbered as in `message_labels`.
    """
    if corpus.meanings is not None and has_attributes(corpus.meanings):
        return "attributes", meaning_labels(corpus)
    labels = concept_labels(corpus)
    return "none" if labels is None else "concepts", labels


def expected_information(first: Ints, second: Ints) -> float:
    """E I in nats over all pairings of two labellings: Vinh et al. (2009), equation 24a.

    It depends only on the class sizes, and there are few distinct sizes, so each pair of sizes is computed once;
    scikit-learn loops over all pairs of classes, which takes minutes for 10^5 messages.

    Args:
        first: Class sizes of one labelling, shape (num_classes,).
        second: Class sizes of the other labelling, with the same sum.
    """
    total = int(first.sum())
    largest = int(first.max()) + int(second.max())
    log_factorial = _log_factorials(total, min(total, 1 << largest.bit_length()))
    (sizes, repeats), (others, other_repeats) = (
        counted(each[each > 0], int(each.max()) + 1) for each in (first, second)
    )
    expected = 0.0
    for size, repeat in zip(sizes.tolist(), repeats.tolist(), strict=True):
        least = np.maximum(1, size + others - total)
        widths = np.minimum(size, others) - least + 1
        other = np.repeat(others, widths)
        common = np.arange(len(other)) + np.repeat(least - (np.cumsum(widths) - widths), widths)
        log_chance = (
            log_factorial(size)
            + log_factorial(other)
            + log_factorial(total - size)
            + log_factorial(total - other)
            - log_factorial(total)
            - log_factorial(common)
            - log_factorial(size - common)
            - log_factorial(other - common)
            - log_factorial(total - size - other + common)
        )
        terms = common / total * np.log(total * common / (size * other)) * np.exp(log_chance)
        expected += repeat * float(terms @ np.repeat(other_repeats, widths))
    return expected


def adjusted_information(message: NDArray[Any], meaning: NDArray[Any], expected: float | None) -> Floats:
    """AMI of two labellings, each (num_rows,), by both normalisers; NaN if every permutation has the same score."""
    num_rows, num_meanings = len(message), int(meaning.max()) + 1
    codes = message * np.int64(num_meanings)
    codes += meaning
    num_messages = int(message.max()) + 1
    if num_messages <= 2 * num_rows:
        of_message, together = _sizes(message), counts_in_order(codes, num_messages * num_meanings)
    else:  # as in a small sample of a large corpus
        pairs, together = counted(codes, num_messages * num_meanings)
        starts = np.flatnonzero(np.diff(pairs // num_meanings, prepend=-1))
        of_message = np.add.reduceat(together, starts)
    del codes
    of_meaning = _sizes(meaning)
    if {len(of_message), len(of_meaning)} & {1, num_rows}:
        return np.full(2, np.nan)
    in_message, in_meaning, in_both = (_nats(counts) for counts in (of_message, of_meaning, together))
    if expected is None:
        expected = expected_information(of_message, of_meaning)
    normalisers = np.array([max(in_message, in_meaning), (in_message + in_meaning) / 2])
    return (in_message + in_meaning - in_both - expected) / (normalisers - expected)


def _sizes(labels: NDArray[Any]) -> Ints:
    """The number of rows of each label that occurs, in ascending order of the labels."""
    bound = int(labels.max()) + 1
    if bound > 2 * len(labels):  # as in a small sample of a large corpus
        return counted(labels, bound)[1]
    counts = np.bincount(labels)
    return counts[counts > 0]


@functools.lru_cache(maxsize=1)
def _log_factorials(most: int, near: int) -> Callable[[Any], Floats]:
    """Function for the log factorial of numbers from 0 to `near` and from `most - near` to `most`.

    The latest function is cached, as most draws have the same arguments.
    """
    low: Floats = gammaln(np.arange(1.0, near + 2.0))
    high: Floats = gammaln(np.arange(most - near + 1.0, most + 2.0))

    def of(number: Any) -> Floats:
        values: Floats = low[number] if np.max(number) <= near else high[number - (most - near)]
        return values

    return of


def _nats(counts: Ints) -> float:
    """Plug-in entropy in nats of the distribution given by positive counts."""
    share = counts / counts.sum()
    return -float(share @ np.log(share))


_BLOCK = 1 << 16
"""Pairs whose NPMI is computed in one block."""
NCNPMI = Traits(
    name="ncnpmi",
    about="whole messages co-occur with whole meanings",
    title="non-compositional normalised pointwise mutual information",
    high="1 if each meaning has its own message; near 1 for any language whose messages hardly recur",
    question="consistent",
    direction="higher",
    version=3,
    bounds=(-1.0, 1.0),
    chance="shuffled meanings",
    needs=("concepts",),
    least_messages=5000,
    has_reliable_interval=False,
    depends_on_size="the less often messages and meanings recur, the higher it is, whatever they are",
    details={"above_half": "share of messages with an NPMI above 0.5"},
)


@metric(NCNPMI)
def ncnpmi(corpus: Corpus, options: Options) -> list[Score]:
    """Non-compositional NPMI: Lipinski et al. (2024), https://arxiv.org/abs/2406.07277, after Bouma (2009).

    NPMI(m, o) = log(p(m, o) / (p(m) p(o))) / -log p(m, o) of a message m and a meaning o, both as wholes: 1 if they
    only occur together, 0 if they are independent, negative if they co-occur less often than if independent. The score
    is its mean over the pairs that occur, weighted by p(m, o). Pairs that never occur have no value and weight 0.
    Range -1 to 1; 1 if each meaning has one message and each message one meaning. The paper analyses single pairs of
    messages and selected referents above a threshold: `above_half` in the details is the share of rows whose pair has
    an NPMI above 0.5.

    A high score shows a consistent code, not compositionality. If few messages or meanings recur, every permutation
    scores high: see the chance level. A meaning is the tuple of all attribute values or, without attributes, the set of
    concepts. Undefined if only one pair occurs. Null distribution: single messages exchanged.
    """
    kind, meaning = labels_of_meanings(corpus)
    how = {"unit": "message", "mean": "weighted", "label": kind, "eos": "strip"}
    score = unscored(NCNPMI, **how)
    if meaning is None:
        return [score(value=None, reason=NO_CONCEPTS)]
    message = message_labels(corpus)
    if not len(message) or not (message.any() or meaning.any()):
        return [score(value=None, reason="there is only one distinct message and one distinct meaning")]

    def statistic(rows: Ints, partners: Ints) -> Floats:
        npmi, weight = _npmi_of_pairs(message[rows], meaning[partners])
        return np.array([npmi @ weight])

    npmi, weight = _npmi_of_pairs(message, meaning)
    value = float(np.clip(npmi @ weight, -1, 1))
    num_rows, bounds = len(message), (-1.0, 1.0)
    (found,) = resample(
        statistic,
        [value],
        num_rows=num_rows,
        exchange=single_rows(num_rows, message, meaning),
        seed=options.seed,
        work=20 * num_rows,
        bounds=bounds,
    )
    details = {"above_half": float(weight[npmi > 0.5].sum())} | found.details
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=details)]


def _npmi_of_pairs(
    message: NDArray[np.integer[Any]], meaning: NDArray[np.integer[Any]]
) -> tuple[Floats, Floats]:
    """NPMI of every pair that occurs (NaN if there is only one), and its share of the rows, each (num_pairs,)."""
    num_meanings = int(meaning.max()) + 1
    codes = message * np.int64(num_meanings)
    codes += meaning
    pair, count = counted(codes, (int(message.max()) + 1) * num_meanings, overwrites=True)
    del codes  # they take much memory for a large corpus
    if len(pair) == 1:
        return np.array([np.nan]), np.ones(1)
    together, npmi = count / len(message), np.empty(len(pair))
    del count
    of_messages, of_meanings = np.bincount(message), np.bincount(meaning)
    for start in range(0, len(pair), _BLOCK):
        block = slice(start, start + _BLOCK)
        of_message = of_messages[pair[block] // num_meanings] / len(message)
        of_meaning = of_meanings[pair[block] % num_meanings] / len(message)
        npmi[block] = np.log(together[block] / (of_message * of_meaning)) / -np.log(together[block])
    return npmi, together


WORD_ENTROPY = Traits(
    name="word_entropy",
    about="bits of a word given its concept",
    high="0 if each concept has one word, 1 bit if each has two that are equally frequent",
    question="concepts",
    direction="lower",
    version=3,
    chance="shuffled meanings",
    needs=("concepts",),
    shares="words with concepts",
    least_messages=400,
    depends_on_size="plug-in entropies are too low in small corpora",
    details={
        "normalised": "divided by the entropy without condition",
        "unaligned": "each word divided equally over all concepts of its phrase",
        "chao_shen": CORRECTED,
    },
)
CONCEPT_ENTROPY = replace(
    WORD_ENTROPY,
    name="concept_entropy",
    about="bits of a concept given its word",
    high="0 if each word has one concept, 1 bit if each has two that are equally frequent",
)


@metric(WORD_ENTROPY, CONCEPT_ENTROPY)
def word_entropy(corpus: Corpus, options: Options) -> list[Score]:
    """Entropies H(word | concept), `word_entropy`, and H(concept | word), `concept_entropy`, in bits.

    A phrase has several concepts, so its words are aligned with concepts first: each word is assigned to the concept
    of its phrase with the highest p(w, c) / (p(w) p(c)), with probabilities over messages; in case of ties the word is
    divided equally. H is the plug-in entropy over all aligned words, with repeated occurrences counted (`align:pmi`).
    The former is 0 if every concept has one word, log2 k if each has k equally frequent words; the latter is 0 if every
    word has one concept. Both range from 0 to the logarithm of the number of words or concepts; both are low in a
    compositional language. A constant message has 0 and the maximum.

    In the details: `normalised`, H(word | concept) / H(word) and H(concept | word) / H(concept), None if the
    denominator is 0; `chao_shen`, with entropies that have less bias (Chao and Shen 2003); and `unaligned`, the
    entropy if each word is divided equally over all concepts of its phrase, which is above 0 even for an unambiguous
    code, because of the other concepts of the phrase.

    Null distribution: messages exchanged between meanings, then aligned again, as alignment itself lowers entropies.
    """
    kind, incidence = incidence_of(corpus)
    how = {"align": "pmi", "label": kind, "eos": "strip"}
    scores = [unscored(traits, **how) for traits in (WORD_ENTROPY, CONCEPT_ENTROPY)]
    if isinstance(incidence, str):
        return [score(value=None, reason=incidence) for score in scores]
    every = [incidence.own_pairing()]
    [pairs] = assigned(incidence, every)
    if not len(pairs[0]):
        reason = "no message has both a symbol and a concept"
        return [score(value=None, reason=reason) for score in scores]
    aligned, corrected = conditional_entropies(*pairs), conditional_entropies(*pairs, chao_shen)
    unaligned = conditional_entropies(*assigned(incidence, every, align=False)[0])

    def figures(pairings: list[Pairing]) -> Floats:
        return np.array(
            [
                conditional_entropies(*pairs)[:2] if len(pairs[0]) else [np.nan, np.nan]
                for pairs in assigned(incidence, pairings)
            ]
        )

    bounds = (0.0, float(np.log2(max(incidence.num_words, incidence.num_concepts))))
    uncertainties = _uncertainties(corpus, incidence, options, aligned[:2], figures, 8, bounds)
    return [
        score(
            value=aligned[place],
            ci95=found.ci95,
            chance=found.chance,
            details={
                "normalised": aligned[place] / aligned[place + 2] if aligned[place + 2] else None,
                "unaligned": unaligned[place],
                "chao_shen": corrected[place],
            }
            | found.details,
        )
        for place, (score, found) in enumerate(zip(scores, uncertainties, strict=True))
    ]


def assigned(
    incidence: Incidence, pairings: Sequence[Pairing], *, align: bool = True
) -> list[tuple[Floats, Ints, Ints]]:
    """Weights of the assignments of words to concepts, with their words and concepts, each (num_pairs,), per pairing.

    Args:
        incidence: Words and concepts.
        pairings: The messages, ascending, and the messages whose concepts they are paired with.
        align: Assign a word to the concept with the strongest association instead of to all equally.
    """
    every = incidence.of_pairings(pairings)
    association = _association(incidence, every, pairings) if align else None
    found = Cells(len(pairings) * incidence.num_cells)
    for units in every:
        is_exact = _assign(units, incidence, association, found)
        if not is_exact and units.is_joined:  # each is then assigned alone, in order
            found = Cells(incidence.num_cells)
            for each in incidence.units(*pairings[0], joins=False):
                _assign(each, incidence, association, found)
    cells, weights = found.sums()
    ends = np.searchsorted(cells, np.arange(len(pairings) + 1) * incidence.num_cells).tolist()
    word, concept = np.divmod(cells % incidence.num_cells, incidence.num_concepts + 1)
    return [(weights[begin:end], word[begin:end], concept[begin:end]) for begin, end in pairwise(ends)]


def _assign(
    units: WordPhrases, incidence: Incidence, association: Callable[[Ints], Floats] | None, found: Cells
) -> bool:
    """Divide words over concepts and add the shares to `found`; whether all shares, and so their sums, are exact."""
    cells = incidence.cells(units)
    if association is None:
        is_chosen = [cell % (incidence.num_concepts + 1) < incidence.num_concepts for cell in cells]
    else:
        strengths = [association(cell) for cell in cells]
        most = functools.reduce(np.maximum, strengths)
        is_chosen = [(strength == most) & (strength > 0) for strength in strengths]
    number = functools.reduce(np.add, (each.astype(np.int32) for each in is_chosen))
    share = 1 / np.maximum(1, number) * units.tokens
    if is_exact := not (number & (number - 1)).any():  # shares of powers of two
        for cell, chosen in zip(cells, is_chosen, strict=True):
            found.add(cell[chosen], share[chosen])
    else:
        unit, place = np.nonzero(np.stack(is_chosen, axis=1))
        found.add_in_order(np.stack(cells)[place, unit], share[unit])
    return is_exact


def _association(
    incidence: Incidence, every: Iterable[WordPhrases], pairings: Sequence[Pairing]
) -> Callable[[Ints], Floats]:
    """Function for the strength of the association of word and concept in cells that occur; 0 without a concept.

    As p(w) is the same for all concepts of a word, only p(w, c) / p(c) matters.
    """
    size = len(pairings) * incidence.num_cells
    together = Cells(size)
    for units in every:
        for cell in incidence.cells(units):
            together.add(cell, units.messages)
    cells, counts = together.sums()
    concept = cells % (incidence.num_concepts + 1)
    totals = np.maximum(1, incidence.totals(pairings))[cells // incidence.num_cells, concept]
    strengths = np.where(concept < incidence.num_concepts, counts / totals, 0)
    if not together.is_table:
        return lambda some: strengths[np.searchsorted(cells, some)]
    table = np.zeros(size)
    table[cells] = strengths
    return table.take


def _uncertainties(
    corpus: Corpus,
    incidence: Incidence,
    options: Options,
    values: Sequence[float],
    figures: Callable[[list[Pairing]], Floats],
    work: int,
    bounds: tuple[float, float] | None,
) -> list[Uncertainty]:
    """Intervals and chance levels of figures of words and concepts; a co-occurrence counts as `work` table entries."""
    return resample(
        None,
        values,
        num_rows=incidence.num_rows,
        exchange=of_phrases(corpus),
        seed=options.seed,
        work=work * incidence.work(),
        bounds=bounds or (0.0, 1.0),
        of_pairings=in_batches(figures, incidence.size),
    )


CONTEXT_INDEPENDENCE = Traits(
    name="context_independence",
    about="concepts have their own words",
    high="1 if each concept has a word that occurs in exactly its messages; low if words have several symbols",
    question="concepts",
    direction="higher",
    version=3,
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("concepts",),
    shares="words with concepts",
    depends_on_size="in small corpora the best word of a concept fits noise",
    details={
        "by_tokens": "with words counted by occurrence, not by message",
        "likeliest": "as by_tokens, with the most probable word of each concept",
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

    def figures(pairings: list[Pairing]) -> Floats:
        return np.array(independence(incidence, pairings))[:, None]

    every = [incidence.own_pairing()]
    [value] = independence(incidence, every)
    (found,) = _uncertainties(corpus, incidence, options, [value], figures, 4, CONTEXT_INDEPENDENCE.bounds)
    variants = {
        "by_tokens": independence(incidence, every, by_tokens=True)[0],
        "likeliest": independence(incidence, every, by_tokens=True, likeliest=True)[0],
    }
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=variants | found.details)]


NPMI = Traits(
    name="npmi",
    about="each concept co-occurs with a word",
    title="normalised pointwise mutual information of words and concepts",
    high="1 if each concept has a word that occurs in exactly its messages, 0 if all words are independent of concepts",
    question="concepts",
    direction="higher",
    bounds=(-1.0, 1.0),
    chance="shuffled meanings",
    needs=("concepts",),
    shares="words with concepts",
    depends_on_size="in small corpora the best word of a concept fits noise",
    by_name_only=True,
)


@metric(NPMI)
def npmi(corpus: Corpus, options: Options) -> list[Score]:
    """Normalised pointwise mutual information (NPMI) of words and concepts, after Bouma (2009).

    NPMI(w, c) = log(p(w, c) / (p(w) p(c))) / -log p(w, c) of a word (symbol) w and a concept c, where p is a share of
    messages (`count:messages`). The score is the mean over concepts, weighted by p(c), of the highest NPMI that c has
    with a word. Range -1 to 1; 1 if each concept has a word that is in exactly the messages with it, 0 in a constant
    language.

    Only the best word of a concept counts, so the score is high also for a language that says more than the meaning.
    `ncnpmi` compares whole messages and meanings. A concept that is in all messages is left out, as all words are
    independent of it; undefined if there is no other. Null distribution: messages exchanged between meanings.
    """
    kind, incidence = incidence_of(corpus)
    score = unscored(NPMI, count="messages", mean="weighted", label=kind, eos="strip")
    if isinstance(incidence, str):
        return [score(value=None, reason=incidence)]

    def figures(pairings: list[Pairing]) -> Floats:
        return np.array(_best_npmi(incidence, pairings))[:, None]

    [value] = _best_npmi(incidence, [incidence.own_pairing()])
    if np.isnan(value):
        return [score(value=None, reason="every concept is in all messages")]
    (found,) = _uncertainties(corpus, incidence, options, [value], figures, 4, NPMI.bounds)
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=found.details)]


def _best_npmi(incidence: Incidence, pairings: Sequence[Pairing]) -> list[float]:
    """Weighted mean over concepts of their highest NPMI, in each pairing; NaN if no concept varies.

    A concept that never occurs in a message with a word has -1, the limit of NPMI.
    """
    concept, word, count, of_word, of_concept = _with_words(incidence, pairings)
    begins = np.flatnonzero(np.diff(concept, prepend=-1))  # of each concept
    num_rows = np.repeat([len(rows) for rows, _ in pairings], incidence.num_concepts + 1)
    together, highest = count / num_rows[concept], np.full(len(num_rows), -1.0)
    expected = of_word[word] / num_rows[concept] * of_concept[concept] / num_rows[concept]
    with np.errstate(divide="ignore", invalid="ignore"):  # a word and a concept in all messages
        found = np.log(together / expected) / -np.log(together)
    if len(begins):
        highest[concept[begins]] = np.maximum.reduceat(np.where(together < 1, found, 0), begins)
    weights = np.where(of_concept < num_rows, of_concept, 0).reshape(len(pairings), -1)[:, :-1]
    highest = highest.reshape(len(pairings), -1)[:, :-1]
    return [
        float(own @ best / own.sum()) if own.any() else float("nan")
        for own, best in zip(weights, highest, strict=True)
    ]


def independence(
    incidence: Incidence, pairings: Sequence[Pairing], *, by_tokens: bool = False, likeliest: bool = False
) -> list[float]:
    """The mean over concepts of p(w_c | c) p(c | w_c), in each pairing.

    Args:
        incidence: Words and concepts.
        pairings: The messages, ascending, and the messages whose concepts they are paired with.
        by_tokens: Count the occurrences of a word instead of its messages, and divide by the number of co-occurrences
            instead of the number of messages with the word or the concept.
        likeliest: Choose w_c by the highest p(w | c) instead of p(c | w).

    Returns:
        NaN if there is no concept. A concept that co-occurs with no word counts as 0.
    """
    concept, word, count, of_word, of_concept = _with_words(incidence, pairings, by_tokens)
    if by_tokens:
        of_word = np.bincount(word, count, len(of_word))
        of_concept = np.bincount(concept, count, len(of_concept))
    of_concept_given, of_word_given = count / of_word[word], count / of_concept[concept]
    first, then = (of_word_given, of_concept_given) if likeliest else (of_concept_given, of_word_given)
    found = np.zeros(0)
    begins = np.flatnonzero(np.diff(concept, prepend=-1))  # of each concept
    if len(begins):
        best = np.maximum.reduceat(first, begins)
        is_best = first == np.repeat(best, np.diff(begins, append=len(concept)))
        found = best * np.maximum.reduceat(np.where(is_best, then, 0), begins)
    width = incidence.num_concepts + 1
    ends = np.searchsorted(concept[begins], np.arange(len(pairings) + 1) * width).tolist()
    numbers = (incidence.totals(pairings) > 0).sum(axis=1).tolist()
    return [
        float(found[begin:end].sum() / number) if number else float("nan")
        for (begin, end), number in zip(pairwise(ends), numbers, strict=True)
    ]


def _with_words(
    incidence: Incidence, pairings: Sequence[Pairing], by_tokens: bool = False
) -> tuple[Ints, Ints, NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Co-occurring pairs of concept and word, concepts ascending; ids of a pairing follow those of the pairing before.

    Returns:
        Concepts, words and number of co-occurrences, (num_pairs,); the number of messages (or occurrences) of each
        word, (num_pairings * num_words,); the number of messages of each concept, (num_pairings * (num_concepts + 1),).
    """
    in_messages, num_words = incidence.totals(pairings), incidence.num_words
    of_word: NDArray[Any] = np.zeros(len(pairings) * num_words)
    table = Cells(in_messages.size * num_words)
    for units in incidence.of_pairings(pairings):
        weights = units.tokens if by_tokens else units.messages
        pairing, word = np.divmod(units.word, num_words)
        for concepts in incidence.concepts:  # cells are grouped by pairing and concept
            cells = pairing * (incidence.num_concepts + 1) + concepts.take(units.phrase)
            table.add(cells * num_words + word, weights)
        of_word += np.bincount(units.word, weights, len(of_word))
    cells, count = table.sums()
    concept, word = np.divmod(cells, num_words)
    kept = concept % (incidence.num_concepts + 1) < incidence.num_concepts
    concept, word, count = concept[kept], word[kept], count[kept]
    word += concept // (incidence.num_concepts + 1) * num_words
    return concept, word, count, of_word, in_messages.ravel()
