"""The corpus: messages, meanings, concepts and provenance. `ecsuite.formats` reads and writes it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.plain_values import BITS, MAX_INTEGER, TYPES, plain
from ecsuite.runtime.printable import preformatted, printable

SPEAKER = "speaker"
"""The column of a corpus that says who spoke."""
_BLOCK = 1 << 14
"""Rows taken at once, so that they fit the cache."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in two flat arrays.

    Row i is `values[offsets[i]:offsets[i + 1]]`.
    """

    values: NDArray[np.int32]
    """All rows end to end, shape (num_values,)."""
    offsets: NDArray[np.int64]
    """Start of each row, and the end of the last, shape (num_rows + 1,)."""

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]]) -> Self:
        """Build from an iterable of integer sequences."""
        arrays = [np.asarray(row, dtype=np.int32) for row in rows]
        values = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int32)
        return cls.from_lengths(values, np.array([len(array) for array in arrays], dtype=np.int64))

    @classmethod
    def from_lengths(cls, values: NDArray[np.int32], lengths: NDArray[np.integer[Any]]) -> Self:
        """Split flat values, shape (num_values,), into rows of these lengths, shape (num_rows,)."""
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(values, offsets)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        """Row `index`, as a view."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each row, shape (num_rows,)."""
        return np.diff(self.offsets)

    def take(self, rows: NDArray[np.integer[Any]]) -> "Ragged":
        """These rows, by their indices, shape (num_taken,)."""
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.take(self.lengths, rows, out=offsets[1:])
        np.cumsum(offsets, out=offsets)
        values = np.empty(offsets[-1], dtype=self.values.dtype)
        for start in range(0, len(rows), _BLOCK):  # limits memory
            some, bounds = rows[start : start + _BLOCK], offsets[start : start + _BLOCK + 1]
            shifts = np.repeat(self.offsets[some] - bounds[:-1], np.diff(bounds))
            values[bounds[0] : bounds[-1]] = self.values[np.arange(bounds[0], bounds[-1]) + shifts]
        return Ragged(values, offsets)

    def blocks(self, num_rows: int = _BLOCK) -> Iterator["Ragged"]:
        """The rows in their order, some at a time: views of the values, and offsets from 0."""
        for start in range(0, len(self), num_rows):
            yield self.between(start, start + num_rows)

    def between(self, start: int, stop: int) -> "Ragged":
        """Consecutive rows: a view of the values, and offsets from 0."""
        bounds = self.offsets[start : stop + 1]
        return Ragged(self.values[bounds[0] : bounds[-1]], bounds - bounds[0])

    def before(self, value: int) -> "Ragged":
        """Truncate each row before the first occurrence of `value`."""
        values, offsets = np.empty_like(self.values), np.zeros(len(self) + 1, np.int64)
        filled, number = 0, 1
        for block in self.blocks():  # limits memory
            kept, ends = block._before(value)
            values[filled : filled + len(kept)] = kept
            offsets[number : number + len(ends)] = ends
            filled, number = filled + len(kept), number + len(ends)
        return Ragged(values[:filled], np.cumsum(offsets, out=offsets))

    def _before(self, value: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The values of `before`, and the lengths of its rows."""
        differs = self.values != value
        hits = np.flatnonzero(~differs)
        if np.array_equal(hits, self.offsets[1:] - 1):  # at the end of each row
            return self.values[differs], np.diff(self.offsets) - 1
        rows = np.searchsorted(self.offsets, hits, side="right") - 1
        is_first = np.diff(rows, prepend=-1) > 0
        ends = self.offsets[1:].copy()
        ends[rows[is_first]] = hits[is_first]
        lengths = ends - self.offsets[:-1]
        if np.count_nonzero(differs) > lengths.sum():  # something follows an end
            differs &= np.repeat(ends, self.lengths) > np.arange(len(self.values))
        return self.values[differs], lengths

    def narrowed(self) -> "Ragged":
        """The same in the smallest type of integers that holds the values, so not to be calculated with."""
        if self.values.min(initial=0) < 0:
            return self
        return Ragged(self.values.astype(np.min_scalar_type(self.values.max(initial=0))), self.offsets)

    def reindexed(self) -> "tuple[Ragged, NDArray[np.int32]]":
        """Renumber the values densely, 0 to V-1 in order of id, so that tables over ids stay small.

        Returns:
            The rows with dense ids, and the original id of each dense one, shape (V,).
        """
        originals = self.distinct()
        if not len(originals) or originals[-1] > self._most_for_table():
            dense = np.searchsorted(originals, self.values)
            return Ragged(dense.astype(self.values.dtype), self.offsets), originals
        table = np.zeros(int(originals[-1]) + 1, self.values.dtype)
        table[originals] = np.arange(len(originals))
        return Ragged(table[self.values], self.offsets), originals

    def distinct(self) -> NDArray[np.int32]:
        """The different values, which are not negative, ascending."""
        if not len(self.values):
            return np.zeros(0, np.int32)
        highest = int(self.values.max())
        if highest > self._most_for_table():
            ordered = np.sort(self.values)
            return np.append(ordered[0], ordered[1:][ordered[1:] != ordered[:-1]]).astype(np.int32)
        is_used = np.zeros(highest + 1, dtype=bool)
        is_used[self.values] = True
        return np.flatnonzero(is_used).astype(np.int32)

    def _most_for_table(self) -> int:
        """The largest value up to which a table of all values is not too sparse."""
        return 2 * self.values.size + 1024


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Corpus:
    """Messages, with meanings and concepts where they are known, plus metadata.

    Lists are taken as well: `Corpus([[1, 2], [3]], meanings=[[0, 1], [1, 1]])`.

    Raises:
        CorpusError: If messages are no rows of integers from 0, or there are not as many meanings, or values of a
            column.
    """

    messages: Ragged = field(kw_only=False)
    """The messages as symbol ids, including EOS where the channel has one."""
    eos: int | None = None
    """The id of EOS; None where the language has none."""
    symbol_names: tuple[str, ...] | None = None
    """`symbol_names[id]`, if symbols were strings in the file."""
    meanings: NDArray[Any] | None = None
    """Attribute values or features, shape (num_messages, num_attributes), or None; from a corpus directory integers
    are read as int32 if all fit."""
    attribute_names: tuple[str, ...] = ()
    """Names of the columns of `meanings`, such as `color`; empty where they have none."""
    concepts: Ragged | None = None
    """Ids of the concepts of each message, or None."""
    concept_names: tuple[str, ...] = ()
    """`concept_names[id]`, such as `color=red`."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further values of each message by name, shape (num_messages,): `split` (`train` or `held_out`), `speaker`,
    `file`; texts, numbers, or as objects what JSON has."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Provenance: config, seed, versions, task accuracy. If read from a file also `source_format`, `source_path` and
    `eos_source`: `declared` by the producer or `detected` (see `read_corpus`)."""

    def __post_init__(self) -> None:
        """Convert lists, and check them."""
        if self.meanings is not None and not _is_of_values(self.meanings):
            found = {"meanings": None, **_meant(self.meanings)}
            for name in ("concepts", "concept_names") if self.concepts is not None else ():
                found.pop(name, None)
            for name, value in found.items():
                object.__setattr__(self, name, value)
        if not isinstance(self.messages, Ragged):
            object.__setattr__(self, "messages", _rows(self.messages))
            if self.meanings is not None and len(self.meanings) != len(self.messages):
                raise CorpusError(f"{len(self.messages)} messages, and {len(self.meanings)} meanings")
        for name in ("symbol_names", "concept_names", "attribute_names"):
            if names := getattr(self, name):
                object.__setattr__(self, name, tuple(map(printable, names)))
        columns = {printable(name): column_of(values) for name, values in self.columns.items()}
        for name, values in columns.items():
            if values.shape != (len(self.messages),):
                raise CorpusError(f"{len(self.messages)} messages, and {len(values)} values of column {name}")
        object.__setattr__(self, "columns", columns)

    @classmethod
    def from_strings(cls, messages: Iterable[str], meanings: Any = None, *, by_word: bool = True) -> Self:
        """Build from messages that are texts.

        Args:
            messages: Such as `the red box`; each different word, or character, is a symbol.
            meanings: Attribute values or features, (num_messages, num_attributes); or attributes by name, as a
                mapping of columns, a list of mappings or a frame; or None.
            by_word: Whether symbols are words between spaces; otherwise characters.
        """
        rows = [message.split() if by_word else list(message) for message in messages]
        names = sorted({symbol for row in rows for symbol in row})
        ids = {name: number for number, name in enumerate(names)}
        symbols = Ragged.from_rows([[ids[symbol] for symbol in row] for row in rows])
        return cls(symbols, symbol_names=tuple(names), meanings=meanings)

    @classmethod
    def from_arrays(
        cls, messages: Any, lengths: Any = None, meanings: Any = None, *, eos: int | None = None
    ) -> Self:
        """Build from a rectangular array.

        Args:
            messages: Symbol ids, (num_messages, max_len).
            lengths: Symbols of each message, (num_messages,); None: all columns.
            meanings: Attribute values or features, (num_messages, num_attributes), or None.
            eos: The id of EOS, at which messages end; None: there is none.
        """
        ids = np.asarray(messages)
        ends = np.full(len(ids), ids.shape[1]) if lengths is None else np.asarray(lengths)
        rows = _rows(row[:end] for row, end in zip(ids, ends, strict=True))
        return cls(rows, eos=eos, meanings=meanings)

    @property
    def why_no_meanings(self) -> str:
        """Why `meanings` is None, for the reason of a score that needs them."""
        missing = self.metadata.get("missing")
        return f"{missing} (--missing leave or value)" if missing else "the corpus has no meanings"

    def where(self, column: str, value: Any) -> Self:
        """The messages with a value in a column: `corpus.where("split", "held_out")`.

        Raises:
            CorpusError: If the corpus has no such column, or no message has the value.
        """
        rows = np.flatnonzero(self.has(column, value))
        if not len(rows):
            known = ", ".join(map(str, self.values_of(column)[:10])) or "no value"
            raise CorpusError(f"no message with {column} {value}; {column} is one of {known}")
        where = [*self.metadata.get("where", ()), f"{column}={value}"]
        return replace(self.take(rows), metadata={**self.metadata, column: value, "where": where})

    def values_of(self, column: str) -> list[Any]:
        """The different values of a column in their order; None is none, and values of several types are texts.

        Raises:
            CorpusError: If the corpus has no such column.
        """
        values = self.column(column)
        if values.dtype.kind != "O":
            return list(np.unique(values).tolist())
        known = [value for value in values.tolist() if value is not None]
        is_of_one_type = len({type(value) for value in known}) == 1 and not isinstance(known[0], list | dict)
        return sorted(set(known if is_of_one_type else map(str, known)))

    def has(self, column: str, value: Any) -> NDArray[np.bool_]:
        """Whether each message has a value in a column, as `values_of` has it, or as a text, (num_messages,).

        Raises:
            CorpusError: If the corpus has no such column.
        """
        values = self.column(column)
        if values.dtype.kind != "O" and not (isinstance(value, str) and values.dtype.kind != "U"):
            return np.asarray(values == value)
        return np.array([each is not None and str(each) == str(value) for each in values.tolist()], bool)

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column, (num_messages,); `CorpusError` if there is none of this name."""
        if name not in self.columns:
            has = f"has the columns {', '.join(self.columns)}" if self.columns else "has no columns"
            raise CorpusError(f"no column {name}: the corpus {has}")
        return self.columns[name]

    def take(self, rows: NDArray[np.integer[Any]]) -> Self:
        """Some of the messages with all that belongs to them.

        Args:
            rows: Their places, (num_taken,).
        """
        return replace(
            self,
            messages=self.messages.take(rows),
            meanings=None if self.meanings is None else self.meanings[rows],
            concepts=None if self.concepts is None else self.concepts.take(rows),
            columns={name: values[rows] for name, values in self.columns.items()},
        )

    def __repr__(self) -> str:
        """Three lines: sizes, where it is from, and the first messages."""
        content, symbols = self.reindexed()
        has = "no meanings" if self.meanings is None else f"meanings of shape {self.meanings.shape}"
        first = "  ".join(
            " ".join(self._named(content[index], symbols)) for index in range(min(4, len(content)))
        )
        origin = self.metadata.get("source_path", "made in Python")
        return (
            f"Corpus: {len(content):,} messages, {len(content.values):,} symbols, {len(symbols):,} distinct, {has}\n"
            f"from {origin}\n"
            f"first: {first:.100}"
        )

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return preformatted(repr(self))

    def _named(self, row: NDArray[np.int32], symbols: NDArray[np.int32]) -> list[str]:
        """The symbols of a row as texts."""
        ids = symbols[row].tolist()
        return [str(symbol) if self.symbol_names is None else self.symbol_names[symbol] for symbol in ids]

    def content(self) -> Ragged:
        """The messages truncated before EOS: content symbols only."""
        return self.messages if self.eos is None else self.messages.before(self.eos)

    def reindexed(self) -> tuple[Ragged, NDArray[np.int32]]:
        """The content with dense ids, and the original id of each dense one (see `Ragged.reindexed`)."""
        return self.content().reindexed()


def column_of(values: Any) -> NDArray[Any]:
    """Values as an array of one dimension: of printable texts, whole numbers, numbers, truth values, or objects.

    Objects are what JSON has, with None for no value, which NaN is, too.

    Raises:
        CorpusError: If an integer has more than 64 bits.
    """
    if isinstance(values, np.ndarray) and _is_plain(values):
        return values
    try:
        values = [printable(value) if isinstance(value, str) else plain(value) for value in values]
    except OverflowError as error:
        raise CorpusError(f"expected {BITS}, got {error}") from None
    kinds = {type(value) for value in values}
    if kinds in ({str}, {int}, {float}, {bool}) or kinds == {int, float}:
        return np.array(values)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _is_plain(values: NDArray[Any]) -> bool:
    """Whether the values of an array are such as JSON has, or as we have made them."""
    if values.dtype.kind == "O":
        kinds = set(map(type, values.tolist()))
        return kinds <= TYPES and len(kinds) > 1
    if values.dtype.kind == "f":
        return not np.isnan(values).any()
    return values.dtype.kind in "biU" or (
        values.dtype.kind == "u" and int(values.max(initial=0)) < MAX_INTEGER
    )


def named_attributes(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Meanings of named attributes, as arguments of `Corpus`: vectors, and concepts such as `color=red`.

    Args:
        columns: Values of each attribute: texts, numbers, or truth values, which are features that are there
            (`red`) or not; None is no value.

    Returns:
        Concepts of each message, and, where no value is missing, `meanings`: whole numbers if all values are, else
        texts.
    """
    columns = {name: _plain_cells(name, cells) for name, cells in columns.items()}
    ids: dict[str, int] = {}
    rows: list[list[int]] = []
    for values_of_row in zip(*columns.values(), strict=True):
        there = [
            name if value is True else f"{name}={value}"
            for name, value in zip(columns, values_of_row, strict=True)
            if value is not None and value is not False
        ]
        rows.append([ids.setdefault(concept, len(ids)) for concept in there])
    found: dict[str, Any] = {"concepts": Ragged.from_rows(rows), "concept_names": tuple(ids)}
    values = [cell for cells in columns.values() for cell in cells]
    if not any(value is None for value in values):
        is_whole = all(isinstance(value, int) for value in values)
        table = [[int(cell) if is_whole else printable(cell) for cell in cells] for cells in columns.values()]
        found |= {"meanings": np.array(table).T, "attribute_names": tuple(columns)}
    return found


def _plain_cells(name: str, cells: Sequence[Any]) -> list[Any]:
    """The values of an attribute, as JSON has them."""
    try:
        return [plain(cell) for cell in cells]
    except OverflowError as error:
        raise CorpusError(f"{name}: expected {BITS}, got {error}") from None


def _is_of_values(meanings: Any) -> bool:
    """Whether meanings are an array as a corpus has it: rows of numbers, or of texts."""
    return isinstance(meanings, np.ndarray) and meanings.ndim == 2 and meanings.dtype.kind in "ifU"


def _meant(meanings: Any) -> dict[str, Any]:
    """Meanings that are no array of numbers or texts, or not of two dimensions, as fields of a corpus.

    Raises:
        CorpusError: If rows are of several kinds or lengths, or a value is no number of 64 bits and no text.
    """
    if isinstance(meanings, np.ndarray):
        if meanings.dtype.kind != "O":
            return {"meanings": _values(meanings)}
        meanings = meanings.reshape(len(meanings), math.prod(meanings.shape[1:])).tolist()
    if hasattr(meanings, "to_dict") and hasattr(meanings, "columns"):
        meanings = {str(name): list(meanings[name].to_list()) for name in meanings.columns}
    if isinstance(meanings, Mapping):
        return named_attributes(meanings)
    rows = list(meanings)
    if rows and all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        return named_attributes({str(name): [row.get(name) for row in rows] for name in names})
    lengths = {len(row) if isinstance(row, Sequence) and not isinstance(row, str) else 1 for row in rows}
    kinds = {isinstance(row, Mapping) for row in rows}
    if len(lengths) > 1 or len(kinds) > 1:
        raise CorpusError(f"expected meanings of one kind and length, got lengths {sorted(lengths)}")
    if rows and all(
        isinstance(row, list | tuple) and all(isinstance(item, str) for item in row) for row in rows
    ):
        return word_vectors(rows)
    found = np.asarray(rows)
    if found.dtype.kind in "OU":  # texts beside numbers, as frames have them
        cells = [list(row) if isinstance(row, list | tuple | np.ndarray) else [row] for row in rows]
        found = np.array([[_text(cell, place) for cell in row] for place, row in enumerate(cells)])
    return {"meanings": _values(found)}


def _text(value: Any, place: int) -> str:
    """A value of a meaning as a text."""
    value = plain(value)
    if value is None or isinstance(value, list | dict):
        raise CorpusError(f"meaning {place}: expected numbers or texts, got {value!r:.60}")
    return printable(value)


def _values(meanings: NDArray[Any]) -> NDArray[Any]:
    """Numbers and texts of an array of any shape as rows, (num_messages, num_attributes)."""
    kind = meanings.dtype.kind
    if kind not in "biufmMSU" or (kind == "u" and int(meanings.max(initial=0)) >= MAX_INTEGER):
        raise CorpusError(
            f"expected meanings that are texts, or numbers of at most 64 bits, got {meanings.dtype}"
        )
    if kind == "b":
        meanings = meanings.astype(np.int32)
    if kind in "mM":
        meanings = meanings.astype(str)
    if kind == "S":
        meanings = np.char.decode(meanings, errors="backslashreplace")
    return meanings.reshape(len(meanings), math.prod(meanings.shape[1:]))


def word_vectors(rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Meanings that are words without names of attributes, as arguments of `Corpus`; each word is a concept.

    A word that stands at several places is several concepts, such as `attribute0=red`.

    Args:
        rows: The words of each message, all as many.
    """
    places: dict[str, set[int]] = {}
    for row in rows:
        for place, word in enumerate(row):
            places.setdefault(word, set()).add(place)
    named = [
        [word if len(places[word]) == 1 else f"attribute{place}={word}" for place, word in enumerate(row)]
        for row in rows
    ]
    ids: dict[str, int] = {}
    concepts = Ragged.from_rows([[ids.setdefault(name, len(ids)) for name in row] for row in named])
    safe = [[printable(word) for word in row] for row in rows]
    return {"meanings": np.array(safe), "concepts": concepts, "concept_names": tuple(ids)}


def _rows(messages: Any) -> Ragged:
    """Lists of symbol ids as rows.

    Raises:
        CorpusError: If they are anything else.
    """
    rows: list[Any] = []
    for number, message in enumerate(messages):
        row = np.asarray(message)
        if row.ndim != 1 or (row.size and (row.dtype.kind not in "iu" or row.min() < 0)):
            raise CorpusError(f"message {number}: expected a list of integers from 0, got {message!r:.60}")
        rows.append(row.astype(np.int32))
    return Ragged.from_rows(rows)
