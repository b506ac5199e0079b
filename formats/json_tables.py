"""Read JSON as tables: one message or record per line, or one or several documents over many lines."""

import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecsuite.formats.array_files import DAMAGE
from ecsuite.formats.cells import ids_of, without_padding
from ecsuite.formats.layouts import recognised
from ecsuite.formats.roles import MESSAGE_NAMES, plain_name
from ecsuite.formats.stored_text import chunks, ending_of, read_text
from ecsuite.formats.strict_json import (
    ID_LIMIT,
    VALUES,
    ErrorList,
    LineError,
    decode,
    documents,
    shorten,
    show,
    show_line,
)
from ecsuite.formats.table import Arrays, RawTable, Rows, columns_of
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion, missing_extra
from ecsuite.runtime.memory import require_memory

Row = dict[str, Any]
SAMPLE = 200
"""Number of lines from which the form is inferred."""

_BLOCK = 1 << 18
"""Number of bytes parsed at a time; the working memory fits the second-level cache."""
_DIGIT, _OPEN, _CLOSE, _COMMA, _SPACE, _NEWLINE = (1 << bit for bit in range(6))
_BITS = {b"0123456789": _DIGIT, b"[": _OPEN, b"]": _CLOSE, b",": _COMMA, b" ": _SPACE, b"\n": _NEWLINE}
"""The bit of each byte of plain lines."""
_BITS_AFTER = {
    b"0123456789": _DIGIT | _COMMA | _CLOSE,
    b"[": _DIGIT | _CLOSE,
    b"]": _NEWLINE,
    b",": _DIGIT | _SPACE,
    b" ": _DIGIT,
    b"\n": _OPEN,
}
"""Bits of the bytes that may follow, by bit of a byte."""
_CLASS, _FOLLOWERS = (
    bytes(sum(value for some, value in bits.items() if byte in some) for byte in range(256))
    for bits in (_BITS, _BITS_AFTER)
)
"""Tables for `bytes.translate`."""


SPLIT_NAMES = ("train", "training", "test", "valid", "validation", "dev", "held_out")
"""Keys of lists of rows that are splits; other keys are groups."""


class JsonForm(NamedTuple):
    """Form of a line's JSON values, or of an item of a list."""

    parse: Callable[[list[Any]], Row]
    """Function that converts the values to a row, or raises `LineError`."""
    expected: str
    """Description of valid values, for messages."""
    about: str
    """Name of the form for `metadata["source_format"]`."""


def ints(values: list[Any]) -> Row:
    """Parse `[4, 7, 0]`."""
    match values:
        case [list(symbols)]:
            return {"message": ids_of(without_padding(symbols))}
    raise LineError(show_line(values))


def _strings(values: list[Any]) -> Row:
    match values:
        case [str(message)]:
            return {"message": message}
    raise LineError(show_line(values))


def _tokens(values: list[Any]) -> Row:
    match values:
        case [list(tokens)] if _are(tokens, str):
            return {"message": tokens}
    raise LineError(show_line(values))


def _cbm(values: list[Any]) -> Row:
    match values:
        case [[str(message), str(phrase)]]:
            symbols, concepts = (text.split(".") if text else [] for text in (message, phrase))
            if "" not in symbols and "" not in concepts:
                return {"message": symbols, "concepts": concepts}
    raise LineError(show_line(values))


def _csar(values: list[Any]) -> Row:
    """Parse `[4, 7], ["red"]`, or both in one list; the message may be a text, as in `["green hat", ["green"]]`."""
    match values:
        case [[list() | str() as message, list(concepts)]] if _are(concepts, str):
            pass
        case [list() | str() as message, list(concepts)] if {*map(type, concepts)} <= {int, str}:
            pass
        case _:
            raise LineError(show_line(values))
    if isinstance(message, list) and not (message and _are(message, str)):
        message = ids_of(without_padding(message))
    return {"message": message, "concepts": [str(each) for each in concepts]}


def _record(values: list[Any]) -> Row:
    match values:
        case [dict(record)] if record:
            return record
    raise LineError(show_line(values))


def _are(items: list[Any], kind: type) -> bool:
    return all(isinstance(each, kind) for each in items)


RECORD = 'an object such as {"message": [3, 1, 4], "meaning": {"color": "red"}}'
FORMS = {
    "ints": JsonForm(ints, "a list of non-negative integers", "jsonl of integer arrays"),
    "strings": JsonForm(_strings, "a string of symbols", "jsonl of strings"),
    "cbm": JsonForm(_cbm, 'a pair of strings such as ["4.7.0", "19"]', "jsonl of CBM pairs"),
    "csar": JsonForm(_csar, 'a pair of lists such as [4, 7], ["red"]', "jsonl of CSAR pairs"),
    "tokens": JsonForm(_tokens, "a list of strings", "jsonl of lists of strings"),
    "records": JsonForm(_record, RECORD, "jsonl of records"),
}
"""Forms by name; the first form that fits is used."""


def read_json_table(file: Path, name: str) -> RawTable:
    """Read plain or compressed JSON as a table: lines, one document, or several documents.

    Raises:
        ConfigError: If reading needs more memory than is allowed.
        CorpusError: If lines are not valid, or there are none; the message names the first invalid line.
    """
    blocks = chunks(file, name)
    first, following = next(blocks), next(blocks, None)
    lines = first[1][:-1].split(b"\n")
    if (table := _document(lines, file, name, is_all=following is None)) is not None:
        return table
    sample = []
    for line in lines[:SAMPLE]:
        try:
            sample.append(decode(line))
        except LineError:
            continue
    kind = FORMS[_form_of_values(sample)]
    messages, errors, rows = Rows(), ErrorList(name, kind.expected), list[Row]()
    for block, after in pairwise(chain([first, following], blocks, [None])):
        if block is None:
            break
        start, content = block
        content = content.rstrip() + b"\n" if after is None else content  # removes empty lines at the end
        if kind.parse is ints and (plain := parse_plain(content)) is not None:
            messages.arrays.append(plain)
            continue
        parsed = errors.parse(content[:-1].split(b"\n"), start, lambda line: kind.parse(decode(line)))
        if kind.parse is ints:
            messages.extend([row["message"] for row in parsed])
        else:
            rows += parsed
    errors.check()
    if kind.parse is not ints:
        return _table(name, kind.about, "line", rows)
    found = messages.ragged()
    return RawTable(
        source=name, about=kind.about, columns={"message": found}, rows=range(1, len(found) + 1), unit="line",
        is_header=False, roles={"message": "message"},
    )  # fmt: skip


def read_packed_log(file: Path, name: str) -> RawTable:
    """Read a log of Inspect in its `.eval` form: a zip archive with one JSON file per sample."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = [each for each in archive.infolist() if each.filename.startswith("samples/")]
            members += [archive.getinfo("header.json")]
            require_memory(VALUES * sum(each.file_size for each in members), file)
            texts = [_unpacked(archive, each, file).decode() for each in members]
    except ImportError:
        raise CorpusError(str(missing_extra(f"{name}: packed logs need pyarrow", "data"))) from None
    except (*DAMAGE, struct.error) as error:
        if isinstance(error, ConfigError):
            raise
        raise CorpusError(f"{name}: can't be unpacked: {error!s:.120}") from None
    *samples, header = (documents(text, name)[:1] for text in texts)
    if not samples or not header or not isinstance(header[0], dict):
        raise CorpusError(f"{name}: the archive has no samples, expected a log of Inspect")
    log = {**header[0], "samples": [sample for each in samples for sample in each]}
    return _table(name, "a packed log of Inspect", "item", [log])


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: Path) -> bytes:
    """Read a member of a zip archive; Zstandard is decompressed here, since `zipfile` does not support it."""
    if member.compress_type != 93:  # compression type of Zstandard
        return archive.read(member)
    import pyarrow

    with open(file, "rb") as opened:
        opened.seek(member.header_offset + 26)
        opened.seek(sum(struct.unpack("<HH", opened.read(4))), 1)
        packed = pyarrow.BufferReader(opened.read(member.compress_size))
    content = bytes(pyarrow.CompressedInputStream(packed, "zstd").read(member.file_size))
    if zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile(f"{member.filename} does not match its checksum")
    return content


def begins_document(line: bytes) -> bool:
    """Whether a line is the beginning of a JSON document over several lines: it ends between values."""
    return line.strip()[:1] in (b"[", b"{") and line.strip()[-1:] in (b"[", b"{", b",")


def _document(lines: Sequence[bytes], file: Path, name: str, *, is_all: bool) -> RawTable | None:
    """Read lines as one or several documents; None if each line is a message or record of its own."""
    filled = [line for line in lines if line.strip()]
    if is_all and len(filled) == 1:
        try:
            values = decode(filled[0])
        except LineError:
            return _of_documents(file, name) if ending_of(name) == ".json" else None
        if len(values) > 1 or not values[0]:
            return None
        if not isinstance(values[0], list):
            return _of_mapping(values[0], name)
        are_rows = all(isinstance(each, list | dict) for each in values[0]) and not _is(_csar, values)
        are_rows |= ending_of(name) == ".json" and _are(values[0], str)
        return _of_items(values[0], name) if are_rows else None
    try:
        decode(lines[0])
        return None
    except LineError:
        if len(lines) < 2 or not begins_document(lines[0]):
            return None
    try:
        return _of_documents(file, name)
    except CorpusError:
        if lines[0].strip() in (b"[", b"{", b"[{", b"[["):
            raise
        return None  # the first line is complete: the error is in a line


def _of_documents(file: Path, name: str) -> RawTable:
    values = documents(read_text(file, factor=VALUES), name)
    if len(values) == 1 and isinstance(values[0], list):
        return _of_items(values[0], name)
    return (_of_mapping(values[0], name) if len(values) == 1 else None) or _of_items(values, name)


def _of_mapping(value: Any, name: str) -> RawTable | None:
    """Read columns as written by pandas (`DataFrame.to_json`), or rows among other keys; None for a record."""
    if not isinstance(value, dict) or not value:
        return None
    whole = _table(name, "JSON of records", "item", [value])
    if recognised(whole) is not None:
        return whole
    match value:
        case {"columns": [*header], "data": [list(), *_] as data} if {*map(len, data)} == {len(header)}:
            columns = zip(map(str, header), map(list, zip(*data, strict=True)), strict=True)
            return _of_columns(dict(columns), name)
    lists = {key: each for key, each in value.items() if isinstance(each, list) and each and _are(each, dict)}
    rows = {key: each for key, each in lists.items() if all(_has_message([row]) for row in each)}
    if len(rows) > 1:  # `train` and `test`, or seeds
        part = "split" if any(key.lower() in SPLIT_NAMES for key in rows) else "group"
        return _of_items([{part: key, **row} for key, each in rows.items() for row in each], name)
    if rows or len(lists) == 1:
        return _of_items(next(iter((rows or lists).values())), name)
    mappings = list(value.values())
    if _are(mappings, dict) and all(each.keys() == mappings[0].keys() for each in mappings):
        if all(_has_message([row]) for row in mappings):
            return _of_items(mappings, name)
        value = {key: list(cells.values()) for key, cells in value.items()}
    return _of_columns(value, name)


def _of_columns(value: Row, name: str) -> RawTable | None:
    """Read a mapping of columns, that is, lists of equal length with one column of messages; None if it is not one."""
    if not _are(list(value.values()), list) or len({*map(len, value.values())}) != 1:
        return None
    named = [cells for key, cells in value.items() if plain_name(key) in MESSAGE_NAMES] or value.values()
    # In a file of lines, a record may have a list of words as its message.
    kinds = (list, str) if ending_of(name) == ".json" else (list,)
    if not any(cells and all(isinstance(cell, kinds) for cell in cells) for cells in named):
        return None
    number = len(next(iter(value.values())))
    rows = range(1, number + 1)
    return RawTable(source=name, about="JSON of columns", columns=value, rows=rows, unit="item")


def _of_items(items: Sequence[Any], name: str) -> RawTable:
    if not items:
        raise CorpusError(f"{name}: an empty list, expected messages, such as [[3, 1, 4]]")
    if all(isinstance(each, list) and each and _are(each, dict) and all(each) for each in items):
        items = [
            {"generation": number, **({"lexicon": row} if _is_lexicon(row) else row)}
            for number, each in enumerate(items)
            for row in each
        ]
    form = FORMS[_form_of_values([[item] for item in items[:SAMPLE]])]
    errors = ErrorList(name, form.expected, "item")
    rows = errors.parse(items, 1, lambda item: form.parse([item]))
    errors.check()
    found = _table(name, form.about.replace("jsonl", "JSON"), "item", rows)
    spaced = [text for row in rows for text in row["message"] if " " in text] if form.parse is _tokens else []
    if not spaced:
        return found
    asked = (
        f"lists with texts such as {shorten(spaced[0])}: expected symbols, or objects such as {RECORD[18:]}"
    )
    return replace(
        found, unclear=ReadingQuestion(name, asked, [({"split": "spaces"}, "each text is a symbol")])
    )


def parse_plain(lines: bytes) -> Arrays | None:
    """Parse lines like `[1, 2, 3]`: symbols, (num_symbols,), and message lengths, (num_messages,).

    Returns None if any byte differs from this form; the JSON parser then reads the block. Apart from leading zeros and
    the size of numbers, pairs of adjacent bytes suffice to check the syntax, so that the text can be split into blocks
    after any comma, even inside a long line.
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
        place = np.flatnonzero(is_digit[:-1] > is_digit[1:])  # index of each number's last digit
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
        if is_inside.any() or highest >= ID_LIMIT:
            return None
        values.append(numbers.astype(np.min_scalar_type(highest)))  # allocation dominates the cost
        num_values += len(numbers)
        start = stop
    bounds: NDArray[np.int64] = np.concatenate(ends)
    return np.concatenate(values), np.diff(bounds).astype(np.int32)


def _table(name: str, about: str, unit: str, rows: Sequence[Row]) -> RawTable:
    columns = columns_of(rows)
    is_header = not about.endswith(("strings", "arrays", "pairs", "CBM pairs", "CSAR pairs"))
    is_plain = columns.keys() == {"message"} and not any(isinstance(row["message"], dict) for row in rows)
    roles = {} if is_header and not is_plain else {"message": "message"}
    return RawTable(
        source=name, about=about, columns=columns, rows=range(1, len(rows) + 1), unit=unit, is_header=is_header,
        roles=roles, unclear=None if roles else _parallel(name, columns),
    )  # fmt: skip


def _parallel(source: str, columns: Mapping[str, Any]) -> ReadingQuestion | None:
    """Make the question whether items of lists, whose lengths agree in all rows, are messages or symbols."""
    lists = {name: cells for name, cells in columns.items() if _are(cells, list)}
    message = next((name for name in lists if plain_name(name) in MESSAGE_NAMES), None)
    if message is None:
        return None
    lengths = [len(cell) for cell in lists[message]]
    lists = {name: cells for name, cells in lists.items() if [len(cell) for cell in cells] == lengths}
    if len(lists) < 2:
        return None
    items = [item for cell in lists[message] for item in cell]
    if not any(isinstance(item, list) or (isinstance(item, str) and " " in item) for item in items):
        return None
    same = f"{', '.join(map(shorten, lists))} have the same number of items in each row"
    readings = [
        ({"layout": f"rows:{','.join(lists)}"}, f"{len(items)} messages such as {show(items[0])}"),
        ({"split": "spaces"}, f"{len(lists[message])} messages such as {show(lists[message][0])}"),
    ]
    return ReadingQuestion(source, f"{same}: is an item of {message} a message, or a symbol?", readings)


def _form_of_values(sample: Sequence[list[Any]]) -> str:
    """The form of most lines; pairs of strings are CBM's form only if they contain dots."""
    pairs = [values[0] for values in sample if _is(_cbm, values)]
    are_pairs = all(_is(_cbm, values) for values in sample if _is(_tokens, values))
    are_pairs = are_pairs and any("." in text for pair in pairs for text in pair)
    fitting = (
        (name for name, form in FORMS.items() if _is(form.parse, values) and (name != "cbm" or are_pairs))
        for values in sample
        if values != [[]]
    )
    found = [name for name in (next(names, None) for names in fitting) if name is not None]
    if not found:
        return "ints"
    is_record = "records" in found and any(_has_message(values) for values in sample)
    return max(found, key=lambda name: (found.count(name), name == "records" and is_record, name == "ints"))


def _has_message(values: list[Any]) -> bool:
    return _is(_record, values) and any(plain_name(key) in MESSAGE_NAMES for key in values[0])


def _is_lexicon(row: Any) -> bool:
    """Whether a mapping is a language: values are messages, and no key is the name of a column of messages."""
    return not _has_message([row]) and all(isinstance(each, str | list) for each in row.values())


def _is(parse: Callable[[list[Any]], Row], values: list[Any]) -> bool:
    try:
        parse(values)
        return True
    except LineError:
        return False


def is_tokens(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether lists of strings, one per line, are read as messages instead of pairs."""
    starts = range(0, len(rows), SAMPLE)  # so that each part of the file is read in the same way
    samples = ([[list(row)] for row in rows[start : start + SAMPLE] if row] for start in starts)
    forms = {*map(_form_of_values, samples)}
    return bool(rows) and forms <= {"tokens", "ints"} and any(rows[:SAMPLE])
