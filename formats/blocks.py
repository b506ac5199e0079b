"""Read a text file in blocks of whole lines."""

import codecs
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.memory import require_memory

_BLOCK = 1 << 18  # bytes read at once; their parsed form fits the second-level cache
_MAX_LINE_BYTES = 1 << 30  # bytes; a longer one is refused


def chunks(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file in blocks.

    Yields:
        The number of the first line, from 1, and whole lines, each ending in a newline.

    Raises:
        ConfigError: If it needs more memory than is allowed; numbers take as much as their digits, about.
        CorpusError: If the file is empty or compressed, or a line is too long.
        OSError: If the file cannot be read.
    """
    require_memory(path.stat().st_size, path)
    with open(path, "rb") as file:
        number, rest, start = 1, b"", file.read(3)
        if start[:2] == b"\x1f\x8b":
            raise CorpusError(f"{path.name}: gzip data, expected lines of JSON; unpack it with gunzip first")
        file.seek(3 if start == codecs.BOM_UTF8 else 0)
        while block := file.read(max(_BLOCK - len(rest), len(rest))):
            rest += block
            cut = rest.rfind(b"\n") + 1
            if cut:
                lines, rest = rest[:cut], rest[cut:]
                yield number, lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines
                is_end = np.frombuffer(lines, dtype=np.uint8) == ord("\n")
                number += int(np.count_nonzero(is_end))  # `bytes.count` is slow where lines are short
            elif len(rest) > _MAX_LINE_BYTES:
                limit = f"a line of at most {_MAX_LINE_BYTES} bytes"
                raise CorpusError(f"{path.name}:{number}: expected {limit}, got more")
        if rest:
            yield number, rest + b"\n"
        elif number == 1:
            raise CorpusError(f"{path.name}: empty file, expected one message per line, such as [3, 1, 4]")
