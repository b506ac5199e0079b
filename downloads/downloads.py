"""Files made from data sets of the Hugging Face hub: streamed, whole or not there, recorded, never made twice.

Beside the files stands `sources.json`: for each file where it comes from, how much it holds and its SHA-256.
A file that agrees with its record is not made again, so a command that was stopped goes on where it was.
"""

import hashlib
import json
import logging
import os
import textwrap
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ecsuite.config import ConfigError
from ecsuite.corpus import write_atomically

HUB = "huggingface.co"
SOURCES = "sources.json"
"""The record of a folder's files."""
ROWS_BETWEEN_REPORTS = 500
MESSAGE_LENGTH = 240
"""The hub lists every config it has when it lacks one: hundreds."""
SECONDS_UNTIL_ABANDONED = 24 * 3600
"""A half-written file that nobody has written to for so long belongs to a process that was killed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where the rows of a file come from."""

    dataset: str
    """Name on the hub."""
    config: str
    """Which of its configs; the split is always `train`."""
    revision: str
    """The commit, so that everybody gets the same rows."""
    unit: str
    """What a row is, in the plural: articles, pairs."""
    instead: str
    """What a user without a network can do."""


def data_folder(name: str) -> Path:
    """Where prepared data are kept: `name` in the folder ECSUITE_DATA, or in ~/.cache/ecsuite where that is not set."""
    chosen = os.environ.get("ECSUITE_DATA")
    return (Path(chosen) if chosen else Path("~/.cache/ecsuite")).expanduser() / name


def read_sources(folder: Path) -> dict[str, dict[str, Any]]:
    """What is known of a folder's files, by name.

    Each is an object of `dataset`, `config`, `revision`, `asked` (number of rows, null for all), `articles` or `pairs`
    (number of rows), `characters` and `sha256`.

    Raises:
        ConfigError: If there is a `sources.json` that is no such record.
    """
    path = folder / SOURCES
    if not path.exists():
        return {}
    try:
        sources = json.loads(path.read_bytes())
    except ValueError:
        sources = None
    if not isinstance(sources, dict) or not all(isinstance(entry, dict) for entry in sources.values()):
        raise ConfigError(f"{path}: not a record of downloads; move it away, or name another folder")
    return sources


def make_file(
    path: Path,
    source: Source,
    text_of: Callable[[Mapping[str, Any]], str | None],
    *,
    num_rows: int | None,
    as_line: Callable[[str], str] = str,
    progress: Callable[[int], None],
    note: Callable[[str], None],
) -> None:
    """Write the first rows of a data set as packed lines, unless the file is already there and whole.

    Args:
        path: The gzip file, in a folder that exists; its bytes depend on the rows (and zlib's version) alone.
        source: Which data set.
        text_of: The text of a row, whose characters the record counts; None leaves the row out.
        num_rows: How many rows, without those left out; None for all.
        as_line: A text as a line, without the line's end.
        progress: Called with the number of rows so far.
        note: Called with what the user should know.

    Raises:
        ConfigError: If the data set cannot be read; nothing is left under the file's name then that was not there.
    """
    wanted = {
        "dataset": source.dataset,
        "config": source.config,
        "revision": source.revision,
        "asked": num_rows,
    }
    if _is_whole(path, wanted, source.unit, note):
        return
    _remove_abandoned(path)
    note(f"{path.name}: asking {HUB} for {source.dataset} {source.config}")
    digest = hashlib.sha256()
    count = characters = 0

    def pieces(texts: Iterable[str]) -> Iterator[bytes]:
        nonlocal count, characters
        compressor = zlib.compressobj(wbits=31)  # gzip without the time of day
        for text in texts:
            count += 1
            characters += len(text)
            yield compressor.compress(f"{as_line(text)}\n".encode())
            if count % ROWS_BETWEEN_REPORTS == 0:
                progress(count)
        if not count:
            raise ConfigError(f"{source.dataset} {source.config} has no {source.unit}")
        yield compressor.flush()

    def hashed(data: Iterable[bytes]) -> Iterator[bytes]:
        for piece in data:
            digest.update(piece)
            yield piece

    with closing(_rows(source)) as rows:
        texts = (text for row in rows if (text := text_of(row)) is not None)
        write_atomically(path, hashed(pieces(islice(texts, num_rows))))
    made = {**wanted, source.unit: count, "characters": characters, "sha256": digest.hexdigest()}
    sources = read_sources(path.parent) | {path.name: made}
    record = json.dumps(dict(sorted(sources.items())), indent=2, ensure_ascii=False) + "\n"
    write_atomically(path.parent / SOURCES, record.encode())
    if num_rows is not None and count < num_rows:
        note(
            f"{path.name}: {source.config} has {count:,} {source.unit}, fewer than {num_rows:,}: all were taken"
        )


def _is_whole(path: Path, wanted: dict[str, Any], unit: str, note: Callable[[str], None]) -> bool:
    """Whether a file is there, is what is wanted, and is undamaged; a file that is not gets a note that says why."""
    entry = read_sources(path.parent).get(path.name)
    if not path.exists():
        return False
    if entry is None:
        reason = f"is not recorded in {SOURCES}"
    elif any(entry.get(key) != wanted[key] for key in ("dataset", "config", "revision")):
        reason = f"is {entry.get('dataset')} {entry.get('config')} at revision {entry.get('revision')}"
    elif entry.get("asked") != wanted["asked"]:
        had, asked = (
            "all" if number is None else f"{number:,}" for number in (entry.get("asked"), wanted["asked"])
        )
        reason = f"was made for {had} {unit}, not {asked}"
    else:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == entry.get("sha256"):
                note(f"{path.name}: there already, and whole")
                return True
        reason = f"is damaged: its checksum is not the one in {SOURCES}"
    note(f"{path.name}: {reason}; making it again")
    return False


def _remove_abandoned(path: Path) -> None:
    """Remove what killed processes have left of a file; a young one may belong to a process that is at work."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        if time.time() - leftover.stat().st_mtime > SECONDS_UNTIL_ABANDONED:
            leftover.unlink(missing_ok=True)


def _rows(source: Source) -> Generator[Mapping[str, Any], None, None]:
    """The rows of a data set in its order, shard after shard, read from the network as they are asked for."""
    stream = _open(source)
    count = 0
    try:
        while True:
            try:
                row = next(stream)
            except StopIteration:
                return
            except Exception as error:  # of the hub's client, of its HTTP library or of the file format
                raise ConfigError(
                    f"{source.dataset} {source.config}: reading from {HUB} broke off after {count:,} {source.unit}"
                    f" ({_summary(error)}); the same command tries again. {source.instead}"
                ) from error
            count += 1
            yield row
    finally:
        # At once: some versions hang or crash if the interpreter ends with a stream left in the middle.
        del stream


def _open(source: Source) -> Iterator[Mapping[str, Any]]:
    try:
        from datasets import load_dataset
    except ImportError:
        raise ConfigError(
            "downloading needs Hugging Face's library `datasets`: pip install 'ecsuite[data]'"
        ) from None
    name = f"{source.dataset} {source.config}"
    try:
        with _quiet("huggingface_hub"):
            return iter(
                load_dataset(
                    source.dataset, source.config, revision=source.revision, split="train", streaming=True
                )
            )
    except (ValueError, FileNotFoundError) as error:
        raise ConfigError(f"{HUB} gives no {name}: {_summary(error)}") from error
    except (
        Exception
    ) as error:  # which one tells that there is no network differs between versions of the library
        raise ConfigError(f"{name}: {HUB} cannot be reached ({_summary(error)}). {source.instead}") from error


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Without the warnings of a library: its half a minute of retries ends in one error that says it all."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _summary(error: Exception) -> str:
    said = textwrap.shorten(str(error), MESSAGE_LENGTH, placeholder=" …")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
