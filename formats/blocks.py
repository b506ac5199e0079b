"""Read a text file in blocks of whole lines."""

import codecs
import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ecsuite.formats.stored_text import open_packed
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.memory import max_memory, require_memory

_BLOCK = 1 << 18  # bytes read at once; their parsed form fits the second-level cache
_MAX_LINE_BYTES = 1 << 30  # bytes; a longer one is refused


def chunks(path: Path, name: str | None = None) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, perhaps packed, in blocks.

    Args:
        path: The file.
        name: What messages call it; None: the name of the file.

    Yields:
        The number of the first line, from 1, and whole lines, each ending in a newline.

    Raises:
        ConfigError: If it needs more memory than is allowed; numbers take as much as their digits, about.
        CorpusError: If the file is empty, is no sound packed file, or a line is too long.
        OSError: If the file cannot be read.
    """
    name = path.name if name is None else name
    allowed, size = max_memory(), path.stat().st_size
    require_memory(size, path)
    try:
        with open_packed(path) as file:
            number, rest, num_read, block = 1, b"", 0, file.read(3)
            block = (b"" if block == codecs.BOM_UTF8 else block) + file.read(_BLOCK)
            while block:
                rest += block
                num_read += len(block)
                if num_read > size:
                    require_memory(num_read, path, allowed=allowed)
                cut = rest.rfind(b"\n") + 1
                if cut:
                    lines, rest = rest[:cut], rest[cut:]
                    yield number, lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines
                    is_end = np.frombuffer(lines, dtype=np.uint8) == ord("\n")
                    number += int(np.count_nonzero(is_end))  # `bytes.count` is slow where lines are short
                elif len(rest) > _MAX_LINE_BYTES:
                    limit = f"a line of at most {_MAX_LINE_BYTES} bytes"
                    raise CorpusError(f"{name}:{number}: expected {limit}, got more")
                block = file.read(max(_BLOCK - len(rest), len(rest)))
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusError(f"{name}: can't be unpacked: {error}") from None
    if rest:
        yield number, rest + b"\n"
    elif number == 1:
        raise CorpusError(f"{name}: empty file, expected one message per line, such as [3, 1, 4]")
