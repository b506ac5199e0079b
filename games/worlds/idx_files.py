"""Images and labels in IDX files, the form of MNIST: `train-images-idx3-ubyte` beside `train-labels-idx1-ubyte`.

A file begins with two zero bytes, the type of its values (8: a byte each), the number of dimensions, and the size of
each as four bytes, the most significant first; the values follow (LeCun, Cortes & Burges, the page of MNIST). It may
be packed by gzip.
"""

import gzip
import re
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import require_memory

BYTES = 8
"""The type of values that are read."""
_NAME = re.compile(r"(?P<part>.*)-images[-.]idx3-ubyte(\.gz)?")


def find_idx_files(folder: Path) -> list[tuple[str, Path, Path]]:
    """The parts of a data set in a folder, or in its folder `raw`: name, images and labels, sorted by name.

    Of a part that is there packed and unpacked, the latter. Raises `ConfigError` if a part has no labels.
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
            raise ConfigError(f"{images}: expected the labels beside it, in {stem}")
        found.append((part, images, labels[0]))
    return found


def read_idx(file: Path, num_dimensions: int) -> NDArray[np.uint8]:
    """The values of a file, of this many dimensions.

    Raises:
        ConfigError: If it is no IDX file of bytes, has other dimensions, or is damaged.
    """
    head = 4 + 4 * num_dimensions
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            start = opened.read(head)
            if start[:4] != bytes((0, 0, BYTES, num_dimensions)) or len(start) < head:
                raise ConfigError(
                    f"{file}: expected an IDX file of bytes in {num_dimensions} dimensions, got {start[:4]!r}"
                )
            shape = np.frombuffer(start, ">u4", offset=4).astype(np.int64).tolist()
            size = int(np.prod(shape, dtype=object))
            require_memory(4 * size, f"{file}: {' x '.join(map(str, shape))} values", "as bytes")
            content = opened.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"{file}: can't be read: {error}") from None
    if len(content) != size:
        more = "more" if len(content) > size else f"{len(content):,}"
        raise ConfigError(f"{file}: expected {size:,} values by its first bytes, got {more}")
    return np.frombuffer(content, np.uint8).reshape(shape)


def read_idx_images(folder: Path) -> list[tuple[str, str, bytes]]:
    """The name, the label and the content of each image, as a PGM file.

    Raises:
        ConfigError: See `find_idx_files` and `read_idx`; also if there are not as many labels as images.
    """
    found = []
    for part, file, of_labels in find_idx_files(folder):
        images, labels = read_idx(file, 3), read_idx(of_labels, 1)
        if len(images) != len(labels):
            raise ConfigError(f"{of_labels}: expected {len(images):,} labels as images, got {len(labels):,}")
        head = f"P5 {images.shape[2]} {images.shape[1]} 255\n".encode()
        for number, (image, label) in enumerate(zip(images, labels.tolist(), strict=True)):
            found.append((f"{part}/{number}", str(label), head + image.tobytes()))
    return found
