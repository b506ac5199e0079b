"""Variation in how positions encode attribute values: synonymy, homonymy, word-order freedom, entanglement."""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.exchange import of_meanings
from ecsuite.eval.counts.positions import CONSTANT_ATTRIBUTES, attribute_columns_or_reason, position_columns
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints, counted
from ecsuite.eval.statistics.resampling import resample
from ecsuite.parts.config import Natural

_TOLERANCE = 1e-9
"""Entropies below this, in bits, are rounding errors."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VariationOptions:
    """Options of `variation`."""

    program: Literal["conklin", "celebi"] = "conklin"
    """Program whose homonymy is computed: Conklin & Smith 2023, or CELEBI (Elberg et al. 2025)."""
    characters: Natural = 0
    """Number of symbols of the alphabet, including the blank if messages differ in length; 0: symbols that occur."""


DEFAULT = VariationOptions()
VARIATION_SYNONYMY = Traits(
    name="variation_synonymy",
    about="spread of symbols at a value's best position",
    title="synonymy of attribute values over positions",
    high="0 if each value has one symbol at some position, 1 if all symbols are equally frequent at every position",
    question="compositional",
    direction="lower",
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("attributes",),
    depends_on_size="plug-in entropies are too low in small corpora",
    by_name_only=True,
    options=VariationOptions,
)
VARIATION_HOMONYMY = replace(
    VARIATION_SYNONYMY,
    name="variation_homonymy",
    about="spread of values of a symbol at the best position",
    title="homonymy of symbols at positions",
    high="0 if each symbol at some position means one value of an attribute, 1 if symbols say nothing about it",
)
VARIATION_FREEDOM = replace(
    VARIATION_SYNONYMY,
    name="variation_freedom",
    about="spread of symbols at an attribute's best position",
    title="word-order freedom",
    high="0 if each attribute has a fixed position, 1 if its values occur at all positions equally",
)
VARIATION_ENTANGLEMENT = replace(
    VARIATION_SYNONYMY,
    name="variation_entanglement",
    about="two attributes are in the same positions",
    title="entanglement of attributes",
    high="0 if each attribute has positions of its own, 1 if every position encodes all attributes equally",
)
_KINDS = (VARIATION_SYNONYMY, VARIATION_HOMONYMY, VARIATION_FREEDOM, VARIATION_ENTANGLEMENT)


@metric(*_KINDS)
def variation(corpus: Corpus, options: Options, own: VariationOptions = DEFAULT) -> list[Score]:
    """Four measures of variation: Conklin & Smith (2023), https://openreview.net/forum?id=-Yzz6vlX7V-.

    Computed as in the authors' program, from p(s | v, j), the distribution of the symbol s at position j in the
    messages about a value v of an attribute; V are its values, C is the number of symbols. All are from 0 to 1, and 0
    in a language that concatenates one symbol for each attribute value; homonymy and entanglement are 1 in a constant
    language. `variation_synonymy` is the mean over values, and over attributes, of min over j of H(s | v, j) / log C.
    `variation_homonymy` is H(v | s, j) / log V with p(v | s, j) proportional to p(s | v, j), so that all values are
    equally likely: the mean over the symbols at j, the minimum over j, the mean over attributes.
    `variation_freedom` is the minimum over j of the mean over values of H(s | v, j) / log C, the mean over attributes,
    and never below synonymy. `variation_entanglement` is 1 - max over j of |h_j - g_j| / max over j of h_j and g_j,
    where h and g are the means over values of H(s | v, j) of two attributes: the mean over their pairs, 1 where all
    are 0.

    CELEBI (Elberg et al. 2025, https://arxiv.org/abs/2501.19182) has the same measures except homonymy
    (`program=celebi`): the minimum over j is taken for each symbol, and is 0 if a position never has it; the mean is
    over all symbols of the alphabet. So a constant language has 1 / C there. Both programs count the symbols of the
    channel's alphabet; here C is the number of symbols that occur unless `characters` is given.

    Plug-in estimates. EOS is removed; positions after the end of a message hold an extra symbol (blank). Constant
    attributes are left out. Null distribution: messages exchanged between meanings. Undefined without attributes that
    vary, and entanglement for fewer than two.
    """
    how = {"past_end": "blank", "eos": "strip"}
    scores = [
        unscored(traits, program=own.program, characters=own.characters or "used", **how) for traits in _KINDS
    ]
    attributes = attribute_columns_or_reason(corpus)
    if isinstance(attributes, str):
        return [score(value=None, reason=attributes) for score in scores]
    attributes = attributes[np.ptp(attributes, axis=1) > 0]
    columns = position_columns(corpus)
    num_used = int((np.bincount(columns.ravel()) > 0).sum())
    reason = None if len(attributes) else CONSTANT_ATTRIBUTES
    if own.characters and own.characters < num_used:
        reason = (
            f"expected at least {num_used} characters, the number of different symbols, got {own.characters}"
        )
    if reason:
        return [score(value=None, reason=reason) for score in scores]

    def statistic(rows: Ints, partners: Ints) -> Floats:
        return measures(np.take(columns, rows, axis=1), np.take(attributes, partners, axis=1), own)

    values = measures(columns, attributes, own)
    found = resample(
        statistic,
        values.tolist(),
        num_rows=columns.shape[1],
        exchange=of_meanings(corpus),
        seed=options.seed,
        work=4 * columns.size * len(attributes),
    )
    return [
        score(value=None, reason="fewer than two attributes vary")
        if np.isnan(value)
        else score(value=float(value), ci95=each.ci95, chance=each.chance, details=each.details)
        for score, value, each in zip(scores, values, found, strict=True)
    ]


def measures(
    columns: NDArray[np.integer[Any]], attributes: NDArray[np.integer[Any]], own: VariationOptions
) -> Floats:
    """Synonymy, homonymy, freedom and entanglement, (4,); NaN if undefined.

    Args:
        columns: The symbol at each position, codes from 0, (num_positions, num_messages).
        attributes: Values of the attributes, codes from 0, (num_attributes, num_messages); constant ones are ignored.
        own: The program, and the size of the alphabet.
    """
    num_symbols = int(columns.max()) + 1
    num_used = own.characters or int((np.bincount(columns.ravel()) > 0).sum())
    of_alphabet = np.log2(max(2, num_used))  # with a single symbol all entropies are 0
    synonymy, homonymy, freedom, profiles = [], [], [], []
    for values in attributes:
        totals = np.bincount(values)
        present = np.flatnonzero(totals)
        if len(present) < 2:
            continue
        of_values: Floats = np.empty((len(columns), len(present)))  # H(s | v, j)
        of_symbols: Floats = np.zeros(
            (len(columns), num_symbols)
        )  # H(v | s, j) / log V, 0 for absent symbols
        of_positions: Floats = np.empty(len(columns))
        for position, symbols in enumerate(columns):
            codes = symbols * np.int64(len(totals))
            codes += values
            code, count = counted(codes, num_symbols * len(totals), overwrites=True)
            symbol, value = np.divmod(code, len(totals))
            share = count / totals[value]
            of_values[position] = np.bincount(value, -share * np.log2(share), len(totals))[present]
            sums = np.bincount(symbol, share, num_symbols)
            share /= sums[symbol]
            bits = np.bincount(symbol, -share * np.log2(share), num_symbols)
            of_symbols[position] = bits / np.log2(len(present))
            of_positions[position] = of_symbols[position, sums > 0].mean()
        synonymy.append(of_values.min(axis=0).mean() / of_alphabet)
        profiles.append(of_values.mean(axis=1))
        freedom.append(profiles[-1].min() / of_alphabet)
        if own.program == "celebi":
            homonymy.append(of_symbols.min(axis=0).sum() / num_used)
        else:
            homonymy.append(of_positions.min())
    shared = []
    for one, other in combinations(profiles, 2):
        most = max(one.max(), other.max())
        shared.append(1 - np.abs(one - other).max() / most if most > _TOLERANCE else 1.0)
    every = (synonymy, homonymy, freedom, shared)
    return np.array([np.clip(np.mean(each), 0, 1) if each else np.nan for each in every])
