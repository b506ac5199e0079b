"""Reads text files, plain or compressed; errors are one line with file and line number."""

import gzip
import hashlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ecsuite.config import ConfigError

ENDINGS = ("", ".xz", ".gz")
"""Endings of file names: plain, or compressed."""


def read_text(path: Path) -> str:
    """The whole text, with each line end as a newline.

    Raises:
        ConfigError: If the file cannot be read or decompressed, or is not UTF-8.
    """
    with _opened(path) as file:
        data = file.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{number}: not UTF-8: byte 0x{data[error.start]:02x}") from error
    return text.replace("\r\n", "\n") if "\r\n" in text else text


def read_lines(path: Path) -> list[str]:
    """The lines of `read_text`, split at newlines only; the last line may lack one."""
    lines = read_text(path).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def read_beginning(path: Path, num_bytes: int) -> str:
    """The first `num_bytes` bytes of a text; only these are decompressed, and invalid bytes are replaced.

    Raises:
        ConfigError: If the file cannot be read or decompressed.
    """
    with _opened(path) as file:
        return file.read(num_bytes).decode("utf-8-sig", "replace").replace("\r\n", "\n")


def digest_of(path: Path) -> str:
    """BLAKE2b hash of the uncompressed content, 12 bytes in hexadecimal digits.

    Raises:
        ConfigError: If the file cannot be read or decompressed.
    """
    content = hashlib.blake2b(digest_size=12)
    with _opened(path) as file:
        while piece := file.read(1 << 20):
            content.update(piece)
    return content.hexdigest()


def num_columns_in_words(number: int) -> str:
    """A number of columns for messages, such as `1 column` or `3 columns`."""
    return f"{number} column" + "s" * (number != 1)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The uncompressed content; what fails while it is read is told as well."""
    openers: dict[str, Callable[[Path], Any]] = {".xz": lzma.open, ".gz": gzip.open}
    try:
        with openers[path.suffix](path) if path.suffix in openers else path.open("rb") as file:
            yield file
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
