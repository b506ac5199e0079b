"""`push`: upload a run, a corpus or results to the Hugging Face hub, with a card, Croissant metadata and checksums."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecsuite.downloads.hugging_face import asking_hub
from ecsuite.hub.address import KIND, Address, Licence, hub, require_login
from ecsuite.hub.card import DESCRIPTION, TAGS, card, responsible, statements_of, summary_of
from ecsuite.hub.contents import CARD, CROISSANT, PushedFile, Sanitizer, contents_of
from ecsuite.hub.croissant import Described, croissant
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MAIN = "main"
"""Default branch of a repository."""
ATTRIBUTES = ".gitattributes"
"""The hub's own file in every repository."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parcel:
    """A complete push before sending."""

    address: Address
    """Destination."""
    files: tuple[PushedFile, ...]
    """All files, the card and the metadata last."""
    left_out: dict[str, str]
    """Reason per name of a file or folder that is not pushed."""

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(file.size for file in self.files)

    @property
    def card(self) -> bytes:
        """Content of the card, in Markdown."""
        (data,) = (file.data for file in self.files if file.name == CARD)
        assert data is not None
        return data

    def to_json(self) -> dict[str, Any]:
        """The parcel, JSON-ready."""
        files = [{"name": each.name, "bytes": each.size, "sha256": each.sha256} for each in self.files]
        return {"address": str(self.address), "files": files, "left_out": self.left_out, "bytes": self.size}


def pack(
    source: Path, address: Address, *, licence: Licence, statements: dict[str, str], with_agents: bool = True
) -> Parcel:
    """Read a source, check it, and write its card and metadata; sends nothing.

    Args:
        source: A run, a corpus (a folder or a file), the folder of a sweep or a collection, or a file of scores.
        address: Destination.
        licence: Terms of use.
        statements: Statements of the user, see `read_statements`.
        with_agents: Whether the weights of trained agents are included.

    Raises:
        ConfigError: If `source` cannot be pushed, or a file has secrets or traces of this machine.
        DamagedError: If a file differs from its checksum.
    """
    if not source.exists():
        raise ConfigError(f"{source}: no such file or folder")
    sanitizer = Sanitizer(source if source.is_dir() else source.parent)
    contents = contents_of(source, sanitizer, with_agents=with_agents)
    summary = summary_of(source, contents)
    said = statements_of(summary, statements)
    description = statements.get(DESCRIPTION, f"{summary.what}.")
    text = sanitizer.shortened(card(address, summary, contents, licence, description, said))
    page = _of_text(CARD, source, text, sanitizer)
    described = Described(
        name=address.name,
        owner=address.owner,
        url=page_of(address),
        description=description,
        licence=licence.url,
        keywords=TAGS,
        cite_as=summary.citation,
        published=f"{datetime.now(UTC):%Y-%m-%d}",
        responsible=responsible(summary, said),
    )
    text = sanitizer.shortened(croissant(described, contents.files))
    files = (*contents.files, page, _of_text(CROISSANT, source, text, sanitizer))
    return Parcel(address=address, files=files, left_out=dict(contents.left_out))


def _of_text(name: str, source: Path, text: str, sanitizer: Sanitizer) -> PushedFile:
    """A file that is written for the repository, checked like all others."""
    data = text.encode()
    sanitizer.require_clean(source / name, name, data)
    return PushedFile(
        name=name, file=source, data=data, size=len(data), sha256=hashlib.sha256(data).hexdigest()
    )


def send(parcel: Parcel, *, is_private: bool = False, note: Callable[[str], None] = lambda _: None) -> str:
    """Make the repository if it does not exist, and commit the files, replacing an earlier push.

    Args:
        parcel: See `pack`.
        is_private: Whether a new repository is private.
        note: Called with messages to the user.

    Returns:
        The commit.

    Raises:
        ConfigError: If there is no login, the hub rejects it or can't be reached, the repository has files that no
            push of ecsuite wrote, or a file was changed meanwhile.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    address = parcel.address
    api = hub()
    require_login()
    branch = address.revision or MAIN
    with asking_hub(f"{address} can't be pushed to", revision=branch):
        api.create_repo(address.repository, repo_type=KIND, private=is_private or None, exist_ok=True)
        if branch != MAIN:
            api.create_branch(address.repository, branch=branch, repo_type=KIND, exist_ok=True)
        parent, old = _before(api, address, branch)
        operations: list[Any] = [
            CommitOperationDelete(path_in_repo=name) for name in sorted(old - {f.name for f in parcel.files})
        ]
        operations += [
            CommitOperationAdd(
                path_in_repo=each.name, path_or_fileobj=each.file if each.data is None else each.data
            )
            for each in parcel.files
        ]
        note(f"{address}: sending {len(parcel.files)} files")
        commit = api.create_commit(
            address.repository,
            operations,
            commit_message=f"{'Replace' if old else 'Add'} {address.name}, by ecsuite push",
            repo_type=KIND,
            revision=branch,
            parent_commit=parent,
        )
    changed = [each for each in parcel.files if each.data is None and not each.is_as_it_was]
    if changed:
        raise ConfigError(f"{changed[0].file}: was written to while it was sent: push it again")
    return commit.oid


def _before(api: "HfApi", address: Address, branch: str) -> tuple[str, set[str]]:
    """The newest commit of a repository, and its files without the hub's own.

    Raises:
        ConfigError: If it has files that ecsuite did not push.
    """
    from huggingface_hub.hf_api import RepoFile

    commit = api.repo_info(address.repository, repo_type=KIND, revision=branch).sha
    assert commit is not None
    paths = [
        each.path
        for each in api.list_repo_tree(address.repository, recursive=True, repo_type=KIND, revision=commit)
        if isinstance(each, RepoFile)
    ]
    old = {*paths} - {ATTRIBUTES}
    if old and CROISSANT not in old:
        raise ConfigError(
            f"{address}: has files that `ecsuite push` did not write, such as {min(old)}: choose another name"
        )
    return commit, old


def page_of(address: Address) -> str:
    """The page of a repository."""
    return f"{hub().endpoint}/datasets/{address.repository}"
