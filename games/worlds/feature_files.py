"""Feature files: users' feature vectors instead of images, in an npz file with one vector per row.

| array | shape | |
|---|---|---|
| features | float (N, D) | required |
| class_id | int (N,) | the class of each row, from 0; required by the concept game |
| labels | text or int (N,) | the name of the class of each row, in place of class_id and class_names |
| attributes | 0 or 1 (N, A) | the attributes of each row |
| class_names | text (num_classes,) | the name of class `class_id` |
| attribute_names | text (A,) | the name of each attribute |
| split | (N,) | train, valid or test; or 0, 1 or 2 |
"""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.files.atomic_files import write_atomically
from ecsuite.games.worlds.objects import divided
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import require_memory

Integers = NDArray[np.int64]

ARRAYS = ("features", "class_id", "labels", "attributes", "class_names", "attribute_names", "split")
"""Arrays that are read; other arrays in a file are ignored."""
SPLITS = ("train", "valid", "test")
"""Splits of a file; integers in a file are indices into these."""
CLASS_SHARES = (0.5, 0.25, 0.25)
"""Shares of the classes in each split if the file defines no splits, as in Mu & Goodman 2021 for CUB."""
ROW_SHARES = (0.9, 0.05, 0.05)
"""Shares of the rows in each split if the file defines neither splits nor classes."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FeatureFile:
    """A checked feature file."""

    path: str
    """Path of the file, for messages."""
    features: NDArray[np.float32]
    """Features, (num_rows, num_features)."""
    split: Integers
    """Split of each row, as an index into `SPLITS`, (num_rows,)."""
    has_split: bool
    """Whether the file defines the splits; otherwise they are random."""
    class_id: Integers | None
    """Class of each row, as an index into `class_names`, without unused ids, (num_rows,)."""
    class_names: tuple[str, ...]
    """Names of the classes that have rows; without names in the file, their ids as text."""
    attributes: NDArray[np.uint8] | None
    """Mask of the attributes of each row, 0 or 1, (num_rows, num_attributes)."""
    attribute_names: tuple[str, ...]
    """Names of the attributes; without names in the file, `attribute0`, `attribute1` and so on."""

    @property
    def class_concepts(self) -> tuple[str, ...]:
        """Classes as concepts, such as `class=robin`."""
        return tuple(f"class={name}" for name in self.class_names)


def read_features(path: str, seed: int) -> FeatureFile:
    """Read and check a feature file; `seed` determines the default split, by class or else by row.

    Raises:
        ConfigError: If the file is not valid; the message names the file, the array, the expected and the found value.
    """
    arrays = _load(path)
    if "features" not in arrays:
        raise ConfigError(f"{path}: features: missing, expected an array (rows, features)")
    features = arrays["features"]
    if features.ndim != 2 or not np.issubdtype(features.dtype, np.floating) or 0 in features.shape:
        raise _unexpected(path, "features", "floats (rows, features), at least one of each", features)
    num_rows = len(features)
    with np.errstate(over="ignore"):  # values beyond float32 become infinite and are rejected
        features = features.astype(np.float32, copy=False)
    # A row that is not finite has a maximum or minimum that is not finite: no mask of all values is needed.
    is_finite = np.isfinite(features.max(1)) & np.isfinite(features.min(1))
    if not is_finite.all():
        raise ConfigError(
            f"{path}: features: {num_rows - is_finite.sum()} rows are not finite in float32, first row "
            f"{int(is_finite.argmin())}"
        )
    class_id, class_names = _classes(path, arrays, num_rows)
    attributes, attribute_names = _attributes(path, arrays, num_rows)
    own_split = "split" in arrays
    return FeatureFile(
        path=path,
        features=features,
        split=_splits(path, arrays, num_rows) if own_split else _default_split(num_rows, class_id, seed),
        has_split=own_split,
        class_id=class_id,
        class_names=class_names,
        attributes=attributes,
        attribute_names=attribute_names,
    )


def check_classes(file: FeatureFile, num_images: Mapping[str, int]) -> None:
    """Check that a file is suitable for the concept game with at least `num_images` per class, by split.

    Raises:
        ConfigError: If there are no classes, a split has fewer than two, or a class is in two splits or too small.
    """
    if file.class_id is None:
        raise ConfigError(f"{file.path}: class_id: missing, expected the class of each row (task concept)")
    counts = np.zeros((len(file.class_names), len(SPLITS)), dtype=np.int64)
    np.add.at(counts, (file.class_id, file.split), 1)
    is_divided = (counts > 0).sum(1) > 1
    if is_divided.any():
        several = int(is_divided.argmax())
        names = " and ".join(name for name, count in zip(SPLITS, counts[several], strict=True) if count)
        raise ConfigError(
            f"{file.path}: split: class {file.class_names[several]} is in {names}: expected each class in one split "
            "(task concept)"
        )
    for place, split in enumerate(SPLITS):
        in_split = counts[:, place]
        num_classes = (in_split > 0).sum()
        if num_classes < 2:
            raise ConfigError(
                f"{file.path}: class_id: expected at least 2 classes in each of {', '.join(SPLITS)}, got {num_classes} "
                f"in {split}"
            )
        is_small = (in_split > 0) & (in_split < num_images[split])
        if is_small.any():
            small = int(is_small.argmax())
            others = f"; {is_small.sum() - 1} more classes are too small" if is_small.sum() > 1 else ""
            raise ConfigError(
                f"{file.path}: class_id: expected at least {num_images[split]} rows of each class in {split} "
                f"(task.num_targets), got {in_split[small]} of class {file.class_names[small]}{others}"
            )


def synthetic_features(
    seed: int,
    num_classes: int = 40,
    images_per_class: int = 40,
    num_features: int = 64,
    num_attributes: int = 16,
) -> dict[str, NDArray[Any]]:
    """Make synthetic arrays of a feature file, for games on feature files without data.

    Each class has random attributes, different from other classes if possible; each attribute of an image is
    its class's attribute, flipped with probability 1/20. Features are a random linear map of the attributes plus noise.

    Args:
        seed: Seed; equal sizes and seeds give equal arrays.
        num_classes: Number of classes.
        images_per_class: Rows per class.
        num_features: Width of a feature vector.
        num_attributes: Number of attributes of an image.

    Raises:
        ConfigError: If a size is below 1.
    """
    sizes = {"num_classes": num_classes, "images_per_class": images_per_class}
    for name, value in {**sizes, "num_features": num_features, "num_attributes": num_attributes}.items():
        if value < 1:
            raise ConfigError(f"{name}: expected at least 1, got {value}")
    rng = np.random.default_rng([seed, *b"features"])
    of_class = rng.random((num_classes, num_attributes)) < 0.5
    # Redraw classes that repeat an earlier one; repeats remain only if classes can't all differ.
    for _ in range(100):
        _, first = np.unique(of_class, axis=0, return_index=True)
        repeats = np.setdiff1d(np.arange(num_classes), first)
        of_class[repeats] = rng.random((len(repeats), num_attributes)) < 0.5
    class_id = np.repeat(np.arange(num_classes), images_per_class)
    attributes = of_class[class_id] ^ (rng.random((len(class_id), num_attributes)) < 0.05)
    to_features = rng.normal(size=(num_attributes, num_features)) / np.sqrt(num_attributes)
    noise = rng.normal(scale=0.2, size=(len(class_id), num_features))
    return {
        "features": ((2.0 * attributes - 1) @ to_features + noise).astype(np.float32),
        "class_id": class_id,
        "attributes": attributes.astype(np.uint8),
        "class_names": _numbered("class", num_classes),
        "attribute_names": _numbered("attribute", num_attributes),
    }


def _numbered(word: str, number: int) -> NDArray[Any]:
    """Names such as `class0`, `class1` and so on."""
    return np.array([f"{word}{place}" for place in range(number)])


def write_features(path: Path | str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a feature file atomically."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_atomically(path, buffer.getvalue())


def _load(path: str) -> dict[str, NDArray[Any]]:
    """Read the arrays of an npz file that are named in `ARRAYS`."""
    try:
        with open(path, "rb") as file:
            if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06") or not zipfile.is_zipfile(file):
                raise ConfigError(f"{path}: not an npz file: write one with numpy.savez")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                _require_arrays(path, archive.zip)
                return {name: _member(path, archive, name) for name in ARRAYS if name in archive.files}
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error}") from None
    # zipfile raises the second for an unknown compression.
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: damaged: {error}") from None


def _require_arrays(path: str, archive: zipfile.ZipFile) -> None:
    """Raise `ConfigError` for arrays beyond the memory limit: zeros may be compressed to a thousandth."""
    members = [each for each in archive.infolist() if each.filename.removesuffix(".npy") in ARRAYS]
    require_memory(sum(member.file_size for member in members), path)


def _member(path: str, archive: Any, name: str) -> NDArray[Any]:
    """Read one array of an open npz file."""
    try:
        array = archive[name]
    except Exception as error:  # a damaged zip file or array may raise almost any error
        if "Object arrays" in str(error):
            raise ConfigError(
                f"{path}: {name}: can't be read without unpickling, which could run any program: save numbers or text "
                "of a fixed width, not objects"
            ) from None
        raise ConfigError(f"{path}: {name}: damaged: {' '.join(str(error).split())}") from None
    if not isinstance(array, np.ndarray):  # numpy returns other members of the zip file as bytes
        raise ConfigError(f"{path}: {name}: damaged: not an array")
    return array


def _classes(
    path: str, arrays: Mapping[str, NDArray[Any]], num_rows: int
) -> tuple[Integers | None, tuple[str, ...]]:
    """Class ids without unused ids, and class names."""
    if "labels" in arrays:
        labels = arrays["labels"]
        if "class_id" in arrays:
            raise ConfigError(f"{path}: labels: expected no class_id as well")
        if labels.shape != (num_rows,) or labels.dtype.kind not in "Uiu":
            raise _unexpected(
                path, "labels", f"text or integers ({num_rows},) like the rows of features", labels
            )
        found, places = np.unique(labels, return_inverse=True)
        return places.astype(np.int64), tuple(str(label) for label in found)
    if "class_id" not in arrays:
        return None, ()
    ids = arrays["class_id"]
    if ids.shape != (num_rows,) or not np.issubdtype(ids.dtype, np.integer):
        raise _unexpected(path, "class_id", f"integers ({num_rows},) like the rows of features", ids)
    if ids.min() < 0:
        raise ConfigError(f"{path}: class_id: expected numbers from 0, got {ids.min()}")
    known, dense = np.unique(ids, return_inverse=True)
    if "class_names" not in arrays:
        return dense.astype(np.int64), tuple(str(number) for number in known)
    names = arrays["class_names"]
    if names.ndim != 1 or names.dtype.kind != "U":
        raise _unexpected(path, "class_names", "text (classes,)", names)
    if len(names) <= known[-1]:
        raise ConfigError(
            f"{path}: class_names: {len(names)} names, but class_id goes up to {known[-1]}: expected a name for each "
            f"class from 0 to {known[-1]}"
        )
    if len(np.unique(names[known])) < len(known):
        raise ConfigError(f"{path}: class_names: expected unique names, got some of them twice")
    return dense.astype(np.int64), tuple(str(name) for name in names[known])


def _attributes(
    path: str, arrays: Mapping[str, NDArray[Any]], num_rows: int
) -> tuple[NDArray[np.uint8] | None, tuple[str, ...]]:
    """Attributes of each row, and their names."""
    if "attributes" not in arrays:
        return None, ()
    values = arrays["attributes"]
    if values.ndim != 2 or len(values) != num_rows or values.dtype.kind not in "biu" or not values.shape[1]:
        expected = f"0 or 1 ({num_rows}, attributes) like the rows of features"
        raise _unexpected(path, "attributes", expected, values)
    if not ((values == 0) | (values == 1)).all():
        raise ConfigError(
            f"{path}: attributes: expected 0 or 1, got values from {int(values.min())} to {int(values.max())}"
        )
    num_attributes = values.shape[1]
    names = arrays.get("attribute_names", _numbered("attribute", num_attributes))
    if names.shape != (num_attributes,) or names.dtype.kind != "U":
        expected = f"text ({num_attributes},) like the columns of attributes"
        raise _unexpected(path, "attribute_names", expected, names)
    if len(np.unique(names)) < num_attributes:
        raise ConfigError(f"{path}: attribute_names: expected unique names, got some of them twice")
    return values.astype(np.uint8), tuple(str(name) for name in names)


def _splits(path: str, arrays: Mapping[str, NDArray[Any]], num_rows: int) -> Integers:
    """Splits in the file, as indices into `SPLITS`."""
    split = arrays["split"]
    if split.shape != (num_rows,) or split.dtype.kind not in "Uiu":
        raise _unexpected(path, "split", f"text or integers ({num_rows},) like the rows of features", split)
    choices = np.array(SPLITS) if split.dtype.kind == "U" else np.arange(len(SPLITS))
    is_choice = split[:, None] == choices
    is_known = is_choice.any(1)
    if not is_known.all():
        raise ConfigError(
            f"{path}: split: expected {', '.join(str(choice) for choice in choices)}, got "
            f"{split[is_known.argmin()].item()!r} in row {is_known.argmin()}"
        )
    places: Integers = is_choice.argmax(1)
    return places


def _default_split(num_rows: int, class_id: Integers | None, seed: int) -> Integers:
    """Make a random split, by class if there are classes, else by row."""
    shares = ROW_SHARES if class_id is None else CLASS_SHARES
    number = num_rows if class_id is None else int(class_id.max()) + 1
    ends = np.rint(np.cumsum(shares)[:-1] * number).astype(np.int64)
    parts = divided(np.arange(number), np.diff(ends, prepend=0), np.random.default_rng([seed, *b"split"]))
    split = np.empty(number, dtype=np.int64)
    for place, members in enumerate(parts):
        split[members] = place
    return split if class_id is None else split[class_id]


def _unexpected(path: str, name: str, expected: str, found: NDArray[Any]) -> ConfigError:
    """Make the error for an array of another shape or type."""
    return ConfigError(f"{path}: {name}: expected {expected}, got {found.dtype} {found.shape}")
