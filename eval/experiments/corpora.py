"""Corpora of a collection: names, systems, metadata, selection of messages, and stored facts.

In the layout of ELCC (Boldt & Mortensen 2024), `SYSTEM/data/VARIANT/corpus.jsonl`, a corpus is called SYSTEM/VARIANT.
Its `metadata.json` is in its folder, and `system.json` is two folders above. Run folders of one game that differ only
in their seeds have the same `settings`.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.results.files import group_digest, run_seed_and_group, source_name
from ecsuite.eval.views.scorecard import Scorecard
from ecsuite.files.atomic_files import write_if_changed
from ecsuite.files.checksums import require_unchanged, sealed
from ecsuite.files.format_numbers import with_format, without_format
from ecsuite.formats.corpora import Reading
from ecsuite.formats.directory import CORPUS, MEANINGS, METADATA
from ecsuite.formats.reading import read_as
from ecsuite.formats.strict_json import read_json
from ecsuite.games.runs.run_folder import SCORES
from ecsuite.runtime.errors import ConfigError, DamagedError, FormatError

FACTS = "files.json"
"""File of a folder of stored results with facts about run folders and corpora, see `FileFacts`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionMember:
    """A corpus of a collection."""

    path: Path
    """Path of the corpus."""
    name: str
    """Name in tables."""
    system: str | None = None
    """The system that produced it, in the layout of ELCC."""
    game: str | None = None
    """Name of the game, if it is the corpus of a run."""
    seed: int | None = None
    """The seed of the run."""
    settings: str | None = None
    """Hash of all other settings of the run: runs with equal hashes differ only in their seeds."""

    def metadata(self) -> dict[str, Any]:
        """Metadata of the corpus and of its system, from the files of the collection; empty without files."""
        if self.system is None:
            return {}
        folder = _folder(self.path)
        files = {"variant": folder / METADATA, "system": folder.parent.parent / "system.json"}
        return {key: read_json(file) for key, file in files.items() if file.is_file()}

    def to_json(self) -> dict[str, Any]:
        """Name, system, run and metadata, JSON-ready."""
        return {
            "name": self.name,
            "system": self.system,
            "game": self.game,
            "seed": self.seed,
            "settings": self.settings,
            "metadata": self.metadata(),
        }


def members_of(paths: Sequence[Path]) -> list[CollectionMember]:
    """The corpora at paths, with unique names.

    Raises:
        ConfigError: If a corpus is given twice, or a `metadata.json` cannot be read.
    """
    folders = [
        _folder(path).resolve() if path.name == CORPUS or path.is_dir() else path.resolve() for path in paths
    ]
    for folder, number in Counter(folders).items():
        if number > 1:
            raise ConfigError(f"{folder}: given {number} times")
    members = [_member(path) for path in paths]
    taken = Counter(member.name for member in members)
    return [
        replace(member, name=_longer_name(folder, folders)) if taken[member.name] > 1 else member
        for member, folder in zip(members, folders, strict=True)
    ]


def _member(path: Path) -> CollectionMember:
    folder = _folder(path)
    if _is_in_folder(path) and folder.resolve().parent.name == "data":
        folder = folder.resolve()
        system = folder.parent.parent.name
        return CollectionMember(path=path, name=f"{system}/{folder.name}", system=system)
    run = run_seed_and_group(folder) if _is_in_folder(path) else None
    name = source_name(str(folder.resolve() / CORPUS if path.is_dir() else path.resolve()))
    if run is None:
        return CollectionMember(path=path, name=name)
    game, seed, settings = run
    return CollectionMember(path=path, name=name, game=game, seed=seed, settings=group_digest(settings))


def _is_in_folder(path: Path) -> bool:
    """Whether the corpus has its own folder."""
    return path.is_dir() or path.name == CORPUS


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _longer_name(path: Path, others: Sequence[Path]) -> str:
    """The shortest unique end of a path."""
    for length in range(2, len(path.parts)):
        name = path.parts[-length:]
        if sum(other.parts[-length:] == name for other in others) == 1:
            return "/".join(name)
    return str(path)


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageSelection:
    """Options for reading corpora, and the selection of messages to score."""

    reading: Reading = field(default_factory=Reading)
    """Options of the reader."""
    where: tuple[str, ...] = ()
    """`COLUMN=VALUE` or `COLUMN!=VALUE`: only these messages; empty: all."""

    def job_key(self) -> dict[str, Any]:
        """Values that identify it in the key of a job."""
        where = self.where[0] if len(self.where) == 1 else list(self.where) or None
        return {"reading": self.reading.job_key(), "where": where}

    def read(self, path: Path) -> Corpus:
        """Read the messages of a file or folder; for errors see `read_as`."""
        return read_as(path, replace(self.reading, where=self.where))


Read = Callable[[Path], Corpus]
"""Reads the messages to score from a path."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredMember:
    """A corpus of a collection with its scores."""

    member: CollectionMember
    """The corpus."""
    card: Scorecard
    """Its scores."""

    def to_json(self) -> dict[str, Any]:
        """The scorecard with the description of the corpus, JSON-ready."""
        return self.card.to_json() | {"member": self.member.to_json()}


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusContent:
    """Content of a corpus as an input of jobs."""

    digest: str
    """Hash of everything that a metric may read."""
    num_symbols: int
    """Symbols of all messages."""

    def job_key(self) -> str:
        """The hash."""
        return self.digest

    @classmethod
    def of(cls, corpus: Corpus) -> "CorpusContent":
        """The content of a loaded corpus."""
        digest = hashlib.sha256()
        known: list[Any] = [corpus.eos, corpus.symbol_names, corpus.concept_names, sorted(corpus.columns)]
        known += [corpus.attribute_names, corpus.why_no_meanings]
        digest.update(json.dumps(known).encode())
        rows = [corpus.messages, *([] if corpus.concepts is None else [corpus.concepts])]
        arrays = [array for row in rows for array in (row.offsets, row.values)]
        arrays += [corpus.columns[name] for name in sorted(corpus.columns)]
        arrays += [] if corpus.meanings is None else [corpus.meanings]
        for array in arrays:
            digest.update(_bytes(array))
        return cls(digest=digest.hexdigest(), num_symbols=len(corpus.messages.values))


def _bytes(array: NDArray[Any]) -> bytes:
    """Shape, type and values of an array."""
    array = np.asarray(array)
    values = json.dumps(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    return f"{array.dtype.kind}{array.dtype.itemsize}{array.shape}".encode() + values


def files_of(path: Path, meanings: str | None = None) -> list[Path]:
    """The files that reading a corpus may read.

    Args:
        path: A folder, its `corpus.jsonl`, or another file.
        meanings: A second file, see `Reading`.
    """
    further = [] if meanings is None else [Path(meanings)]
    if not _is_in_folder(path):
        siblings = [path.with_name(name) for name in (METADATA, MEANINGS)]
        return [path, *further, *(file for file in siblings if file.is_file())]
    files = [file for file in _folder(path).rglob("*") if file.is_file()]
    return [*sorted(file for file in files if file.name != SCORES and file.name[0] != "."), *further]


class FileFacts:
    """Facts computed from files, valid as long as sizes and modification times of the files do not change.

    Args:
        file: File of the stored facts; a damaged or missing file counts as empty.
    """

    def __init__(self, file: Path) -> None:
        self.file, self.entries = file, dict[str, Any]()
        with suppress(OSError, ValueError, KeyError, TypeError, DamagedError, FormatError):
            content = json.loads(file.read_bytes())
            require_unchanged(content, file)
            self.entries = dict(without_format("kept result", content, file)["entries"])

    def get(self, key: str, files: Iterable[Path]) -> Any:
        """The fact of a key; None if there is no fact, or one of its files has changed."""
        entry = self.entries.get(key)
        return None if entry is None or entry["files"] != _states(files) else entry["fact"]

    def put(self, key: str, files: Iterable[Path], fact: Any) -> None:
        """Set the fact of a key, JSON-ready."""
        self.entries[key] = {"files": _states(files), "fact": fact}

    def save(self) -> None:
        """Write the facts."""
        data = sealed(with_format("kept result", {"entries": self.entries}))
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_if_changed(self.file, json.dumps(data, allow_nan=False).encode() + b"\n")


def _states(files: Iterable[Path]) -> list[list[Any]]:
    """Name, size and modification time of each file."""
    stats = [(file.name, file.stat()) for file in files if file.is_file()]
    return [[name, state.st_size, state.st_mtime_ns] for name, state in stats]
