"""Read text files, plain or compressed: whole, line by line, or in blocks of lines; errors have file and line."""

import codecs
import gzip
import hashlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from ecsuite.parts.config import decoded
from ecsuite.runtime.errors import ConfigError, CorpusError
from ecsuite.runtime.memory import UNCHECKED, max_memory, require_memory

ENDINGS = ("", ".xz", ".gz")
"""Endings of file names: plain, or compressed."""
PACKED: dict[bytes, Callable[[Path], Any]] = {b"\xfd7zXZ\x00": lzma.open, b"\x1f\x8b": gzip.open}
"""Functions that open compressed files, by their first bytes."""
TEXT = 3.0
"""Bytes of memory for each byte of a text: its bytes twice while they are joined, then once and as characters."""
LINES = 5.0
"""Bytes of memory for each byte of a text that is split into lines."""
_BLOCK = 1 << 18
"""Bytes of a corpus that are read at once; their parsed form fits the second-level cache."""
_MAX_LINE_BYTES = 1 << 30
"""Most bytes of a line of a corpus."""
_LONGEST_LINE = 1 << 26
"""Most bytes of a line of a text that is read line by line."""


def ending_of(name: str) -> str:
    """The ending of the name of a file, perhaps packed, such as `.csv` of `table.csv.gz`."""
    return Path(name.lower().removesuffix(".gz").removesuffix(".xz")).suffix


def read_text(path: Path, *, factor: float = TEXT) -> str:
    """The whole text, with each line end as a newline and without a byte order mark.

    Args:
        path: The file.
        factor: Bytes of memory for each byte of it, of the text and what is made of it.

    Raises:
        ConfigError: If the file cannot be read or decompressed, is not UTF-8, or takes more memory than is allowed.
    """
    with opened(path) as file:
        require_memory(factor * path.stat().st_size, path)  # of a packed file at least
        data = b"".join(_pieces(file, path, factor))
    return decoded(data, path)


def read_lines(path: Path, *, factor: float = LINES) -> list[str]:
    """The lines of `read_text`, split at newlines only; the last line may lack one."""
    lines = read_text(path, factor=factor).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def stream_lines(path: Path) -> Iterator[str]:
    """The lines one by one, for texts that need not fit into the memory; errors are those of `read_text`."""
    with opened(path) as file:
        number = 0
        while line := file.readline(_LONGEST_LINE + 1):
            number += 1
            if len(line) > _LONGEST_LINE:
                expected = f"lines of at most {_LONGEST_LINE:,} bytes"
                raise ConfigError(f"{path}:{number}: expected {expected}, got more")
            yield decoded(line, path, number)


def chunks(path: Path, name: str | None = None) -> Iterator[tuple[int, bytes]]:
    """Whole lines of a file, perhaps packed, in blocks, each with the number of its first line.

    Raises:
        ConfigError: If it needs more memory than is allowed; numbers take as much as their digits, about.
        CorpusError: If the file is empty, is no sound packed file, or a line is too long.
    """
    name = path.name if name is None else name
    size = path.stat().st_size
    require_memory(size, path)
    allowed = max_memory() if size > UNCHECKED else None
    try:
        with open_packed(path) as file:
            number, rest, num_read, block = 1, b"", 0, file.read(3)
            block = (b"" if block == codecs.BOM_UTF8 else block) + file.read(_BLOCK)
            while block:
                rest += block
                num_read += len(block)
                if num_read > size:  # of a packed file
                    if allowed is None and num_read > UNCHECKED:
                        allowed = max_memory()  # looked at once, as what is read takes of what is free
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


def read_beginning(path: Path, num_bytes: int) -> str:
    """The first `num_bytes` bytes of a text; only these are decompressed, and invalid bytes are replaced."""
    with opened(path) as file:
        return file.read(num_bytes).decode("utf-8-sig", "replace").replace("\r\n", "\n")


def digest_of(path: Path) -> str:
    """BLAKE2b hash of the uncompressed content, 12 bytes in hexadecimal digits."""
    content = hashlib.blake2b(digest_size=12)
    with opened(path) as file:
        for piece in _pieces(file, path, 1.0):
            content.update(piece)
    return content.hexdigest()


def _pieces(file: IO[bytes], path: Path, factor: float) -> Iterator[bytes]:
    """The content, as long as it takes no more memory than is allowed: a thousandth of its size may hold zeros."""
    allowed: float | None = None
    size = 0
    while piece := file.read(1 << 20):
        size += len(piece)
        if allowed is None and factor * size > UNCHECKED:
            allowed = max_memory()  # looked at once, as what is read takes of what is free
        require_memory(factor * size, path, allowed=allowed)
        yield piece


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The uncompressed content; `ConfigError` if it cannot be read or decompressed, also while it is read."""
    try:
        with open_packed(path) as file:
            yield file
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot be read: {reason}") from error


def open_packed(path: Path) -> IO[bytes]:
    """The content, uncompressed where its first bytes say that it is packed, whatever it is called."""
    with path.open("rb") as file:
        start = file.read(6)
    for magic, unpack in PACKED.items():
        if start.startswith(magic):
            return cast(IO[bytes], unpack(path))
    if path.suffix.lower() in ENDINGS[1:] and start:
        raise EOFError(f"does not begin as a {path.suffix} file does")
    return path.open("rb")
