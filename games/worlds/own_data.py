"""What a user's own data is: which world reads a source of objects, and the checksum of its content."""

import hashlib
import os
from pathlib import Path

from ecsuite.games.worlds.hub_data import PREFIX, digest, has_images, is_data_set
from ecsuite.runtime.errors import ConfigError

TABLES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather")
"""Endings of tables of objects, which may be packed."""
PACKED = (".gz", ".xz")
"""Endings of packed files."""
ENDINGS = (*TABLES, *(ending + packed for ending in TABLES for packed in PACKED), ".npz")
"""Endings of files of objects."""
OBJECTS, IMAGES = "objects", "images"
"""The shipped experiments of own data, whose worlds have the same names."""
READERS = {OBJECTS: (OBJECTS,), IMAGES: (IMAGES, "image_features")}
"""The worlds that read each kind of source."""


def is_own_data(source: str) -> bool:
    """Whether an argument names data rather than an experiment."""
    return (
        source.startswith(PREFIX)
        or source.lower().endswith(ENDINGS)
        or os.path.isdir(source)
        or source.endswith("/")
    )


def kind_of(source: str) -> str:
    """The kind of a source: `objects` for a table, `images` for images.

    Raises:
        ConfigError: If it is a run folder, or a data set that can't be loaded.
    """
    folder = Path(source)
    if (folder / "config.yaml").is_file():
        raise ConfigError(
            f"{source}: a run folder, expected a game; its game is {folder / 'config.yaml'}, and ecsuite evaluate "
            f"{source} evaluates its agents"
        )
    if is_data_set(source):
        return IMAGES if has_images(source) else OBJECTS
    if source.endswith("/") and not folder.is_dir():
        raise ConfigError(f"{source}: no such folder; expected a folder of images")
    return IMAGES if folder.is_dir() else OBJECTS


def name_of(source: str) -> str:
    """The name of an experiment about a source: `photos` of `photos/`, `cifar10` of `hf:cifar10:test`."""
    path = Path(source.removeprefix(PREFIX).split(":")[0])
    return path.name.partition(".")[0] if path.name.lower().endswith(ENDINGS) else path.resolve().name


def content_digest(source: str) -> str:
    """The SHA-256 of the content of a file, a folder of images, or a data set.

    Raises:
        ConfigError: If it can't be read.
    """
    try:
        if is_data_set(source):
            return digest(source)
        if Path(source).is_dir():
            from ecsuite.games.worlds.image_files import digest_of_folder  # imports torch

            return digest_of_folder(Path(source))
        with open(source, "rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"{source}: can't be read: {error.strerror or error}") from None
