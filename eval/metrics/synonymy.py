"""Synonymy and polysemy: entropies of words given a concept, and of concepts given a word."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import Cells, Incidence, Units, incidence_of
from ecsuite.eval.counts.exchange import of_phrases
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import CORRECTED, Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints, chao_shen, conditional_entropies
from ecsuite.eval.statistics.resampling import resample

SYNONYMY = Traits(
    name="synonymy",
    about="bits of a word given its concept",
    high="0 if each concept has one word, 1 bit if each has two that are used alike",
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

    Null distribution: messages exchanged between meanings, then aligned again, as alignment itself lowers entropies.
    """
    kind, incidence = incidence_of(corpus)
    how = {"align": "pmi", "label": kind, "eos": "strip"}
    scores = [unscored(traits, **how) for traits in (SYNONYMY, POLYSEMY)]
    if isinstance(incidence, str):
        return [score(value=None, reason=incidence) for score in scores]
    every = incidence.all_rows
    pairs = assigned(incidence, every, every)
    if not len(pairs[0]):
        reason = "no message has both a symbol and a concept"
        return [score(value=None, reason=reason) for score in scores]
    aligned, corrected = conditional_entropies(*pairs), conditional_entropies(*pairs, chao_shen)
    unaligned = conditional_entropies(*assigned(incidence, every, every, align=False))

    def statistic(rows: Ints, partners: Ints) -> Floats:
        pairs = assigned(incidence, rows, partners)
        return np.array(conditional_entropies(*pairs)[:2] if len(pairs[0]) else [np.nan, np.nan])

    uncertainties = resample(
        statistic,
        aligned[:2],
        num_rows=incidence.num_rows,
        exchange=of_phrases(corpus),
        seed=options.seed,
        work=8 * incidence.work(),
        bounds=(0.0, float(np.log2(max(incidence.num_words, incidence.num_concepts)))),
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


def assigned(
    incidence: Incidence, rows: Ints, partners: Ints, *, align: bool = True
) -> tuple[Floats, Ints, Ints]:
    """How often each word is assigned to each concept, and the pairs of both, each (num_pairs,).

    Args:
        incidence: Words and concepts.
        rows: The messages, ascending.
        partners: The messages whose concepts they are paired with.
        align: Assign a word to the concept with the strongest association instead of to all equally.
    """
    every = incidence.units(rows, partners)
    association = _association(incidence, every, partners) if align else None
    found = Cells(incidence.num_cells)
    for units in every:
        is_exact = _assign(units, incidence, association, found)
        if not is_exact and units.is_joined:  # each is then assigned for itself, in their order
            found = Cells(incidence.num_cells)
            for each in incidence.units(rows, partners, joins=False):
                _assign(each, incidence, association, found)
    cells, weights = found.sums()
    return weights, *np.divmod(cells, incidence.num_concepts + 1)


def _assign(
    units: Units, incidence: Incidence, association: Callable[[Ints], Floats] | None, found: Cells
) -> bool:
    """Divide words over concepts, and add them there; whether all shares, and so their sums, are exact."""
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


def _association(incidence: Incidence, every: Iterable[Units], partners: Ints) -> Callable[[Ints], Floats]:
    """The association of the word and the concept of each of some cells that occur, 0 where there is no concept.

    As p(w) is the same for all concepts of a word, p(w, c) / p(c) decides.
    """
    together = Cells(incidence.num_cells)
    for units in every:
        for cell in incidence.cells(units):
            together.add(cell, units.messages)
    cells, counts = together.sums()
    concept = cells % (incidence.num_concepts + 1)
    strengths = np.where(
        concept < incidence.num_concepts, counts / np.maximum(1, incidence.totals(partners))[concept], 0
    )
    if not together.is_table:
        return lambda some: strengths[np.searchsorted(cells, some)]
    table = np.zeros(incidence.num_cells)
    table[cells] = strengths
    return table.take
