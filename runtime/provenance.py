"""Provenance of results: the commit of this package, and the processor; read from files, without running programs."""

import json
import platform
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
"""Pattern of a full SHA-1 or SHA-256."""


@cache
def own_commit() -> str | None:
    """Commit of the checkout of this package, or from which pip installed it; None if unknown.

    Uncommitted changes are ignored.
    """
    folder = Path(__file__).resolve().parents[1]
    return checkout_commit(folder) or _installed_commit(folder)


def checkout_commit(folder: Path) -> str | None:
    """Commit of a git checkout or linked worktree, given its root; None if the folder is not a root.

    See gitrepository-layout(5) for the files. References in format `reftable` are not supported.
    """
    try:
        git = folder / ".git"
        if git.is_file():
            git = folder / git.read_text().removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text().strip()
        common = git / (git / "commondir").read_text().strip() if (git / "commondir").is_file() else git
        reference = head.removeprefix("ref:").strip()
        if reference != head:
            loose = next((each / reference for each in (git, common) if (each / reference).is_file()), None)
            head = loose.read_text().strip() if loose else _packed(common / "packed-refs", reference)
    except (OSError, UnicodeError):
        return None
    return head if _COMMIT.fullmatch(head) else None


def _packed(file: Path, reference: str) -> str:
    """Commit of a reference in a file of packed references; empty if missing."""
    lines = (line.split() for line in file.read_text().splitlines())
    return next((words[0] for words in lines if words[1:] == [reference]), "")


def _installed_commit(folder: Path) -> str | None:
    """Commit recorded by pip (PEP 610) when it installed this folder from a repository."""
    try:
        installed = distribution("ecsuite")
        if Path(str(installed.locate_file("ecsuite"))).resolve() != folder:
            return None
        commit = json.loads(installed.read_text("direct_url.json") or "{}")["vcs_info"]["commit_id"]
    except (PackageNotFoundError, OSError, ValueError, LookupError, TypeError):
        return None
    return commit if isinstance(commit, str) and _COMMIT.fullmatch(commit) else None


@cache
def processor() -> str:
    """Name of the processor, or its architecture if the system has no file with the name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            name = next((line.partition(":")[2] for line in lines if line.startswith("model name")), "")
    except OSError:
        name = ""
    return " ".join(name.split()) or platform.machine()
