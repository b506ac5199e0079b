"""Files of a source: the sources at a path, the corpus of each, and checks of files against their checksums."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.results.files import run_source, sources_at
from ecsuite.eval.results.sources import Source
from ecsuite.eval.results.verification.outcome import CheckedClaim
from ecsuite.files.checksums import CHECKSUM, MARK, require_unchanged, require_unchanged_text
from ecsuite.files.tensor_files import read_tensors
from ecsuite.formats import read_corpus
from ecsuite.formats.directory import BESIDE, CORPUS, METADATA
from ecsuite.games.runs.run_folder import CONFIG, LOG, SCORES, SWEEP, RunFolder
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError, FormatError

SEALED = (METADATA, SCORES, SWEEP)
"""JSON files that contain their checksum."""
NO_CHECKSUM = "it has no checksum"
"""Reason for a file that another program or a person wrote."""
NO_ENTRY = object()
"""Value for a file without checksum in the metadata of its folder."""


def folder_of(path: Path) -> Path | None:
    """Folder of a run or a corpus, from its own path or its messages; None if the path has several, or scores.

    Raises:
        ConfigError: If nothing is at the path.
    """
    if not path.exists():
        raise ConfigError(f"{path}: no such run, corpus or scores file")
    folder = path if path.is_dir() else path.parent
    is_one = (path.is_dir() or path.name == CORPUS) and has_metadata(folder)
    return folder if is_one else None


def has_metadata(folder: Path | None) -> bool:
    """Whether a folder is a run or a corpus."""
    return folder is not None and RunFolder(folder).is_run_or_corpus


def sources_in(path: Path) -> list[Source]:
    """Read the runs, corpora and scores files at a path.

    Raises:
        ConfigError: If there are none, or a file can't be read.
        DamagedError: If a file with claims was changed.
    """
    folder = folder_of(path)
    return sources_at(path) if folder is None else [run_source(folder)]


def corpus_of(source: Source) -> Path | None:
    """Path of a source's corpus: the recorded path, relative to here or its file, or next to the file; or None."""
    parent = source.file.parent
    recorded = source.corpus
    paths = [] if recorded is None else [recorded, parent / recorded, parent / recorded.name]
    return next((path for path in (*paths, parent / CORPUS) if path.exists()), None)


def check_files(folder: Path) -> list[CheckedClaim]:
    """Check the files of a run, corpus or sweep, one row per file."""
    rows = [_check_file(folder / name) for name in (CONFIG, *SEALED) if (folder / name).is_file()]
    rows += [] if is_damaged(rows) else _check_corpus(folder)
    run = RunFolder(folder)
    rows += [_check_file(run.log)] if run.log.is_file() else []
    return [*rows, *map(_check_file, sorted([*run.checkpoints, *run.best_states]))]


def is_damaged(rows: Sequence[CheckedClaim], *names: str) -> bool:
    """Whether one of these files is damaged; without names, whether any file is."""
    return any(row.verdict == "damaged" and (not names or row.name in names) for row in rows)


def _check_corpus(folder: Path) -> list[CheckedClaim]:
    """Check each file with a checksum in the metadata, then the whole corpus in case it can't be read."""
    metadata = folder / METADATA
    content: Any = json.loads(metadata.read_bytes()) if metadata.is_file() else {}
    content = content if isinstance(content, Mapping) else {}
    checksums = content.get("sha256")
    checksums = dict(checksums) if isinstance(checksums, Mapping) else {}
    for key, file in BESIDE.items():
        entry = content.get(key)
        checksums |= {file: entry.get("sha256")} if isinstance(entry, Mapping) else {}
    rows = [_check_file(folder / name, checksum) for name, checksum in checksums.items()]
    if (folder / CORPUS).is_file():
        if CORPUS not in checksums:
            rows.append(CheckedClaim(kind="file", name=CORPUS, verdict="not verified", reason=NO_CHECKSUM))
        if not is_damaged(rows):
            whole = _check_file(folder / CORPUS)
            rows += [whole] if whole.verdict == "damaged" else []
    return rows


def _check_file(file: Path, checksum: object = NO_ENTRY) -> CheckedClaim:
    """Compare a file with its checksum, and read it.

    Args:
        file: The file; its name determines where its checksum is.
        checksum: Its checksum in the metadata of its folder, if there is one.
    """
    reason = ""
    try:
        if checksum is not NO_ENTRY:
            if not file.is_file():
                raise DamagedError("it is missing")
            with file.open("rb") as opened:
                if hashlib.file_digest(opened, "sha256").hexdigest() != checksum:
                    raise DamagedError("damaged or edited since it was written")
        elif file.name == CONFIG:
            content = file.read_bytes()
            require_unchanged_text(content, file)
            reason = "" if MARK in content else NO_CHECKSUM
        elif file.name in SEALED:
            try:
                data = json.loads(file.read_bytes())
            except (ValueError, RecursionError) as error:
                raise DamagedError(f"not JSON: {error}") from None
            require_unchanged(data, file)
            reason = "" if isinstance(data, dict) and CHECKSUM in data else NO_CHECKSUM
        elif file.name == LOG:
            run = RunFolder(file.parent)
            run.check_log()
            if not run.checkpoints:
                reason = "its checksum would be in a checkpoint, but there is none"
        elif file.name == CORPUS:
            read_corpus(file.parent)
        else:
            read_tensors(file)
    except (DamagedError, CorpusError, ConfigError, FormatError, OSError) as error:
        reason = str(error).removeprefix(f"{file}: ").partition(": restore it")[0]
        return CheckedClaim(kind="file", name=file.name, verdict="damaged", reason=reason)
    return CheckedClaim(
        kind="file", name=file.name, verdict="not verified" if reason else "identical", reason=reason
    )
