"""Sources of users' objects (files, folders, data sets of Hugging Face): their kinds of world, and their hashes."""

import hashlib
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import getproxies

from ecsuite.formats.frames import read_parquet
from ecsuite.parts.config import RUN_CONFIG
from ecsuite.runtime.errors import ConfigError, missing_extra, unknown_name

PREFIX = "hf:"
"""Prefix of names of data sets."""
SAVED = ("dataset_dict.json", "state.json")
"""Files in a folder written by `save_to_disk`."""
DEFAULT_SPLIT = "train"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredImage:
    """An image of a data set."""

    content: bytes
    """Content of the image file."""
    name: str
    """Name of the image file or, without one, of its row: `row 17`."""
    label: str | None
    """Name of the class."""


def is_data_set(source: str) -> bool:
    """Whether a source is a data set of Hugging Face: a name, or a folder with a data set."""
    folder = Path(source)
    return (
        source.startswith(PREFIX) or any((folder / name).is_file() for name in SAVED) or _parquet_in(folder)
    )


def _parquet_in(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob("*.parquet"))


def has_images(source: str) -> bool:
    """Whether a data set has a column of images; `ConfigError` if it can't be loaded."""
    return _image_column(_load(source)) is not None


def _image_column(found: Any) -> str | None:
    """First column of images; None without images."""
    return next((name for name, kind in found.features.items() if type(kind).__name__ == "Image"), None)


def read_columns(source: str) -> dict[str, list[Any]]:
    """Read the columns of a data set without images; classes by name.

    Raises:
        ConfigError: If it can't be loaded, or a column has neither texts nor numbers.
    """
    return _texts(_load(source), source)


def _texts(found: Any, source: str) -> dict[str, list[Any]]:
    columns = {}
    for name, kind in found.features.items():
        cells = list(found[name])
        if hasattr(kind, "int2str"):
            cells = [None if cell is None or cell < 0 else kind.int2str(cell) for cell in cells]
        odd = next((cell for cell in cells if not isinstance(cell, str | int | float | None)), None)
        if odd is not None:
            raise ConfigError(
                f'{source}: column "{name}": expected texts or numbers, got {type(odd).__name__}'
            )
        columns[name] = cells
    return columns


def read_stored_images(source: str) -> Iterator[StoredImage]:
    """Iterate over the images of a data set, with the names of the first column of classes.

    Raises:
        ConfigError: If it can't be loaded, or a row has no image.
    """
    return _images(_load(source), source)


def _images(found: Any, source: str) -> Iterator[StoredImage]:
    from datasets import Image

    column = _image_column(found)
    if column is None:
        raise ConfigError(f"{source}: expected a column of images, got {', '.join(found.features)}")
    label = next((name for name, kind in found.features.items() if hasattr(kind, "int2str")), None)
    for number, row in enumerate(found.cast_column(column, Image(decode=False))):
        image = row[column] or {}
        path, content = image.get("path") or "", image.get("bytes")
        if content is None and not Path(path).is_file():
            raise ConfigError(f'{source}: row {number}, column "{column}": expected an image, got nothing')
        name = Path(path).name if path else f"row {number}"
        known = label is not None and row[label] is not None and row[label] >= 0
        yield StoredImage(
            content=Path(path).read_bytes() if content is None else content,
            name=name,
            label=found.features[label].int2str(row[label]) if known else None,
        )


def digest(source: str) -> str:
    """SHA-256 of the content of a data set, independent of its location."""
    made, found = hashlib.sha256(), _load(source)
    if _image_column(found) is not None:
        for image in _images(found, source):
            made.update(hashlib.sha256(image.content).digest() + f"{image.name}\0{image.label}\0".encode())
    else:
        made.update(repr(_texts(found, source)).encode())
    return made.hexdigest()


def _load(source: str) -> Any:
    """Load the rows of a data set."""
    try:
        import datasets
    except ImportError:
        raise missing_extra(f"{source}: data sets of Hugging Face need datasets", "data") from None
    name = source.removeprefix(PREFIX)
    split = None
    if not Path(name).exists() and ":" in name:
        name, _, split = name.rpartition(":")
    if not name:
        raise ConfigError(f"{source}: expected the name of a data set, such as hf:cifar10 or hf:cifar10:test")
    folder = Path(name)
    if folder.exists():
        found = _from_folder(datasets, folder, source)
    else:
        found = _from_hub(datasets, name, source, split)
    if hasattr(found, "keys"):
        chosen = split or (DEFAULT_SPLIT if DEFAULT_SPLIT in found else next(iter(found)))
        if chosen not in found:
            raise unknown_name(f"split of {name}:", chosen, found)
        found = found[chosen]
    elif split not in (None, DEFAULT_SPLIT) and folder.exists():
        raise ConfigError(f"{source}: {name} has no splits: leave out :{split}")
    if not len(found):
        raise ConfigError(f"{source}: has no rows")
    return found


def _from_folder(datasets: Any, folder: Path, source: str) -> Any:
    """Load a data set from a folder, or several by split."""
    try:
        if any((folder / name).is_file() for name in SAVED):
            return _validated(datasets.load_from_disk(str(folder)))
        files = sorted(folder.glob("*.parquet")) or sorted(folder.glob("*/*.parquet"))
        by_split: dict[str, list[Path]] = {}
        for file in files:
            by_split.setdefault(file.stem.split("-")[0], []).append(file)
        return {
            split: _from_parquet(datasets, parts) for split, parts in by_split.items()
        } or _raise_no_data_set(source)
    except ConfigError:
        raise
    except Exception as error:  # a damaged folder may raise almost any error
        raise ConfigError(f"{source}: can't be read as a data set: {_line(error)}") from None


def _validated(found: Any) -> Any:
    """Validate the files of a saved data set; reading damaged values could end the process."""
    for part in found.values() if hasattr(found, "values") else (found,):
        part.data.table.validate(full=True)
    return found


def _raise_no_data_set(source: str) -> Any:
    raise ConfigError(
        f"{source}: expected a data set in this folder: {' or '.join(SAVED)} of save_to_disk, or Parquet files"
    )


def _from_parquet(datasets: Any, files: list[Path]) -> Any:
    """Load a data set from Parquet files, without a copy in the cache."""
    from pyarrow import concat_tables

    table = concat_tables([read_parquet(file) for file in files])
    return datasets.Dataset(datasets.table.InMemoryTable(table))


def _from_hub(datasets: Any, name: str, source: str, split: str | None) -> Any:
    """Load a data set from the hub, or from its local copy."""
    from huggingface_hub import constants

    stay_offline_without_network()
    datasets.config.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE
    try:
        return datasets.load_dataset(name, split=split)
    except Exception as error:  # errors of network, hub or library: the remedy is the same
        raise ConfigError(
            f"{source}: can't be loaded: {_line(error)}; without a network, run on another machine: python -c "
            f"\"import datasets; datasets.load_dataset('{name}').save_to_disk('data')\", copy the folder data here, "
            f"and give {PREFIX}data"
        ) from None


def stay_offline_without_network() -> None:
    """Use only local copies if the hub can't be resolved; otherwise, libraries retry for half a minute."""
    from huggingface_hub import constants

    host = urlparse(constants.ENDPOINT).hostname
    if getproxies():
        return
    try:
        socket.getaddrinfo(host, 443)
    except OSError:
        constants.HF_HUB_OFFLINE = True


def _line(error: Exception) -> str:
    """Format an error in one line."""
    return f"{' '.join(str(error).split()) or type(error).__name__:.200}".rstrip(". ")


TABLES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather")
"""Suffixes of tables of objects, which may be compressed."""
PACKED = (".gz", ".xz")
"""Suffixes of compressed files."""
ENDINGS = (*TABLES, *(ending + packed for ending in TABLES for packed in PACKED), ".npz")
"""Suffixes of files of objects."""
OBJECTS, IMAGES = "objects", "images"
"""Names of the shipped experiments on user data, and of their worlds."""
READERS = {OBJECTS: (OBJECTS,), IMAGES: (IMAGES, "image_features")}
"""Worlds that read each kind of source."""


def is_own_data(source: str) -> bool:
    """Whether an argument names data rather than an experiment."""
    return (
        source.startswith(PREFIX)
        or source.lower().endswith(ENDINGS)
        or os.path.isdir(source)
        or source.endswith("/")
    )


def kind_of(source: str) -> str:
    """Determine the kind of a source: `objects` for a table, `images` for images.

    Raises:
        ConfigError: If the source is a run folder, or a data set that can't be loaded.
    """
    folder = Path(source)
    if (folder / RUN_CONFIG).is_file():
        raise ConfigError(
            f"{source}: a run folder: expected a game; its game is {folder / RUN_CONFIG}, and ecsuite evaluate "
            f"{source} evaluates its agents"
        )
    if is_data_set(source):
        return IMAGES if has_images(source) else OBJECTS
    if source.endswith("/") and not folder.is_dir():
        raise ConfigError(f"{source}: no such folder: expected a folder of images")
    return IMAGES if folder.is_dir() else OBJECTS


def name_of(source: str) -> str:
    """Name of an experiment on a source: `photos` for `photos/`, `cifar10` for `hf:cifar10:test`."""
    path = Path(source.removeprefix(PREFIX).split(":")[0])
    return path.name.partition(".")[0] if path.name.lower().endswith(ENDINGS) else path.resolve().name


def content_digest(source: str) -> str:
    """Compute SHA-256 of the content of a file, a folder of images, or a data set.

    Raises:
        ConfigError: If the content can't be read.
    """
    try:
        if is_data_set(source):
            return digest(source)
        if (folder := Path(source)).is_dir():
            names_and_contents = hashlib.sha256()
            idx = [file for part in find_idx_files(folder) for file in part[1:]]
            for file in idx or find_images(folder)[0]:
                of_file = hashlib.sha256(file.read_bytes()).digest()
                names_and_contents.update(file.relative_to(folder).as_posix().encode() + b"\0" + of_file)
            return names_and_contents.hexdigest()
        with open(source, "rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"{source}: can't be read: {error.strerror or error}") from None


SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""File name suffixes of images."""


def find_images(folder: Path) -> tuple[list[Path], list[str]]:
    """Find the images of a folder, sorted by name, and their classes; no classes without subfolders."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder of images")
    loose = list(_images_in(folder))
    deeper = next((file for path in sorted(folder.glob("*/*/")) for file in _images_in(path)), None)
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    in_classes = [(file, path.name) for path in inner for file in _images_in(path)]
    if loose and in_classes:
        raise ConfigError(
            f"{folder}: {loose[0].name} is in no subfolder, but {in_classes[0][0].relative_to(folder)} is: "
            "expected a subfolder per class, or no subfolders"
        )
    if deeper is not None:
        raise ConfigError(
            f"{folder}: {deeper.relative_to(folder)} is two folders deep: give the folder of the classes, such as "
            f"{deeper.parent.parent}"
        )
    if not loose and not in_classes:
        raise ConfigError(
            f"{folder}: no images in it or its subfolders: expected file names that end in "
            f"{', '.join(SUFFIXES)}"
        )
    return loose or [file for file, _ in in_classes], [name for _, name in in_classes]


def _images_in(folder: Path) -> Iterator[Path]:
    """Images directly in a folder, sorted by name."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in SUFFIXES and not path.name.startswith("."):
            yield path


_NAME = re.compile(r"(?P<part>.*)-images[-.]idx3-ubyte(\.gz)?")


def find_idx_files(folder: Path) -> list[tuple[str, Path, Path]]:
    """Find the parts of an IDX data set in a folder, or in its folder `raw`: name, images and labels, sorted by name.

    Uncompressed files take precedence over compressed ones. Raises `ConfigError` if a part has no labels.
    """
    parts: dict[str, Path] = {}
    for place in (folder, folder / "raw"):
        if place.is_dir() and not parts:
            for file in sorted(place.iterdir(), key=lambda file: file.suffix == ".gz"):
                if match := _NAME.fullmatch(file.name):
                    parts.setdefault(match["part"], file)
    found = []
    for part, images in sorted(parts.items()):
        stem = images.name.replace("-images", "-labels").replace("idx3", "idx1").removesuffix(".gz")
        labels = [file for file in (images.with_name(stem), images.with_name(f"{stem}.gz")) if file.is_file()]
        if not labels:
            raise ConfigError(f"{images}: expected labels in the same folder, in {stem}")
        found.append((part, images, labels[0]))
    return found
