"""Take files of a folder as they are that were edited by hand: their checksums are written anew."""

import hashlib
import json
from pathlib import Path
from typing import Any

from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.checksums import CHECKSUM, checksum_of, sealed, sealed_text
from ecsuite.formats.corpora import Reading, corpus_of
from ecsuite.formats.directory import with_siblings
from ecsuite.formats.reading import read_table
from ecsuite.games.run_log import LOG, accept_log, require_unchanged_log
from ecsuite.parts.config import RUN_CONFIG
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError

METADATA = "metadata.json"
"""Holds the checksums of the files of a corpus."""
RESULTS = ("scores.json", "sweep.json")
"""Further files with a checksum of their own."""


def accept_edits(folder: Path) -> list[str]:
    """Take what was edited in a run folder, a corpus or a sweep as it is.

    Returns:
        The names of the files that were taken.

    Raises:
        ConfigError: If the folder has no file with a checksum.
        CorpusError: If the corpus is edited so that it can't be read.
        DamagedError: If a file is not JSON, or a file of the corpus is not there.
    """
    if not any((folder / name).is_file() for name in (RUN_CONFIG, METADATA, *RESULTS)):
        raise ConfigError(
            f"{folder}: expected a run folder, a corpus (with {METADATA}) or the folder of a sweep"
        )
    taken, config = [], folder / RUN_CONFIG
    if config.is_file() and (content := config.read_bytes()) != sealed_text(content):
        write_atomically(config, sealed_text(content))
        taken.append(RUN_CONFIG)
    taken += _accept_corpus(folder)
    taken += [name for name in RESULTS if _write(folder / name, _read(folder / name))]
    try:
        require_unchanged_log(folder)
    except DamagedError:
        accept_log(folder)
        taken.append(LOG)
    return taken


def _accept_corpus(folder: Path) -> list[str]:
    """Take the files of a corpus."""
    metadata = _read(folder / METADATA)
    if metadata is None:
        return []
    before = metadata.get("sha256", {})
    try:
        hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in before}
    except (OSError, TypeError) as error:
        raise DamagedError(f"{folder / METADATA}: a file of the corpus can't be read: {error}") from None
    edited = [name for name in hashes if hashes[name] != before[name]]
    accepted = metadata | {"sha256": hashes} if hashes else metadata
    if edited or not _is_sealed(metadata):
        try:
            corpus = corpus_of(read_table(folder / "corpus.jsonl", {}), Reading())
            with_siblings(corpus, folder, accepted)
        except CorpusError as error:
            raise CorpusError(f"{folder}: nothing was accepted: {error}") from None
    is_edited = _write(folder / METADATA, accepted)
    return [*edited, *([METADATA] if is_edited and not edited else [])]


def _read(file: Path) -> dict[str, Any] | None:
    """A JSON object; None if there is no such file."""
    if not file.is_file():
        return None
    try:
        return dict(json.loads(file.read_bytes()))
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError(f"{file}: not JSON ({error}): restore it, or delete it") from None


def _is_sealed(data: dict[str, Any]) -> bool:
    """Whether a JSON object has its own checksum."""
    return bool(data.get(CHECKSUM) == checksum_of(data))


def _write(file: Path, data: dict[str, Any] | None) -> bool:
    """Write a JSON object with its checksum if it has another one, or none."""
    if data is None or _is_sealed(data):
        return False
    write_atomically(file, json.dumps(sealed(data), indent=2, ensure_ascii=False).encode() + b"\n")
    return True
