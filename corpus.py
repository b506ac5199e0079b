"""The corpus: what was said, what it meant, and where it came from. The only code that knows file formats.

A corpus directory holds `corpus.jsonl` (one JSON array of symbol ids a line, as said), `meanings.jsonl`
(line-aligned, where meanings are known) and `metadata.json` (counts, EOS, how it was made, SHA-256 of the
other two; written last).
"""

import codecs
import contextlib
import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 18  # bytes parsed at once; what this takes fits the second-level cache
_LONGEST_LINE = 1 << 30  # bytes; a longer one is refused
_LONGEST_ODD_LINE = 1 << 26  # bytes; the same for a line that is not plain `[1, 2, 3]`
_FAULTS_SHOWN = 20
_FORMAT = "ecsuite-corpus"
_OF_ONE_COPY = ("sha256", "symbol_names", "concept_names", "source_format", "source_path")  # metadata keys
_ID_LIMIT = 1 << 31
_FOLDER_HOLDS = "corpus.jsonl, Parquet file or saved dataset"
_COLUMNS = ("input_ids", "messages", "tokens", "text")


class CorpusError(ValueError):
    """Bad input, told in one line a fault: file, line, what was expected, what was found."""

    def __init__(self, message: str, faults: int = 1) -> None:
        """Keep the text and how many faults there were in all."""
        super().__init__(message)
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in two flat arrays.

    Row i is `values[offsets[i]:offsets[i + 1]]`.
    """

    values: NDArray[np.int32]
    """All rows end to end, shape (num_values,)."""
    offsets: NDArray[np.int64]
    """Where each row begins, and the end, shape (num_rows + 1,)."""

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]]) -> Self:
        """Flatten an iterable of integer sequences."""
        arrays = [np.asarray(row, dtype=np.int32) for row in rows]
        values = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int32)
        return cls.from_lengths(values, np.array([len(array) for array in arrays], dtype=np.int64))

    @classmethod
    def from_lengths(cls, values: NDArray[np.int32], lengths: NDArray[np.integer[Any]]) -> Self:
        """Cut flat values, shape (num_values,), into rows of these lengths, shape (num_rows,)."""
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(values, offsets)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        """Row `index`, a view."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each row, shape (num_rows,)."""
        return np.diff(self.offsets)

    def before(self, value: int) -> "Ragged":
        """Cut each row before the first occurrence of `value`."""
        hits = np.flatnonzero(self.values == value)
        rows = np.searchsorted(self.offsets, hits, side="right") - 1
        is_first = np.diff(rows, prepend=-1) > 0
        ends = self.offsets[1:].copy()
        ends[rows[is_first]] = hits[is_first]
        lengths = ends - self.offsets[:-1]
        kept = lengths > 0
        steps = np.zeros(len(self.values) + 1, dtype=np.int8)  # 1 where what is kept begins, -1 where it ends
        steps[self.offsets[:-1][kept]] += 1
        steps[ends[kept]] -= 1
        return Ragged.from_lengths(self.values[np.cumsum(steps[:-1], dtype=np.int8).view(bool)], lengths)

    def reindexed(self) -> "tuple[Ragged, NDArray[np.int32]]":
        """Renumber the values densely, 0 to V-1 in order of id, so that sparse ids cost no memory.

        Returns:
            The rows with dense ids, and the original id of each dense one, shape (V,).
        """
        if self.values.size and self.values.max() > 2 * self.values.size + 1024:  # too sparse for a table
            originals, dense = np.unique(self.values, return_inverse=True)
            return Ragged(dense.astype(np.int32), self.offsets), originals
        is_used = np.zeros(int(self.values.max(initial=-1)) + 1, dtype=bool)
        is_used[self.values] = True
        table = np.cumsum(is_used, dtype=np.int32) - 1
        return Ragged(table[self.values], self.offsets), np.flatnonzero(is_used).astype(np.int32)


@dataclass(frozen=True, kw_only=True, slots=True)
class Corpus:
    """Messages, with meanings and concepts where they are known, plus metadata."""

    messages: Ragged
    """What was said, as said: symbol ids with EOS where the channel has one."""
    eos: int | None = None
    """The id that ends a message; None where the language has none."""
    symbol_names: tuple[str, ...] | None = None
    """Where symbols were strings in the file: `symbol_names[id]`."""
    meanings: NDArray[Any] | None = None
    """Attribute values or features, shape (num_messages, num_attributes), or None."""
    concepts: Ragged | None = None
    """Ids of the concepts of each message, or None."""
    concept_names: tuple[str, ...] = ()
    """`concept_names[id]`, such as `color=red`."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """How it was made: config, seed, versions, task accuracy. From a file also `source_format`, `source_path`
    and `eos_source`: `declared` by the producer or `detected` (see `read_corpus`)."""

    def content(self) -> Ragged:
        """The messages without EOS and what follows it: what was meant to be said."""
        return self.messages if self.eos is None else self.messages.before(self.eos)

    def reindexed(self) -> tuple[Ragged, NDArray[np.int32]]:
        """The content with dense ids, and the original id of each dense one (see `Ragged.reindexed`)."""
        return self.content().reindexed()


def write_atomically(path: Path | str, data: bytes | Iterable[bytes]) -> None:
    """Write a file so that a reader, or a crash at any moment, sees the old file or the whole new one.

    Args:
        path: Where to write; its directory must exist.
        data: The content, whole or in pieces. If the pieces raise, the old file stays as it was.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            for piece in (data,) if isinstance(data, bytes) else data:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)  # makes the new name last, too
    finally:
        os.close(directory)


def write_corpus(corpus: Corpus, directory: Path | str) -> None:
    """Write a corpus directory; `metadata.json` comes last and makes it complete.

    The bytes depend on the corpus alone. Counts added to the metadata: `num_messages`, `num_empty` (messages
    without content), `num_symbols` (content symbols said), `num_distinct_symbols` (content symbols used), and
    `vocab_size` (content symbols the channel has) where the producer did not say it: then those used.

    Args:
        corpus: What to write.
        directory: Where; made if it is not there. Files of an older corpus in it are replaced.

    Raises:
        ValueError: If an id is negative, lengths differ, or the metadata cannot be said in JSON.
        OSError: If the files cannot be written.
    """
    directory = Path(directory)
    num_messages = len(corpus.messages)
    if not num_messages:
        raise ValueError("cannot write a corpus without messages")
    for name, rows in {"meanings": corpus.meanings, "concepts": corpus.concepts}.items():
        if rows is not None and len(rows) != num_messages:
            raise ValueError(f"cannot write {len(rows)} {name} for {num_messages} messages")
    if corpus.messages.values.min(initial=0) < 0:
        raise ValueError(f"cannot write the symbol id {corpus.messages.values.min()}: ids are not negative")
    content = corpus.content()
    num_distinct = len(content.reindexed()[1])
    own: dict[str, Any] = {
        "format": _FORMAT,
        "format_version": 1,
        "num_messages": num_messages,
        "num_empty": int((content.lengths == 0).sum()),
        "num_symbols": len(content.values),
        "num_distinct_symbols": num_distinct,
        "eos": corpus.eos,
    }
    if corpus.symbol_names:
        own["symbol_names"] = corpus.symbol_names
    if corpus.concept_names:
        own["concept_names"] = corpus.concept_names
    made = {key: value for key, value in corpus.metadata.items() if key not in _OF_ONE_COPY}
    metadata = {"vocab_size": num_distinct} | made | own
    _json(metadata)  # fails here, if at all, before a file is touched

    directory.mkdir(parents=True, exist_ok=True)
    files = {"corpus.jsonl": _message_lines(corpus.messages)}
    if corpus.meanings is not None or corpus.concepts is not None:
        files["meanings.jsonl"] = _meaning_lines(corpus)
    hashes = {}
    for name, lines in files.items():
        write_atomically(directory / name, lines)
        hashes[name] = _sha256(directory / name)
    write_atomically(directory / "metadata.json", _json(metadata | {"sha256": hashes}, indent=2))
    if "meanings.jsonl" not in files:
        (directory / "meanings.jsonl").unlink(missing_ok=True)


def _json(value: object, indent: int | None = None) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent).encode() + b"\n"


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _message_lines(messages: Ragged) -> Iterator[bytes]:
    """The messages as JSON lines, some thousand at a time."""
    for start in range(0, len(messages), 8192):
        offsets = messages.offsets[start : start + 8193]
        symbols = messages.values[offsets[0] : offsets[-1]].tolist()
        bounds = (offsets - offsets[0]).tolist()
        yield "".join([f"{symbols[i:j]}\n" for i, j in pairwise(bounds)]).encode()


def _meaning_lines(corpus: Corpus) -> Iterator[bytes]:
    for index in range(len(corpus.messages)):
        line: dict[str, Any] = {}
        if corpus.meanings is not None:
            line["meaning"] = corpus.meanings[index].tolist()
        if corpus.concepts is not None:
            line["concepts"] = [corpus.concept_names[concept] for concept in corpus.concepts[index]]
        yield _json(line)


def read_corpus(path: Path | str, format: str = "auto") -> Corpus:  # noqa: A002
    """Read a corpus directory, or a file or folder of another tool; `Corpus.metadata` says what was found.

    The first line that has a format decides; a line of another format is then a fault:

    - `ints`: `[4, 7, 0]` (our `corpus.jsonl`, XferBench, ELCC). `[]` is an empty message, and legal.
    - `strings`: `"da bu"`, symbols between white space; ids in order of appearance, see `symbol_names`.
    - `cbm`: `["4.7.0", "19"]`, symbols and concepts joined by dots (Concept Best Matching).
    - `csar`: `[4, 7], ["red"]`, also with a tab or space between, or both in one array.
    - `table`: a Parquet file, a folder of them, or what Hugging Face `save_to_disk` wrote. The first column
      of `input_ids`, `messages`, `tokens`, `text` is taken; rows are counted like lines, from 1.

    With `corpus.jsonl`, or its directory, `metadata.json` (if it is ours) and `meanings.jsonl` beside it are
    used, and their SHA-256 checked. A byte order mark and CRLF are accepted. An empty line is a fault.

    EOS is what our metadata declares. Otherwise it is detected by ELCC's rule (`EoS Token Present`):
    every message that is not empty ends in the same symbol, and after its first occurrence only that symbol
    follows, as padding. Besides, two different messages must remain without it.

    Args:
        path: A directory or a file.
        format: One of the above, or `auto`.

    Raises:
        CorpusError: If there is nothing to read, or faults: one line each, all counted, the first 20 shown.
        ValueError: If `format` is unknown.
    """
    path = Path(path)
    if format not in (choices := ("auto", *_LINE_FORMATS, "table")):
        raise ValueError(f"unknown corpus format {format!r}; choose from {', '.join(choices)}")
    try:
        if path.is_dir() and (path / "corpus.jsonl").is_file():
            path = path / "corpus.jsonl"
        if format == "table" or (format == "auto" and _is_table(path)):
            corpus = _read_table(path)
        elif path.is_dir():
            raise CorpusError(f"{path}: no {_FOLDER_HOLDS} in it")
        else:
            corpus = _read_lines(path, format)
            if path.name == "corpus.jsonl":
                corpus = _with_siblings(corpus, path.parent)
    except OSError as error:
        raise CorpusError(f"cannot read {error.filename or path}: {error.strerror or error}") from None
    metadata = {"eos_source": "declared", **corpus.metadata, "source_path": str(path)}
    if "eos" not in corpus.metadata:
        metadata["eos_source"] = "detected"
        return replace(corpus, eos=_detect_eos(corpus.messages), metadata=metadata)
    return replace(corpus, metadata=metadata)


def _detect_eos(messages: Ragged) -> int | None:
    """The symbol that ends every message, by the rule of `read_corpus`."""
    is_said = messages.lengths > 0
    last = messages.values[messages.offsets[1:][is_said] - 1]
    if last.size == 0 or (last != last[0]).any():
        return None
    content = messages.before(last[0])
    if np.count_nonzero(messages.values != last[0]) != len(content.values):
        return None
    lengths = content.lengths[is_said]
    if (lengths == lengths[0]).all():
        rows = content.values.reshape(len(lengths), -1)
        if (rows == rows[0]).all():
            return None
    return int(last[0])


_Item = TypeVar("_Item")
_Parsed = TypeVar("_Parsed")
_Line = tuple[Sequence[int | str], list[str]]  # symbols, and concepts where the format has them
_Arrays = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]  # flat values, and lengths of rows
_LineParser = Callable[[list[Any]], _Line]


class _Fault(Exception):
    """What is wrong with one line."""

    def __init__(self, got: str, expected: str | None = None) -> None:
        super().__init__(got)
        self.got, self.expected = got, expected


class _Faults:
    """The faults of one file: all counted, the first shown."""

    def __init__(self, path: Path, expected: str) -> None:
        self.name, self.expected, self.count = path.name, expected, 0
        self.shown: list[str] = []

    def parse(self, items: Iterable[_Item], first: int, parse: Callable[[_Item], _Parsed]) -> list[_Parsed]:
        """What `parse` makes of the items that are right; `first` is the number of the first one's line."""
        parsed = []
        for number, item in enumerate(items, first):
            try:
                parsed.append(parse(item))
            except _Fault as fault:
                self.count += 1
                if self.count <= _FAULTS_SHOWN:
                    expected = fault.expected or self.expected
                    self.shown.append(f"{self.name}:{number}: expected {expected}, got {fault.got}")
        return parsed

    def check(self) -> None:
        """Raise all that was noted as one error."""
        if more := self.count - len(self.shown):
            self.shown.append(f"… and {more} more fault{'s' * (more > 1)}")
        if self.shown:
            raise CorpusError("\n".join(self.shown), self.count)


def _shorten(text: str) -> str:
    """At most 40 characters, all printable."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:41])
    return text if len(text) <= 40 else text[:39] + "…"


def _show(value: object) -> str:
    """A JSON value as a message shows it."""
    try:
        return _shorten(json.dumps(value, ensure_ascii=False, default=str))
    except RecursionError:
        return "deep nesting"


def _parse_int(text: str) -> int:
    if len(text) > 19:  # int() is quadratic
        raise _Fault(_shorten(text), None if text[0] == "-" else f"integers below {_ID_LIMIT}")
    return int(text)


def _refuse_constant(text: str) -> None:
    raise _Fault(text)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise _Fault(f"the key {_show(twice)} twice")
    return keys


_DECODER = json.JSONDecoder(
    parse_int=_parse_int, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys
)
_GAP = re.compile(r"(?:[ \t\r]+,?|,)[ \t\r]*(?=.)", re.DOTALL)  # between two JSON values of a line


def _decode(line: bytes) -> list[Any]:
    """The JSON values of a line, one or more, read strictly."""
    if len(line) > _LONGEST_ODD_LINE:
        raise _Fault(f"a line of {len(line)} bytes that is not plain [1, 2, 3]")
    try:
        text = line.decode().strip(" \t\r")
        if not text:
            raise _Fault("an empty line")
        value, end = _DECODER.raw_decode(text)
        values = [value]
        while end < len(text):
            if not (gap := _GAP.match(text, end)):
                raise _Fault(f"more after the JSON value, at column {end + 1}: {_shorten(text)}")
            value, end = _DECODER.raw_decode(text, gap.end())
            values.append(value)
        if "\\u" in text:
            json.dumps(values, ensure_ascii=False).encode()  # refuses half a surrogate pair
        return values
    except json.JSONDecodeError as error:
        where = "a line cut short" if error.pos >= len(text) else f"broken JSON at column {error.pos + 1}"
        raise _Fault(f"{where}: {_shorten(text)}") from None
    except UnicodeDecodeError as error:
        raise _Fault(f"a byte that is not UTF-8 at column {error.start + 1}") from None
    except UnicodeEncodeError:
        raise _Fault(f"half a surrogate pair: {_shorten(text)}") from None
    except RecursionError:
        raise _Fault("nesting too deep to read") from None


def _ints(values: list[Any]) -> _Line:
    match values:
        case [list(symbols)]:
            for symbol in symbols:
                if type(symbol) is not int or symbol < 0:
                    raise _Fault(_show(symbol))
                if symbol >= _ID_LIMIT:
                    raise _Fault(_show(symbol), f"integers below {_ID_LIMIT}")
            return symbols, []
    raise _Fault(_show_line(values))


def _strings(values: list[Any]) -> _Line:
    match values:
        case [str(message)]:
            return message.split(), []
    raise _Fault(_show_line(values))


def _cbm(values: list[Any]) -> _Line:
    match values:
        case [[str(message), str(phrase)]]:
            symbols, concepts = (text.split(".") if text else [] for text in (message, phrase))
            if "" not in symbols and "" not in concepts:
                return symbols, concepts
    raise _Fault(_show_line(values))


def _csar(values: list[Any]) -> _Line:
    match values:
        case [[list(message), list(concepts)]] if all(type(concept) is str for concept in concepts):
            return _ints([message])[0], concepts
        case [list(message), list(concepts)] if all(type(concept) in (int, str) for concept in concepts):
            return _ints([message])[0], [str(concept) for concept in concepts]
    raise _Fault(_show_line(values))


def _tokens(values: list[Any]) -> _Line:
    match values:
        case [list(tokens)] if all(type(token) is str for token in tokens):
            return tokens, []
    raise _Fault(_show_line(values))


def _show_line(values: list[Any]) -> str:
    return _show(values[0]) if len(values) == 1 else f"{len(values)} JSON values: {_show(values)}"


_LINE_FORMATS: dict[str, tuple[_LineParser, str, str]] = {  # how to read it, what is expected, what it is
    "ints": (_ints, "a list of non-negative integers", "jsonl of integer arrays"),
    "strings": (_strings, "a string of symbols", "jsonl of strings"),
    "cbm": (_cbm, 'a pair of strings such as ["4.7.0", "19"]', "jsonl of CBM pairs"),
    "csar": (_csar, 'a pair of lists such as [4, 7], ["red"]', "jsonl of CSAR pairs"),
}


def _chunks(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, about a block at a time, with the number of the first."""
    with open(path, "rb") as file:
        number, rest, start = 1, b"", file.read(3)
        if start[:2] == b"\x1f\x8b":
            raise CorpusError(f"{path.name}: gzip data, expected lines of JSON; unpack it with gunzip first")
        file.seek(3 if start == codecs.BOM_UTF8 else 0)
        while block := file.read(max(_BLOCK, len(rest))):
            rest += block
            cut = rest.rfind(b"\n") + 1
            if cut:
                lines, rest = rest[:cut], rest[cut:]
                yield number, lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines
                number += lines.count(b"\n")
            elif len(rest) > _LONGEST_LINE:
                limit = f"a line of at most {_LONGEST_LINE} bytes"
                raise CorpusError(f"{path.name}:{number}: expected {limit}, got more")
        if rest:
            yield number, rest + b"\n"
        elif number == 1:
            raise CorpusError(f"{path.name}: empty file, expected a message a line, such as [3, 1, 4]")


def _byte_table(bits: Mapping[bytes, int]) -> bytes:
    """For `bytes.translate`: the bits of each byte."""
    return bytes(sum(value for some, value in bits.items() if byte in some) for byte in range(256))


_DIGIT, _OPEN, _CLOSE, _COMMA, _SPACE, _NEWLINE = (1 << bit for bit in range(6))
_CLASS = _byte_table(
    {b"0123456789": _DIGIT, b"[": _OPEN, b"]": _CLOSE, b",": _COMMA, b" ": _SPACE, b"\n": _NEWLINE}
)
_FOLLOWERS = _byte_table(
    {
        b"0123456789": _DIGIT | _COMMA | _CLOSE,
        b"[": _DIGIT | _CLOSE,
        b"]": _NEWLINE,
        b",": _DIGIT | _SPACE,
        b" ": _DIGIT,
        b"\n": _OPEN,
    }
)


def _parse_plain(lines: bytes) -> _Arrays | None:
    """Symbols, shape (num_symbols,), and message lengths, shape (num_messages,), of lines like `[1, 2, 3]`.

    Whether a text consists of such lines shows in its pairs of neighbouring bytes, apart from leading zeros
    and the size of numbers. So it is read in blocks that may end after any comma, however long the lines are.

    Returns:
        None if anything looks different, if only by a space: the exact reader must judge.
    """
    text = b"\n" + lines
    start, last, num_values = 0, len(text) - 1, 0
    values: list[NDArray[np.integer[Any]]] = []
    ends = [np.zeros(1, dtype=np.int64)]
    while start < last:  # text[start] is the comma or newline before the block
        stop = last
        if last - start > _BLOCK:
            stop = max(text.rfind(mark, start + 1, start + _BLOCK) for mark in (b",", b"\n"))
            if stop < 0:
                return None
        block = text[start : stop + 1]
        found = np.frombuffer(block[1:].translate(_CLASS), dtype=np.uint8)
        if not (found & np.frombuffer(block[:-1].translate(_FOLLOWERS), dtype=np.uint8)).all():
            return None
        digits = np.frombuffer(block, dtype=np.uint8) - np.uint8(ord("0"))
        is_digit = digits < 10
        if ((digits[1:-1] == 0) & is_digit[2:] & ~is_digit[:-2]).any():
            return None  # a leading zero
        place = np.flatnonzero(is_digit[:-1] > is_digit[1:])  # of each number's last digit
        ends.append(np.searchsorted(place, np.flatnonzero(found == _NEWLINE)) + num_values)
        numbers = digits[place].astype(np.int64)
        is_inside = np.ones(len(place), dtype=np.bool_)
        for power in range(1, 11):
            place -= 1
            is_inside &= is_digit[place]
            if not is_inside.any():
                break
            numbers += (digits[place] * is_inside) * np.int64(10**power)
        highest = int(numbers.max(initial=0))
        if is_inside.any() or highest >= _ID_LIMIT:
            return None
        values.append(numbers.astype(np.min_scalar_type(highest)))  # fresh memory is what costs most
        num_values += len(numbers)
        start = stop
    bounds: NDArray[np.int64] = np.concatenate(ends)
    return np.concatenate(values), np.diff(bounds).astype(np.int32)


class _Rows:
    """Rows that grow at the end. Strings become ids in order of appearance."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = {name: index for index, name in enumerate(names)}
        self.arrays: list[_Arrays] = [(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))]

    def extend(self, rows: Sequence[Sequence[int | str]]) -> None:
        names = self.names
        flat = chain.from_iterable(rows)
        ids = [names.setdefault(item, len(names)) if isinstance(item, str) else item for item in flat]
        lengths = [len(row) for row in rows]
        self.arrays.append((np.array(ids, dtype=np.int32), np.array(lengths, dtype=np.int32)))

    def ragged(self) -> Ragged:
        values, lengths = zip(*self.arrays, strict=True)
        return Ragged.from_lengths(np.concatenate(values, dtype=np.int32), np.concatenate(lengths))


def _detect_format(path: Path) -> str:
    """The format of the first line that has one; `ints` where none has."""
    for _, lines in _chunks(path):
        if _parse_plain(lines) is not None:
            return "ints"
        for line in lines.split(b"\n"):
            with contextlib.suppress(_Fault):
                values = _decode(line)
                for name, (parse, _, _) in _LINE_FORMATS.items():
                    with contextlib.suppress(_Fault):
                        parse(values)
                        return name
    return "ints"


def _read_lines(path: Path, format: str) -> Corpus:  # noqa: A002
    """A file with a message a line."""
    parse, expected, about = _LINE_FORMATS[_detect_format(path) if format == "auto" else format]
    messages, concepts, faults = _Rows(), _Rows(), _Faults(path, expected)
    for number, lines in _chunks(path):
        if parse is _ints and (plain := _parse_plain(lines)) is not None:
            messages.arrays.append(plain)
        else:
            parsed = faults.parse(lines[:-1].split(b"\n"), number, lambda line: parse(_decode(line)))
            messages.extend([symbols for symbols, _ in parsed])
            concepts.extend([named for _, named in parsed])
    faults.check()
    return Corpus(
        messages=messages.ragged(),
        symbol_names=tuple(messages.names) if parse in (_strings, _cbm) else None,
        concepts=concepts.ragged() if parse in (_cbm, _csar) else None,
        concept_names=tuple(concepts.names),
        metadata={"source_format": about},
    )


def _with_siblings(corpus: Corpus, folder: Path) -> Corpus:
    """Add what `metadata.json`, if it is ours, and `meanings.jsonl` know."""
    manifest = _read_manifest(folder / "metadata.json")
    hashes = manifest.get("sha256", {})
    for name in ("corpus.jsonl", "meanings.jsonl"):
        if name in hashes and hashes[name] != (actual := _sha256(folder / name)):
            raise CorpusError(f"{name}: SHA-256 is {actual}, not {hashes[name]} as metadata.json has it")
    if manifest:
        names = manifest.get("symbol_names")
        highest = int(corpus.messages.values.max(initial=0))
        if names is not None and len(names) <= highest:
            raise CorpusError(f"metadata.json: expected symbol_names up to id {highest}, got {len(names)}")
        metadata = manifest | {"source_format": "ecsuite corpus"}
        corpus = replace(corpus, eos=manifest["eos"], symbol_names=names and tuple(names), metadata=metadata)
    if "meanings.jsonl" in hashes or (not manifest and (folder / "meanings.jsonl").is_file()):
        corpus = _with_meanings(corpus, folder / "meanings.jsonl", manifest.get("concept_names", []))
    return corpus


def _read_manifest(path: Path) -> dict[str, Any]:
    """Our `metadata.json`; empty if there is none, or another tool's."""
    if not path.is_file():
        return {}
    try:
        manifest = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path.name}: expected JSON, got a fault: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return {}
    has_names = {key for key in ("symbol_names", "concept_names") if key in manifest}
    is_right: dict[str, Callable[[Any], bool]] = {
        "format_version": lambda value: value == 1,
        "eos": lambda value: value is None or (type(value) is int and 0 <= value < _ID_LIMIT),
        "sha256": lambda value: isinstance(value, dict) and "corpus.jsonl" in value,
        **dict.fromkeys(has_names, lambda value: isinstance(value, list) and all(map(_is_text, value))),
    }
    for key, check in is_right.items():
        if not check(value := manifest.get(key, ...)):
            raise CorpusError(f'{path.name}: "{key}" is {_show(value)}: damaged, or of a newer version')
    return manifest


def _with_meanings(corpus: Corpus, path: Path, names: Iterable[str]) -> Corpus:
    """Add meanings and concepts. The first line that is right decides which there are, and how wide."""
    faults = _Faults(path, 'an object such as {"meaning": [0, 2], "concepts": ["color=red"]}')
    meanings: list[list[Any]] = []
    concepts, first, num_lines = _Rows(names), dict[str, Any](), 0

    def parse(line: bytes) -> dict[str, Any]:
        return _meaning_line(_decode(line), first)

    for number, lines in _chunks(path):
        parsed = faults.parse(lines[:-1].split(b"\n"), number, parse)
        meanings += [line.get("meaning", []) for line in parsed]
        concepts.extend([line.get("concepts", []) for line in parsed])
        num_lines += lines.count(b"\n")
    faults.check()
    if num_lines != len(corpus.messages):
        wanted = len(corpus.messages)
        raise CorpusError(f"{path.name}: expected {wanted} lines, one a message, got {num_lines}")
    if "meaning" in first:
        corpus = replace(corpus, meanings=np.array(meanings))
    if "concepts" in first:
        corpus = replace(corpus, concepts=concepts.ragged(), concept_names=tuple(concepts.names))
    return corpus


def _meaning_line(values: list[Any], first: dict[str, Any]) -> dict[str, Any]:
    """Check a line of `meanings.jsonl`; `first` is the first right one, and is filled by it."""
    match values:
        case [dict(line)] if line and line.keys() <= {"meaning", "concepts"}:
            meaning, concepts = line.get("meaning", []), line.get("concepts", [])
        case _:
            raise _Fault(_show_line(values))
    if not isinstance(concepts, list) or not all(map(_is_text, concepts)):
        raise _Fault(_show(concepts), "concepts to be a list of strings")
    if not isinstance(meaning, list) or not (all(map(_is_text, meaning)) or all(map(_is_number, meaning))):
        raise _Fault(_show(meaning), "a meaning to be a list of numbers, or of strings")
    if not first:
        first.update(line)
    kinds = [list(map(_is_text, row)) for row in (meaning, first.get("meaning", []))]
    if line.keys() != first.keys() or kinds[0] != kinds[1]:
        raise _Fault(_show(line), f"a line like the first, {_show(first)}")
    return line


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    """Whether an array can hold it."""
    return (type(value) is int and abs(value) < 1 << 63) or (type(value) is float and math.isfinite(value))


def _is_table(path: Path) -> bool:
    """Whether this is a Parquet file, or a folder with such files or a saved dataset."""
    if path.is_dir():
        return any(any(path.glob(pattern)) for pattern in ("*.parquet", "data*.arrow", "dataset_dict.json"))
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _read_table(path: Path) -> Corpus:
    """A Parquet file or a folder of them, or a saved Hugging Face dataset (files of Arrow streams)."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet, types
    except ImportError:
        raise CorpusError(f"{path}: tables need pyarrow: pip install 'ecsuite[data]'") from None
    if (path / "dataset_dict.json").is_file():
        splits = sorted(state.parent for state in path.glob("*/state.json"))
        if len(splits) != 1:
            raise CorpusError(f"{path}: choose a split: {', '.join(map(str, splits)) or 'it has none'}")
        path = splits[0]
    files = [path] if path.is_file() else [*sorted(path.glob("*.parquet")), *sorted(path.glob("data*.arrow"))]
    if not files:
        raise CorpusError(f"{path}: no {_FOLDER_HOLDS} in it")
    try:
        tables = [
            ipc.open_stream(pyarrow.memory_map(str(file))).read_all()
            if file.suffix == ".arrow"
            else parquet.read_table(file)
            for file in files
        ]
        table = pyarrow.concat_tables(tables)
    except pyarrow.ArrowException as error:
        raise CorpusError(f"{path.name}: cannot be read as a table: {_shorten(str(error))}") from None
    name = next((name for name in _COLUMNS if name in table.column_names), None)
    if name is None:
        found = _shorten(", ".join(table.column_names))
        raise CorpusError(f"{path.name}: expected one of the columns {', '.join(_COLUMNS)}, got {found}")
    if not len(table):
        raise CorpusError(f"{path.name}: empty table, expected a message a row")
    kind = table.schema.field(name).type
    item_kind = getattr(kind, "value_type", pyarrow.null())
    parse: _LineParser = _ints
    expected = _LINE_FORMATS["ints"][1]
    if not types.is_nested(kind):
        parse, expected = _strings, _LINE_FORMATS["strings"][1]
    elif types.is_string(item_kind) or types.is_large_string(item_kind):
        parse, expected = _tokens, "a list of strings"
    messages, faults, number = _Rows(), _Faults(path, expected), 1
    for chunk in table.column(name).chunks:
        if parse is _ints and (plain := _plain_lists(chunk)) is not None:
            messages.arrays.append(plain)
        else:
            messages.extend(faults.parse(chunk.to_pylist(), number, lambda row: parse([row])[0]))
        number += len(chunk)
    faults.check()
    return Corpus(
        messages=messages.ragged(),
        symbol_names=None if parse is _ints else tuple(messages.names),
        metadata={"source_format": f"table, column {name}: {expected}"},
    )


def _plain_lists(lists: Any) -> _Arrays | None:
    """The symbols and lengths of an Arrow array of integer lists; None if not all of them can be symbols."""
    from pyarrow import compute, null, types

    if lists.null_count or not types.is_integer(getattr(lists.type, "value_type", null())):
        return None
    flat = lists.flatten()
    values = flat.to_numpy(zero_copy_only=False)
    if flat.null_count or values.min(initial=0) < 0 or values.max(initial=0) >= _ID_LIMIT:
        return None
    lengths = compute.list_value_length(lists).to_numpy(zero_copy_only=False)
    return values, lengths
