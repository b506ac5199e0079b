"""Synonymy and polysemy: entropies of words given a concept, and of concepts given a word."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import CORRECTED, Traits, metric
from ecsuite.eval.statistics.contingency import chao_shen, conditional_entropies, counted, entropy, renumbered
from ecsuite.eval.statistics.cooccurrence import Incidence, concept_rows
from ecsuite.eval.statistics.counting import Floats, Ints
from ecsuite.eval.statistics.resampling import resample

SYNONYMY = Traits(
    name="synonymy",
    about="bits of a word given its concept",
    high="0 if each concept has one word, 1 bit if each has two that are used alike",
    question="concepts",
    direction="lower",
    version=2,
    chance="shuffled meanings",
    needs=("concepts",),
    least_messages=400,
    depends_on_size="plug-in entropies are too low in small corpora",
    details={
        "normalised": "divided by the entropy without condition",
        "unaligned": "each word divided over all concepts of its phrase",
        "chao_shen": CORRECTED,
    },
)
POLYSEMY = replace(
    SYNONYMY,
    name="polysemy",
    about="bits of a concept given its word",
    high="0 if each word has one concept, 1 bit if each has two that it is used for alike",
)


@metric(SYNONYMY, POLYSEMY)
def synonymy(corpus: Corpus, options: Options) -> list[Score]:
    """Synonymy H(word | concept) and polysemy H(concept | word), in bits.

    A phrase has several concepts, so its words are aligned with concepts first: each word is assigned to the concept
    of its phrase with the highest p(w, c) / (p(w) p(c)), with probabilities over messages; in case of ties the word is
    divided equally. H is the plug-in entropy over all aligned words, with repeated occurrences counted (`align:pmi`).
    Synonymy is 0 if every concept has one word, log2 k if each has k equally frequent words; polysemy is 0 if every
    word has one concept. Both range from 0 to the logarithm of the number of words or concepts; both are low in a
    compositional language. A constant message has synonymy 0 and maximum polysemy.

    In the details: `normalised`, H(word | concept) / H(word) and H(concept | word) / H(concept), None if the
    denominator is 0; `chao_shen`, with entropies that have less bias (`contingency.chao_shen`); and `unaligned`, the
    entropy if each word is divided equally over all concepts of its phrase, which is above 0 even for an unambiguous
    code, because of the other concepts of the phrase.

    Null distribution: meanings shuffled over messages, then aligned again, as alignment itself lowers the entropies.
    """
    kind, _ = concept_rows(corpus)
    how = {"align": "pmi", "label": kind, "eos": "strip"}
    scores = [unscored(traits, **how) for traits in (SYNONYMY, POLYSEMY)]
    incidence = Incidence.of(corpus)
    if isinstance(incidence, str):
        return [score(value=None, reason=incidence) for score in scores]
    aligned, unaligned = entropies(incidence, align=True), entropies(incidence, align=False)
    corrected = entropies(incidence, align=True, of=chao_shen)
    if aligned is None or unaligned is None or corrected is None:
        reason = "no message has both a symbol and a concept"
        return [score(value=None, reason=reason) for score in scores]

    def statistic(rows: Ints, partners: Ints) -> Floats:
        found = entropies(incidence.paired(rows, partners), align=True)
        return np.array([np.nan, np.nan] if found is None else found[:2])

    uncertainties = resample(
        statistic,
        aligned[:2],
        num_rows=len(corpus.messages),
        seed=options.seed,
        work=8 * incidence.work(),
        bounds=(0.0, float(np.log2(max(incidence.words.shape[1], incidence.concepts.shape[1])))),
    )
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


def entropies(
    incidence: Incidence, *, align: bool, of: Callable[[Floats], float] = entropy
) -> tuple[float, float, float, float] | None:
    """H(word | concept), H(concept | word), H(word) and H(concept) in bits, over words assigned to concepts.

    Args:
        incidence: Words and concepts.
        align: Assign a word to the concept with the strongest association instead of to all equally.
        of: How entropies are estimated from counts: `entropy` or `chao_shen`.

    Returns:
        None if no word co-occurs with a concept.
    """
    words, concepts = incidence.words, incidence.concepts
    num_words, num_concepts = words.shape[1], concepts.shape[1]
    row = np.repeat(np.arange(words.shape[0]), np.diff(words.indptr))  # row of each word type of a message
    width = np.diff(concepts.indptr)[row]  # number of concepts in its row
    with_concepts = np.flatnonzero(width)
    if not len(with_concepts):
        return None
    width, begin = width[with_concepts], concepts.indptr[row[with_concepts]]
    ends = np.cumsum(width)
    # A word of a message with one of the concepts.
    occurrence = np.repeat(np.arange(len(with_concepts)), width)
    concept = concepts.indices[np.arange(ends[-1]) + np.repeat(begin - (ends - width), width)]
    code = words.indices[with_concepts].astype(np.int64)[occurrence] * num_concepts + concept
    pair, originals = renumbered(code, num_words * num_concepts)
    share = np.ones(len(pair)) / width[occurrence]
    if align:
        _, together = counted(pair, len(originals))
        # p(w) is the same for all concepts of a word, so p(w, c) / p(c) decides.
        association = (together / np.asarray(concepts.sum(axis=0))[originals % num_concepts])[pair]
        strongest = association == np.maximum.reduceat(association, ends - width)[occurrence]
        share = strongest / np.bincount(occurrence, strongest)[occurrence]
    weights = np.bincount(pair, share * words.data[with_concepts][occurrence])
    is_used = weights > 0
    return conditional_entropies(
        weights[is_used], originals[is_used] // num_concepts, originals[is_used] % num_concepts, of
    )
