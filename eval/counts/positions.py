"""Symbols at positions of messages: columns, joint codes of sets of positions, and attributes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import dense_content, narrow_attributes, narrow_content
from ecsuite.eval.statistics.cache import cached_per_corpus
from ecsuite.eval.statistics.contingency import (
    MAX_CODES,
    MOST_TOGETHER,
    Floats,
    Ints,
    entropies_of_codes,
    entropy_of_codes,
    joined,
    renumbered,
)

BLANK = 0
"""Code for positions after the end of a message."""
CONSTANT_ATTRIBUTES = "every attribute is constant over all messages"
"""Reason why a metric that compares meanings is undefined."""


@cached_per_corpus
def position_columns(corpus: Corpus) -> NDArray[np.integer[Any]]:
    """Symbol at each position of each message, without EOS, as codes from 1; `BLANK` after the end.

    Returns:
        Codes in the smallest type (read-only, not for arithmetic), shape (num_positions, num_messages); num_positions
        is the length of the longest message.
    """
    content, symbols = dense_content(corpus)
    lengths, starts = content.lengths, content.offsets[:-1]
    narrow = np.min_scalar_type(len(symbols))
    columns = np.full((int(lengths.max(initial=0)), len(content)), BLANK, narrow)
    for position, column in enumerate(columns):
        is_present = lengths > position
        column[is_present] = content.values[starts[is_present] + position]
        column[is_present] += narrow.type(1)
    return columns


def attributes_or_reason(corpus: Corpus) -> Ints | str:
    """Attribute values, coded by `attribute_codes`, or the reason why position-based metrics are undefined."""
    columns = attribute_columns_or_reason(corpus)
    return columns if isinstance(columns, str) else columns.T.astype(np.int64)


def attribute_columns_or_reason(corpus: Corpus) -> NDArray[np.integer[Any]] | str:
    """Columns of `attributes_or_reason` in the smallest type (not for arithmetic), (num_attributes, num_messages)."""
    if corpus.meanings is None:
        return corpus.why_no_meanings
    columns = narrow_attributes(corpus)
    if columns is None:
        return "features are not attribute values"
    if not narrow_content(corpus).lengths.any():
        return "every message is empty"
    return columns


FEW_MESSAGES = 1 << 14
"""Maximum number of messages for caching codes of sets of positions."""
MOST_KEPT = 1 << 22
"""Maximum number of cached codes."""

_BLOCK = 1 << 15
"""Messages in a block."""


class Positions:
    """Joint codes of the symbols at sets of positions, and their entropies, each computed once.

    Args:
        columns: The symbol at each position, codes from 0, shape (num_positions, num_messages).
        whole: `Positions` of all messages, if `rows` are a subset of them whose codes can be derived.
        rows: Indices of the subset, shape (num_messages,).
    """

    def __init__(
        self, columns: NDArray[np.integer[Any]], whole: "Positions | None" = None, rows: Ints | None = None
    ) -> None:
        self.columns = columns
        self.number, self.num_messages = columns.shape
        self.num_symbols = [int(column.max()) + 1 for column in columns]
        self._whole, self._rows = whole, rows
        self._codes: dict[tuple[int, ...], tuple[Ints, int]] = {}
        self._bits: dict[tuple[int, ...], float] = {}

    def take(self, rows: Ints, *, shares: bool) -> "Positions":
        """Positions of some messages, by ascending rows; with `shares`, their codes derive from the codes of all."""
        if len(rows) == self.num_messages:
            return self
        return Positions(np.take(self.columns, rows, axis=1), self if shares else None, rows)

    def codes(self, positions: tuple[int, ...]) -> tuple[Ints, int]:
        """Code of the symbols at some positions of each message, small enough for fast counting, and its bound."""
        if (found := self._codes.get(positions)) is not None:
            return found
        if self._whole is not None:  # same order as codes of the subset alone
            codes, bound = self._whole.codes(positions)
            codes = codes[self._rows]
        else:
            codes, bound, more = np.zeros(self.num_messages, np.int64), 1, positions
            is_small = self.num_messages <= FEW_MESSAGES
            if is_small and len(positions) > 1:
                (codes, bound), more = self.codes(positions[:-1]), positions[-1:]
                codes = codes.copy()
            for position in more:
                codes, bound = joined(codes, bound, self.columns[position], self.num_symbols[position])
            if bound > (1 if is_small else 4) * self.num_messages:  # most are used again
                codes, originals = renumbered(codes, bound)
                bound = len(originals)
        if self.num_messages <= FEW_MESSAGES and len(self._codes) * self.num_messages < MOST_KEPT:
            self._codes[positions] = codes, bound
        return codes, bound

    def bits(self, positions: tuple[int, ...]) -> float:
        """Entropy of the symbols at some positions, in bits."""
        if positions not in self._bits:
            self._bits[positions] = self.bits_with(positions, np.zeros(self.num_messages, np.uint8), 1)
        return self._bits[positions]

    def bits_with(
        self, positions: tuple[int, ...], values: NDArray[np.integer[Any]], num_values: int
    ) -> float:
        """Joint entropy in bits of the symbols at some positions and values from 0, below `num_values`."""
        sizes = [self.num_symbols[position] for position in positions]
        bound = math.prod(sizes) * num_values
        if self.num_messages <= FEW_MESSAGES or bound > MAX_CODES:
            codes, bound = self.codes(positions)
            codes = codes * num_values
            codes += values
            return entropy_of_codes(codes, bound * num_values)
        codes = np.zeros(self.num_messages, np.int64)
        for start in range(0, len(codes), _BLOCK):  # stays in the cache
            block = slice(start, start + _BLOCK)
            own = codes[block]
            for position, size in zip(positions, sizes, strict=True):
                own *= size
                own += self.columns[position, block]
            own *= num_values
            own += values[block]
        return entropy_of_codes(codes, bound)

    def bits_of_each_with(self, values: NDArray[np.integer[Any]], num_values: Sequence[int]) -> Floats:
        """Joint entropy in bits of each single position with each attribute, counted together if they are few.

        Args:
            values: Codes from 0, (num_attributes, num_messages).
            num_values: An upper bound of the codes of each attribute, (num_attributes,).

        Returns:
            Shape (num_positions, num_attributes).
        """
        shape = self.number, len(values)
        if math.prod(shape) * self.num_messages > MOST_TOGETHER:
            pairs = list(zip(values, num_values, strict=True))
            return np.array(
                [[self.bits_with((position,), *each) for each in pairs] for position in range(self.number)]
            )
        most = max(self.num_symbols, default=0)
        if self.number and (0,) not in self._bits:
            bits = entropies_of_codes(self.columns, most)
            self._bits |= {(position,): each for position, each in enumerate(bits)}
        codes = self.columns[:, None] * np.array(num_values)[:, None] + values
        bits = entropies_of_codes(codes.reshape(-1, self.num_messages), most * max(num_values))
        return np.reshape(bits, shape)
