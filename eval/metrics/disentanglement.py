"""Disentanglement of positions and symbols: posdis, bosdis, MIG, DCI, and the number of conflicts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import dense_content, narrow_attributes, row_of
from ecsuite.eval.counts.exchange import of_meanings
from ecsuite.eval.counts.positions import CONSTANT_ATTRIBUTES, attribute_columns_or_reason, position_columns
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints, counted, entropy, index_type, renumbered
from ecsuite.eval.statistics.matching import assignment_solver
from ecsuite.eval.statistics.resampling import Pairing, Statistics, in_batches, resample
from ecsuite.runtime.ragged import Ragged

_BLOCK = 1 << 16
"""Observations or messages that are counted in one block."""
_MOST_ENTRIES = 1 << 18
"""Maximum number of entries of a table of variables and merged attributes."""
_MAX_TABLES = 1 << 20
"""Maximum number of entries of all tables of variables and attributes; above this, counts come from sorting."""
_MAX_ROWS = 2_000
"""Messages per draw for `dci_informativeness` if the corpus has more than twice as many."""
_SMALLEST = 1e-10
"""Probability in naive Bayes of a symbol that never occurs with a value in the training messages."""
_TOLERANCE = 1e-9
"""Entropies below this, in bits, are rounding errors: a single deviating row among 10^8 gives 3e-7."""


_BIAS = "plug-in information is too high in small corpora, most where structure is weak"

POSDIS = Traits(
    name="posdis",
    about="each position encodes one attribute",
    title="positional disentanglement",
    high="1 if each position encodes one attribute only; low where word order is free",
    question="compositional",
    direction="higher",
    version=3,
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("attributes",),
    depends_on_size=_BIAS,
)
BOSDIS = replace(
    POSDIS,
    name="bosdis",
    about="each symbol encodes one attribute",
    title="bag-of-symbols disentanglement",
    high="1 if the count of each symbol encodes one attribute; low where the position decides what a symbol means",
    least_messages=400,
)


@metric(POSDIS)
def posdis(corpus: Corpus, options: Options) -> list[Score]:
    """Positional disentanglement: Chaabouni et al. (2020), equation 1, https://arxiv.org/abs/2004.09124.

    The mean over positions j of (I(s_j; a1) - I(s_j; a2)) / H(s_j), where s_j is the symbol at j and a1, a2 are the
    attributes with the highest and second highest mutual information with s_j. Constant positions are left out.
    Plug-in estimates over the corpus. EOS is removed; positions after the end of a message hold an extra symbol
    (blank). Range 0 to 1; 1 if each position encodes one attribute only.

    Null distribution: messages exchanged between meanings. Its mean is above 0, as plug-in estimates of mutual
    information are biased upwards. Interval: see docs/reading_a_score.md. Undefined for fewer than two attributes, and
    if all attributes are constant.
    """
    score = unscored(POSDIS, past_end="blank", eos="strip")
    return _scores(corpus, options, [score], POSITIONS, gaps_of_variables)


@metric(BOSDIS)
def bosdis(corpus: Corpus, options: Options) -> list[Score]:
    """Bag-of-symbols disentanglement: Chaabouni et al. (2020), equation 2, https://arxiv.org/abs/2004.09124.

    As `posdis`, including null distribution and interval, but the variables are the counts of each symbol in the
    message, for all symbols that occur except EOS. Range 0 to 1; 1 if the count of each symbol encodes one attribute.
    """
    score = unscored(BOSDIS, eos="strip")
    return _scores(corpus, options, [score], SYMBOLS, gaps_of_variables)


MIG = replace(
    POSDIS,
    name="mig",
    version=1,
    about="each attribute is in one position",
    title="mutual information gap",
    high="1 if each attribute is encoded by one position; 0 if two positions carry the same information",
    by_name_only=True,
)


@metric(MIG)
def mig(corpus: Corpus, options: Options) -> list[Score]:
    """Mutual information gap: Chen et al. (2018), equation 6, https://arxiv.org/abs/1802.04942.

    The mean over attributes a of (I(s_1; a) - I(s_2; a)) / H(a), where s_1 and s_2 are the symbols at the two positions
    with the highest mutual information with a. Range 0 to 1; 1 if one position determines each attribute and no other
    position carries information about it, 0 if two positions carry the same information, as where word order is free.
    `posdis` measures the converse: its gap is between attributes, divided by the entropy of the position. A position
    may encode several attributes: messages of one symbol that names the whole meaning score 1.

    Plug-in estimates over the corpus; constant attributes are left out. EOS, positions after the end, null
    distribution, interval and undefined cases are as in `posdis`.
    """
    score = unscored(MIG, past_end="blank", eos="strip")
    return _scores(corpus, options, [score], POSITIONS, gaps_of_attributes)


DCI_DISENTANGLEMENT = replace(
    MIG,
    name="dci_disentanglement",
    about="each position matters to one attribute",
    title="disentanglement of DCI",
    high="1 if each position encodes one attribute only, 0 if it encodes all equally",
    has_reliable_interval=False,
)
DCI_COMPLETENESS = replace(
    DCI_DISENTANGLEMENT,
    name="dci_completeness",
    about="each attribute is encoded by one position",
    title="completeness of DCI",
    high="1 if each attribute is encoded by one position only, 0 if by all equally",
)
DCI_INFORMATIVENESS = replace(
    DCI_DISENTANGLEMENT,
    name="dci_informativeness",
    about="attribute values that a classifier predicts",
    title="informativeness of DCI",
    high="1 if the symbols at single positions predict the values of held-out meanings",
    has_reliable_interval=True,
    depends_on_size="the classifier learns more from larger corpora",
)


@metric(DCI_DISENTANGLEMENT, DCI_COMPLETENESS, DCI_INFORMATIVENESS)
def dci(corpus: Corpus, options: Options) -> list[Score]:
    """Disentanglement, completeness and informativeness: Eastwood & Williams (2018), section 2, OpenReview By-7dz-AZ.

    A classifier for each of K attributes reads the symbols at P positions, and R_jk is the importance of position j for
    attribute k. Disentanglement is the sum over j of rho_j (1 - H(R_j. / sum_k R_jk) / log K), where rho_j is the share
    of j in the sum of R; completeness is the mean over k of 1 - H(R_.k / sum_j R_jk) / log P, 0 for an attribute
    without any importance; informativeness is the mean over k of the classifier's accuracy on held-out meanings. All
    range from 0 to 1, and are 1 in a language that concatenates one symbol for each attribute value.

    The paper leaves the classifier open. Here it is naive Bayes over the symbols at positions with a uniform prior over
    values (scikit-learn's `CategoricalNB` with `fit_prior=False`, but a symbol never seen with a value has the
    probability 1e-10), which needs no random draws. R_jk is the mean log-likelihood ratio of the symbol at j in favour
    of the right value: their mutual information. The classifier for a meaning learns from the messages of all other
    meanings; if n values are tied, a right one among them counts as 1 / n.

    Constant positions and attributes are left out; disentanglement and completeness are undefined if fewer than two
    attributes, or positions, vary. EOS, positions after the end, null distribution and interval are as in `posdis`; for
    informativeness the last two use 2,000 messages if the corpus has more than twice as many.
    """
    how = {"past_end": "blank", "eos": "strip"}
    kinds = (DCI_DISENTANGLEMENT, DCI_COMPLETENESS)
    scores = _scores(
        corpus, options, [unscored(each, importance="mi", **how) for each in kinds], POSITIONS, importances
    )
    score = unscored(DCI_INFORMATIVENESS, classifier="naive bayes", left_out="meanings", **how)
    attributes, exchange = attribute_columns_or_reason(corpus), of_meanings(corpus)
    if isinstance(attributes, str) or exchange is None or exchange.num_units < 2:
        reason = attributes if isinstance(attributes, str) else CONSTANT_ATTRIBUTES
        return [*scores, score(value=None, reason=reason)]
    attributes, columns = attributes[np.ptp(attributes, axis=1) > 0], position_columns(corpus)

    def statistic(rows: Ints, partners: Ints) -> Floats:
        values = np.take(attributes, partners, axis=1)
        return np.array([accuracy(np.take(columns, rows, axis=1), values, exchange.of_row[rows])])

    value = accuracy(columns, attributes, exchange.of_row)
    [found] = resample(
        statistic,
        [value],
        num_rows=columns.shape[1],
        exchange=exchange,
        seed=options.seed,
        work=4 * min(columns.shape[1], _MAX_ROWS) * len(columns) * int((attributes.max(axis=1) + 1.0).sum()),
        max_rows=_MAX_ROWS,
    )
    return [*scores, score(value=value, ci95=found.ci95, chance=found.chance, details=found.details)]


def importances(information: Floats, of_attributes: Floats, of_variables: Floats) -> tuple[float, ...]:
    """Disentanglement and completeness of DCI with mutual information as importance; NaN if fewer than two vary."""
    some = information[of_attributes > _TOLERANCE][:, of_variables > _TOLERANCE]
    if min(some.shape) < 2:
        return float("nan"), float("nan")
    some = np.where(some > _TOLERANCE, some, 0)
    if not some.any():
        return 0.0, 0.0
    focus = _focus(some.T)
    return float(focus @ some.sum(axis=0) / some.sum()), float(_focus(some).mean())


def _focus(importance: Floats) -> Floats:
    """Compute 1 minus the normalised entropy of the shares in each row; 0 for a row of zeros."""
    sums = importance.sum(axis=1, keepdims=True)
    shares = np.divide(
        importance, sums, out=np.full_like(importance, 1 / importance.shape[1]), where=sums > 0
    )
    bits = -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=1)
    focus: Floats = np.clip(1 - bits / np.log2(importance.shape[1]), 0, 1)
    return focus


def accuracy(columns: NDArray[Any], attributes: NDArray[Any], unit: NDArray[Any]) -> float:
    """Mean accuracy of naive Bayes on attribute values, trained on the messages of all other units.

    Args:
        columns: The symbol at each position, codes from 0, (num_positions, num_messages).
        attributes: Values of the attributes, codes from 0, (num_attributes, num_messages), each constant in a unit.
        unit: The meaning of each message, (num_messages,); it is left out when its own messages are classified.
    """
    own_size, same = np.bincount(unit)[unit], []
    for symbols in columns:  # messages of the same unit with the same symbol
        bound = int(symbols.max()) + 1
        code = renumbered(unit * np.int64(bound) + symbols, (int(unit.max()) + 1) * bound)[0]
        same.append(np.bincount(code)[code])
    found = []
    for values in attributes:
        number, totals, tables = int(values.max()) + 1, np.bincount(values), []
        own: Floats = np.zeros(len(values))  # of the right value
        own_total = totals[values] - own_size
        for symbols, unit_count in zip(columns, same, strict=True):
            bound = int(symbols.max()) + 1
            codes = symbols * np.int64(number) + values
            table = np.bincount(codes, minlength=bound * number)
            tables.append(table.reshape(bound, number) / np.maximum(1, totals))
            own += np.log(np.maximum((table[codes] - unit_count) / np.maximum(1, own_total), _SMALLEST))
        own[own_total == 0] = -np.inf  # no training message has this value
        right = 0.0
        for start in range(0, len(values), _BLOCK):  # limits memory
            block = slice(start, start + _BLOCK)
            likelihood: Floats = np.where(totals, np.zeros((len(values[block]), 1)), -np.inf)
            for symbols, shares in zip(columns, tables, strict=True):
                likelihood += np.log(np.maximum(shares, _SMALLEST))[symbols[block]]
            every = np.arange(len(likelihood))
            likelihood[every, values[block]] = own[block]
            is_best = likelihood >= likelihood.max(axis=1, keepdims=True) - _TOLERANCE
            is_right = is_best[every, values[block]] & np.isfinite(own[block])
            right += float((is_right / is_best.sum(axis=1)).sum())
        found.append(right / len(values))
    return float(np.mean(found))


Observed = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Variable, message and value of each observation, codes from 0, each (num_observations,)."""


def _symbols_by_position(content: Ragged) -> Observed:
    narrow = index_type(len(content.values))
    row = np.repeat(np.arange(len(content), dtype=narrow), content.lengths)
    position: NDArray[Any] = np.arange(len(content.values), dtype=narrow)
    position -= content.offsets.astype(narrow)[row]
    return position, row, content.values.astype(narrow)


def _counts_by_symbol(content: Ragged) -> Observed:
    key, count = np.unique(content.values * np.int64(len(content)) + row_of(content), return_counts=True)
    return key // len(content), key % len(content), count


@dataclass(frozen=True, kw_only=True, slots=True)
class Variables:
    """Kind of variables of the messages."""

    name: str
    """The kind of variables: `position` or `symbol`."""
    observe: Callable[[Ragged], Observed]
    """Function from messages to their observations."""
    numbers: Callable[[int, int], tuple[int, int]]
    """Upper bounds of the numbers of variables and of values, given the longest length and the number of ids."""


POSITIONS = Variables(
    name="position", observe=_symbols_by_position, numbers=lambda longest, num_ids: (longest, num_ids)
)
SYMBOLS = Variables(
    name="symbol", observe=_counts_by_symbol, numbers=lambda longest, num_ids: (num_ids, longest + 1)
)


MergedValues = tuple[NDArray[np.integer[Any]], tuple[int, ...]]
"""Values of an attribute, or of several merged into one code, from 0, (num_rows,); and the size of each attribute."""


@dataclass(frozen=True, kw_only=True)
class Observations:
    """Sparse observations of discrete variables of the messages.

    Rows where a variable has its default value (blank, count 0) are not listed.
    """

    cell: NDArray[np.integer[Any]]
    """Index of the (variable, value) pair that was observed, from 0, shape (num_observations,)."""
    row: NDArray[np.integer[Any]]
    """Message of each observation, shape (num_observations,)."""
    variable: Ints
    """The variable of each cell, ascending, shape (num_cells,)."""
    num_variables: int
    """Number of variables; their indices are below this."""
    num_rows: int
    """Number of messages."""

    @classmethod
    def of(cls, observed: Observed, num_rows: int) -> "Observations":
        """Collect observations of some messages."""
        variable, row, value = observed
        num_variables, num_values = int(variable.max(initial=-1)) + 1, int(value.max(initial=-1)) + 1
        size = num_variables * num_values
        narrow = index_type(size)
        codes: NDArray[Any] = variable.astype(narrow)
        codes *= num_values
        codes += value.astype(narrow, copy=False)
        cell, originals = renumbered(codes, size)
        return cls(
            cell=cell.astype(narrow),
            row=row,
            variable=originals // max(1, num_values),
            num_variables=num_variables,
            num_rows=num_rows,
        )

    def figures(
        self, pairings: Sequence[Pairing], attributes: Sequence[MergedValues], measure: "Measure"
    ) -> list[tuple[Any, ...]]:
        """Compute figures of the variables in each pairing.

        Args:
            pairings: The messages, and for each message the message whose attribute values it gets.
            attributes: Values of the attributes, see `merged`.
            measure: Computes the figures from mutual information and entropies.
        """
        partner = np.full((len(pairings), self.num_rows), -1, index_type(self.num_rows))
        for draw, (rows, partners) in enumerate(pairings):
            partner[draw, rows] = partners
        partner_of = partner.take(self.row, axis=1).ravel()
        num_cells, draws = len(self.variable), np.arange(len(pairings))[:, None]
        cell = (self.cell + draws * num_cells).ravel()
        if any(len(rows) < self.num_rows for rows, _ in pairings):
            kept = np.flatnonzero(partner_of >= 0)
            partner_of, cell = partner_of[kept], cell[kept]
        partner_of = partner_of.astype(np.intp)
        num_rows = [np.array([len(rows)]) for rows, _ in pairings]
        [alone] = self._joint_entropies(cell, None, (1,), [num_rows])
        joint: list[Floats] = []
        of_attributes = []
        for labels, sizes in attributes:
            tables = [
                np.bincount(labels[partners], minlength=math.prod(sizes)).reshape(sizes)
                for _, partners in pairings
            ]
            totals = [
                [np.trim_zeros(table.sum(axis=_others(axis, len(sizes))), "b") for table in tables]
                for axis in range(len(sizes))
            ]
            joint += self._joint_entropies(cell, labels.take(partner_of), sizes, totals)
            of_attributes += [list(map(entropy, each)) for each in totals]
        return [
            measure(*information_of(own, list(of_values), list(both)))
            for own, of_values, both in zip(
                alone, zip(*of_attributes, strict=True), zip(*joint, strict=True), strict=True
            )
        ]

    def _joint_entropies(
        self,
        cell: Ints,
        label: NDArray[Any] | None,
        sizes: tuple[int, ...],
        totals: Sequence[Sequence[Ints]],
    ) -> list[Floats]:
        """Joint entropy H(X_k, value) in bits of each variable k with each attribute.

        Args:
            cell: The cell of each observation, pairing after pairing, (num_observations,).
            label: The merged values of the observation's message, from 0; None: all are 0.
            sizes: The number of values of each attribute.
            totals: For each attribute and pairing, the number of messages with each value.

        Returns:
            An array (num_pairings, num_variables) for each attribute.
        """
        number, found = len(totals[0]) * len(self.variable), []
        num_labels = math.prod(sizes)
        codes = cell if label is None else cell * np.int64(num_labels) + label
        if len(sizes) == 1:
            counts = [counted(codes, number * num_labels)]
        else:
            table = np.bincount(codes, minlength=number * num_labels).reshape(number, *sizes)
            tables = [
                table.sum(axis=(*(1 + np.array(_others(axis, len(sizes)))),)) for axis in range(len(sizes))
            ]
            counts = [((joint := np.flatnonzero(each)), each.ravel()[joint]) for each in tables]
        for size, (joint, count), of_values in zip(sizes, counts, totals, strict=True):
            pair = joint // size
            draw = pair // len(self.variable)
            variable = self.variable[pair - draw * len(self.variable)] + draw * self.num_variables
            found.append(
                _joint_entropies(variable, joint - pair * size, count, of_values, self.num_variables)
            )
        return found


def merged(attributes: Sequence[NDArray[np.integer[Any]]], most: int) -> list[MergedValues]:
    """Merge consecutive attributes of at most `most` combinations into one code, to count them together."""
    found: list[MergedValues] = []
    for values in attributes:
        size = int(values.max(initial=0)) + 1
        if found and math.prod(found[-1][1]) * size <= most:
            labels, sizes = found[-1]
            narrow = np.min_scalar_type(math.prod(sizes) * size)
            found[-1] = labels.astype(narrow) * narrow.type(size) + values.astype(narrow), (*sizes, size)
        else:
            found.append((values, (size,)))
    return found


def _others(axis: int, number: int) -> tuple[int, ...]:
    return tuple(each for each in range(number) if each != axis)


Measure = Callable[[Floats, Floats, Floats], tuple[Any, ...]]
"""Function from mutual information, (num_attributes, num_variables), and the entropies of attributes and of variables,
in bits, to figures; undefined figures are NaN."""


def information_of(
    alone: Floats, of_attributes: list[float], joint: list[Floats]
) -> tuple[Floats, Floats, Floats]:
    """Arguments of a `Measure` from the entropies of the variables, the attributes and their pairs."""
    entropies = np.array(of_attributes)
    return entropies[:, None] + alone - np.stack(joint), entropies, alone


def gaps_of_variables(information: Floats, of_attributes: Floats, of_variables: Floats) -> tuple[float, ...]:
    """Mean gap between the two attributes with the highest information about a variable, divided by its entropy."""
    return (_mean_gap(information.T, of_variables),)


def gaps_of_attributes(information: Floats, of_attributes: Floats, of_variables: Floats) -> tuple[float, ...]:
    """Mean gap between the two variables with the highest information about an attribute, divided by its entropy."""
    return (_mean_gap(information, of_attributes),)


def _mean_gap(information: Floats, entropies: Floats) -> float:
    """Mean gap between the two highest values of each varying row over its entropy; a missing second value is 0."""
    varies = entropies > _TOLERANCE
    if not varies.any():
        return float("nan")
    if information.shape[1] == 1:
        information = np.pad(information, ((0, 0), (1, 0)))
    second, first = np.sort(information[varies], axis=1)[:, -2:].T
    return float(np.clip(((first - second) / entropies[varies]).mean(), 0, 1))


def _joint_entropies(
    variable: Ints, label: Ints, count: Ints, totals: Sequence[Ints], num_variables: int
) -> Floats:
    """Joint entropy in bits of each variable and a label of the messages, (num_pairings, num_variables).

    Entropy is log2 n - sum c log2 c / n over the counts c. The count of the default value of a variable with a label is
    the number of messages with this label minus the observations of the variable in them.

    Args:
        variable: The variable of each observed (cell, label) pair, ascending, pairing after pairing, (num_observed,).
        label: The label of the pair.
        count: The number of observations of the pair.
        totals: The number of messages with each label, for each pairing.
        num_variables: Number of variables.
    """
    num_labels, number = max(map(len, totals)), len(totals) * num_variables
    of_pairing = np.zeros((len(totals), num_labels), np.int64)
    for own, each in zip(of_pairing, totals, strict=True):
        own[: len(each)] = each
    observed = np.bincount(variable, _weigh(count), number)
    of_label = np.bincount(variable * num_labels + label, count, number * num_labels).astype(np.int64)
    seen = np.flatnonzero(of_label)
    variable = seen // num_labels
    total, count = of_pairing[variable // num_variables, seen - variable * num_labels], of_label[seen]
    missing = np.bincount(variable, _weigh(total - count) - _weigh(total), number)
    spent = (observed + missing).reshape(len(totals), num_variables)
    num_rows = np.array([[int(each.sum())] for each in totals])
    spent += np.array([[_weigh(each).sum()] for each in totals])
    return np.asarray(np.log2(num_rows) - spent / num_rows)


def _whole_information(
    content: Ragged, variables: Variables, attributes: Sequence[NDArray[Any]]
) -> tuple[tuple[Any, ...], int]:
    """Arguments of a `Measure` for all messages, counted block by block if the tables are small.

    Returns:
        The arguments, and the number of observations.
    """
    longest, num_ids = int(content.lengths.max()), int(content.values.max()) + 1
    num_variables, num_values = variables.numbers(longest, num_ids)
    totals = [np.bincount(each) for each in attributes]
    sizes = [num_variables * num_values * len(each) for each in totals]
    if sum(sizes) > _MAX_TABLES:
        observations = Observations.of(variables.observe(content), len(content))
        every = np.arange(len(content))
        [read] = observations.figures([(every, every)], merged(attributes, 0), lambda *each: each)
        return read, len(observations.cell)
    tables, begin = [np.zeros(size, np.int64) for size in sizes], 0
    for rows in content.blocks(max(_BLOCK, max(sizes) // 8)):
        variable, row, symbol = variables.observe(rows)
        cell = variable * np.int64(num_values) + symbol
        for table, label, total in zip(tables, attributes, totals, strict=True):
            codes = cell * len(total)
            codes += label[begin : begin + len(rows)][row]
            table += np.bincount(codes, minlength=len(table))
        begin += len(rows)

    def joint_entropies(table: Ints, totals: Ints) -> Floats:
        joint = np.flatnonzero(table)
        cell = joint // len(totals)
        found = _joint_entropies(
            cell // num_values, joint % len(totals), table[joint], [totals], num_variables
        )
        return np.asarray(found[0])

    cells = tables[0].reshape(-1, len(totals[0])).sum(axis=1)
    alone = joint_entropies(cells, np.array([len(content)]))
    joints = [joint_entropies(*each) for each in zip(tables, totals, strict=True)]
    return information_of(alone, [entropy(each) for each in totals], joints), int(cells.sum())


def _scores(
    corpus: Corpus, options: Options, scores: Sequence[partial[Score]], variables: Variables, measure: Measure
) -> list[Score]:
    """Score the variables of the messages, positions or symbols, against the attributes of the meanings."""

    def undefined(reason: str) -> list[Score]:
        return [score(value=None, reason=reason) for score in scores]

    columns = narrow_attributes(corpus)
    if columns is None:
        return undefined(
            corpus.why_no_meanings if corpus.meanings is None else "features are not attribute values"
        )
    if len(columns) < 2:
        return undefined("fewer than two attributes")
    attributes = list(columns)
    content, _ = dense_content(corpus)
    if not len(content.values):
        return undefined("every message is empty")
    read, num_observations = _whole_information(content, variables, attributes)
    if not (num_varying := int((read[-1] > _TOLERANCE).sum())):
        return undefined(f"every {variables.name} is constant over all messages")
    if not any(each.any() for each in attributes):
        return undefined(CONSTANT_ATTRIBUTES)
    values = measure(*read)
    if np.isnan(values).any():
        return undefined(f"fewer than two attributes or {variables.name}s vary")

    def of_rows(some: Ints) -> Statistics:
        observed = Observations.of(variables.observe(content.take(some)), len(some))
        # Limits: tables that fit the cache, and no more entries than observations.
        most = min(len(observed.cell), _MOST_ENTRIES) // max(1, len(observed.variable))
        values = merged([each[some] for each in attributes], most)

        def figures(pairings: list[Pairing]) -> Floats:
            return np.array(observed.figures(pairings, values, measure))

        return in_batches(figures, len(observed.cell))

    found = resample(
        None,
        values,
        num_rows=len(content),
        exchange=of_meanings(corpus),
        seed=options.seed,
        work=2 * num_observations * (1 + len(attributes)),
        of_rows=of_rows,
    )
    return [
        score(
            value=value,
            ci95=each.ci95,
            chance=each.chance,
            details={f"num_{variables.name}s": num_varying} | each.details,
        )
        for score, value, each in zip(scores, values, found, strict=True)
    ]


def _weigh(counts: Ints) -> Floats:
    """The terms c log2 c of an entropy, 0 for 0."""
    return np.asarray(counts * np.log2(np.maximum(1, counts)))


CONFLICT_COUNT = Traits(
    name="conflict_count",
    about="symbols without their main meaning",
    high="0 if no symbol is ambiguous at its position; at most the number of all symbols",
    question="compositional",
    direction="lower",
    version=3,
    chance="shuffled meanings",
    needs=("attributes",),
    depends_on_size="a count over all messages",
    details={"share": "share of all symbols"},
)


@metric(CONFLICT_COUNT)
def conflict_count(corpus: Corpus, options: Options) -> list[Score]:
    """Conflict count: Kuciński et al. (2020; 2021, https://arxiv.org/abs/2111.06464).

    Each position of the messages is assigned to one attribute. The main meaning of a symbol at a position is the value
    with which it co-occurs most often; each co-occurrence with another value is a conflict. The score is the number of
    conflicts under the assignment with the fewest. As conflicts are a sum over positions, this is a linear assignment
    problem; no search through all permutations is needed. Counted over rows, so repeated meanings count repeatedly.

    0 if every position encodes one attribute and no symbol is ambiguous; at most num_messages * num_attributes;
    `share` in the details is the count divided by this product. Defined only if every message, without EOS, has one
    symbol per attribute. Null distribution: messages exchanged between meanings.
    """
    score = unscored(CONFLICT_COUNT, unit="rows", eos="strip")
    attributes = attribute_columns_or_reason(corpus)
    if isinstance(attributes, str):
        return [score(value=None, reason=attributes)]
    content, symbols = dense_content(corpus)
    width, num_rows = attributes.shape
    shortest, longest = int(content.lengths.min()), int(content.lengths.max())
    if not shortest == longest == width:
        lengths = f"{shortest}" if shortest == longest else f"{shortest} to {longest}"
        reason = f"expected {width} symbols per message (one per attribute), got {lengths}"
        return [score(value=None, reason=reason)]
    message_symbols = content.values.reshape(num_rows, width).T

    def statistic(rows: Ints, partners: Ints) -> Floats:
        agreements = _agreements(
            np.take(message_symbols, rows, axis=1), np.take(attributes, partners, axis=1), len(symbols)
        )
        conflicts = len(rows) * width - _most_agreements(agreements)
        return np.array([conflicts * num_rows / len(rows)])

    value = num_rows * width - _most_agreements(_agreements(message_symbols, attributes, len(symbols)))
    (found,) = resample(
        statistic,
        [value],
        num_rows=num_rows,
        exchange=of_meanings(corpus),
        seed=options.seed,
        work=2 * num_rows * width**2,
        bounds=(0.0, float(num_rows * width)),
    )
    details = {"share": value / (num_rows * width)} | found.details
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=details)]


def _most_agreements(agreements: Ints) -> int:
    """The highest sum of agreements over all assignments of positions to attributes, (width, width)."""
    position, attribute = assignment_solver()(agreements, maximize=True)
    return int(agreements[position, attribute].sum())


def _agreements(
    message_symbols: NDArray[np.integer[Any]], attributes: NDArray[np.integer[Any]], num_symbols: int
) -> Ints:
    """Number of rows whose value is the most frequent value of their symbol, shape (num_positions, num_attributes).

    Args:
        message_symbols: Symbols from 0, shape (num_positions, num_rows).
        attributes: Values from 0, shape (num_attributes, num_rows).
        num_symbols: Number of distinct symbols.
    """
    agreements = np.zeros((len(message_symbols), len(attributes)), np.int64)
    for attribute, values in enumerate(attributes):
        num_values = int(values.max()) + 1
        for position, symbols in enumerate(message_symbols):
            codes = symbols * np.int64(num_values)
            codes += values
            code, count = counted(codes, num_symbols * num_values)
            most = np.zeros(num_symbols, np.int64)
            np.maximum.at(most, code // num_values, count)
            agreements[position, attribute] = most.sum()
    return agreements
