"""Residual entropy and HCE: how much of each attribute stays open, if each position may speak of one only?

Both hand every position of the messages to one attribute and ask what the positions of an attribute leave
open of it. Residual entropy takes the assignment that leaves the least; HCE takes each position's favourite.
Both see composition by concatenation, in any order of the symbols, and nothing else.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.statistics.counting import Floats, Ints, entropy, tally
from ecsuite.eval.statistics.positions import attributes_or_reason, position_columns
from ecsuite.eval.statistics.resampling import resample

VERSION = 1
EXACT_WORK = 1 << 26
"""Up to this many counted symbols, num_attributes * 2^num_positions * num_messages, all assignments are tried."""
MOST_EXACT_POSITIONS = 12
"""And with no more positions than these: the assignments are weighed in time 4^num_positions."""
EXACT_WORK_RESAMPLED = 1 << 19
"""Up to this much work (see `Entropies.search_work`) the null and the interval try all assignments, too."""
MOST_ROWS_RESAMPLED = 1_000
"""Of more than twice as many messages, the null and the interval of residual entropy draw this many."""

_NOTHING = 1e-9
"""Bits below which a difference of entropies is rounding noise."""
_MOST_CODES = 1 << 62
"""Codes stay below this, or they would overflow."""

Partition = tuple[int, ...]
"""The attribute that each position is assigned to, (num_positions,)."""


def hce(corpus: Corpus, options: Options) -> list[Score]:
    """Human compositional entropy: Perkins (2021), appendix D, equation 1.

    Each position goes to the attribute that it shares most information with (of equals, the first). HCE is
    1 - mean_i H(o_i | z[p_i]) / H(o_i), where p_i are the positions of attribute i. Range 0 to 1; 1 where
    the positions of every attribute tell it entirely. The details have the positions and the share left open
    of each attribute, and the mean that is left open in bits.

    Plug-in estimates over the corpus; beyond the end of a message, without EOS, stands a symbol of its own,
    a blank. Attributes that never vary are left out. As a sequence of symbols that never recurs tells all
    of its meaning, a small corpus of long messages flatters any language: the null, meanings shuffled over
    messages, shows by how much. Interval: see `resampling.resample`.
    """
    line = signature("hce", VERSION, normalised="yes", past_end="blank", eos="strip")
    score = partial(Score, name="hce", about="positions tell their attribute entirely", signature=line)
    entropies = entropies_or_reason(corpus)
    if isinstance(entropies, str):
        return [score(value=None, reason=entropies)]
    partition = entropies.favourites()
    left = entropies.residuals(partition)
    value = entropies.told(partition)

    def statistic(rows: Ints, partners: Ints) -> Floats:
        paired = entropies.paired(rows, partners)
        return np.array([np.nan if paired is None else paired.told(paired.favourites())])

    (found,) = resample(
        statistic,
        [value],
        num_rows=entropies.num_messages,
        seed=options.seed,
        work=4 * entropies.num_messages * entropies.num_positions * entropies.num_attributes,
        tails=["high"],
    )
    details = entropies.describe(partition) | {"residual_bits": float(left.mean())} | found.details
    return [score(value=value, ci95=found.ci95, details=details)]


def residual_entropy(corpus: Corpus, options: Options) -> list[Score]:
    """Residual entropy: Resnick et al. (2020), as Perkins (2021) defines it in appendix D.

    The least over all assignments of positions to attributes of mean_i H(o_i | z[p_i]) / H(o_i); an
    attribute may go without a position. Range 0 to 1; 0 where every attribute has positions that tell it
    entirely. In the details also `residual_bits`: the least mean without division by H(o_i), which may
    have another assignment.

    `search:exact` in the signature: all assignments were weighed. `search:greedy`, for longer messages
    or more of them: an assignment that moving any one position would not improve (`greedy_search`); so the
    value is an upper bound, and never above 1 - HCE. Otherwise as `hce`.

    Every draw of the null and of the interval seeks its own best assignment. From about seven positions on
    they seek it greedily (`null_search` in the details), and then the p-value is that of the greedy value;
    of more than 2,000 messages they take 1,000 (`null_rows`). `null_value` is what was held against the null.
    """
    [score] = plain_residual_entropy(corpus, options)
    entropies = entropies_or_reason(corpus)
    if score.value is None or isinstance(entropies, str):
        return [score]
    num_rows = min(entropies.num_messages, MOST_ROWS_RESAMPLED)
    is_exact = entropies.can_try_all() and entropies.search_work(True, num_rows) <= EXACT_WORK_RESAMPLED
    search = exact_search if is_exact else greedy_search

    def left_open(some: Entropies) -> float:
        return 1 - some.told(search(some, 1 / some.of_attributes))

    def statistic(rows: Ints, partners: Ints) -> Floats:
        paired = entropies.paired(rows, partners)
        return np.array([np.nan if paired is None else left_open(paired)])

    is_same = is_exact == entropies.can_try_all()
    (found,) = resample(
        statistic,
        [score.value],
        num_rows=entropies.num_messages,
        seed=options.seed,
        work=entropies.search_work(is_exact, num_rows),
        tails=["low"],
        stand_ins=None if is_same else [left_open(entropies)],
        most_rows=MOST_ROWS_RESAMPLED,
    )
    how = {"null_search": "exact" if is_exact else "greedy"}
    return [replace(score, ci95=found.ci95, details={**score.details, **found.details, **how})]


def plain_residual_entropy(corpus: Corpus, options: Options) -> list[Score]:
    """`residual_entropy` without null and interval, for studies that use the value alone."""
    entropies = entropies_or_reason(corpus)
    is_exact = not isinstance(entropies, str) and entropies.can_try_all()
    how = {"search": "exact" if is_exact else "greedy", "normalised": "yes"}
    line = signature("residual_entropy", VERSION, **how, past_end="blank", eos="strip")
    about = "what the best positions leave open"
    score = partial(Score, name="residual_entropy", about=about, signature=line)
    if isinstance(entropies, str):
        return [score(value=None, reason=entropies)]
    search = exact_search if is_exact else greedy_search
    partition = search(entropies, 1 / entropies.of_attributes)
    value = float(np.clip(np.mean(entropies.residuals(partition) / entropies.of_attributes), 0, 1))
    in_bits = entropies.residuals(search(entropies, np.ones(entropies.num_attributes)))
    return [
        score(value=value, details=entropies.describe(partition) | {"residual_bits": float(in_bits.mean())})
    ]


class Entropies:
    """What positions tell of attributes, in bits; what was computed once is remembered.

    Args:
        columns: The symbol at each position, codes from 0, shape (num_positions, num_messages).
        attributes: Values that vary, codes from 0, shape (num_attributes, num_messages).
        names: Of the attributes.
    """

    def __init__(self, columns: Ints, attributes: Ints, names: tuple[str, ...]) -> None:
        self.columns, self.attributes, self.names = columns, attributes, names
        self.num_positions, self.num_messages = columns.shape
        self.num_attributes = len(attributes)
        self.of_attributes: Floats = np.array([entropy(np.bincount(values)) for values in attributes])
        self._num_symbols = [int(column.max()) + 1 for column in columns]
        self._num_values = [int(values.max()) + 1 for values in attributes]
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def can_try_all(self) -> bool:
        """Whether the corpus is small enough for `exact_search`."""
        if self.num_positions > MOST_EXACT_POSITIONS:
            return False
        return bool(self.num_attributes * self.num_messages << self.num_positions <= EXACT_WORK)

    def search_work(self, is_exact: bool, num_rows: int) -> int:
        """About how many table entries a search counts over so many messages; a table itself is worth 1,000."""
        positions: int = self.num_positions
        if is_exact:
            return self.num_attributes * ((num_rows + 1_000 << positions) + (1 << 2 * positions))
        return 30 * self.num_attributes * positions * (num_rows + 1_000)

    def given(self, attribute: int, positions: tuple[int, ...]) -> float:
        """H(attribute | what stands at these positions); given no position, H(attribute)."""
        key = attribute, positions
        if key not in self._known:
            self._known[key] = self.all_given(positions, (attribute,))[0]
        return self._known[key]

    def all_given(self, positions: tuple[int, ...], attributes: tuple[int, ...]) -> list[float]:
        """H(attribute | what stands at these positions) of each attribute asked for."""
        codes = self._codes(positions)
        alone = entropy(tally(codes))
        joint = (codes * self._num_values[i] + self.attributes[i] for i in attributes)
        bits = [entropy(tally(both)) - alone for both in joint]
        return [value if value > _NOTHING else 0.0 for value in bits]

    def favourites(self) -> Partition:
        """The attribute that each position shares most information with; of equals, the first."""
        everyone = tuple(range(self.num_attributes))
        left = np.array([self.all_given((position,), everyone) for position in range(self.num_positions)])
        shared = np.round(self.of_attributes - left, 9)  # rounded, so that noise breaks no tie
        return tuple(np.argmax(shared, axis=1).tolist())

    def residuals(self, partition: Partition) -> Floats:
        """What the positions of each attribute leave open of it, shape (num_attributes,)."""
        return np.array([self.given(i, positions_of(partition, i)) for i in range(self.num_attributes)])

    def told(self, partition: Partition) -> float:
        """One less the mean share of the attributes that is left open, 0 to 1."""
        return float(np.clip(1 - np.mean(self.residuals(partition) / self.of_attributes), 0, 1))

    def paired(self, rows: Ints, partners: Ints) -> "Entropies | None":
        """The messages of `rows`, each with its partner's meaning; None if then no attribute varies."""
        attributes = self.attributes[:, partners]
        varying = np.flatnonzero(np.ptp(attributes, axis=1))
        names = tuple(self.names[attribute] for attribute in varying)
        return Entropies(self.columns[:, rows], attributes[varying], names) if len(varying) else None

    def describe(self, partition: Partition) -> dict[str, object]:
        """A partition for a score's details: whose each position is, and the share left open of each."""
        shares = self.residuals(partition) / self.of_attributes
        return {
            "positions": {name: list(positions_of(partition, i)) for i, name in enumerate(self.names)},
            "residual_entropy": dict(zip(self.names, shares.tolist(), strict=True)),
        }

    def _codes(self, positions: tuple[int, ...]) -> Ints:
        """What stands at some positions together, as codes no larger than is needed to count them fast."""
        codes, bound = np.zeros(self.num_messages, np.int64), 1
        for position in positions:
            if bound * self._num_symbols[position] > _MOST_CODES:
                codes, bound = _renumber(codes)
            codes = codes * self._num_symbols[position] + self.columns[position]
            bound *= self._num_symbols[position]
        return codes if bound <= 4 * self.num_messages else _renumber(codes)[0]


def positions_of(partition: Partition, attribute: int) -> tuple[int, ...]:
    """The positions that are assigned to an attribute, ascending."""
    return tuple(position for position, owner in enumerate(partition) if owner == attribute)


def exact_search(entropies: Entropies, weights: Floats) -> Partition:
    """The assignment with the least weighted sum of residuals, of all num_attributes^num_positions.

    A residual depends on the positions of its attribute alone, and more positions never leave more open: so
    residuals are computed once a set of positions, and attributes added one by one to what is the best
    for each set (dynamic programming over subsets).

    Args:
        entropies: Of the corpus.
        weights: Of each attribute's residual, shape (num_attributes,).
    """
    num_positions = entropies.num_positions
    everyone = tuple(range(entropies.num_attributes))
    sets = np.arange(1 << num_positions)  # bit p: position p is in the set
    members = [tuple(p for p in range(num_positions) if chosen >> p & 1) for chosen in sets.tolist()]
    left = np.array([entropies.all_given(positions, everyone) for positions in members]) * weights
    best, taken = left[:, 0], []
    for attribute in everyone[1:]:
        least, choice = np.full(len(sets), np.inf), np.zeros_like(sets)
        for own in sets:
            others = sets[sets & own == 0]
            total = best[others] + left[own, attribute]
            is_less = total < least[others | own]
            least[others[is_less] | own] = total[is_less]
            choice[others[is_less] | own] = own
        best = least
        taken.append(choice)
    partition, rest = np.zeros(num_positions, np.int64), int(sets[-1])
    for attribute, choice in zip(reversed(everyone[1:]), reversed(taken), strict=True):
        own = int(choice[rest])
        partition[list(members[own])] = attribute
        rest &= ~own
    return tuple(partition.tolist())


def greedy_search(entropies: Entropies, weights: Floats) -> Partition:
    """The better of two assignments that moving any one position would not improve.

    The search begins once with HCE's assignment and once with equal blocks, the first positions for the first
    attribute; one position after another moves to where it helps most, until none helps.

    Args:
        entropies: Of the corpus.
        weights: Of each attribute's residual, shape (num_attributes,).
    """

    def cost(partition: Partition) -> float:
        return float(entropies.residuals(partition) @ weights)

    def improve(best: Partition) -> Partition:
        least, has_improved = cost(best), True
        while has_improved:
            has_improved = False
            for position in range(num_positions):
                moves = [(*best[:position], i, *best[position + 1 :]) for i in range(num_attributes)]
                costs = [cost(move) for move in moves]
                if min(costs) < least - _NOTHING:
                    least, best = min(costs), moves[int(np.argmin(costs))]
                    has_improved = True
        return best

    num_positions, num_attributes = entropies.num_positions, entropies.num_attributes
    blocks = tuple(position * num_attributes // num_positions for position in range(num_positions))
    return min(improve(entropies.favourites()), improve(blocks), key=cost)


def _renumber(codes: Ints) -> tuple[Ints, int]:
    """Codes that are equal where these are, from 0, and how many there are."""
    known, dense = np.unique(codes, return_inverse=True)
    return dense, len(known)


def entropies_or_reason(corpus: Corpus) -> Entropies | str:
    """The entropies of a corpus, or why its positions can't be held against attributes."""
    attributes = attributes_or_reason(corpus)
    if isinstance(attributes, str):
        return attributes
    varying = np.flatnonzero(np.ptp(attributes, axis=0))
    if not len(varying):
        return "no attribute varies from message to message"
    names = tuple(f"attribute{i}" for i in varying.tolist())
    return Entropies(position_columns(corpus), attributes.T[varying], names)
