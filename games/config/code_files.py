"""Files of users' own parts in a run folder: copies, so that a run can be repeated when the originals have changed."""

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
    found, files, unknown = dict[str, str](), dict[str, str](), list[str]()
    for source in sorted({own_code.source_of(kind) for kind in own_code.foreign_kinds(tree)}):
        file = _with_content(source, code[source], folder) if source in code else source
        found[source] = file
        files[source] = ", ".join([file, *own_code.files_of(file).imported()])
        if not own_code.is_trusted(file):
            unknown.append(source)
    if unknown and not trust_code:
        raise own_code.UntrustedError(
            f"this config would run the code in {', '.join(files[source] for source in unknown)}: read it, and add "
            "--trust-code if you trust it"
        )
    own_code.trust(f"{found[source]}:part" for source in unknown)
    for source in sorted(code.keys() & found.keys()):
        is_same = found[source] == source
        why = "unchanged since the run" if is_same else f"the copy, as {source} or what it imports is another"
        note(f"code: {files[source]}, {why}")
    return _renamed(tree, found)


def lies_in_run_folder(file: str) -> bool:
    """Whether a config is that of a run folder, which somebody else may have filled."""
    path = Path(file)
    return path.name == "config.yaml" and any((path.parent / name).exists() for name in RUN_FILES)


def with_checksums(tree: Tree, code: Mapping[str, str]) -> Tree:
    """A config whose foreign parts are named by the content of their files, which lie anywhere."""
    return _renamed(tree, code)


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


def _copies(folder: Path, digest: str) -> Path:
    """The folder of the copies of a part's files; those of two parts may have the same names."""
    return folder / own_code.CODE / digest[:8]


def _renamed(tree: Mapping[str, Any], files: Mapping[str, str]) -> Tree:
    """The tree without checksums, and with these files in the names of foreign parts."""

    def renamed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: renamed(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [renamed(inner) for inner in value]
        if isinstance(value, str) and own_code.is_foreign(value):
            source, colon, rest = value.partition(":")
            return files.get(source, source) + colon + rest
        return value

    return {key: renamed(value) for key, value in tree.items() if key != own_code.CODE}
