"""Files with a message a line: integers, strings, and the pairs of other tools."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.corpus import Corpus
from ecsuite.formats.blocks import chunks
from ecsuite.formats.faults import Fault, Faults, show, show_line
from ecsuite.formats.plain import parse_plain
from ecsuite.formats.rows import ID_LIMIT, Rows
from ecsuite.formats.strict_json import decode

_Line = tuple[Sequence[int | str], list[str]]  # symbols, and concepts where the format has them
LineParser = Callable[[list[Any]], _Line]


def ints(values: list[Any]) -> _Line:
    """`[4, 7, 0]`."""
    match values:
        case [list(symbols)]:
            for symbol in symbols:
                if type(symbol) is not int or symbol < 0:
                    raise Fault(show(symbol))
                if symbol >= ID_LIMIT:
                    raise Fault(show(symbol), f"integers below {ID_LIMIT}")
            return symbols, []
    raise Fault(show_line(values))


def strings(values: list[Any]) -> _Line:
    """`"da bu"`."""
    match values:
        case [str(message)]:
            return message.split(), []
    raise Fault(show_line(values))


def _cbm(values: list[Any]) -> _Line:
    """`["4.7.0", "19"]`."""
    match values:
        case [[str(message), str(phrase)]]:
            symbols, concepts = (text.split(".") if text else [] for text in (message, phrase))
            if "" not in symbols and "" not in concepts:
                return symbols, concepts
    raise Fault(show_line(values))


def _csar(values: list[Any]) -> _Line:
    """`[4, 7], ["red"]`, or both in one array."""
    match values:
        case [[list(message), list(concepts)]] if all(type(concept) is str for concept in concepts):
            return ints([message])[0], concepts
        case [list(message), list(concepts)] if all(type(concept) in (int, str) for concept in concepts):
            return ints([message])[0], [str(concept) for concept in concepts]
    raise Fault(show_line(values))


@dataclass(frozen=True, kw_only=True, slots=True)
class LineFormat:
    """A format that has a message a line."""

    parse: LineParser
    """Makes symbols and concepts of the JSON values of a line, or raises `Fault`."""
    expected: str
    """What a right line is."""
    about: str
    """What the file is then, for `metadata["source_format"]`."""
    has_names: bool = False
    """Whether its symbols are strings."""
    has_concepts: bool = False
    """Whether its lines name concepts."""


FORMATS: dict[str, LineFormat] = {
    "ints": LineFormat(
        parse=ints,
        expected="a list of non-negative integers",
        about="jsonl of integer arrays",
    ),
    "strings": LineFormat(
        parse=strings,
        expected="a string of symbols",
        about="jsonl of strings",
        has_names=True,
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


def _detect_format(path: Path) -> str:
    """The format of the first line that has one; `ints` where none has."""
    for _, lines in chunks(path):
        if parse_plain(lines) is not None:
            return "ints"
        for line in lines.split(b"\n"):
            with contextlib.suppress(Fault):
                values = decode(line)
                for name, kind in FORMATS.items():
                    with contextlib.suppress(Fault):
                        kind.parse(values)
                        return name
    return "ints"


def read_lines(path: Path, format: str) -> Corpus:  # noqa: A002
    """Read a file with a message a line.

    Args:
        path: The file.
        format: A key of `FORMATS`, or `auto`: the format of the first line that has one.

    Raises:
        CorpusError: If lines are faulty, or there are none.
        OSError: If the file cannot be read.
    """
    kind = FORMATS[_detect_format(path) if format == "auto" else format]
    messages, concepts, faults = Rows(), Rows(), Faults(path, kind.expected)
    for number, lines in chunks(path):
        if kind.parse is ints and (plain := parse_plain(lines)) is not None:
            messages.arrays.append(plain)
        else:
            parsed = faults.parse(lines[:-1].split(b"\n"), number, lambda line: kind.parse(decode(line)))
            messages.extend([symbols for symbols, _ in parsed])
            concepts.extend([named for _, named in parsed])
    faults.check()
    return Corpus(
        messages=messages.ragged(),
        symbol_names=tuple(messages.names) if kind.has_names else None,
        concepts=concepts.ragged() if kind.has_concepts else None,
        concept_names=tuple(concepts.names),
        metadata={"source_format": kind.about},
    )
