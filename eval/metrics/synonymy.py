"""Synonymy and polysemy: how many words share a concept, and how many concepts share a word?"""

from functools import partial

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.statistics.contingency import conditional_entropies, counted, renumbered
from ecsuite.eval.statistics.cooccurrence import Incidence, concept_rows
from ecsuite.eval.statistics.counting import Floats, Ints
from ecsuite.eval.statistics.resampling import resample

VERSION = 1


def synonymy(corpus: Corpus, options: Options) -> list[Score]:
    """Synonymy H(word | concept) and polysemy H(concept | word), in bits.

    A phrase has several concepts, so its words have to be dealt out first: each word goes to the concept of its
    phrase that it is drawn to most, the one of greatest p(w, c) / (p(w) p(c)) with probabilities counted in
    messages; equals share it. Then H is the plug-in entropy over all words so dealt out, every occurrence
    counted (`align:pmi`). Synonymy is 0 where every concept has one word, log2 k where each has k words used
    equally; polysemy is 0 where every word has one concept. Both from 0 to the logarithm of what there is to
    choose from; low is the compositional end of both. A constant message has no synonymy and all polysemy.

    In the details `normalised`: H(word | concept) / H(word) and H(concept | word) / H(concept), the share of the
    choice that stays open, None where there is none; and `unaligned`: the entropy if each word goes to every concept
    of its phrase alike, which neighbours keep above 0 however clear the code.

    Null: meanings shuffled over messages, then dealt out again, as dealing out alone brings the entropies down.
    """
    kind, _ = concept_rows(corpus)
    abouts = {"synonymy": "bits of words for a concept", "polysemy": "bits of concepts for a word"}
    scores = [
        partial(
            Score,
            name=name,
            about=about,
            signature=signature(name, VERSION, align="pmi", label=kind, eos="strip"),
        )
        for name, about in abouts.items()
    ]
    incidence = Incidence.of(corpus)
    if isinstance(incidence, str):
        return [score(value=None, reason=incidence) for score in scores]
    aligned = entropies(incidence, align=True)
    if aligned is None:
        reason = "no message that says something names a concept"
        return [score(value=None, reason=reason) for score in scores]

    def statistic(rows: Ints, partners: Ints) -> Floats:
        found = entropies(incidence.paired(rows, partners), align=True)
        return np.array([np.nan, np.nan] if found is None else found[:2])

    unaligned = entropies(incidence, align=False)
    assert unaligned is not None
    uncertainties = resample(
        statistic,
        aligned[:2],
        num_rows=len(corpus.messages),
        seed=options.seed,
        work=8 * incidence.work(),
        tails=["low", "low"],
        bounds=(0.0, float(np.log2(max(incidence.words.shape[1], incidence.concepts.shape[1])))),
    )
    return [
        score(
            value=aligned[place],
            ci95=found.ci95,
            details={
                "normalised": aligned[place] / aligned[place + 2] if aligned[place + 2] else None,
                "unaligned": unaligned[place],
            }
            | found.details,
        )
        for place, (score, found) in enumerate(zip(scores, uncertainties, strict=True))
    ]


def entropies(incidence: Incidence, *, align: bool) -> tuple[float, float, float, float] | None:
    """H(word | concept), H(concept | word), H(word) and H(concept) in bits, over words dealt out to concepts.

    Args:
        incidence: Words and concepts.
        align: Whether a word goes to the concept that it is drawn to most, rather than to all alike.

    Returns:
        None where no word meets a concept.
    """
    words, concepts = incidence.words, incidence.concepts
    num_words, num_concepts = words.shape[1], concepts.shape[1]
    row = np.repeat(np.arange(words.shape[0]), np.diff(words.indptr))  # of each word in a message
    width = np.diff(concepts.indptr)[row]  # how many concepts it meets
    meets = np.flatnonzero(width)
    if not len(meets):
        return None
    width, begin = width[meets], concepts.indptr[row[meets]]
    ends = np.cumsum(width)
    meeting = np.repeat(np.arange(len(meets)), width)  # a word in a message with one of its concepts
    concept = concepts.indices[np.arange(ends[-1]) + np.repeat(begin - (ends - width), width)]
    code = words.indices[meets].astype(np.int64)[meeting] * num_concepts + concept
    pair, originals = renumbered(code, num_words * num_concepts)
    share = np.ones(len(pair)) / width[meeting]
    if align:
        _, together = counted(pair, len(originals))
        # p(w) is the same for all concepts of a word, so p(w, c) / p(c) decides.
        draw = (together / np.asarray(concepts.sum(axis=0))[originals % num_concepts])[pair]
        strongest = draw == np.maximum.reduceat(draw, ends - width)[meeting]
        share = strongest / np.bincount(meeting, strongest)[meeting]
    weights = np.bincount(pair, share * words.data[meets][meeting])
    taken = weights > 0
    return conditional_entropies(
        weights[taken], originals[taken] // num_concepts, originals[taken] % num_concepts
    )
