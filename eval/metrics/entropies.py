"""Entropies of attributes and positions: residual entropy, human compositional entropy, attribute information."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import message_labels
from ecsuite.eval.counts.exchange import of_meanings
from ecsuite.eval.counts.positions import (
    CONSTANT_ATTRIBUTES,
    Positions,
    attribute_columns_or_reason,
    position_columns,
)
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import CORRECTED, Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints, chao_shen, entropies_of_codes, entropy, tally
from ecsuite.eval.statistics.resampling import Labels, resample, single_rows

EXACT_WORK = 1 << 26
"""Limit of num_attributes * 2^num_positions * num_messages up to which all assignments are tried."""
MAX_EXACT_POSITIONS = 12
"""Positions up to which all assignments are tried, as the search takes time 4^num_positions."""
EXACT_WORK_RESAMPLED = 1 << 19
"""Limit of `Entropies.search_work` up to which the null and the interval also try all assignments."""
MAX_ROWS_RESAMPLED = 1_000
"""Messages per draw of the null and the interval if the corpus has more than twice as many."""
_TOLERANCE = 1e-9
"""Differences of entropies below this, in bits, are rounding errors."""

Partition = tuple[int, ...]
"""The attribute of each position, (num_positions,)."""


_BIAS = "a sequence of symbols that occurs once determines its meaning, so scores of small corpora are biased"

HCE = Traits(
    name="hce",
    about="positions determine their attribute",
    title="human compositional entropy",
    high="1 if the positions of each attribute determine it; chance level 0.8 or more with few long messages",
    question="compositional",
    direction="higher",
    version=3,
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("attributes",),
    least_messages=5000,
    depends_on_size=_BIAS,
    details={
        "residual_bits": "mean bits of an attribute, given its positions",
        "residual_entropy": "share of this attribute's entropy that remains",
        "chao_shen": CORRECTED,
    },
)
RESIDUAL_ENTROPY = replace(
    HCE,
    name="residual_entropy",
    about="uncertainty left by the best positions",
    title="residual entropy",
    high="0 if each attribute is determined by its positions, 1 if they carry no information about it",
    direction="lower",
    least_messages=2000,
)


@metric(HCE)
def hce(corpus: Corpus, options: Options) -> list[Score]:
    """Human compositional entropy: Perkins (2021), appendix D, equation 1.

    Each position is assigned to the attribute with which it has the highest mutual information (the first in case of
    ties). HCE is 1 - mean_i H(o_i | z[p_i]) / H(o_i), where p_i are the positions of attribute i. Range 0 to 1; 1 if
    the positions of every attribute determine it. The details list the positions and the normalised conditional
    entropy of each attribute, and the mean conditional entropy in bits.

    Plug-in estimates over the corpus; `chao_shen` in the details is the score with entropies that have less bias, for
    the same positions (Chao and Shen 2003). EOS is removed; positions after the end of a message hold an extra
    symbol (blank). Constant attributes are left out. A sequence of symbols that occurs once determines its meaning, so
    any language scores high in a small corpus of long messages; the null distribution (messages exchanged between
    meanings) shows by how much. Interval: see docs/reading_a_score.md.
    """
    how = {"normalised": "yes", "past_end": "blank", "eos": "strip"}
    score = unscored(HCE, **how)
    entropies = entropies_or_reason(corpus)
    if isinstance(entropies, str):
        return [score(value=None, reason=entropies)]
    partition = entropies.most_informative()
    left = entropies.residuals(partition)
    value = entropies.explained(partition)

    def statistic(rows: Ints, partners: Ints) -> Floats:
        paired = entropies.paired(rows, partners)
        return np.array([np.nan if paired is None else paired.explained(paired.most_informative())])

    (found,) = resample(
        statistic,
        [value],
        num_rows=entropies.num_messages,
        exchange=of_meanings(corpus),
        seed=options.seed,
        work=4 * entropies.num_messages * entropies.num_positions * entropies.num_attributes,
    )
    details = entropies.describe(partition) | {
        "residual_bits": float(left.mean()),
        "chao_shen": 1 - entropies.corrected(partition),
    }
    details |= found.details
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=details)]


@metric(RESIDUAL_ENTROPY)
def residual_entropy(corpus: Corpus, options: Options) -> list[Score]:
    """Residual entropy: Resnick et al. (2020), as Perkins (2021) defines it in appendix D.

    The minimum of mean_i H(o_i | z[p_i]) / H(o_i) over all assignments of positions to attributes; an attribute may
    have no position. Range 0 to 1; 0 if every attribute is determined by its positions. `residual_bits` in the details
    is the minimum of the mean without division by H(o_i), which may have another assignment.

    `search:exact` in the signature: all assignments were tried. `search:greedy`, for longer messages or more
    messages: a local optimum, an assignment that no move of a single position improves (`greedy_search`); the value
    is then an upper bound and at most 1 - HCE. Otherwise as `hce`.

    Every draw of the null and of the interval has its own search for the best assignment. From about seven positions on
    this search is greedy (`null_search` in the details), and the greedy value is compared with chance; a corpus of more
    than 2,000 messages has draws of 1,000 messages.
    """
    [score] = plain_residual_entropy(corpus, options)
    entropies = entropies_or_reason(corpus)
    if score.value is None or isinstance(entropies, str):
        return [score]
    num_rows = min(entropies.num_messages, MAX_ROWS_RESAMPLED)
    is_exact = entropies.is_exact_feasible() and entropies.search_work(True, num_rows) <= EXACT_WORK_RESAMPLED
    search = exact_search if is_exact else greedy_search

    def uncertainty(some: EntropyTables) -> float:
        return 1 - some.explained(search(some, 1 / some.attribute_entropies))

    def statistic(rows: Ints, partners: Ints) -> Floats:
        paired = entropies.paired(rows, partners)
        return np.array([np.nan if paired is None else uncertainty(paired)])

    is_same = is_exact == entropies.is_exact_feasible()
    (found,) = resample(
        statistic,
        [score.value],
        num_rows=entropies.num_messages,
        exchange=of_meanings(corpus),
        seed=options.seed,
        work=entropies.search_work(is_exact, num_rows),
        reference_values=None if is_same else [uncertainty(entropies)],
        max_rows=MAX_ROWS_RESAMPLED,
    )
    how = {"null_search": "exact" if is_exact else "greedy"}
    return [
        structs.replace(
            score, ci95=found.ci95, chance=found.chance, details={**score.details, **found.details, **how}
        )
    ]


def plain_residual_entropy(corpus: Corpus, options: Options) -> list[Score]:
    """`residual_entropy` without null and interval, for studies that need only the value."""
    entropies = entropies_or_reason(corpus)
    is_exact = not isinstance(entropies, str) and entropies.is_exact_feasible()
    how = {"search": "exact" if is_exact else "greedy", "normalised": "yes", "past_end": "blank"}
    score = unscored(RESIDUAL_ENTROPY, **how, eos="strip")
    if isinstance(entropies, str):
        return [score(value=None, reason=entropies)]
    search = exact_search if is_exact else greedy_search
    partition = search(entropies, 1 / entropies.attribute_entropies)
    value = float(np.clip(np.mean(entropies.residuals(partition) / entropies.attribute_entropies), 0, 1))
    in_bits = entropies.residuals(search(entropies, np.ones(entropies.num_attributes)))
    details = entropies.describe(partition) | {
        "residual_bits": float(in_bits.mean()),
        "chao_shen": entropies.corrected(partition),
    }
    return [score(value=value, details=details)]


class EntropyTables:
    """Conditional entropies of attributes given positions, in bits, with a cache.

    Args:
        columns: The symbol at each position, codes from 0, shape (num_positions, num_messages); or `Positions`.
        attributes: Values of the non-constant attributes, codes from 0, shape (num_attributes, num_messages).
        names: Names of the attributes.
    """

    def __init__(
        self,
        columns: NDArray[np.integer[Any]] | Positions,
        attributes: NDArray[np.integer[Any]],
        names: tuple[str, ...],
    ) -> None:
        self.positions = columns if isinstance(columns, Positions) else Positions(columns)
        self.attributes, self.names = attributes, names
        self.num_positions, self.num_messages = self.positions.number, self.positions.num_messages
        self.num_attributes = len(attributes)
        self._num_values = (attributes.max(axis=1).astype(np.int64) + 1).tolist()
        self.attribute_entropies: Floats = np.array(entropies_of_codes(attributes, max(self._num_values)))
        self._cache: dict[tuple[int, tuple[int, ...]], float] = {}

    @cached_property
    def of_all_sets(self) -> Floats:
        """H(attribute | symbols) for all sets of positions, (2^num_positions, num_attributes); see `positions_in`."""
        sets = (self.positions_in(chosen) for chosen in range(1 << self.num_positions))
        return np.array([self.conditional_entropies(some) for some in sets])

    def positions_in(self, chosen: int) -> tuple[int, ...]:
        """The positions of a set, ascending: position p is in it if bit p is set."""
        return tuple(position for position in range(self.num_positions) if chosen >> position & 1)

    def is_exact_feasible(self) -> bool:
        """Whether the corpus is small enough for `exact_search`."""
        if self.num_positions > MAX_EXACT_POSITIONS:
            return False
        return bool(self.num_attributes * self.num_messages << self.num_positions <= EXACT_WORK)

    def search_work(self, is_exact: bool, num_rows: int) -> int:
        """Approximate number of table entries that a search over `num_rows` messages counts; each table adds 1,000."""
        positions: int = self.num_positions
        if is_exact:
            return self.num_attributes * ((num_rows + 1_000 << positions) + (1 << 2 * positions))
        return 30 * self.num_attributes * positions * (num_rows + 1_000)

    def conditional_entropy(self, attribute: int, positions: tuple[int, ...]) -> float:
        """Conditional entropy H(attribute | symbols at the positions); H(attribute) without positions."""
        key = attribute, positions
        known = self._cache.get(key)
        if known is None:
            joint = self.positions.bits_with(
                positions, self.attributes[attribute], self._num_values[attribute]
            )
            bits = joint - self.positions.bits(positions)
            known = self._cache[key] = bits if bits > _TOLERANCE else 0.0
        return known

    def conditional_entropies(self, positions: tuple[int, ...]) -> list[float]:
        """Conditional entropy H(attribute | symbols at the positions) of each attribute."""
        return [self.conditional_entropy(attribute, positions) for attribute in range(self.num_attributes)]

    def most_informative(self) -> Partition:
        """The attribute with the highest mutual information with each position; ties go to the first."""
        left = self.positions.bits_of_each_with(self.attributes, self._num_values)
        left -= np.array([[self.positions.bits((position,))] for position in range(self.num_positions)])
        left[left <= _TOLERANCE] = 0.0
        for position, bits in enumerate(left.tolist()):
            self._cache |= {(attribute, (position,)): each for attribute, each in enumerate(bits)}
        # Rounded, so that rounding errors do not break ties.
        shared = np.round(self.attribute_entropies - left, 9)
        return tuple(np.argmax(shared, axis=1).tolist())

    def residuals(self, partition: Partition) -> Floats:
        """Conditional entropy of each attribute given its positions, shape (num_attributes,)."""
        return np.array(
            [self.conditional_entropy(i, positions_of(partition, i)) for i in range(self.num_attributes)]
        )

    def explained(self, partition: Partition) -> float:
        """1 minus the mean normalised conditional entropy of the attributes, 0 to 1."""
        return float(np.clip(1 - np.mean(self.residuals(partition) / self.attribute_entropies), 0, 1))

    def corrected(self, partition: Partition) -> float:
        """The mean normalised conditional entropy of the attributes, 0 to 1, with less bias: see `chao_shen`."""
        shares = []
        for attribute, values in enumerate(self.attributes):
            codes, _ = self.positions.codes(positions_of(partition, attribute))
            left = chao_shen(tally(codes * self._num_values[attribute] + values)) - chao_shen(tally(codes))
            shares.append(left / chao_shen(np.bincount(values)))
        return float(np.clip(np.mean(shares), 0, 1))  # clipping each share would add a bias

    def paired(self, rows: Ints, partners: Ints) -> "EntropyTables | None":
        """The messages of `rows` with the meanings of `partners`; None if all attributes are then constant."""
        attributes = np.take(self.attributes, partners, axis=1)
        varying = np.flatnonzero(np.ptp(attributes, axis=1))
        names = tuple(self.names[attribute] for attribute in varying)
        if not len(varying):
            return None
        shares = self.num_messages <= 2 * MAX_ROWS_RESAMPLED  # all draws then have the same messages
        return EntropyTables(self.positions.take(rows, shares=shares), attributes[varying], names)

    def describe(self, partition: Partition) -> dict[str, object]:
        """Details of a score: positions and normalised conditional entropy of each attribute."""
        shares = self.residuals(partition) / self.attribute_entropies
        return {
            "positions": {name: list(positions_of(partition, i)) for i, name in enumerate(self.names)},
            "residual_entropy": dict(zip(self.names, shares.tolist(), strict=True)),
        }


def positions_of(partition: Partition, attribute: int) -> tuple[int, ...]:
    """The positions assigned to an attribute, ascending."""
    return tuple(position for position, owner in enumerate(partition) if owner == attribute)


def exact_search(entropies: EntropyTables, weights: Floats) -> Partition:
    """The assignment with the lowest weighted sum of residuals among all num_attributes^num_positions.

    The residual of an attribute depends only on its own positions and never increases with more positions. So
    residuals are computed once for each set of positions, and attributes are added one by one to the best
    assignment of each set (dynamic programming over subsets).

    Args:
        entropies: Entropies of the corpus.
        weights: Weight of the residual of each attribute, shape (num_attributes,).
    """
    sets = np.arange(1 << entropies.num_positions)
    left = entropies.of_all_sets * weights
    best, taken, further = left[:, 0], [], range(1, entropies.num_attributes)
    for attribute in further:
        least, choice = np.full(len(sets), np.inf), np.zeros_like(sets)
        for own in sets:
            others = sets[sets & own == 0]
            total = best[others] + left[own, attribute]
            is_less = total < least[others | own]
            least[others[is_less] | own] = total[is_less]
            choice[others[is_less] | own] = own
        best = least
        taken.append(choice)
    partition, rest = np.zeros(entropies.num_positions, np.int64), int(sets[-1])
    for attribute, choice in zip(reversed(further), reversed(taken), strict=True):
        own = int(choice[rest])
        partition[list(entropies.positions_in(own))] = attribute
        rest &= ~own
    return tuple(partition.tolist())


def greedy_search(entropies: EntropyTables, weights: Floats) -> Partition:
    """The better of two local optima: assignments that no move of a single position improves.

    One search starts from the assignment of HCE, one from equal blocks (the first positions for the first attribute).
    Each position in turn is moved to the attribute with the lowest cost, until no move improves the cost.

    Args:
        entropies: Entropies of the corpus.
        weights: Weight of the residual of each attribute, shape (num_attributes,).
    """

    def cost(partition: Partition) -> float:
        return float(entropies.residuals(partition) @ weights)

    def improve(best: Partition) -> Partition:
        left = entropies.residuals(best)
        owned = [positions_of(best, attribute) for attribute in range(num_attributes)]
        least, has_improved = float(left @ weights), True
        while has_improved and least > _TOLERANCE:  # nothing is below 0
            has_improved = False
            for position in range(num_positions):
                owner, rest = best[position], left.copy()
                without = tuple(each for each in owned[owner] if each != position)
                rest[owner] = entropies.conditional_entropy(owner, without)
                costs, moved = [least] * num_attributes, [left] * num_attributes
                # the gain of an attribute is at most its remaining entropy
                gains = weights * left > weights[owner] * (rest - left)[owner] + _TOLERANCE / 2
                for attribute, may_gain in enumerate(gains.tolist()):
                    if may_gain and attribute != owner:
                        own = tuple(sorted((*owned[attribute], position)))
                        moved[attribute] = rest.copy()
                        moved[attribute][attribute] = entropies.conditional_entropy(attribute, own)
                        costs[attribute] = float(moved[attribute] @ weights)
                if min(costs) < least - _TOLERANCE:
                    attribute = costs.index(min(costs))
                    least, left = costs[attribute], moved[attribute]
                    best = (*best[:position], attribute, *best[position + 1 :])
                    owned[owner], owned[attribute] = without, tuple(sorted((*owned[attribute], position)))
                    has_improved = True
        return best

    num_positions, num_attributes = entropies.num_positions, entropies.num_attributes
    blocks = tuple(position * num_attributes // num_positions for position in range(num_positions))
    return min(improve(entropies.most_informative()), improve(blocks), key=cost)


def entropies_or_reason(corpus: Corpus) -> EntropyTables | str:
    """The entropies of a corpus, or the reason why they are undefined."""
    attributes = attribute_columns_or_reason(corpus)
    if isinstance(attributes, str):
        return attributes
    varying = np.flatnonzero(np.ptp(attributes, axis=1))
    if not len(varying):
        return CONSTANT_ATTRIBUTES
    names = tuple(map(corpus.name_of_attribute, varying.tolist()))
    return EntropyTables(position_columns(corpus), attributes[varying], names)


ATTRIBUTE_INFORMATION = Traits(
    name="attribute_information",
    about="mean share of an attribute in messages",
    high="1 if messages determine every attribute; the chance level is near 1 if most messages occur once",
    question="consistent",
    version=2,
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("attributes",),
    depends_on_size="plug-in information is too high in small corpora, where single messages determine everything",
    by_name_only=True,
    details={
        "bits": "bits of information about this attribute",
        "shares": "share of this attribute's entropy",
        "sum_bits": "bits of all attributes, added",
        "chao_shen": CORRECTED,
    },
)


@metric(ATTRIBUTE_INFORMATION)
def attribute_information(corpus: Corpus, options: Options) -> list[Score]:
    """Mutual information I(m; a) of the message m, as a whole and without EOS, and the value a of an attribute.

    The score is the mean over attributes of I(m; a) / H(a): 1 if messages determine all attributes, 0 if they are
    independent. The details have I(m; a) in bits by attribute (`bits`), which shows what a language is about (as in
    Dessì et al. 2019, arXiv 1911.01892), as a share of H(a) (`shares`), and summed over attributes (`sum_bits`).

    Plug-in estimates over the corpus are biased upwards: messages that occur once determine everything. `chao_shen` in
    the details is the score with entropies that have less bias (Chao and Shen 2003). There, the share of a single
    attribute may be below 0, and only the mean is clipped, as clipping each share would make the mean too high. The
    null distribution (single messages exchanged) shows the size of the bias. Interval: see docs/reading_a_score.md.
    Constant attributes are left out. Undefined without attributes that vary, and if all messages are empty.
    """
    score = unscored(ATTRIBUTE_INFORMATION, eos="strip")
    attributes = attribute_columns_or_reason(corpus)
    if isinstance(attributes, str):
        return [score(value=None, reason=attributes)]
    varying = np.flatnonzero(np.ptp(attributes, axis=1))
    if not len(varying):
        return [score(value=None, reason=CONSTANT_ATTRIBUTES)]
    message, attributes = message_labels(corpus), attributes[varying]

    def statistic(rows: Ints, partners: Ints) -> Floats:
        return np.array([information(message[rows], attributes[:, partners])[1].mean()])

    bits, of_entropy = information(message, attributes)
    (found,) = resample(
        statistic,
        [float(of_entropy.mean())],
        num_rows=len(message),
        exchange=single_rows(len(message), message),
        seed=options.seed,
        work=10 * len(message) * len(varying),
    )
    names = list(map(corpus.name_of_attribute, varying.tolist()))
    details = {
        "bits": dict(zip(names, bits.tolist(), strict=True)),
        "shares": dict(zip(names, of_entropy.tolist(), strict=True)),
        "sum_bits": float(bits.sum()),
        "chao_shen": float(np.clip(information(message, attributes, chao_shen)[1].mean(), 0, 1)),
    }
    return [
        score(
            value=float(of_entropy.mean()),
            ci95=found.ci95,
            chance=found.chance,
            details=details | found.details,
        )
    ]


def information(
    message: Labels, attributes: Labels, of: Callable[[Ints], float] = entropy
) -> tuple[Floats, Floats]:
    """Mutual information I(m; a) of each attribute in bits, and as a share of H(a), 0 if H(a) is 0.

    Plug-in estimates are clipped to 0 to H(a), which removes rounding errors; others may be outside.

    Args:
        message: Codes of the messages from 0, (num_messages,).
        attributes: Codes of the values from 0, (num_attributes, num_messages).
        of: Estimator of entropies from counts: `entropy` or `chao_shen`.

    Returns:
        Two arrays (num_attributes,).
    """
    of_message = of(tally(message))
    of_values = np.array([of(tally(values)) for values in attributes])
    sizes = attributes.max(axis=1, initial=0).astype(np.int64) + 1
    joint = [of(tally(message * size + values)) for size, values in zip(sizes, attributes, strict=True)]
    bits = of_message + of_values - np.array(joint)
    if of is entropy:
        bits = np.clip(bits, 0.0, of_values)
    return bits, np.divide(bits, of_values, out=np.zeros_like(bits), where=of_values > 0)
