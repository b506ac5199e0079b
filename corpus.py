"""The corpus: messages, meanings, concepts and provenance. `ecsuite.formats` reads and writes it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ecsuite.runtime.errors import CorpusError, joined
from ecsuite.runtime.given_values import (
    MAX_ID,
    as_array,
    column_of,
    fields_of,
    names_of,
    rows_of,
)
from ecsuite.runtime.printable import preformatted, printable
from ecsuite.runtime.ragged import Ragged

SPEAKER = "speaker"
"""Column with the speaker of a message."""
EPISODE = "episode"
"""Column with the episode of a message, for agents that act step by step."""
SPLIT = "split"
"""Column with the split of a message: `train` or `held_out`."""
OF_SPEECH = (SPEAKER, "listener", EPISODE, SPLIT, "community", "before")
"""Columns about the situation of a message, as opposed to columns about objects."""
MOST_SHOWN = 10
"""Maximum number of attributes that the error about an unknown column lists."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Corpus:
    """Messages, with meanings and concepts if they are known, plus metadata.

    Lists, arrays, tensors and data frames are converted: `Corpus([[1, 2], [3]], meanings=[[0, 1], [1, 1]])`.

    Raises:
        CorpusError: If messages or concepts are not rows of integers from 0 to 2^31 - 1, the number of meanings, lists
            of concepts or values of a column differs from the number of messages, or names are missing.
    """

    messages: Ragged = field(kw_only=False)
    """The messages as symbol ids, including EOS if the channel has it."""
    eos: int | None = None
    """The id of EOS; None without EOS."""
    symbol_names: tuple[str, ...] | None = None
    """`symbol_names[id]`, if symbols were strings in the file."""
    meanings: NDArray[Any] | None = None
    """Attribute values or features, shape (num_messages, num_attributes), or None; integers from a corpus directory
    are int32 if all values fit."""
    attribute_names: tuple[str, ...] = ()
    """Names of the columns of `meanings`, such as `color`; empty if unnamed."""
    concepts: Ragged | None = None
    """Ids of the concepts of each message, or None."""
    concept_names: tuple[str, ...] = ()
    """`concept_names[id]`, such as `color=red`."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further values of each message by name, shape (num_messages,): `split` (`train` or `held_out`), `speaker`,
    `file`; texts, numbers, or JSON values as objects."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Provenance: config, seed, versions, task accuracy. For corpora from files also `source_format`, `source_path` and
    `eos_source`: `declared` by the producer or `detected` (see `read_corpus`)."""

    def __post_init__(self) -> None:
        """Convert and validate the fields."""
        for name in ("columns", "metadata"):
            if not isinstance(getattr(self, name), Mapping):
                raise CorpusError(f"{name}: expected values by name, got {getattr(self, name)!r:.60}")
        given = self.meanings
        is_array = type(given) is np.ndarray and given.ndim == 2 and given.dtype.kind in "ifU"
        if given is not None and not is_array:  # arrays of numbers or texts need no conversion
            found = {"meanings": None, **fields_of(given)}
            for name in ("concepts", "concept_names") if self.concepts is not None else ():
                found.pop(name, None)
            if missing := found.pop("missing", None):
                found["metadata"] = {**self.metadata, "missing": missing}
            for name, value in found.items():
                object.__setattr__(self, name, value)
        for name, what in (("messages", "message"), ("concepts", "concepts of message")):
            rows = getattr(self, name)
            if not isinstance(rows, Ragged) and (name == "messages" or rows is not None):
                object.__setattr__(self, name, rows_of(rows, what))
        self._check_ids()
        for name, rows in (("meanings", self.meanings), ("lists of concepts", self.concepts)):
            if rows is not None and len(rows) != len(self.messages):
                raise CorpusError(f"{len(self.messages)} messages, and {len(rows)} {name}")
        if self.attribute_names:
            width = 0 if self.meanings is None else self.meanings.shape[1]
            names = names_of("attribute_names", self.attribute_names, width)
            if self.meanings is not None and len(names) > width:
                raise CorpusError(f"attribute_names: expected {width} names, got {len(names)}")
            object.__setattr__(self, "attribute_names", names)
        columns = {}
        for name, given in self.columns.items():
            try:
                values = columns[printable(name)] = column_of(given)
            except CorpusError as error:
                raise CorpusError(f"column {name}: {error}") from None
            if values.shape != (len(self.messages),):
                raise CorpusError(f"{len(self.messages)} messages, and {len(values)} values of column {name}")
        object.__setattr__(self, "columns", columns)

    def _check_ids(self) -> None:
        if self.eos is not None:
            if (
                isinstance(self.eos, bool | np.bool_)
                or not isinstance(self.eos, int | np.integer)
                or not 0 <= self.eos <= MAX_ID
            ):
                raise CorpusError(
                    f"eos: expected an integer from 0 to {MAX_ID}, or None, got {self.eos!r:.60}"
                )
            object.__setattr__(self, "eos", int(self.eos))
        for what, rows, field_of_names in (
            ("messages", self.messages, "symbol_names"),
            ("concepts", self.concepts, "concept_names"),
        ):
            ids = np.zeros(0, np.int32) if rows is None else rows.values
            if ids.size and ids.min() < 0:
                raise CorpusError(f"{what}: expected integers from 0, got {ids.min()}")
            if names := getattr(self, field_of_names):
                found = names_of(field_of_names, names, int(ids.max(initial=-1)) + 1)
                object.__setattr__(self, field_of_names, found)

    @classmethod
    def from_strings(cls, messages: Iterable[str], meanings: Any = None, *, by_word: bool = True) -> Self:
        """Make a corpus from messages that are texts.

        Args:
            messages: Texts such as `the red box`; each distinct word, or character, is a symbol.
            meanings: Attribute values or features, (num_messages, num_attributes); or attributes by name, as a
                mapping of columns, a list of mappings or a data frame; or None.
            by_word: Whether symbols are words between spaces; otherwise characters.
        """
        if isinstance(messages, str) or not isinstance(messages, Iterable):
            raise CorpusError(f"expected a list of texts, got {messages!r:.60}")
        rows = [_symbols_of(place, message, by_word) for place, message in enumerate(messages)]
        names = sorted({symbol for row in rows for symbol in row})
        ids = {name: number for number, name in enumerate(names)}
        symbols = Ragged.from_rows([[ids[symbol] for symbol in row] for row in rows])
        return cls(symbols, symbol_names=tuple(names), meanings=meanings)

    @classmethod
    def from_arrays(
        cls, messages: Any, lengths: Any = None, meanings: Any = None, *, eos: int | None = None
    ) -> Self:
        """Make a corpus from a rectangular array.

        Args:
            messages: Symbol ids, (num_messages, max_len).
            lengths: Number of symbols of each message, (num_messages,); None: all columns.
            meanings: Attribute values or features, (num_messages, num_attributes), or None.
            eos: The id of EOS, which ends messages; a negative id is padding, and removed; None: no EOS.
        """
        rows = as_array(messages)
        try:
            ids = np.asarray(rows)
            ends = np.full(len(ids), ids.shape[1]) if lengths is None else np.asarray(as_array(lengths))
        except (IndexError, TypeError, ValueError):  # not an array, or of another shape
            raise CorpusError(f"expected an array of two dimensions, got {rows!r:.60}") from None
        if ends.shape != ids.shape[:1] or (ends.size and ends.dtype.kind not in "iu"):
            raise CorpusError(f"lengths: expected {len(ids)} integers, got {ends!r:.60}")
        if ends.size and not 0 <= ends.min() <= ends.max() <= ids.shape[1]:
            raise CorpusError(f"lengths: expected 0 to {ids.shape[1]}, got {ends.min()} to {ends.max()}")
        if eos is not None and eos < 0:
            is_said = np.cumsum(ids == eos, axis=1) == 0
            ends, eos = np.minimum(ends, is_said.sum(1)), None
        found = rows_of((row[:end] for row, end in zip(ids, ends, strict=True)), "message")
        return cls(found, eos=eos, meanings=meanings)

    @property
    def why_no_meanings(self) -> str:
        """Reason why `meanings` is None, for scores that need meanings."""
        missing = self.metadata.get("missing")
        if not missing:
            return "the corpus has no meanings"
        is_of_table = self.metadata.get("source_format") not in (None, "ecsuite corpus")
        return f"{missing} (--missing leave or value)" if is_of_table else str(missing)

    def where(self, column: str, value: Any, *, is_not: bool = False) -> Self:
        """Select the messages with a value of a column or attribute: `corpus.where("split", "held_out")`.

        Args:
            column: The column or attribute.
            value: The value.
            is_not: Whether to select the messages without the value instead.

        Raises:
            CorpusError: If the corpus has no such column or attribute, or no message has the value.
        """
        rows = np.flatnonzero(self.has(column, value) != is_not)
        if not len(rows):
            known = joined(map(str, self.values_of(column)[:10])) or "no value"
            than = "other than " if is_not else ""
            raise CorpusError(f"no message with {column} {than}{value}; {column} is one of {known}")
        before = self.metadata.get("where")  # from an earlier call, or set by the user
        parts = [each for each in before if isinstance(each, str)] if isinstance(before, list) else []
        return replace(
            self.take(rows),
            metadata={**self.metadata, "where": [*parts, f"{column}{'!=' if is_not else '='}{value}"]},
        )

    def values_of(self, column: str) -> list[Any]:
        """The distinct values of a column or attribute, sorted, without None; values of several types become texts.

        Raises:
            CorpusError: If the corpus has no such column or attribute.
        """
        values = self.column(column)
        if values.dtype.kind != "O":
            return list(np.unique(values).tolist())
        known = [value for value in values.tolist() if value is not None]
        is_of_one_type = len({type(value) for value in known}) == 1 and not isinstance(known[0], list | dict)
        return sorted(set(known if is_of_one_type else map(str, known)))

    def has(self, column: str, value: Any) -> NDArray[np.bool_]:
        """Whether each message has a value, given as in `values_of` or as a text, in a column, (num_messages,).

        Raises:
            CorpusError: If the corpus has no such column or attribute.
        """
        values = self.column(column)
        if values.dtype.kind != "O" and not (isinstance(value, str) and values.dtype.kind != "U"):
            return np.asarray(values == value)
        return np.array([each is not None and str(each) == str(value) for each in values.tolist()], bool)

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column or attribute (names, if known), (num_messages,); `CorpusError` if there is none."""
        if name in self.columns:
            return self.columns[name]
        width = 0 if self.meanings is None or self.meanings.ndim != 2 else self.meanings.shape[1]
        attributes = [self.name_of_attribute(place) for place in range(width)]
        if name in attributes:
            return self._values_of_attribute(attributes.index(name))
        has = f"has the columns {', '.join(self.columns)}" if self.columns else "has no columns"
        shown = (
            f", and the attributes {', '.join(attributes)}"
            if len(attributes) <= MOST_SHOWN and attributes
            else ""
        )
        raise CorpusError(f"no column {name}: the corpus {has}{shown}")

    def _values_of_attribute(self, place: int) -> NDArray[Any]:
        """Names of an attribute's values from `concept_names`, None for missing ones; without names, the numbers."""
        assert self.meanings is not None
        begin = f"{self.name_of_attribute(place)}="
        names = {
            number: name.removeprefix(begin)
            for number, name in enumerate(self.concept_names)
            if name.startswith(begin)
        }
        if self.concepts is None or not names:
            return column_of(self.meanings[:, place])
        is_value = np.isin(self.concepts.values, list(names))
        values = np.full(len(self.messages), None, dtype=object)
        messages = np.repeat(np.arange(len(self.messages)), self.concepts.lengths)
        values[messages[is_value]] = [names[number] for number in self.concepts.values[is_value].tolist()]
        return values

    def take(self, rows: Any) -> Self:
        """Select messages with their meanings, concepts and columns.

        Args:
            rows: Indices, (num_selected,), or a Boolean for each message.

        Raises:
            IndexError: If an index is out of range.
        """
        rows = self.messages.places(rows)
        return replace(
            self,
            messages=self.messages.take(rows),
            meanings=None if self.meanings is None else self.meanings[rows],
            concepts=None if self.concepts is None else self.concepts.take(rows),
            columns={name: values[rows] for name, values in self.columns.items()},
        )

    def __repr__(self) -> str:
        """Three lines: sizes, source, and the first messages."""
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
        """The three lines in a notebook."""
        return preformatted(repr(self))

    def _named(self, row: NDArray[np.int32], symbols: NDArray[np.int32]) -> list[str]:
        ids = symbols[row].tolist()
        return [str(symbol) if self.symbol_names is None else self.symbol_names[symbol] for symbol in ids]

    def name_of_attribute(self, place: int) -> str:
        """The name of a column of `meanings`, or `attribute0` if unnamed."""
        return self.attribute_names[place] if self.attribute_names else f"attribute{place}"

    def concepts_of(self, row: int) -> list[str]:
        """The names of the concepts of a message, or their ids if unnamed."""
        assert self.concepts is not None
        names = self.concept_names
        return [names[each] if names else str(each) for each in self.concepts[row].tolist()]

    def content(self) -> Ragged:
        """The messages truncated before EOS: content symbols only."""
        return self.messages if self.eos is None else self.messages.before(self.eos)

    def ended(self) -> Ragged:
        """The messages up to and including their first EOS; padding and other symbols after it are removed."""
        return self.messages if self.eos is None else self.messages.through(self.eos)

    def reindexed(self) -> tuple[Ragged, NDArray[np.int32]]:
        """The content with dense ids, and the original id of each dense id (see `Ragged.reindexed`)."""
        return self.content().reindexed()


def _symbols_of(place: int, message: Any, by_word: bool) -> list[str]:
    if not isinstance(message, str):
        raise CorpusError(f"message {place}: expected a text, got {message!r:.60}")
    return message.split() if by_word else list(message)
