"""Provenance of results: the commit of this package, and the processor; read from files, without other programs."""

import json
import platform
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
"""A SHA-1 or SHA-256 in full."""


@cache
def own_commit() -> str | None:
    """The commit of the checkout that this package lies in, or that pip installed it from; None if unknown.

    Changes that were not committed are not looked for.
    """
    folder = Path(__file__).resolve().parents[1]
    return checkout_commit(folder) or _installed_commit(folder)


def checkout_commit(folder: Path) -> str | None:
    """The commit that the root of a git checkout, which may be a linked one, is at; None if it is no such root.

    See gitrepository-layout(5) for the files. References in the format `reftable` are not read.
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
    """The commit of a reference in a file of many; empty if it has none."""
    lines = (line.split() for line in file.read_text().splitlines())
    return next((words[0] for words in lines if words[1:] == [reference]), "")


def _installed_commit(folder: Path) -> str | None:
    """The commit that pip noted (PEP 610) when it installed this very folder from a repository."""
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
    """The name of the processor, or its architecture where the system does not tell the name in a file."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            name = next((line.partition(":")[2] for line in lines if line.startswith("model name")), "")
    except OSError:
        name = ""
    return " ".join(name.split()) or platform.machine()
