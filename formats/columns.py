"""Read and write further columns of a corpus: `split.jsonl`, `file.jsonl` and others, a JSON value a message."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.formats.blocks import chunks
from ecsuite.formats.line_errors import ErrorList, LineError, show_line
from ecsuite.formats.strict_json import decode, encode
from ecsuite.runtime.errors import CorpusError

OTHER_FILES = ("corpus", "meanings", "log")
"""Names of files in a folder with a corpus that are no columns."""
_NAME = re.compile(r"[a-z][a-z_]{0,39}")


def column_file(name: str) -> str:
    """The file of a column.

    Raises:
        ValueError: If no column may have this name.
    """
    if not _NAME.fullmatch(name) or name in OTHER_FILES:
        raise ValueError(f"cannot write the column {name!r}: expected lower-case letters, such as split")
    return f"{name}.jsonl"


def columns_in(hashes: Mapping[str, Any]) -> list[str]:
    """The columns among the files whose checksums metadata has."""
    names = (name.removesuffix(".jsonl") for name in hashes if name.endswith(".jsonl"))
    return [name for name in names if _NAME.fullmatch(name) and name not in OTHER_FILES]


def column_lines(values: NDArray[Any]) -> Iterator[bytes]:
    """The values of a column as JSON lines."""
    yield b"".join(encode(value) for value in values.tolist())


def read_column(path: Path, num_messages: int) -> NDArray[Any]:
    """Read a column: texts or numbers, one a line.

    Raises:
        CorpusError: If a line is anything else, or there are not as many as messages.
    """
    errors = ErrorList(path, 'one text or number a line, such as "train", and all of one type')
    values: list[Any] = []
    first: list[Any] = []

    def parse(line: bytes) -> Any:
        value = _value(decode(line), first)
        first[:] = first or [value]
        return value

    for number, lines in chunks(path):
        values += errors.parse(lines[:-1].split(b"\n"), number, parse)
    errors.check()
    if len(values) != num_messages:
        raise CorpusError(f"{path.name}: expected {num_messages} lines, one per message, got {len(values)}")
    return np.array(values)


def _value(values: list[Any], first: Iterable[Any]) -> Any:
    """The value of a line, of the type of the first line."""
    match values:
        case [str() | int() | float() as value] if type(value) is not bool:
            if all(isinstance(value, str) == isinstance(other, str) for other in first):
                return value
    raise LineError(show_line(values))
