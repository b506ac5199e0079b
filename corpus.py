"""The corpus: messages, meanings, concepts and provenance. `ecsuite.formats` reads and writes it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.given_values import column_of, fields_of, is_of_values
from ecsuite.runtime.printable import preformatted, printable
from ecsuite.runtime.ragged import Ragged

SPEAKER = "speaker"
"""The column of a corpus that says who spoke."""
EPISODE = "episode"
"""That which says in which episode, of agents that act step by step."""


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
        if self.meanings is not None and not is_of_values(self.meanings):
            found = {"meanings": None, **fields_of(self.meanings)}
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
