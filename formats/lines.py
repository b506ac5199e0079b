"""Files with one message per line: integers, strings, and pairs as written by other tools."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.corpus import Corpus
from ecsuite.formats.blocks import chunks
from ecsuite.formats.line_errors import ErrorList, LineError, show, show_line
from ecsuite.formats.plain import parse_plain
from ecsuite.formats.records import is_record, read_records
from ecsuite.formats.rows import ID_LIMIT, Rows
from ecsuite.formats.strict_json import decode

_Line = tuple[Sequence[int | str], list[str]]  # symbols; concepts, if the format has them
LineParser = Callable[[list[Any]], _Line]


def ints(values: list[Any]) -> _Line:
    """Parse `[4, 7, 0]`."""
    match values:
        case [list(symbols)]:
            for symbol in symbols:
                if type(symbol) is not int or symbol < 0:
                    raise LineError(show(symbol))
                if symbol >= ID_LIMIT:
                    raise LineError(show(symbol), f"integers below {ID_LIMIT}")
            return symbols, []
    raise LineError(show_line(values))


def strings(values: list[Any]) -> _Line:
    """Parse `"da bu"`."""
    match values:
        case [str(message)]:
            return message.split(), []
    raise LineError(show_line(values))


def _cbm(values: list[Any]) -> _Line:
    """Parse `["4.7.0", "19"]`."""
    match values:
        case [[str(message), str(phrase)]]:
            symbols, concepts = (text.split(".") if text else [] for text in (message, phrase))
            if "" not in symbols and "" not in concepts:
                return symbols, concepts
    raise LineError(show_line(values))


def _csar(values: list[Any]) -> _Line:
    """Parse `[4, 7], ["red"]`, or both lists in one array."""
    match values:
        case [[list(message), list(concepts)]] if all(type(concept) is str for concept in concepts):
            return ints([message])[0], concepts
        case [list(message), list(concepts)] if all(type(concept) in (int, str) for concept in concepts):
            return ints([message])[0], [str(concept) for concept in concepts]
    raise LineError(show_line(values))


@dataclass(frozen=True, kw_only=True, slots=True)
class LineFormat:
    """A format with one message per line."""

    parse: LineParser
    """Maps the JSON values of a line to symbols and concepts, or raises `LineError`."""
    expected: str
    """Description of a valid line, for error messages."""
    about: str
    """Name of the format in `metadata["source_format"]`."""
    has_names: bool = False
    """Whether symbols are strings."""
    has_concepts: bool = False
    """Whether lines contain concepts."""


FORMATS: dict[str, LineFormat] = {
    "ints": LineFormat(
        parse=ints, expected="a list of non-negative integers", about="jsonl of integer arrays"
    ),
    "strings": LineFormat(
        parse=strings, expected="a string of symbols", about="jsonl of strings", has_names=True
    ),
    "cbm": LineFormat(
        parse=_cbm,
        expected='a pair of strings such as ["4.7.0", "19"]',
        about="jsonl of CBM pairs",
        has_names=True,
        has_concepts=True,
    ),
    "csar": LineFormat(
        parse=_csar,
        expected='a pair of lists such as [4, 7], ["red"]',
        about="jsonl of CSAR pairs",
        has_concepts=True,
    ),
}


RECORDS = "records"
"""The format of JSON objects, see `read_records`."""


def _detect_format(path: Path) -> str:
    """The first format that parses any line of the file, in line order, or `RECORDS`; `ints` if no line parses."""
    for _, lines in chunks(path):
        if parse_plain(lines) is not None:
            return "ints"
        for line in lines.split(b"\n"):
            with contextlib.suppress(LineError):
                values = decode(line)
                if is_record(values):
                    return RECORDS
                for name, kind in FORMATS.items():
                    with contextlib.suppress(LineError):
                        kind.parse(values)
                        return name
    return "ints"


def read_lines(path: Path, format: str) -> Corpus:  # noqa: A002
    """Read a file with one message per line.

    Args:
        path: The file.
        format: A key of `FORMATS`, `RECORDS`, or `auto`: the format of the first line that is valid in any format.

    Raises:
        CorpusError: If lines are not valid, or there are none.
        OSError: If the file cannot be read.
    """
    name = _detect_format(path) if format == "auto" else format
    if name == RECORDS:
        return read_records(path)
    kind = FORMATS[name]
    messages, concepts, errors = Rows(), Rows(), ErrorList(path, kind.expected)
    for number, lines in chunks(path):
        if kind.parse is ints and (plain := parse_plain(lines)) is not None:
            messages.arrays.append(plain)
        else:
            parsed = errors.parse(lines[:-1].split(b"\n"), number, lambda line: kind.parse(decode(line)))
            messages.extend([symbols for symbols, _ in parsed])
            concepts.extend([named for _, named in parsed])
    errors.check()
    return Corpus(
        messages=messages.ragged(),
        symbol_names=tuple(messages.names) if kind.has_names else None,
        concepts=concepts.ragged() if kind.has_concepts else None,
        concept_names=tuple(concepts.names),
        metadata={"source_format": kind.about},
    )
