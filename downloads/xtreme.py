"""The data of the nine tasks of XTREME from their authors' sites, with the addresses of XTREME's own script.

`origins.yaml` lists the addresses. XTREME's script removes the labels of its test sets; here they are kept. Extracted
files are not changed, only compressed (`.gz`), and `eval.xtreme.scoring` reads them.
"""

import errno
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ecsuite.downloads.downloads import (
    SOURCES,
    add_records,
    is_damaged,
    only_download,
    read_sources,
    require_recorded,
    write_gzip,
)
from ecsuite.downloads.languages import LANGUAGES
from ecsuite.downloads.web import fetch
from ecsuite.jobs.graph import no_progress
from ecsuite.parts.config import packaged_yaml
from ecsuite.runtime.errors import ConfigError, look_up

OFFLINE_ADVICE = (
    "Without a network, copy the files from another machine, or give an existing folder: --data FOLDER"
)
_BYTES_AT_A_TIME = 1 << 20
_DOWNLOAD_FRACTION = 0.5
"""Fraction of the progress at which the download ends and the extraction begins."""

_DAMAGES = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    OSError,
    zlib.error,
    RuntimeError,  # zipfile: encrypted, or of an unknown compression
    UnicodeDecodeError,  # zipfile: names of members
)
"""Errors of a damaged archive."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """A file on the web, and the members to extract."""

    url: str
    """Address of an archive or a plain file."""
    member: str
    """Pattern of the members to extract; for a plain file, of its name."""
    path: str
    """Path of an extracted member; may contain groups of the pattern."""
    inside: str | None = None
    """Pattern of nested archives; their name and a slash precede the names of their members."""
    sha256: str | None = None
    """Checksum of the file on the web; None if none is published."""


_CODES = "|".join(LANGUAGES)

ORIGINS: dict[str, tuple[Origin, ...]] = {
    task: tuple(
        Origin(**{key: text.replace("CODES", _CODES) for key, text in origin.items()}) for origin in origins
    )
    for task, origins in packaged_yaml("ecsuite.downloads", "origins.yaml").items()
}
"""Origins by task; in the file, CODES stands for the code of any language."""


def prepare_xtreme(
    tasks: Sequence[str],
    folder: Path,
    *,
    progress: Callable[[str, float, float], None] = no_progress,
    note: Callable[[str], None] = lambda text: None,
) -> list[str]:
    """Download the data of tasks, one folder per task.

    Files that are complete according to `sources.json` in the folder are not downloaded again; an interrupted download
    is resumed. The archives are deleted after extraction.

    Args:
        tasks: Names in `ORIGINS`; duplicates are ignored.
        folder: Parent of the task folders; created if missing.
        progress: Called with a label, the files from the web that are done (with fractions) and their number.
        note: Called with messages to the user, a line each.

    Returns:
        The files' paths in the folder, as in `sources.json`.

    Raises:
        ConfigError: If there is no such task, an address cannot be reached, or an archive is damaged or has no
            expected member. Finished files are kept.
    """
    if not tasks:
        raise ConfigError("expected task names such as udpos,panx, got none")
    origins = list(dict.fromkeys(origin for task in tasks for origin in look_up("task", task, ORIGINS)))
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder, got a file")
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[str] = []
    with only_download(folder, note):
        for index, origin in enumerate(origins):
            name = origin.url.rpartition("/")[2]

            def report_progress(share: float, name: str = name, index: int = index) -> None:
                progress(name, index + share, len(origins))

            made = _complete_files(folder, origin, name, note)
            if not made:
                made = _download_and_extract(folder, origin, name, report_progress, note)
            paths += made
            report_progress(1.0)
    return paths


def _complete_files(folder: Path, origin: Origin, name: str, note: Callable[[str], None]) -> list[str]:
    """The files extracted from an origin, if all exist and are undamaged; otherwise an empty list."""
    entries = {path: entry for path, entry in read_sources(folder).items() if entry.get("url") == origin.url}
    for path, entry in entries.items():
        if not (folder / path).is_file():
            note(f"{name}: {path} is missing; downloading it again")
            return []
        if is_damaged(folder / path, entry):
            note(f"{name}: {path} is damaged: its checksum differs from {SOURCES}; downloading it again")
            return []
    if entries:
        note(f"{name}: already complete")
    return list(entries)


def _download_and_extract(
    folder: Path,
    origin: Origin,
    name: str,
    report_progress: Callable[[float], None],
    note: Callable[[str], None],
) -> list[str]:
    note(f"{name}: downloading from {origin.url.split('/')[2] or 'this machine'}")
    archive, extracted = folder / f".{name}", folder / f".{name}.members"
    fetch(
        origin.url,
        archive,
        sha256=origin.sha256,
        offline_advice=OFFLINE_ADVICE,
        progress=lambda share: report_progress(share * _DOWNLOAD_FRACTION),
        note=note,
    )
    made: dict[str, dict[str, Any]] = {}
    shutil.rmtree(extracted, ignore_errors=True)  # left by a killed process
    try:
        for member, file in _members(archive, name, origin):
            match = re.fullmatch(origin.member, member)
            if match is not None:
                path = f"{match.expand(origin.path)}.gz"
                made[path] = {"url": origin.url, **_store(extracted / path, file)}
                report_progress(_DOWNLOAD_FRACTION)
        if not made:
            raise ConfigError(f"{origin.url}: expected members named {origin.member}, found none")
        before = read_sources(folder)
        for path, record in made.items():
            require_recorded(folder, path)
            if before.get(path, record).get("bytes") != record["bytes"]:
                note(f"{path}: the file at {origin.url} has changed since it was downloaded before")
        add_records(folder, made)  # before the files, which then have a record
        for path in made:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(extracted / path, folder / path)
    except _DAMAGES as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise ConfigError(
                f"{folder}: no room for the files of {name}; finished files are kept: make room, then run the same "
                "command again"
            ) from error
        raise ConfigError(
            f"{origin.url}: the archive is damaged ({error}); run the same command again"
        ) from error
    finally:
        archive.unlink(missing_ok=True)
        shutil.rmtree(extracted, ignore_errors=True)
    return list(made)


def _require_inside(origin: Origin, member: str) -> str:
    """Check that a member stays in the folder of the unpacked archive, and return its name; else `ConfigError`."""
    parts = member.replace("\\", "/").split("/")
    if ".." in parts or not parts[0] or ":" in parts[0]:
        raise ConfigError(
            f"{origin.url}: the archive has a member '{member[:80]}', which leads out of its folder; nothing of it was "
            "used"
        )
    return member


def _members(archive: Path, name: str, origin: Origin) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of the members of an archive; a plain file is its own member."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                member = _require_inside(origin, entry.filename)
                if entry.is_dir():
                    continue
                if stat.S_ISLNK(entry.external_attr >> 16):
                    _require_unwanted_link(origin, member)
                    continue
                with opened.open(entry) as file:
                    if origin.inside is not None and re.fullmatch(origin.inside, member):
                        yield from _members_of_tar(file, origin, f"{member}/")
                    else:
                        yield member, file
        return
    with archive.open("rb") as file:
        if ".tar" in name or name.endswith(".tgz"):
            yield from _members_of_tar(file, origin)
        else:
            yield name, file


def _members_of_tar(file: IO[bytes], origin: Origin, prefix: str = "") -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(fileobj=file, mode="r|*") as opened:
        for entry in opened:
            member = prefix + _require_inside(origin, entry.name)
            if entry.issym() or entry.islnk():
                _require_unwanted_link(origin, member)
            content = opened.extractfile(entry) if entry.isfile() else None
            if content is not None:
                yield member, content


def _require_unwanted_link(origin: Origin, member: str) -> None:
    """Raise an error if a link has the name of a requested member; links are never followed."""
    if re.fullmatch(origin.member, member):
        raise ConfigError(
            f"{origin.url}: the archive has a link '{member[:80]}' in the place of a file; nothing of it was used"
        )


def _store(path: Path, file: IO[bytes]) -> dict[str, Any]:
    """Write a file compressed, and return a part of its record."""
    num_bytes = 0

    def pieces() -> Iterator[bytes]:
        nonlocal num_bytes
        while piece := file.read(_BYTES_AT_A_TIME):
            num_bytes += len(piece)
            yield piece

    path.parent.mkdir(parents=True, exist_ok=True)
    sha256 = write_gzip(path, pieces())
    return {"bytes": num_bytes, "sha256": sha256}
