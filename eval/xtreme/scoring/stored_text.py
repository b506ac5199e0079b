"""Reads text files, plain or compressed; errors are one line with file and line number."""

import gzip
import lzma
import zlib
from pathlib import Path
from typing import IO, cast

from ecsuite.config import ConfigError

ENDINGS = ("", ".xz", ".gz")
"""Endings of file names: plain, or compressed."""


def read_text(path: Path) -> str:
    """The whole text, with each line end as a newline.

    Raises:
        ConfigError: If the file cannot be read or decompressed, or is not UTF-8.
    """
    try:
        with _open(path) as file:
            data = file.read()
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise _unreadable(path, error) from error
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
    try:
        with _open(path) as file:
            return file.read(num_bytes).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise _unreadable(path, error) from error


def num_columns_in_words(number: int) -> str:
    """A number of columns for messages, such as `1 column` or `3 columns`."""
    return f"{number} column" + "s" * (number != 1)


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".xz":
        return cast(IO[bytes], lzma.open(path))
    return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _unreadable(path: Path, error: Exception) -> ConfigError:
    return ConfigError(f"{path}: cannot be read: {error}")
