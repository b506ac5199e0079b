"""Read and write further columns of a corpus: `split.jsonl`, `file.jsonl` and others, a JSON value a message."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ecsuite.formats.blocks import chunks
from ecsuite.formats.line_errors import ErrorList, LineError, show_line
from ecsuite.formats.strict_json import decode, encode
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.given_values import column_of

OTHER_FILES = ("corpus", "meanings", "log", "metadata")
"""Names of files in a folder with a corpus that are no columns."""
_NAME = re.compile(r"[a-z][a-z_]{0,39}")
_NUMBERED = re.compile(r"column_[0-9]+\.jsonl")


def column_files(names: Iterable[str]) -> dict[str, str]:
    """The file of each column: `split.jsonl`; of a name that is no good one for a file, `column_3.jsonl`."""
    return {
        name: f"{name}.jsonl"
        if _NAME.fullmatch(name) and name not in OTHER_FILES and not name.startswith("column_")
        else f"column_{place}.jsonl"
        for place, name in enumerate(names)
    }


def columns_in(hashes: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, str]:
    """The columns among the files whose checksums metadata has, and their files.

    Args:
        hashes: Checksums by file.
        named: The names of columns whose files are numbered, by file.
    """
    found = {}
    for file in hashes:
        name = file.removesuffix(".jsonl")
        if _NUMBERED.fullmatch(file) and isinstance(named.get(file), str):
            found[named[file]] = file
        elif file.endswith(".jsonl") and _NAME.fullmatch(name) and name not in OTHER_FILES:
            found[name] = file
    return found


def column_lines(values: NDArray[Any]) -> Iterator[bytes]:
    """The values of a column as JSON lines."""
    yield b"".join(encode(value) for value in values.tolist())


def read_column(path: Path, num_messages: int) -> NDArray[Any]:
    """Read a column: a JSON value a line.

    Raises:
        CorpusError: If a line is anything else, or there are not as many as messages.
    """
    errors = ErrorList(path.name, 'one JSON value a line, such as "train"')
    values: list[Any] = []
    for number, lines in chunks(path):
        values += errors.parse(lines[:-1].split(b"\n"), number, _value)
    errors.check()
    if len(values) != num_messages:
        raise CorpusError(f"{path.name}: expected {num_messages} lines, one per message, got {len(values)}")
    return column_of(values)


def _value(line: bytes) -> Any:
    """The value of a line."""
    values = decode(line)
    if len(values) == 1:
        return values[0]
    raise LineError(show_line(values))
