"""What of a run, a corpus or the folder of a sweep is pushed: the files, their checksums, and what is left out."""

import hashlib
import io
import os
import shlex
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ecsuite.eval.results.verification.files import check_files
from ecsuite.hub.machine import RECORDS, Machine
from ecsuite.hub.names import require_safe_names
from ecsuite.parts.own_code import CODE
from ecsuite.runtime.errors import ConfigError, DamagedError

CARD, CROISSANT = "README.md", "croissant.json"
"""The files that are written for a repository, and that a pulled folder has."""
ENDINGS = (
    ".json .jsonl .ndjson .yaml .yml .csv .tsv .txt .safetensors .npz .npy .parquet .arrow .feather .svg .png"
).split()
"""Endings of files that go to the hub, also packed ones: what runs, corpora, tables and figures are."""
SKIPPED = ("jobs", "tensorboard", "wandb", "mlruns", "trackio", "__pycache__")
"""Folders that do not: kept jobs, which others would compute anew, and what loggers write, which name the machine."""
MESSAGES = ("config.yaml", "corpus.jsonl")
"""Files of a folder that is a run or a corpus."""
AGENTS = ("checkpoint-", "best-")
"""How the names of the files of a run's agents begin."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """A file as it is pushed."""

    name: str
    """Path in the repository."""
    file: Path
    """Where it is here; where `data` is sent, what that was made of."""
    data: bytes | None = None
    """What is sent in place of the file; None: the file."""
    size: int
    """Bytes."""
    sha256: str
    """Checksum, in hexadecimal."""
    state: tuple[int, int] = (0, 0)
    """Size and time of the file when it was read, by which a change is seen."""

    @property
    def is_as_it_was(self) -> bool:
        """Whether nothing was written to the file since it was read."""
        return _state(self.file) == self.state


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """What is pushed."""

    files: tuple[Content, ...]
    """In the order of their names."""
    left_out: Mapping[str, str]
    """By the name of a file or a folder, why it stays here."""


def messages_in(folder: str, names: Collection[str], *, has_scores: bool) -> str | None:
    """Where the messages are of what is pulled, which `score` reads.

    Args:
        folder: That of what is pulled.
        names: Its files.
        has_scores: Whether a file of it that is in no run or corpus has scores.

    Returns:
        The folder of a run or a corpus, or a file; None of scores and of what has several, which `compare` reads.
    """
    if any(name in names for name in MESSAGES):
        return folder
    if has_scores or any(name.endswith((*RECORDS, *MESSAGES)) for name in names):
        return None
    return f"{folder}/{min({*names} - {CARD, CROISSANT}, default=CARD)}"


def contents_of(source: Path, machine: Machine, *, with_agents: bool = True) -> Contents:
    """Read what is pushed, check it, and take out what is of this machine.

    Args:
        source: A folder, or a file.
        machine: What is of this machine.
        with_agents: Whether the weights of trained agents go along.

    Raises:
        ConfigError: If a file is secret or of this machine, has no safe name, or is a link out of the folder.
        DamagedError: If a file is not as its checksum says.
    """
    found, left_out = {source.name: source}, dict[str, str]()
    if source.is_dir():
        found = {}
        for name, file, why in _walk(source, source):
            if why is None and not with_agents and file.name.startswith(AGENTS):
                why = "agents were not asked for"
            if why is None:
                found[name] = file
            elif why:
                left_out[name] = why
    require_safe_names(found, str(source))
    files = tuple(_content(name, found[name], machine) for name in sorted(found))
    contents = Contents(files=files, left_out=left_out)
    _require_undamaged(contents)
    return contents


def _walk(folder: Path, root: Path) -> Iterator[tuple[str, Path, str | None]]:
    """The files of a folder and its subfolders, each with why it is left out; "" of what needs no mention."""
    for entry in sorted(folder.iterdir()):
        name = entry.relative_to(root).as_posix()
        if entry.name.startswith(".") or entry.name.endswith("~"):
            yield name, entry, ""
            continue
        if entry.is_symlink() and not entry.resolve().is_relative_to(root.resolve()):
            raise ConfigError(
                f"{entry}: a link out of the folder: expected the file itself; nothing was sent"
            )
        mode = entry.stat().st_mode
        if stat.S_ISDIR(mode):
            if entry.name in SKIPPED:
                yield f"{name}/", entry, "kept work and logs of other tools stay here"
            elif not entry.is_symlink():  # its files are below their own names
                yield from _walk(entry, root)
            continue
        yield name, entry, _reason(entry, name, mode)


def _reason(file: Path, name: str, mode: int) -> str | None:
    """Why a file stays here; None if it does not."""
    if not stat.S_ISREG(mode):
        return "no file"
    if name in (CARD, CROISSANT):
        return ""
    plain = file.name.removesuffix(".gz").removesuffix(".xz")
    is_code = plain.endswith(".py") and CODE in Path(name).parts[:-1]
    if not plain.endswith(tuple(ENDINGS)) and not is_code:
        return "not a kind of file that runs, corpora and tables are"
    return None


def _content(name: str, file: Path, machine: Machine) -> Content:
    state = _state(file)
    data = None
    if file.name in RECORDS:
        before = file.read_bytes()
        try:
            data = machine.record(name, before)
        except (ValueError, RecursionError):
            raise ConfigError(f"{file}: can't be read: expected a record that ecsuite wrote") from None
        data = None if data == before else data
    machine.require_clean(file, name, data)
    with file.open("rb") if data is None else io.BytesIO(data) as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    size = state[0] if data is None else len(data)
    return Content(name=name, file=file, data=data, size=size, sha256=sha256, state=state)


def _state(file: Path) -> tuple[int, int]:
    found = os.stat(file)
    return found.st_size, found.st_mtime_ns


def _require_undamaged(contents: Contents) -> None:
    """Refuse what is not as the checksums in its own folder say.

    Raises:
        DamagedError: For the first file of it.
    """
    for folder in sorted({each.file.parent for each in contents.files if each.file.name in RECORDS}):
        for row in check_files(folder):
            if row.verdict == "damaged":
                raise DamagedError(
                    f"{folder / row.name}: {row.reason}: restore it, or take it as it is with ecsuite verify "
                    f"{shlex.quote(str(folder))} --accept"
                )
