"""`pull`: a folder from the Hugging Face hub, verified file by file before it appears; none of its code is run.

Files are downloaded into a hidden folder next to the destination, and stay there if the connection is lost, so that a
repeated command resumes. Each is compared with the hub's list of that commit and with the pushed checksums; if all
agree, the folder is renamed in one step.
"""

import hashlib
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecsuite.downloads.downloads import only_download
from ecsuite.downloads.hugging_face import asking_hub
from ecsuite.eval.results.files import sources_at
from ecsuite.files.disk_space import require_space
from ecsuite.hub.address import KIND, Address, hub
from ecsuite.hub.contents import CARD, CROISSANT, MESSAGES, messages_in, require_safe_names
from ecsuite.hub.croissant import sums_in
from ecsuite.hub.pushing import ATTRIBUTES, MAIN
from ecsuite.jobs.graph import no_progress
from ecsuite.runtime.errors import ConfigError, DamagedError, shown

if TYPE_CHECKING:
    from huggingface_hub import HfApi

CACHE = ".cache"
"""The library's own subfolder of a download folder."""
MOST_FILES = 100_000
"""Maximum number of files of a pulled repository."""
LARGEST_LIST = 1 << 26
"""Maximum bytes of the file that lists them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HubFile:
    """A file in the hub's list of a commit."""

    name: str
    """Its path."""
    size: int
    """Bytes."""
    git: str
    """Git's SHA-1 of a small file, or of the pointer of a large one."""
    sha256: str | None
    """SHA-256 of a large file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pulled:
    """A pulled folder."""

    address: Address
    """Address of the source."""
    commit: str
    """The commit."""
    folder: Path
    """Path of the folder."""
    files: tuple[str, ...]
    """The names of its files."""

    @property
    def advice(self) -> str:
        """The command that reads the folder."""
        folder = str(self.folder)
        messages = messages_in(folder, self.files, has_scores=self._has_scores)
        command = "compare" if messages is None else "show" if messages == folder else "score"
        return f"ecsuite {command} {shlex.quote(messages or folder)}"

    @property
    def _has_scores(self) -> bool:
        """Whether a JSON file in the folder itself, which is no run and no corpus, has scores."""
        names = [
            name for name in self.files if name.endswith(".json") and "/" not in name and name != CROISSANT
        ]
        is_one = any(name in self.files for name in MESSAGES)
        return not is_one and any(
            source.records for name in names for source in sources_at(self.folder / name)
        )

    def to_json(self) -> dict[str, Any]:
        """The pulled folder, JSON-ready."""
        return {
            "address": str(self.address),
            "commit": self.commit,
            "folder": str(self.folder),
            "files": list(self.files),
        }


def pull(
    address: Address,
    folder: Path,
    *,
    progress: Callable[[str, float, float], None] = no_progress,
    note: Callable[[str], None] = lambda _: None,
) -> Pulled:
    """Download a pushed repository, verify it, and put it into a new folder.

    Args:
        address: Address of the repository.
        folder: Destination; must not exist.
        progress: Called with a label, the bytes downloaded so far, and their total.
        note: Called with messages to the user.

    Raises:
        ConfigError: If the folder exists, there is no such repository or revision, the login may not read it, the
            connection fails, the disk is full, a file has an unsafe name, or `push` did not write it.
        DamagedError: If a file is missing, unlisted, or differs from its checksum.
    """
    _require_new(folder)
    api = hub()
    with asking_hub(f"{address} can't be pulled", revision=address.revision or MAIN):
        commit = api.repo_info(address.repository, repo_type=KIND, revision=address.revision).sha
        assert commit is not None
        listed = _listed(api, address, commit)
    where = f"{address} (commit {commit[:8]})"
    require_safe_names(listed, where)
    if CROISSANT not in listed:
        raise ConfigError(f"{where}: has no {CROISSANT}: expected what `ecsuite push` wrote")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.parent / f".{folder.name}.{commit[:12]}.part"
    with only_download(part, note, lock_file=part.with_suffix(".lock")):
        part.mkdir(exist_ok=True)
        try:
            require_space(_missing(part, listed), part, "for what is downloaded")
            _pull_files(api, address, commit, listed, part, where, progress)
        except DamagedError:
            shutil.rmtree(part)
            raise
        except BaseException:
            if any(each.is_file() for each in part.iterdir()):
                note(f"{address}: finished downloads are stored in {part}: the same command continues")
            else:
                shutil.rmtree(part)
            raise
        shutil.rmtree(part / CACHE, ignore_errors=True)
        _require_new(folder)
        part.rename(folder)
    return Pulled(address=address, commit=commit, folder=folder, files=tuple(sorted(listed)))


def _require_new(folder: Path) -> None:
    if folder.exists() or folder.is_symlink():
        raise ConfigError(f"{folder}: exists already: choose another folder, or move it away")


def _listed(api: "HfApi", address: Address, commit: str) -> dict[str, HubFile]:
    """The files of a commit by name, without the hub's own."""
    from huggingface_hub.hf_api import RepoFile

    found: dict[str, HubFile] = {}
    for entry in api.list_repo_tree(address.repository, recursive=True, repo_type=KIND, revision=commit):
        if not isinstance(entry, RepoFile) or entry.path == ATTRIBUTES:
            continue
        sha256 = entry.lfs.sha256 if entry.lfs is not None else None
        if entry.path in found:
            raise ConfigError(f"{address}: lists {shown(entry.path)} twice: nothing of it was taken")
        found[entry.path] = HubFile(name=entry.path, size=entry.size, git=entry.blob_id, sha256=sha256)
        if len(found) > MOST_FILES:
            raise ConfigError(f"{address}: has more than {MOST_FILES:,} files: nothing of it was taken")
    return found


def _missing(part: Path, listed: Mapping[str, HubFile]) -> int:
    return sum(each.size for each in listed.values() if not (part / each.name).is_file())


def _pull_files(
    api: "HfApi",
    address: Address,
    commit: str,
    listed: Mapping[str, HubFile],
    part: Path,
    where: str,
    progress: Callable[[str, float, float], None],
) -> None:
    """Download and verify all files.

    Raises:
        DamagedError: If the files on the hub differ from the pushed ones.
    """
    if listed[CROISSANT].size > LARGEST_LIST:
        raise ConfigError(
            f"{where}: {CROISSANT} has {listed[CROISSANT].size:,} bytes: nothing of it was taken"
        )
    _fetch(api, address, commit, listed[CROISSANT], part)
    sums = sums_in((part / CROISSANT).read_bytes(), where)
    if CARD in listed:  # without a checksum, since its owner may edit it on the hub
        _fetch(api, address, commit, listed[CARD], part)
    expected = {*sums, CROISSANT, *({CARD} & {*listed})}
    for names, what in ((expected - {*listed}, "is missing"), ({*listed} - expected, "was added")):
        if names:
            raise DamagedError(
                f"{where}: {shown(min(names))} {what} since it was pushed: nothing of it was taken"
            )
    done, total = 0, sum(each.size for each in listed.values())
    for name in sorted(sums):
        progress(name, done, total)
        sha256 = _fetch(api, address, commit, listed[name], part)
        if sha256 != sums[name]:
            raise DamagedError(
                f"{where}: {name} is not what was pushed: its SHA-256 is {sha256[:12]}…, and {CROISSANT} has "
                f"{sums[name][:12]}…: nothing of it was taken"
            )
        done += listed[name].size
    progress("verified", total, total)


def _fetch(api: "HfApi", address: Address, commit: str, entry: HubFile, part: Path) -> str:
    """Download a file, unless it exists, and compare it with the hub's list; returns its SHA-256.

    Raises:
        ConfigError: If it can't be downloaded, or differs from the hub's list; it is then removed.
    """
    file = part / entry.name
    for is_again in (False, True):
        with asking_hub(f"{address} can't be pulled ({entry.name})", revision=address.revision or MAIN):
            api.hf_hub_download(
                address.repository,
                entry.name,
                repo_type=KIND,
                revision=commit,
                local_dir=part,
                force_download=is_again,
            )
        if file.is_symlink() or not file.resolve().is_relative_to(part.resolve()):
            raise ConfigError(f"{address}: {entry.name} would lie outside of {part}: nothing of it was taken")
        sha256, git, size = _sums(file)
        if size == entry.size and (sha256 == entry.sha256 if entry.sha256 else git == entry.git):
            return sha256
    file.unlink()
    raise ConfigError(
        f"{address}: {entry.name} came damaged twice: expected the bytes that the hub lists: run the same command again"
    )


def _sums(file: Path) -> tuple[str, str, int]:
    """SHA-256, git's SHA-1 and size of a file."""
    size = file.stat().st_size
    sha256, git = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with file.open("rb") as stream:
        while piece := stream.read(1 << 20):
            sha256.update(piece)
            git.update(piece)
    return sha256.hexdigest(), git.hexdigest(), size
