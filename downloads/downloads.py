"""Files made from data sets of the Hugging Face hub: streamed, written atomically, recorded, downloaded once.

`sources.json` in the same folder records the source, the size and the SHA-256 of each file. A file that agrees with its
record is not downloaded again, so that an interrupted command resumes.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from ecsuite.downloads.hugging_face import HUB, asking_hub, summary
from ecsuite.files.atomic_files import remove_abandoned, write_atomically
from ecsuite.files.locks import Lock
from ecsuite.runtime.errors import ConfigError, missing_extra

SOURCES = "sources.json"
"""Name of the file that records the files of a folder."""
ROWS_BETWEEN_REPORTS = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSource:
    """Source of the rows of a file."""

    dataset: str
    """Name on the hub."""
    config: str
    """Config of the data set; the split is always `train`."""
    revision: str
    """Commit, which fixes the rows."""
    unit: str
    """Name of rows in the plural: articles, pairs."""
    offline_advice: str
    """Advice for users without a network, at the end of error messages."""


class _Record(TypedDict, total=False):
    dataset: str
    config: str
    revision: str
    asked: int | None
    articles: int
    pairs: int
    messages: int
    characters: int
    url: str
    bytes: int
    sha256: str


_RECORDS: Any = dict[str, _Record]


def read_sources(folder: Path) -> dict[str, dict[str, Any]]:
    """The records of a folder's files, by name.

    Each is an object of `sha256` and, for rows of a data set, `dataset`, `config`, `revision`, `asked` (requested rows,
    null for all), `articles` or `pairs` (number of rows) and `characters`; for others `url` and `bytes` (without
    compression).

    Raises:
        ConfigError: If `sources.json` is not such a record.
    """
    path = folder / SOURCES
    try:
        return msgspec.json.decode(path.read_bytes(), type=_RECORDS)  # type: ignore[no-any-return]
    except FileNotFoundError:
        return {}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ConfigError(
            f"{path}: expected a record of downloads; move the file, or choose another folder"
        ) from None


def add_records(folder: Path, made: Mapping[str, Mapping[str, Any]]) -> None:
    """Add the records of new files to `sources.json`."""
    records = dict(sorted((read_sources(folder) | dict(made)).items()))
    remove_abandoned(folder, SOURCES)
    write_atomically(folder / SOURCES, f"{json.dumps(records, indent=2, ensure_ascii=False)}\n".encode())


@contextmanager
def only_download(
    folder: Path, note: Callable[[str], None], *, lock_file: Path | None = None
) -> Iterator[None]:
    """Lock a folder for downloads; wait for another process that holds the lock.

    Args:
        folder: The existing folder.
        note: Called with a message about the other process.
        lock_file: The lock file; None: a file in the folder.
    """
    lock = Lock(lock_file or folder / f".{SOURCES}.lock", note)
    if not lock.acquire():
        note(f"{folder}: {lock.holder}, is downloading into it: waiting for its end")
        lock.acquire(waits=True)
    try:
        yield
    finally:
        lock.release(removes=True)


def require_recorded(folder: Path, name: str) -> None:
    """Raise `ConfigError` for a file that exists and was not downloaded: it is not overwritten."""
    if (folder / name).exists() and name not in read_sources(folder):
        raise ConfigError(
            f"{folder / name}: exists, and {SOURCES} does not have it, so it is not overwritten: move it away, or "
            "choose another place with --out"
        )


def is_damaged(path: Path, record: Mapping[str, Any]) -> bool:
    """Whether the checksum of a file differs from its record."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() != record.get("sha256")


def write_gzip(path: Path, pieces: Iterable[bytes]) -> str:
    """Write pieces as a gzip file whose bytes depend only on them and on zlib; returns its SHA-256."""
    digest = hashlib.sha256()

    def compressed() -> Iterator[bytes]:
        compressor = zlib.compressobj(wbits=31)  # gzip without a timestamp
        for piece in pieces:
            yield compressor.compress(piece)
        yield compressor.flush()

    def hashed() -> Iterator[bytes]:
        for piece in compressed():
            digest.update(piece)
            yield piece

    remove_abandoned(path.parent, path.name)
    write_atomically(path, hashed())
    return digest.hexdigest()


def make_file(
    path: Path,
    source: DataSource,
    text_of: Callable[[Mapping[str, Any]], str | None],
    *,
    num_rows: int | None,
    as_line: Callable[[str], str] = str,
    progress: Callable[[int], None],
    note: Callable[[str], None],
) -> None:
    """Write the first rows of a data set as compressed lines, unless the file exists and is complete.

    Args:
        path: The gzip file, in an existing folder; its bytes depend only on the rows and the version of zlib.
        source: The data set.
        text_of: Returns the text of a row, whose characters are counted; None leaves the row out.
        num_rows: Number of rows, without those left out; None for all.
        as_line: Formats a text as a line, without newline.
        progress: Called with the number of rows so far.
        note: Called with messages to the user.

    Raises:
        ConfigError: If the data set cannot be read, or there is a file that was not downloaded; an existing file is
            then unchanged.
    """
    expected = {
        "dataset": source.dataset,
        "config": source.config,
        "revision": source.revision,
        "asked": num_rows,
    }
    with only_download(path.parent, note):
        if not _is_complete(path, expected, source.unit, note):
            _make_file(path, source, text_of, expected, as_line, progress, note)


def _make_file(
    path: Path,
    source: DataSource,
    text_of: Callable[[Mapping[str, Any]], str | None],
    expected: dict[str, Any],
    as_line: Callable[[str], str],
    progress: Callable[[int], None],
    note: Callable[[str], None],
) -> None:
    num_rows, new = expected["asked"], path.with_name(f".{path.name}.new")
    _load_dataset()  # fails before the note about a download
    note(f"{path.name}: downloading {source.dataset} {source.config} from {HUB}")
    count = characters = 0

    def lines(texts: Iterable[str]) -> Iterator[bytes]:
        nonlocal count, characters
        for text in texts:
            count += 1
            characters += len(text)
            yield f"{as_line(text)}\n".encode()
            if count % ROWS_BETWEEN_REPORTS == 0:
                progress(count)
        if not count:
            raise ConfigError(f"{source.dataset} {source.config}: expected {source.unit}, found none")

    with closing(_rows(source)) as rows:
        texts = (text for row in rows if (text := text_of(row)) is not None)
        sha256 = write_gzip(new, lines(islice(texts, num_rows)))
    made = {**expected, source.unit: count, "characters": characters, "sha256": sha256}
    add_records(path.parent, {path.name: made})  # before the file, which then has a record
    os.replace(new, path)
    if num_rows is not None and count < num_rows:
        note(
            f"{path.name}: expected {num_rows:,} {source.unit}, {source.config} has {count:,}: all were used"
        )


def _is_complete(path: Path, expected: dict[str, Any], unit: str, note: Callable[[str], None]) -> bool:
    """Whether a file exists, agrees with its record and is undamaged; otherwise a note says why not."""
    require_recorded(path.parent, path.name)
    if not path.exists():
        return False
    entry = read_sources(path.parent)[path.name]
    if unit not in entry:
        reason = "is of another data set"
    elif any(entry.get(key) != expected[key] for key in ("dataset", "config", "revision")):
        reason = f"is {entry.get('dataset')} {entry.get('config')} at revision {entry.get('revision')}"
    elif entry.get("asked") != expected["asked"]:
        found, requested = (
            "all" if number is None else f"{number:,}" for number in (entry.get("asked"), expected["asked"])
        )
        reason = f"has {found} {unit}, expected {requested}"
    elif is_damaged(path, entry):
        reason = f"is damaged: its checksum differs from {SOURCES}"
    else:
        note(f"{path.name}: already complete")
        return True
    _load_dataset()
    note(f"{path.name}: {reason}; downloading it again")
    return False


def _rows(source: DataSource) -> Generator[Mapping[str, Any], None, None]:
    """Stream the rows of a data set from the network, in its order."""
    stream = _open(source)
    count = 0
    try:
        while True:
            try:
                row = next(stream)
            except StopIteration:
                return
            except Exception as error:  # from the hub's client, its HTTP library or the file format
                raise ConfigError(
                    f"{source.dataset} {source.config}: connection to {HUB} lost after {count:,} {source.unit}"
                    f" ({summary(error)}); run the same command again. {source.offline_advice}"
                ) from error
            count += 1
            yield row
    finally:
        # Immediately: some versions hang or crash if the interpreter exits with an open stream.
        del stream


def _load_dataset() -> Callable[..., Any]:
    """The function of `datasets`; `ConfigError` if it is not installed."""
    try:
        from datasets import load_dataset
    except ImportError:
        raise missing_extra("downloading needs the library `datasets` of Hugging Face", "data") from None
    return load_dataset  # type: ignore[no-any-return]


def _open(source: DataSource) -> Iterator[Mapping[str, Any]]:
    load_dataset = _load_dataset()
    with asking_hub(
        f"{source.dataset} {source.config}", revision=source.revision, advice=source.offline_advice
    ):
        try:
            return iter(
                load_dataset(
                    source.dataset, source.config, revision=source.revision, split="train", streaming=True
                )
            )
        except (ValueError, FileNotFoundError) as error:  # raised by the library for missing data sets
            raise ConfigError(
                f"{HUB} does not have {source.dataset} {source.config}: {summary(error)}"
            ) from error
