"""Files of foreign parts in a run folder: copies, so that a run can be repeated when the originals have changed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ecsuite.parts.own_code as own_code
from ecsuite.files.atomic_files import write_atomically
from ecsuite.parts.config import checked
from ecsuite.runtime.errors import ConfigError, PartError

Tree = dict[str, Any]
RUN_FILES = ("log.jsonl", "metadata.json", "corpus.jsonl", own_code.CODE)
"""What lies beside the config of a run."""


def keep_copies(folder: Path, code: Mapping[str, str]) -> None:
    """Copy the files of foreign parts, and those that they import, into a run folder.

    Args:
        folder: The run folder.
        code: SHA-256 of each part's files, by its path or module.

    Raises:
        PartError: If a file has changed since it was read.
    """
    for source, digest in code.items():
        files = own_code.files_of(source)
        if files.digest != digest:
            raise PartError(f"{source}: changed while the run began; start it again")
        for place, content in files.copies().items():
            copy = _copies(folder, digest) / place
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(copy, content)


def with_sources(
    tree: Mapping[str, Any], folder: Path, note: Callable[[str], None], *, trust_code: bool
) -> Tree:
    """A config that a run wrote, with the names of its foreign parts replaced by files that have the same content.

    Args:
        tree: The config; its section `code` has the checksums.
        folder: The run folder, which holds copies.
        note: Called with a line about each file that is used.
        trust_code: Whether parts may be imported that nobody named.

    Raises:
        ConfigError: If neither the original nor the copy of a file has the content that the run had.
        UntrustedError: If a part may not be imported.
    """
    code = checked(tree.get(own_code.CODE, {}), dict[str, str], own_code.CODE)
    sources = sorted({own_code.source_of(kind) for kind in own_code.foreign_kinds(tree)})
    found = {
        source: _with_content(source, code[source], folder) if source in code else source
        for source in sources
    }
    files = {source: ", ".join([file, *own_code.files_of(file).imported()]) for source, file in found.items()}
    unknown = [
        files[source] for source, file in found.items() if not own_code.is_trusted(own_code.checksum(file))
    ]
    if unknown and not trust_code:
        raise own_code.UntrustedError(
            f"this config would run the code in {', '.join(unknown)}: read it, and add --trust-code if you trust it"
        )
    own_code.trust(f"{file}:part" for file in found.values())
    for source in sorted(code.keys() & found.keys()):
        note(f"code: {files[source]}, {_why(source, found[source])}")
    return _renamed({key: value for key, value in tree.items() if key != own_code.CODE}, found)


def lies_in_run_folder(file: str) -> bool:
    """Whether a config is that of a run folder, which somebody else may have filled."""
    path = Path(file)
    return path.name == "config.yaml" and any((path.parent / name).exists() for name in RUN_FILES)


def with_checksums(tree: Tree, code: Mapping[str, str]) -> Tree:
    """A config whose foreign parts are named by the content of their files, which lie anywhere."""
    return _renamed({key: value for key, value in tree.items() if key != own_code.CODE}, code)


def _with_content(source: str, digest: str, folder: Path) -> str:
    """The original or its copy in the run folder, whichever has this content."""
    name = source if source.endswith(".py") else f"{source.rpartition('.')[2]}.py"
    copies = sorted(_copies(folder, digest).rglob(Path(name).name))
    for file in (source, *map(str, copies)):
        try:
            if own_code.checksum(file) == digest:
                return file
        except PartError:
            continue
    raise ConfigError(
        f"{folder}: the code in {source} is not there: expected a file with SHA-256 {digest}, alone or with the files "
        f"that it imports, at {source} or in {_copies(folder, digest)}"
    )


def _why(source: str, file: str) -> str:
    """Why a file is taken: the original is as it was, or another."""
    if file == source:
        return "unchanged since the run"
    try:
        is_same = own_code.files_of(source).own.content == own_code.files_of(file).own.content
    except PartError:
        is_same = False
    return f"the copy, as {'what ' if is_same else ''}{source} {'imports ' if is_same else ''}is another"


def _copies(folder: Path, digest: str) -> Path:
    """The folder of the copies of a part's files; those of two parts may have the same names."""
    return folder / own_code.CODE / digest[:8]


def _renamed(tree: Tree, files: Mapping[str, str]) -> Tree:
    """The tree with these files in the names of foreign parts."""

    def renamed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: renamed(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [renamed(inner) for inner in value]
        if isinstance(value, str) and own_code.is_foreign(value):
            source, colon, rest = value.partition(":")
            return files.get(source, source) + colon + rest
        return value

    result: Tree = renamed(tree)
    return result
