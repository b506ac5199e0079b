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
"""Peak memory per byte of a text that is read whole: two copies of the bytes, then one copy and the characters."""
LINES = 5.0
"""Peak memory per byte of a text that is split into lines."""
_BLOCK = 1 << 18
"""Number of bytes of a corpus read at a time; their parsed form fits the second-level cache."""
_MAX_LINE_BYTES = 1 << 30
"""Maximum bytes of a line of a corpus."""
_LONGEST_LINE = 1 << 26
"""Maximum bytes of a line of a text that is read line by line."""


def ending_of(name: str) -> str:
    """Ending of a file name without the ending of compression: `.csv` for `table.csv.gz`."""
    return Path(name.lower().removesuffix(".gz").removesuffix(".xz")).suffix


def read_text(path: Path, *, factor: float = TEXT) -> str:
    """Read a whole text; line ends become newlines, and a byte order mark is removed.

    Args:
        path: The file.
        factor: Peak memory per byte of the file, for the text and its later processing.

    Raises:
        ConfigError: If the file can't be read or decompressed, is not UTF-8, or needs more memory than is allowed.
    """
    with opened(path) as file:
        require_memory(factor * path.stat().st_size, path)  # a lower bound for compressed files
        data = b"".join(_pieces(file, path, factor))
    return decoded(data, path)


def read_lines(path: Path, *, factor: float = LINES) -> list[str]:
    """Read the lines of a text as `read_text` does, split at newlines only; the last newline may be missing."""
    lines = read_text(path, factor=factor).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def stream_lines(path: Path) -> Iterator[str]:
    """Yield lines one by one, for texts that do not fit into memory; errors are as in `read_text`."""
    with opened(path) as file:
        number = 0
        while line := file.readline(_LONGEST_LINE + 1):
            number += 1
            if len(line) > _LONGEST_LINE:
                expected = f"lines of at most {_LONGEST_LINE:,} bytes"
                raise ConfigError(f"{path}:{number}: expected {expected}, got more")
            yield decoded(line, path, number)


def chunks(path: Path, name: str | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines of a plain or compressed file in blocks, each with the number of its first line.

    Raises:
        ConfigError: If reading needs more memory than is allowed; numbers need about as much memory as their digits.
        CorpusError: If the file is empty or a damaged compressed file, or a line is too long.
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
                if num_read > size:  # the file is compressed
                    if allowed is None and num_read > UNCHECKED:
                        allowed = max_memory()  # determined once, since reading reduces the free memory
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
    """Yield the content while it fits into the allowed memory; compressed zeros may expand a thousandfold."""
    allowed: float | None = None
    size = 0
    while piece := file.read(1 << 20):
        size += len(piece)
        if allowed is None and factor * size > UNCHECKED:
            allowed = max_memory()  # determined once, since reading reduces the free memory
        require_memory(factor * size, path, allowed=allowed)
        yield piece


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open the uncompressed content; `ConfigError` if it can't be opened, read or decompressed."""
    try:
        with open_packed(path) as file:
            yield file
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot be read: {reason}") from error


def open_packed(path: Path) -> IO[bytes]:
    """Open a file, and decompress it if its first bytes mark it as compressed, whatever its name is."""
    with path.open("rb") as file:
        start = file.read(6)
    for magic, unpack in PACKED.items():
        if start.startswith(magic):
            return cast(IO[bytes], unpack(path))
    if path.suffix.lower() in ENDINGS[1:] and start:
        raise EOFError(f"does not begin like a {path.suffix} file")
    return path.open("rb")
