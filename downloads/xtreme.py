"""The data of the nine tasks of XTREME from their authors' sites, with the addresses of XTREME's own script.

XTREME's script removes the labels of its test sets; here they are kept. Extracted files are not changed, only
compressed (`.gz`), and `eval.xtreme.scoring.reading` reads them.
"""

import hashlib
import json
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ecsuite.config import ConfigError, look_up
from ecsuite.corpus import write_atomically
from ecsuite.downloads.downloads import SOURCES, read_sources
from ecsuite.downloads.languages import LANGUAGES
from ecsuite.downloads.web import fetch
from ecsuite.eval.metrics.score import no_progress

OFFLINE_ADVICE = (
    "Without a network, copy the files from another machine, or give an existing folder: --data FOLDER"
)
_BYTES_AT_A_TIME = 1 << 20
_DOWNLOAD_FRACTION = 0.5
"""Fraction of the progress at which the download ends and the extraction begins."""


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
_XQUAD_COMMIT = "60cac411649156efb6aab9dd4c9cde787a2c0345"
_LASER_COMMIT = "74bc6ae7ffb7cba670fe0f428d0ede9f666fb821"
_SQUAD = tuple(
    Origin(
        url=f"https://rajpurkar.github.io/SQuAD-explorer/dataset/{split}-v1.1.json",
        member=r"(.*)",
        path=r"squad/\1",
        sha256=sha256,
    )
    for split, sha256 in (
        ("train", "3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955"),
        ("dev", "95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9"),
    )
)

ORIGINS: dict[str, tuple[Origin, ...]] = {
    "xnli": (
        Origin(
            url="https://dl.fbaipublicfiles.com/XNLI/XNLI-1.0.zip",
            member=r"(XNLI-1\.0/xnli\.(?:dev|test)\.tsv)",
            path=r"xnli/\1",
        ),
        Origin(
            url="https://dl.fbaipublicfiles.com/XNLI/XNLI-MT-1.0.zip",
            member=r"(XNLI-MT-1\.0/multinli/multinli\.train\.en\.tsv)",
            path=r"xnli/\1",
        ),
    ),
    "pawsx": (
        Origin(
            url="https://storage.googleapis.com/paws/pawsx/x-final.tar.gz",
            member=r"(x-final/\w\w/(?:train|translated_train|dev_2k|test_2k)\.tsv)",
            path=r"pawsx/\1",
        ),
    ),
    "udpos": (
        Origin(
            url="https://lindat.mff.cuni.cz/repository/xmlui/bitstream/handle/11234/1-3105/ud-treebanks-v2.5.tgz",
            member=rf"(ud-treebanks-v2\.5/UD_[\w-]+/(?:{_CODES})_\w+-ud-(?:train|dev|test)\.conllu)",
            path=r"udpos/\1",
        ),
    ),
    "panx": (
        Origin(
            url="https://s3.amazonaws.com/datasets.huggingface.co/wikiann/1.1.0/panx_dataset.zip",
            inside=rf"(?:.*/)?(?:{_CODES})\.tar\.gz",
            member=r"(?:.*/)?(\w+)\.tar\.gz/(?:\./)?(train|dev|test)",
            path=r"panx/\1/\2",
        ),
    ),
    "xquad": (
        Origin(
            url=f"https://github.com/deepmind/xquad/archive/{_XQUAD_COMMIT}.tar.gz",
            member=r"[^/]+/(xquad\.\w\w\.json)",
            path=r"xquad/\1",
        ),
        *_SQUAD,
    ),
    "mlqa": (
        Origin(
            url="https://dl.fbaipublicfiles.com/MLQA/MLQA_V1.zip",
            member=r"(MLQA_V1/(dev|test)/\2-context-(\w\w)-question-\3\.json)",
            path=r"mlqa/\1",
        ),
        *_SQUAD,
    ),
    "tydiqa": (
        Origin(
            url="https://storage.googleapis.com/tydiqa/v1.1/tydiqa-goldp-v1.1-train.json",
            member=r"(.*)",
            path=r"tydiqa/\1",
        ),
        Origin(
            url="https://storage.googleapis.com/tydiqa/v1.1/tydiqa-goldp-v1.1-dev.tgz",
            member=r"(?:\./)?(tydiqa-goldp-v1\.1-dev/tydiqa-goldp-dev-\w+\.json)",
            path=r"tydiqa/\1",
        ),
    ),
    "bucc2018": tuple(
        Origin(
            url=f"https://comparable.limsi.fr/bucc2018/bucc2018-{language}-en.{part}-gold.tar.bz2",
            member=rf"(?:\./)?(bucc2018/{language}-en/{language}-en\.{part}\.(?:{language}|en|gold))",
            path=r"\1",
        )
        for language in ("de", "fr", "ru", "zh")
        for part in ("training", "sample")
    ),
    "tatoeba": (
        Origin(
            url=f"https://github.com/facebookresearch/LASER/archive/{_LASER_COMMIT}.tar.gz",
            member=r"[^/]+/data/tatoeba/v1/(tatoeba\.(\w+)-eng\.(?:\2|eng))",
            path=r"tatoeba/\1",
        ),
    ),
}
"""Origins by task. The tasks xquad and mlqa are trained on SQuAD."""


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
        with (folder / path).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != entry.get("sha256"):
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
    archive = folder / f".{name}"
    fetch(
        origin.url,
        archive,
        sha256=origin.sha256,
        offline_advice=OFFLINE_ADVICE,
        progress=lambda share: report_progress(share * _DOWNLOAD_FRACTION),
    )
    made: dict[str, dict[str, Any]] = {}
    try:
        for member, file in _members(archive, name, origin.inside):
            match = re.fullmatch(origin.member, member)
            if match is not None:
                path = f"{match.expand(origin.path)}.gz"
                made[path] = {"url": origin.url, **_store(folder / path, file)}
                report_progress(_DOWNLOAD_FRACTION)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error) as error:
        archive.unlink(missing_ok=True)
        raise ConfigError(
            f"{origin.url}: the archive is damaged ({error}); run the same command again"
        ) from error
    archive.unlink(missing_ok=True)
    if not made:
        raise ConfigError(f"{origin.url}: expected members named {origin.member}, found none")
    record = json.dumps(dict(sorted((read_sources(folder) | made).items())), indent=2, ensure_ascii=False)
    write_atomically(folder / SOURCES, f"{record}\n".encode())
    return list(made)


def _members(archive: Path, name: str, inside: str | None) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of the members of an archive; a plain file is its own member."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(archive) as opened:
            for member in opened.namelist():
                if not member.endswith("/"):
                    with opened.open(member) as file:
                        yield from _open_nested(member, file, inside)
    elif ".tar" in name or name.endswith(".tgz"):
        with archive.open("rb") as packed:
            yield from _open_nested(name, packed, None, is_archive=True)
    else:
        with archive.open("rb") as file:
            yield name, file


def _open_nested(
    member: str, file: IO[bytes], inside: str | None, *, is_archive: bool = False
) -> Iterator[tuple[str, IO[bytes]]]:
    """A member, or its own members if it is a nested archive."""
    if not is_archive and (inside is None or not re.fullmatch(inside, member)):
        yield member, file
        return
    with tarfile.open(fileobj=file, mode="r|*") as opened:
        for entry in opened:
            content = opened.extractfile(entry) if entry.isfile() else None
            if content is not None:
                yield (entry.name if is_archive else f"{member}/{entry.name}"), content


def _store(path: Path, file: IO[bytes]) -> dict[str, Any]:
    """Write a file compressed, and return its record."""
    digest = hashlib.sha256()
    num_bytes = 0

    def packed() -> Iterable[bytes]:
        nonlocal num_bytes
        compressor = zlib.compressobj(wbits=31)  # gzip without a timestamp
        while piece := file.read(_BYTES_AT_A_TIME):
            num_bytes += len(piece)
            yield compressor.compress(piece)
        yield compressor.flush()

    def hashed() -> Iterable[bytes]:
        for piece in packed():
            digest.update(piece)
            yield piece

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, hashed())
    return {"bytes": num_bytes, "sha256": digest.hexdigest()}
