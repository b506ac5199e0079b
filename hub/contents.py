"""Pushed files of a run, a corpus or a sweep: checksums, safe names, no secrets and no traces of this machine.

In the records that ecsuite writes, such as `config.yaml`, paths are shortened and checksums recomputed. A path or a
secret in any other file is an error with its line, since files of the user are not changed.
"""

import getpass
import hashlib
import io
import json
import os
import re
import shlex
import socket
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.eval.results.files import FILES as SCORES_FILES
from ecsuite.eval.results.verification.files import check_files
from ecsuite.files.checksums import CHECKSUM, MARK, sealed, sealed_text
from ecsuite.formats.directory import CORPUS, METADATA
from ecsuite.formats.stored_text import opened
from ecsuite.games.runs.run_folder import BEST, CHECKPOINT, CONFIG, SWEEP
from ecsuite.parts.own_code import CODE
from ecsuite.runtime.errors import ConfigError, DamagedError, shown
from ecsuite.runtime.printable import printable

RECORDS = (CONFIG, METADATA, *SCORES_FILES, SWEEP)
"""Names of the records of ecsuite whose paths are shortened."""
TEXTS = (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".csv", ".tsv", ".txt", ".py")
"""Endings of the text files that are checked, also compressed ones."""
SECRETS = (
    (rb"hf_[A-Za-z0-9]{24,}", "a token of the Hugging Face hub"),
    (rb"(?:ghp|gho|ghs)_[A-Za-z0-9]{36}|github_pat_\w{22,}", "a token of GitHub"),
    (rb"(?<![0-9A-Za-z])(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])", "a key of AWS"),
    (rb"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{32,}", "a key of a service"),
    (rb"-----BEGIN [A-Z ]*PRIVATE KEY-----", "a private key"),
)
"""Patterns of secrets in any file."""
ROOTS = (
    "home Users root tmp var private mnt media scratch gpfs lustre nfs net srv opt work workspace project projects "
    "storage cluster Volumes"
).split()
"""Folders at the root of a file system; a path that begins with one of them identifies a machine."""
_PATH = rf"(?<![\w./:~-])(?:/(?:{'|'.join(ROOTS)})/[^:;,\"'\n\\]*[^:;,\"'\n\\\s]|[A-Za-z]:\\[^:;,\"'\n]+)"
_SERVER = (
    r"https?://(?!localhost\b|127\.)(?:10\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+|[A-Za-z][\w-]*|"
    r"[\w.-]+\.(?:local|localdomain|internal|intranet|lan|corp|home))(?=[:/\"'\s]|$)"
)
"""Pattern of the address of a server in a private network, such as http://gpu7:8000/v1."""
HERE = "http://127.0.0.1"
"""Replacement of such an address in records."""
_BLOCK = 1 << 24
_OVERLAP = 1 << 12
"""Bytes of a block, and overlap with the next one."""


class Sanitizer:
    """Remove what identifies this machine from files, and refuse files that have secrets.

    Args:
        folder: Root of relative paths, which are kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        places = (self.folder, Path.cwd(), Path.home(), Path(tempfile.gettempdir()))
        own = sorted({str(place) for place in places if len(place.parts) > 1}, key=len, reverse=True)
        prefixes = "|".join(map(re.escape, own))
        self._path = re.compile(rf"{_SERVER}|{_PATH}|(?<![\w./-])(?:{prefixes})(?:/[^:;,\"'\n]*)?(?![\w-])")
        self._refused = [(re.compile(pattern.encode()), what) for pattern, what in self._of_machine(prefixes)]
        self._secret = [(re.compile(pattern), what) for pattern, what in SECRETS]

    @staticmethod
    def _of_machine(prefixes: str) -> Iterator[tuple[str, str]]:
        yield rf"{_PATH}|(?<![\w./-])(?:{prefixes})(?![\w-])", "a path of a machine"
        host = socket.gethostname().partition(".")[0]
        if len(host) > 3 and host != "localhost":
            yield rf"(?<![\w.-]){re.escape(host)}(?![\w-])", "the name of this machine"
        with suppress(OSError, KeyError):  # of a user that the system does not know
            yield rf"(?<![\w.-]){re.escape(getpass.getuser())}@[\w-]", "an address of this user"

    def record(self, name: str, content: bytes) -> bytes:
        """The content of a record with paths and servers shortened, and the checksum recomputed; unchanged without any.

        Raises:
            ValueError: If it is no text, or no JSON.
        """
        text = content.decode()
        if not self._path.search(text):
            return content
        if not name.endswith(".json"):
            shortened = self.shortened(text).encode()
            return sealed_text(shortened) if MARK in content else shortened
        tree = self._without_paths(json.loads(text))
        tree = sealed(tree) if isinstance(tree, dict) and CHECKSUM in tree else tree
        return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"

    def shortened(self, text: str) -> str:
        """The text with `HERE` for servers, and with paths relative to the folder or working directory, or as names."""
        return self._path.sub(lambda found: self._short(found[0]), text)

    def _without_paths(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.shortened(value)
        if isinstance(value, dict):
            return {self._without_paths(key): self._without_paths(inner) for key, inner in value.items()}
        return [self._without_paths(inner) for inner in value] if isinstance(value, list) else value

    def _short(self, path: str) -> str:
        if path.startswith("http"):
            return HERE
        for base in (self.folder.parent, Path.cwd()):
            if Path(path).is_relative_to(base) and base != Path("/"):
                return str(Path(path).relative_to(base))
        return re.split(r"[/\\]", path.rstrip("/\\"))[-1]

    def require_clean(self, file: Path, name: str, content: bytes | None = None) -> None:
        """Check that a file has no secrets and no traces of a machine.

        Args:
            file: The file; errors name it.
            name: Name on the hub.
            content: Content that replaces the file; None: the file.

        Raises:
            ConfigError: If it has any, with the line.
        """
        plain = name.removesuffix(".gz").removesuffix(".xz")
        patterns = [*self._secret, *(self._refused if plain.endswith(TEXTS) else [])]
        line = 1
        for block, is_counted in _blocks(file, content):
            for pattern, what in patterns:
                if (found := pattern.search(block)) is not None:
                    line += block.count(b"\n", 0, found.start())
                    shown = "" if pattern in [each for each, _ in self._secret] else f" ({_text(found[0])})"
                    raise ConfigError(
                        f"{file}:{line}: has {what}{shown}, which everyone could read: remove it from the file, or "
                        "the file from the folder; nothing was sent"
                    )
            line += block.count(b"\n", 0, is_counted)


def _text(found: bytes) -> str:
    return found.decode(errors="replace")[:80]


def _blocks(file: Path, content: bytes | None) -> Iterator[tuple[bytes, int]]:
    """The decompressed content in overlapping blocks, each with the number of its bytes before the next one."""
    if content is not None:
        yield content, len(content)
        return
    rest = b""
    with opened(file) as stream:
        while piece := stream.read(_BLOCK):
            block = rest + piece
            rest = block[-_OVERLAP:]
            yield block, len(block) - len(rest)


LONGEST = 200
"""Maximum bytes of a part of a name; file systems have at most 255, and temporary names are longer."""
FORBIDDEN = set('\\:*?"<>|')
"""Characters with a special meaning in some file system or program."""


def require_safe_names(names: Iterable[str], where: str) -> None:
    """Check that names stay in their folder, are visible and printable, and differ in all file systems.

    Raises:
        ConfigError: For the first unsafe name.
    """
    taken: dict[str, str] = {}
    for name in names:
        if (why := _fault(name)) is not None:
            raise ConfigError(f"{where}: the file name {shown(name)} {why}: nothing of it was taken")
        other = taken.setdefault(name.casefold(), name)
        if other != name:
            raise ConfigError(
                f"{where}: the file names {shown(other)} and {shown(name)} differ only in their case"
            )


def _fault(name: str) -> str | None:
    """Fault of a name; None if there is none."""
    parts = name.split("/")
    if not all(parts):
        return "is absolute, or has an empty part"
    if any(part.startswith(".") for part in parts):
        return "leads out of its folder, or is hidden"
    if printable(name) != name or FORBIDDEN & set(name):
        return "has characters that are not allowed"
    if any(part != part.strip() or part.endswith(".") for part in parts):
        return "begins or ends with a space, or ends with a dot"
    if any(len(part.encode()) > LONGEST for part in parts):
        return f"has a part of more than {LONGEST} bytes"
    return None


CARD, CROISSANT = "README.md", "croissant.json"
"""Files that are written for a repository, which a pulled folder has."""
ENDINGS = (
    ".json .jsonl .ndjson .yaml .yml .csv .tsv .txt .safetensors .npz .npy .parquet .arrow .feather .svg .png"
).split()
"""Endings of pushed files, also compressed ones: runs, corpora, tables and figures."""
SKIPPED = ("jobs", "tensorboard", "wandb", "mlruns", "trackio", "__pycache__")
"""Folders that are not pushed: stored jobs, which can be recomputed, and logs, which identify the machine."""
MESSAGES = (CONFIG, CORPUS)
"""Files that mark a folder as a run or a corpus."""
AGENTS = (CHECKPOINT, BEST)
"""Prefixes of the names of files with a run's agents."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PushedFile:
    """A pushed file."""

    name: str
    """Path in the repository."""
    file: Path
    """Local path; if `data` is sent, the path of its source."""
    data: bytes | None = None
    """Content that replaces the content of the file; None: the file."""
    size: int
    """Bytes."""
    sha256: str
    """Checksum, in hexadecimal."""
    state: tuple[int, int] = (0, 0)
    """Size and time of the file when it was read, to detect a change."""

    @property
    def is_as_it_was(self) -> bool:
        """Whether the file is unchanged since it was read."""
        return _state(self.file) == self.state


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """Pushed files."""

    files: tuple[PushedFile, ...]
    """The files, sorted by name."""
    left_out: Mapping[str, str]
    """Reason per name of a file or a folder that is not pushed."""


def messages_in(folder: str, names: Collection[str], *, has_scores: bool) -> str | None:
    """Path of the messages of a pulled repository, which `score` reads.

    Args:
        folder: The pulled folder.
        names: Names of its files.
        has_scores: Whether a file outside of runs and corpora has scores.

    Returns:
        The folder of a run or a corpus, or a file; None for scores and for several sources, which `compare` reads.
    """
    if any(name in names for name in MESSAGES):
        return folder
    if has_scores or any(name.endswith((*RECORDS, *MESSAGES)) for name in names):
        return None
    return f"{folder}/{min({*names} - {CARD, CROISSANT}, default=CARD)}"


def contents_of(source: Path, sanitizer: Sanitizer, *, with_agents: bool = True) -> Contents:
    """Read and check the files to push, without traces of this machine.

    Args:
        source: A folder, or a file.
        sanitizer: Removes the paths and names of this machine.
        with_agents: Whether the weights of trained agents are included.

    Raises:
        ConfigError: If a file has secrets or traces of this machine, an unsafe name, or is a link out of the folder.
        DamagedError: If a file differs from its checksum.
    """
    found, left_out = {source.name: source}, dict[str, str]()
    if source.is_dir():
        found = {}
        for name, file, why in _walk(source, source):
            if why is None and not with_agents and file.name.startswith(AGENTS):
                why = "agents are not included"
            if why is None:
                found[name] = file
            elif why:
                left_out[name] = why
    require_safe_names(found, str(source))
    files = tuple(_content(name, found[name], sanitizer) for name in sorted(found))
    contents = Contents(files=files, left_out=left_out)
    _require_undamaged(contents)
    return contents


def _walk(folder: Path, root: Path) -> Iterator[tuple[str, Path, str | None]]:
    """The files of a folder and its subfolders, each with the reason of its omission; "" without a mention."""
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
                yield f"{name}/", entry, "stored jobs and logs of other tools are not pushed"
            elif not entry.is_symlink():  # its files are below their own names
                yield from _walk(entry, root)
            continue
        yield name, entry, _reason(entry, name, mode)


def _reason(file: Path, name: str, mode: int) -> str | None:
    """Reason why a file is not pushed; None if it is."""
    if not stat.S_ISREG(mode):
        return "not a regular file"
    if name in (CARD, CROISSANT):
        return ""
    plain = file.name.removesuffix(".gz").removesuffix(".xz")
    is_code = plain.endswith(".py") and CODE in Path(name).parts[:-1]
    if not plain.endswith(tuple(ENDINGS)) and not is_code:
        return "not a file type of runs, corpora or tables"
    return None


def _content(name: str, file: Path, sanitizer: Sanitizer) -> PushedFile:
    state = _state(file)
    data = None
    if file.name in RECORDS:
        before = file.read_bytes()
        try:
            data = sanitizer.record(name, before)
        except (ValueError, RecursionError):
            raise ConfigError(f"{file}: can't be read: expected a record that ecsuite wrote") from None
        data = None if data == before else data
    sanitizer.require_clean(file, name, data)
    with file.open("rb") if data is None else io.BytesIO(data) as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    size = state[0] if data is None else len(data)
    return PushedFile(name=name, file=file, data=data, size=size, sha256=sha256, state=state)


def _state(file: Path) -> tuple[int, int]:
    found = os.stat(file)
    return found.st_size, found.st_mtime_ns


def _require_undamaged(contents: Contents) -> None:
    """Check the files with the checksums of their folder.

    Raises:
        DamagedError: For the first file that differs.
    """
    for folder in sorted({each.file.parent for each in contents.files if each.file.name in RECORDS}):
        for row in check_files(folder):
            if row.verdict == "damaged":
                raise DamagedError(
                    f"{folder / row.name}: {row.reason}: restore it, or take it as it is with ecsuite verify "
                    f"{shlex.quote(str(folder))} --accept"
                )
