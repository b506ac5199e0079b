"""Read and write `meanings.jsonl`: the meaning and the concepts of each message, line-aligned."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.formats.blocks import chunks
from ecsuite.formats.line_errors import ErrorList, LineError, show, show_line
from ecsuite.formats.rows import Rows
from ecsuite.formats.strict_json import decode, encode, is_text
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.printable import printable

_MAX_KNOWN = 1 << 16
"""Lines that are remembered, to limit memory."""


def meaning_lines(corpus: Corpus) -> Iterator[bytes]:
    """The meanings and concepts of a corpus as JSON lines."""
    for index in range(len(corpus.messages)):
        line: dict[str, Any] = {}
        if corpus.meanings is not None:
            line["meaning"] = corpus.meanings[index].tolist()
        if corpus.concepts is not None:
            line["concepts"] = corpus.concepts_of(index)
        yield encode(line)


def with_meanings(corpus: Corpus, path: Path, names: Iterable[str]) -> Corpus:
    """Add meanings and concepts. All lines must have the keys, length and type of the first valid line.

    Most lines repeat others, so each is decoded once, and further lines are looked up.
    """
    errors = ErrorList(path.name, 'an object such as {"meaning": [0, 2], "concepts": ["color=red"]}')
    concepts, first, num_lines, num_distinct = Rows(names), dict[str, Any](), 0, 0
    known: dict[bytes, int] = {}
    distinct: list[dict[str, Any]] = []
    meanings: list[NDArray[Any]] = []
    places = [np.zeros(0, np.int32)]

    def place_of(line: bytes) -> int:
        """The number of a line among the different ones."""
        place = known.get(line)
        if place is None:
            distinct.append(_meaning_line(decode(line), first))
            place = num_distinct + len(distinct) - 1
            if place < _MAX_KNOWN:
                known[line] = place
        return place

    for number, block in chunks(path):
        lines = block[:-1].split(b"\n")
        found = list(map(known.get, lines))
        places.append(np.array(errors.parse(lines, number, place_of) if None in found else found, np.int32))
        if distinct:
            meanings.append(np.array([_safe(line.get("meaning", [])) for line in distinct]))
            concepts.extend([line.get("concepts", []) for line in distinct])
            num_distinct += len(distinct)
            distinct.clear()
        num_lines += len(lines)
    errors.check()
    if num_lines != len(corpus.messages):
        expected_lines = len(corpus.messages)
        raise CorpusError(f"{path.name}: expected {expected_lines} lines, one per message, got {num_lines}")
    rows = np.concatenate(places)
    if "meaning" in first:
        corpus = replace(corpus, meanings=_narrowed(np.concatenate(meanings)).take(rows, axis=0))
    if "concepts" in first:
        corpus = replace(corpus, concepts=concepts.ragged().take(rows), concept_names=tuple(concepts.names))
    return corpus


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Integers of 64 bits in 32 bits, where they fit: half of the memory."""
    limits = np.iinfo(np.int32)
    if values.dtype != np.int64 or values.min(initial=0) < limits.min or values.max(initial=0) > limits.max:
        return values
    return values.astype(np.int32)


def _meaning_line(values: list[Any], first: dict[str, Any]) -> dict[str, Any]:
    """Check a line of `meanings.jsonl`; `first` is the first valid line (empty before it, then filled)."""
    match values:
        case [dict(line)] if line and line.keys() <= {"meaning", "concepts"}:
            meaning, concepts = line.get("meaning", []), line.get("concepts", [])
        case _:
            raise LineError(show_line(values))
    if not isinstance(concepts, list) or not all(map(is_text, concepts)):
        raise LineError(show(concepts), "concepts to be a list of strings")
    if not isinstance(meaning, list) or not (all(map(is_text, meaning)) or all(map(_is_number, meaning))):
        raise LineError(show(meaning), "a meaning to be a list of numbers, or of strings")
    if not first:
        first.update(line)
    kinds = [list(map(is_text, row)) for row in (meaning, first.get("meaning", []))]
    if line.keys() != first.keys() or kinds[0] != kinds[1]:
        raise LineError(show(line), f"a line like the first, {show(first)}")
    return line


def _safe(meaning: list[Any]) -> list[Any]:
    """A meaning whose texts are safe to print."""
    return [printable(value) if isinstance(value, str) else value for value in meaning]


def _is_number(value: object) -> bool:
    """Whether a JSON value is a number that fits int64 or a finite float64."""
    return (type(value) is int and abs(value) < 1 << 63) or (type(value) is float and math.isfinite(value))
