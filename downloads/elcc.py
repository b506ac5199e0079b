"""The Emergent Language Corpus Collection (ELCC; Boldt & Mortensen 2024, arXiv 2407.04158) from the Hugging Face hub.

The files keep the layout of the collection: `systems/SYSTEM/data/VARIANT/corpus.jsonl` with `metadata.json`, and
`systems/SYSTEM/` has `metadata.yml` and `system.json` about the system. All files are of one revision, which
`huggingface_hub` stores in its cache; cached files need no network. Each file is compared with the checksum in its
name in the cache: SHA-256 of large files, git's checksum (SHA-1 of a header and the content) of others.
"""

import glob
import hashlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ecsuite.downloads.downloads import (
    SOURCES,
    add_records,
    is_damaged,
    only_download,
    read_sources,
    require_recorded,
)
from ecsuite.downloads.hugging_face import asking_hub
from ecsuite.files.atomic_files import remove_abandoned, write_atomically
from ecsuite.jobs.graph import no_progress
from ecsuite.runtime.errors import ConfigError, look_up

DATASET = "bboldt/elcc"
REVISION = "2a6d02fc249a1f98520457b192d33e31d349cf3a"
"""The last commit that changed a corpus or its metadata."""
PAGE = f"https://huggingface.co/datasets/{DATASET}"
FILES = f"{PAGE}/resolve/{REVISION}/"
"""Prefix of the address of a file before its path."""
OFFLINE_ADVICE = (
    f"HF_HOME sets another folder for its cache. Without a network, copy `systems` of {PAGE} (commit {REVISION[:7]}) "
    "to this machine: `ecsuite score systems/*/data/*/corpus.jsonl`"
)

_ABOUT = "metadata.yml"
"""The file that each system has."""
_WANTED = (_ABOUT, "system.json", "data/*/corpus.jsonl", "data/*/metadata.json")
"""Patterns of the files of a system."""
_CHECKSUM = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_BYTES_AT_A_TIME = 1 << 20


def prepare_elcc(
    systems: Sequence[str] | None,
    folder: Path,
    *,
    progress: Callable[[str, float, float], None] = no_progress,
    note: Callable[[str], None] = lambda text: None,
) -> list[str]:
    """Download the corpora of systems with their metadata.

    Files that agree with `sources.json` in the folder are not copied again, and files in the cache of
    `huggingface_hub` are not downloaded; an interrupted download is resumed.

    Args:
        systems: Names such as rlupus; None: all.
        folder: Parent of the folder `systems`; created if missing.
        progress: Called with a system, the number of finished systems and their total.
        note: Called with messages to the user, a line each.

    Returns:
        The files' paths in the folder, as in `sources.json`.

    Raises:
        ConfigError: If a system is unknown, the hub can't be reached for files that are not in the cache, the disk is
            full, or a file's checksum differs from the hub's. Finished files are stored.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder, got a file")
    folder.mkdir(parents=True, exist_ok=True)
    with only_download(folder, note):
        snapshot = _snapshot([f"systems/*/{_ABOUT}"])
        note(f"{DATASET}: revision {REVISION[:7]}")
        names = {path.parent.name: path for path in sorted(snapshot.glob(f"systems/*/{_ABOUT}"))}
        if not names:
            raise ConfigError(f"{PAGE}: expected paths such as systems/NAME/{_ABOUT}, found none")
        for name in systems or ():
            look_up("system", name, names)
        chosen = [name for name in names if not systems or name in systems]
        taken, num_complete = [], 0
        for index, name in enumerate(chosen):
            progress(name, index, len(chosen))
            base = f"systems/{glob.escape(name)}"
            snapshot = _snapshot([f"{base}/{pattern}" for pattern in _WANTED])
            for path in _files(snapshot, base):
                if _is_complete(folder, path, note):
                    num_complete += 1
                else:
                    _take(snapshot, folder, path, note)
                taken.append(path)
        progress(DATASET, len(chosen), len(chosen))
        if num_complete:
            note(f"{num_complete} of {len(taken)} files: already complete")
    return taken


def _snapshot(patterns: list[str]) -> Path:
    """The cache folder of the revision; missing files that match the patterns are downloaded."""
    with asking_hub(DATASET, revision=REVISION, advice=OFFLINE_ADVICE):
        from huggingface_hub import snapshot_download

        return Path(
            snapshot_download(DATASET, repo_type="dataset", revision=REVISION, allow_patterns=patterns)
        )


def _files(snapshot: Path, base: str) -> list[str]:
    """Paths of the wanted files below a system's folder, in order."""
    return sorted(
        path.relative_to(snapshot).as_posix()
        for pattern in _WANTED
        for path in snapshot.glob(f"{base}/{pattern}")
    )


def _is_complete(folder: Path, path: str, note: Callable[[str], None]) -> bool:
    """Whether a file exists, has the revision and agrees with its record; otherwise a note gives the reason."""
    require_recorded(folder, path)
    if not (folder / path).is_file():
        return False
    record = read_sources(folder)[path]
    if record.get("url") != FILES + path:
        reason = "is of another revision"
    elif is_damaged(folder / path, record):
        reason = f"is damaged: its checksum differs from {SOURCES}"
    else:
        return True
    note(f"{path}: {reason}; copying it again")
    return False


def _take(snapshot: Path, folder: Path, path: str, note: Callable[[str], None]) -> None:
    """Copy a file from the cache and record it; a damaged file in the cache is downloaded again."""
    kept = snapshot / path
    checksum = kept.readlink().name if kept.is_symlink() else ""
    if not _CHECKSUM.fullmatch(checksum):
        raise ConfigError(
            f"{kept}: expected a link to a file that is named by its checksum, which this file system does not have: "
            "set HF_HOME to a folder of another"
        )
    if _checksum(kept, len(checksum)) != checksum:
        note(f"{kept}: is damaged: its checksum is not its name; downloading it again")
        with asking_hub(f"{path} of {DATASET}", revision=REVISION, advice=OFFLINE_ADVICE):
            from huggingface_hub import hf_hub_download

            hf_hub_download(DATASET, path, repo_type="dataset", revision=REVISION, force_download=True)
        if (found := _checksum(kept, len(checksum))) != checksum:
            raise ConfigError(
                f"{FILES}{path}: expected the checksum {checksum}, found {found}; it was damaged in transfer, or has "
                "changed"
            )
    target = folder / path
    new = target.with_name(f".{target.name}.new")
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(target.parent, new.name)
    with kept.open("rb") as file:
        write_atomically(new, iter(lambda: file.read(_BYTES_AT_A_TIME), b""))
    record = {
        "dataset": DATASET,
        "revision": REVISION,
        "url": FILES + path,
        "bytes": new.stat().st_size,
        "sha256": _checksum(new, 64),
    }
    add_records(folder, {path: record})  # before the file, which is then known to be of this download
    os.replace(new, target)


def _checksum(path: Path, length: int) -> str:
    """A file's SHA-256 of 64 digits, or git's checksum of 40."""
    with path.open("rb") as file:
        if length == 64:
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        while piece := file.read(_BYTES_AT_A_TIME):
            digest.update(piece)
        return digest.hexdigest()
