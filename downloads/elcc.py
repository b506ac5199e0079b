"""The Emergent Language Corpus Collection (ELCC; Boldt & Mortensen 2024, arXiv 2407.04158) from the Hugging Face hub.

The files keep the layout of the collection: `systems/SYSTEM/data/VARIANT/corpus.jsonl` with `metadata.json`, and
`systems/SYSTEM/` has `metadata.yml` and `system.json` about the system. The list of files is that of one revision of
the data set, and is kept, so that a complete folder needs no network. Each file is compared with the checksum in the
list: SHA-256 of large files, and of the others that of git (SHA-1 of a header and the content).
"""

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ecsuite.downloads import web
from ecsuite.downloads.downloads import (
    SOURCES,
    add_records,
    is_damaged,
    only_download,
    read_sources,
    require_recorded,
)
from ecsuite.files.atomic_files import remove_abandoned, write_atomically
from ecsuite.jobs.graph import no_progress
from ecsuite.runtime.errors import ConfigError, look_up

DATASET = "bboldt/elcc"
REVISION = "2a6d02fc249a1f98520457b192d33e31d349cf3a"
"""The last commit that changed a corpus or its metadata."""
PAGE = f"https://huggingface.co/datasets/{DATASET}"
LISTING = f"https://huggingface.co/api/datasets/{DATASET}/tree/{REVISION}/systems?recursive=true"
"""Address of the list of files."""
FILES = f"{PAGE}/resolve/{REVISION}/"
"""What stands before the path of a file in its address."""
KEPT_LISTING = "files.json"
"""Name of the file with the list of files."""
OFFLINE_ADVICE = (
    f"Without a network, copy `systems` of {PAGE} (commit {REVISION[:7]}) to this machine: `ecsuite score "
    "systems/*/data/*/corpus.jsonl`"
)

_NAME = r"(?!\.)[^/\\:]+"
_WANTED = re.compile(
    rf"systems/({_NAME})/(?:metadata\.yml|system\.json|data/{_NAME}/(?:corpus\.jsonl|metadata\.json))"
)
"""Path of a file of the collection; the group is the system."""


class _Stored(msgspec.Struct):
    """Where the content of a large file is."""

    oid: str
    """SHA-256 of the content, in hexadecimal."""


class _Entry(msgspec.Struct):
    """A line of the hub's list of files."""

    type: str
    """file or directory."""
    path: str
    """Path in the data set."""
    oid: str = ""
    """Checksum of git: for a large file, of its pointer."""
    size: int = 0
    """Bytes."""
    lfs: _Stored | None = None
    """Of a large file."""


def prepare_elcc(
    systems: Sequence[str] | None,
    folder: Path,
    *,
    progress: Callable[[str, float, float], None] = no_progress,
    note: Callable[[str], None] = lambda text: None,
) -> list[str]:
    """Download the corpora of systems with their metadata.

    Files that agree with `sources.json` in the folder are not downloaded again; an interrupted download is resumed.

    Args:
        systems: Names such as rlupus; None: all.
        folder: Where the folder `systems` is written; created if missing.
        progress: Called with a label, the files that are done (with fractions) and their number.
        note: Called with messages to the user, a line each.

    Returns:
        The files' paths in the folder, as in `sources.json`.

    Raises:
        ConfigError: If there is no such system, the hub cannot be reached, or a file has another checksum than the
            list. Finished files are kept.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder, got a file")
    folder.mkdir(parents=True, exist_ok=True)
    with only_download(folder, note):
        by_system: dict[str, list[_Entry]] = {}
        for entry in _listing(folder, note):
            if entry.type == "file" and (match := _WANTED.fullmatch(entry.path)):
                by_system.setdefault(match[1], []).append(entry)
        if not by_system:
            raise ConfigError(
                f"{LISTING}: expected paths such as systems/NAME/data/NAME/corpus.jsonl, found none"
            )
        for name in systems or ():
            look_up("system", name, by_system)
        entries = [
            each for name, files in by_system.items() if not systems or name in systems for each in files
        ]
        records, num_complete = read_sources(folder), 0
        for index, entry in enumerate(entries):

            def report_progress(share: float, path: str = entry.path, index: int = index) -> None:
                progress(path, index + share, len(entries))

            if _is_complete(folder, entry, records, note):
                num_complete += 1
            else:
                _download(folder, entry, report_progress, note)
            report_progress(1.0)
        if num_complete:
            note(f"{num_complete} of {len(entries)} files: already complete")
    return [entry.path for entry in entries]


def _listing(folder: Path, note: Callable[[str], None]) -> list[_Entry]:
    """The list of files, kept or from the hub."""
    kept, record = folder / KEPT_LISTING, read_sources(folder).get(KEPT_LISTING, {})
    require_recorded(folder, KEPT_LISTING)
    if kept.is_file() and record.get("url") == LISTING and not is_damaged(kept, record):
        return msgspec.json.decode(kept.read_bytes(), type=list[_Entry])
    note(f"{DATASET}: reading the list of files")
    try:
        pages = web.read_pages(LISTING, what=f"{DATASET} at huggingface.co", offline_advice=OFFLINE_ADVICE)
        found = [entry for page in pages for entry in msgspec.json.decode(page, type=list[_Entry])]
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{LISTING}: expected a list of files, as the hub sends it: {error}") from None
    content = msgspec.json.format(msgspec.json.encode(found), indent=1)
    sha256 = hashlib.sha256(content).hexdigest()
    add_records(folder, {KEPT_LISTING: {"url": LISTING, "bytes": len(content), "sha256": sha256}})
    remove_abandoned(folder, KEPT_LISTING)
    write_atomically(kept, content)
    return found


def _is_complete(folder: Path, entry: _Entry, records: dict[str, Any], note: Callable[[str], None]) -> bool:
    """Whether a file is that of the list and agrees with its record; otherwise a note says why not."""
    path = folder / entry.path
    require_recorded(folder, entry.path)
    if not path.is_file():
        return False
    record = records[entry.path]
    if record.get("url") != FILES + entry.path:
        reason = "is of another revision"
    elif is_damaged(path, record):
        reason = f"is damaged: its checksum differs from {SOURCES}"
    else:
        return True
    note(f"{entry.path}: {reason}; downloading it again")
    return False


def _download(
    folder: Path, entry: _Entry, report_progress: Callable[[float], None], note: Callable[[str], None]
) -> None:
    """Download a file, compare it with the list, and record it."""
    path, url = folder / entry.path, FILES + entry.path
    new = path.with_name(f".{path.name}.new")
    note(f"{entry.path}: downloading from {url.split('/')[2] or 'this machine'}")
    path.parent.mkdir(parents=True, exist_ok=True)
    sha256 = None if entry.lfs is None else entry.lfs.oid
    web.fetch(url, new, sha256=sha256, offline_advice=OFFLINE_ADVICE, progress=report_progress, note=note)
    if sha256 is None:
        content = new.read_bytes()
        found = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        if found != entry.oid:
            new.unlink()
            raise ConfigError(
                f"{url}: expected the checksum {entry.oid} of git, found {found}; the file has changed"
            )
        sha256 = hashlib.sha256(content).hexdigest()
    record = {
        "dataset": DATASET,
        "revision": REVISION,
        "url": url,
        "bytes": new.stat().st_size,
        "sha256": sha256,
    }
    add_records(folder, {entry.path: record})  # before the file, which is then known to be of this download
    os.replace(new, path)
