"""Morphemes of a language: form-meaning pairs by count, select, ablate, repeat (CSAR).

Boldt & Mortensen 2025 (EMNLP, arXiv 2510.03439). A form is an n-gram of symbols, a meaning a set of concepts (attribute
values). The weight of a pair is the mutual information, in bits, of two binary variables: whether a message has the
form, and whether it is about the meaning. The pair of the highest weight is selected and removed from the messages
that have both; this is repeated with new counts.

Rules of the authors' program (csar, src/induction/csar.py) that the paper does not have, and that are kept:

- A weight falls with the counts of what is left, but never rises (`_refresh_priority`), so what is rare in the rest of
  the messages is not selected for being all that is left.
- Of equal weights the pair with the highest weight at first comes first, then that of the form selected least often,
  then the longer form, then the smaller meaning (`_main_loop`).

Rules of that program that are not kept:

- A selected meaning is removed from all messages with the form, also where they are about a part of it only.
- Where a message has several occurrences of a form, that is removed which leaves the best pairs; here the first.

Rules that are ours: a pair must occur together more often than independent ones would, since mutual information is
as high for pairs that avoid each other, and in two messages. A form and a meaning must each occur with two different
whole meanings, since otherwise they are names of a whole.

And it ends earlier: the authors' program goes on until nothing is left, and so finds morphemes in any language. Here
pairs are selected in rounds. In a round the weights are compared with those after whole meanings (what is left of
them) were exchanged with each other, 20 times. In the first, one must exceed all of these, so that a language without
morphemes has none. The weight that pairs must have is then the least at which chance makes at most `FALSE_SHARE` as
many pairs. As what was selected is removed, chance makes fewer pairs in the next round, so that rarer morphemes stand
out; it ends when none does. `induce_all` has none of our rules but the first, and not this end.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import chdtri

from ecsuite.eval.metrics.morpheme_units import Units, forms_of, meanings_of
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.estimates import student_tail
from ecsuite.runtime.ragged import Ragged

_ROUNDING = 1e-9
"""Weights, in bits, that differ by less are equal."""
FALSE_SHARE = 0.2
"""Most pairs that chance makes, as a share of those that are selected from."""
_KEPT = 0.7
"""Where a smaller share of pairs can still be selected, the others are left out, which saves time."""
_LOOKED_AT = 100
"""Pairs that chance makes of which weights are kept, about; lower ones are not looked at, which saves time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Morpheme:
    """A form that means something."""

    form: tuple[int, ...]
    """Symbols."""
    meaning: tuple[int, ...]
    """Concepts, ascending."""
    weight: float
    """Mutual information in bits when it was selected."""
    num_messages: int
    """Messages in which it was found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Inventory:
    """The morphemes of a corpus, and where they are."""

    morphemes: tuple[Morpheme, ...]
    """In the order of their selection."""
    of_symbol: Ints
    """The morpheme that each symbol belongs to; -1 if none, (num_symbols,)."""
    of_concept: Ints
    """The same of each concept of the meanings, (num_concepts,)."""
    least_weight: float
    """The least weight that pairs had to have, in bits; without morphemes the highest that chance reached."""
    p_value: float
    """Probability that chance alone makes a pair of the highest weight, by Student's t of the highest weights of the
    exchanged corpora; 1 without morphemes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pairs:
    """Forms and meanings that occur together, and how often."""

    form: Ints
    meaning: Ints
    joint: Floats
    """Messages with both."""
    weight: Floats
    """Mutual information in bits."""

    def above(self, least: float) -> "_Pairs":
        """Only those of at least this weight."""
        return self.chosen(self.weight >= least)

    def chosen(self, chosen: NDArray[np.bool_]) -> "_Pairs":
        """Only some of them."""
        return _Pairs(
            form=self.form[chosen],
            meaning=self.meaning[chosen],
            joint=self.joint[chosen],
            weight=self.weight[chosen],
        )


def induce(
    messages: Ragged, concepts: Ragged, whole: Ints, rng: np.random.Generator, shuffles: int
) -> Inventory:
    """Find the morphemes.

    Args:
        messages: Without EOS.
        concepts: What each message is about, as ascending ids.
        whole: The number of the whole meaning of each message, from 0, (num_messages,).
        rng: Exchanges whole meanings.
        shuffles: How often, to find the weight that pairs must have.
    """
    forms, meanings = forms_of(messages), meanings_of(concepts)
    of_symbol, of_concept = (np.full(len(each.values), -1) for each in (messages, concepts))
    found: list[Morpheme] = []
    lowest, p_value = np.inf, 1.0
    while True:
        forms, meanings = forms.left(of_symbol < 0, whole), meanings.left(of_concept < 0, whole)
        pairs, by_chance, highest = _weights(forms, meanings, whole, rng, shuffles)
        least = _least(pairs.weight, by_chance, shuffles, is_first=not found)
        if least == np.inf:
            break
        if not found:
            p_value = _p_value(float(pairs.weight.max()), highest)
        lowest = min(lowest, least)
        _select(
            pairs.above(least), forms, meanings, (messages, of_symbol), (concepts, of_concept), least, found
        )
    return Inventory(
        morphemes=tuple(found),
        of_symbol=of_symbol,
        of_concept=of_concept,
        least_weight=float(lowest if found else by_chance.max(initial=0.0)),
        p_value=p_value,
    )


def induce_all(messages: Ragged, concepts: Ragged, whole: Ints) -> Inventory:
    """Find morphemes until nothing is left, as the authors' program does; also those that occur once.

    Args:
        messages: Without EOS.
        concepts: What each message is about, as ascending ids.
        whole: The number of the whole meaning of each message, from 0, (num_messages,).
    """
    of_symbol, of_concept = (np.full(len(each.values), -1) for each in (messages, concepts))
    forms = forms_of(messages, least=1).left(of_symbol < 0, whole, recurring=False)
    meanings = meanings_of(concepts).left(of_concept < 0, whole, recurring=False)
    rows = np.arange(len(whole))
    pairs = _weighted(csr_array(forms.present(rows).T), meanings.present(rows), are_all=True)
    found: list[Morpheme] = []
    _select(pairs, forms, meanings, (messages, of_symbol), (concepts, of_concept), _ROUNDING, found)
    lowest = min((each.weight for each in found), default=0.0)
    return Inventory(
        morphemes=tuple(found), of_symbol=of_symbol, of_concept=of_concept, least_weight=lowest, p_value=1.0
    )


def _weights(
    forms: Units, meanings: Units, whole: Ints, rng: np.random.Generator, shuffles: int
) -> tuple[_Pairs, Floats, Floats]:
    """The pairs of what is left; the weights of all pairs after exchanges of whole meanings, and each one's highest."""
    rows = np.arange(len(whole))
    with_form = csr_array(forms.present(rows).T)
    with_meaning = meanings.present(rows)
    pairs = _weighted(with_form, with_meaning)
    if not len(pairs.weight):
        return pairs, np.zeros(0), np.zeros(0)
    members = np.argsort(whole, kind="stable")
    sizes = np.bincount(whole)
    starts, place = np.cumsum(sizes) - sizes, np.empty(len(whole), np.int64)
    place[members] = np.arange(len(whole)) - (np.cumsum(sizes) - sizes)[whole[members]]
    by_chance = []
    for _ in range(shuffles):
        other = rng.permutation(len(sizes))[whole]
        source = members[starts[other] + place % sizes[other]]
        by_chance.append(_weighted(with_form, with_meaning[source]).weight)
    return pairs, np.concatenate(by_chance), np.array([each.max(initial=0.0) for each in by_chance])


def _p_value(weight: float, highest: Floats) -> float:
    """Probability that one more exchange has so high a weight; at most that by ranks."""
    by_rank, spread = 1 / (1 + len(highest)), float(highest.std(ddof=1)) * np.sqrt(1 + 1 / len(highest))
    if spread < _ROUNDING:
        return by_rank
    return min(by_rank, student_tail((weight - highest.mean()) / spread, len(highest) - 1))


def _least(weights: Floats, by_chance: Floats, shuffles: int, *, is_first: bool) -> float:
    """The weight that pairs must have for at most a share of them to be chance; infinite if none has it."""
    highest = by_chance.max(initial=0.0) + _ROUNDING
    if not len(weights) or (is_first and weights.max() <= highest):
        return np.inf
    found = np.sort(weights)[::-1]
    exceeding = len(by_chance) - np.searchsorted(np.sort(by_chance), found - _ROUNDING)
    good = np.flatnonzero(exceeding / shuffles <= FALSE_SHARE * np.arange(1, len(found) + 1))
    return float(found[good[-1]]) if len(good) else np.inf


def _select(
    pairs: _Pairs,
    forms: Units,
    meanings: Units,
    said: tuple[Ragged, Ints],
    meant: tuple[Ragged, Ints],
    least: float,
    found: list[Morpheme],
) -> None:
    """Select and ablate until no weight is left; marks what is taken, and appends to `found`."""
    (messages, of_symbol), (concepts, of_concept) = said, meant
    num_rows = len(messages)
    rows = np.arange(num_rows)
    counts = [np.asarray(units.present(rows).sum(0), float) for units in (forms, meanings)]
    num_uses = np.zeros(len(forms.size), np.int64)
    joint, weights = pairs.joint.copy(), pairs.weight.copy()
    while len(weights) and weights.max() >= least:
        best = _best(pairs, weights, forms, meanings, num_uses)
        form, meaning = int(pairs.form[best]), int(pairs.meaning[best])
        num_uses[form] += 1
        in_form, at = forms.first_alive(form)
        in_meaning, about = meanings.first_alive(meaning)
        rows, at_form, at_meaning = np.intersect1d(
            in_form, in_meaning, assume_unique=True, return_indices=True
        )
        symbols, parts = forms.parts[at[at_form]], meanings.parts[about[at_meaning]]
        found.append(
            Morpheme(
                form=tuple(messages.values[symbols[0][: forms.size[form]]].tolist()),
                meaning=tuple(concepts.values[parts[0][: meanings.size[meaning]]].tolist()),
                weight=float(weights[best]),
                num_messages=len(rows),
            )
        )
        before = [units.present(rows) for units in (forms, meanings)]
        of_symbol[symbols], of_concept[parts] = len(found) - 1, len(found) - 1
        forms.remove(rows, of_symbol >= 0)
        meanings.remove(rows, of_concept >= 0)
        after = [units.present(rows) for units in (forms, meanings)]
        changed = []
        for count, old, new in zip(counts, before, after, strict=True):
            fewer = np.asarray(old.sum(0)) - np.asarray(new.sum(0))
            count -= fewer
            changed.append(fewer > 0)
        near = np.flatnonzero(changed[0][pairs.form] | changed[1][pairs.meaning])
        of_form, of_meaning = pairs.form[near], pairs.meaning[near]
        gone = csr_array(before[0].T @ before[1] - after[0].T @ after[1])
        joint[near] -= np.asarray(gone[of_form, of_meaning]).ravel()
        information = _information(joint[near], counts[0][of_form], counts[1][of_meaning], num_rows)
        weights[near] = np.minimum(weights[near], information)
        weights[best] = 0
        kept = weights >= least
        if kept.mean() < _KEPT:
            pairs, joint, weights = pairs.chosen(kept), joint[kept], weights[kept]


def _best(pairs: _Pairs, weights: Floats, forms: Units, meanings: Units, num_uses: Ints) -> int:
    """The pair to select next."""
    tied = np.flatnonzero(weights > weights.max() - _ROUNDING)
    form, meaning = pairs.form[tied], pairs.meaning[tied]
    first_weight = np.round(pairs.weight[tied] / _ROUNDING)
    order = np.lexsort(
        [form, meaning, meanings.size[meaning], -forms.size[form], num_uses[form], -first_weight]
    )
    return int(tied[order[0]])


def _weighted(with_form: csr_array, with_meaning: csr_array, *, are_all: bool = False) -> _Pairs:
    """Pairs that occur together more often than independent ones would, and not only by a little, or all such.

    Most are left out by a bound without logarithms: mutual information is at most log2(1 + phi^2), where phi is the
    correlation of the two variables, as the Kullback-Leibler divergence is by that of chi-squared.

    Args:
        with_form: Which messages have each form, (num_forms, num_messages).
        with_meaning: Which meanings each message has, (num_messages, num_meanings).
        are_all: Also those that do so by a little, or in one message.
    """
    together = csr_array(with_form @ with_meaning)
    total = with_meaning.shape[0]
    form_counts, meaning_counts = np.asarray(with_form.sum(1)), np.asarray(with_meaning.sum(0))
    form_ends, meaning_ends = (each * (total - each) for each in (form_counts, meaning_counts))
    form = np.repeat(np.arange(together.shape[0]), np.diff(together.indptr))
    meaning, joint = together.indices, together.data
    excess = joint * total - form_counts[form] * meaning_counts[meaning]
    rare = min(1e-3, _LOOKED_AT / max(1, len(form_counts) * len(meaning_counts)))
    least = chdtri(1, rare) / (2 * total * np.log(2))  # Wilks 1938: 2 N times mutual information in nats
    may = (joint > 1) & (excess > 0) & (excess**2 >= (2**least - 1) * form_ends[form] * meaning_ends[meaning])
    may = excess > 0 if are_all else may
    form, meaning, joint = form[may].astype(np.int64), meaning[may].astype(np.int64), joint[may]
    weight = _information(joint, form_counts[form], meaning_counts[meaning], total)
    return _Pairs(form=form, meaning=meaning, joint=joint, weight=weight)


def _information(joint: Floats, first: Floats, second: Floats, total: float) -> Floats:
    """Mutual information of binary variables in bits; 0 for pairs that occur together no more often than independent.

    Args:
        joint: Messages with both, (num_pairs,).
        first: Messages with the form.
        second: Messages with the meaning.
        total: All messages.
    """
    information = np.zeros(len(joint))
    for both, one, other in (
        (joint, first, second),
        (first - joint, first, total - second),
        (second - joint, total - first, second),
        (total - first - second + joint, total - first, total - second),
    ):
        there = both > 0
        ratio = np.divide(both * total, one * other, where=there, out=np.ones(len(joint)))
        information += both / total * np.log2(ratio)
    return np.where(joint * total > first * second, information, 0.0)
