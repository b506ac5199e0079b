"""Images as arrays of pixels: of a folder, a sub-folder a class or in IDX files, or of a data set of Hugging Face."""

import hashlib
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.hub_data import is_data_set, read_stored_images
from ecsuite.games.worlds.idx_files import find_idx_files, read_idx_images
from ecsuite.games.worlds.image_encoding import find_images, open_image
from ecsuite.games.worlds.world import Integers
from ecsuite.runtime.errors import ConfigError, missing_extra
from ecsuite.runtime.memory import require_memory

Fit = Literal["pad", "crop"]
MAX_SHOWN = 3
"""Most files that a line names."""
NUM_THREADS = 4
"""Images that are decoded at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSet:
    """Different images of one size."""

    images: NDArray[np.uint8]
    """(num_images, side, side, 3)."""
    files: tuple[str, ...]
    """The name of each image, from the folder on: `dog/17.jpg`."""
    class_id: Integers | None
    """The class of each image, as an index into `class_names`; None where there are no classes."""
    class_names: tuple[str, ...]
    """Names of the sub-folders, or of the classes of the data set."""
    notes: tuple[str, ...]
    """What was done with the files, in lines for people."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What was found of an image file."""

    is_animated: bool = False
    is_square: bool = True
    fault: str = ""
    """Why it can't be read."""


def read_images(source: str, side: int, fit: Fit = "pad") -> ImageSet:
    """Read images, each scaled to a square.

    Transparent pixels are laid on white, turned photos are turned back (EXIF), 16-bit images are scaled to 8 bits, and
    of animations the first frame is taken. Images that are equal in this size are taken once.

    Args:
        source: A folder of images or of IDX files, or a data set with a column of images.
        side: Width and height, in pixels.
        fit: pad: the whole image, with white beside it; crop: cut at its longer sides.

    Raises:
        ConfigError: If Pillow is not installed, there are no images, or some can't be read; the message names them.
    """
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise missing_extra(f"{source}: images need pillow", "images") from None
    notes: list[str] = []
    opened: list[Any]
    if is_data_set(source):
        stored = list(read_stored_images(source))
        names, labels = [image.name for image in stored], [image.label or "" for image in stored]
        opened = [BytesIO(image.content) for image in stored]
    elif find_idx_files(folder := Path(source)):
        idx = read_idx_images(folder)
        names, labels = [name for name, _, _ in idx], [label for _, label, _ in idx]
        opened = [BytesIO(content) for _, _, content in idx]
    else:
        opened, classes = find_images(folder)
        labels = classes or [""] * len(opened)
        names = [file.relative_to(folder).as_posix() for file in opened]
        notes += _left_out(folder, set(opened))
    needed = len(opened) * side * side * 3
    require_memory(2 * needed, f"{source}: {len(opened):,} images of {side} x {side}", "as pixels")
    pixels, found = _decoded(source, opened, names, side, fit)
    if moving := [name for name, each in zip(names, found, strict=True) if each.is_animated]:
        notes.append(f"{source}: of animated images the first frame is taken: {_some(moving)}")
    if oblong := sum(not each.is_square for each in found):
        done = "padded with white (--set world.fit=crop cuts them)" if fit == "pad" else "cut to squares"
        notes.append(f"{source}: {oblong} of {len(names)} images are not square, and are {done}")
    kept = _distinct(source, pixels, names, notes)
    class_names = tuple(sorted({label for label in labels if label})) if any(labels) else ()
    places = {label: place for place, label in enumerate(class_names)}
    unlabelled = [name for name, label in zip(names, labels, strict=True) if class_names and not label]
    if unlabelled:
        raise ConfigError(f"{source}: expected a class of every image, got none of {_some(unlabelled)}")
    return ImageSet(
        images=pixels[kept],
        files=tuple(names[place] for place in kept),
        class_id=np.array([places[labels[place]] for place in kept]) if class_names else None,
        class_names=class_names,
        notes=tuple(notes),
    )


def digest_of_folder(folder: Path) -> str:
    """The SHA-256 of the images of a folder: their names and contents."""
    made = hashlib.sha256()
    idx = [file for part in find_idx_files(folder) for file in part[1:]]
    for file in idx or find_images(folder)[0]:
        content = hashlib.sha256(file.read_bytes()).digest()
        made.update(file.relative_to(folder).as_posix().encode() + b"\0" + content)
    return made.hexdigest()


def _decoded(
    source: str, opened: Sequence[Any], names: Sequence[str], side: int, fit: Fit
) -> "tuple[NDArray[np.uint8], list[_Found]]":
    """The pixels of all images, (num_images, side, side, 3), and what was found of each."""
    pixels = np.empty((len(opened), side, side, 3), dtype=np.uint8)

    def read(place: int) -> _Found:
        try:
            pixels[place], found = _square(opened[place], side, fit)
        except (OSError, ValueError, SyntaxError, EOFError, MemoryError) as error:
            return _Found(fault=_reason(error))
        return found

    with warnings.catch_warnings(), ThreadPoolExecutor(NUM_THREADS) as threads:
        warnings.simplefilter(
            "ignore"
        )  # of Pillow, on photos of more than 89 million pixels and odd metadata
        found = list(threads.map(read, range(len(opened))))
    damaged = [f"{name} ({each.fault})" for name, each in zip(names, found, strict=True) if each.fault]
    if damaged:
        number = "an image" if len(damaged) == 1 else f"{len(damaged)} images"
        raise ConfigError(f"{source}: {number} can't be read: {_some(damaged)}; remove or replace them")
    return pixels, found


def _square(opened: Any, side: int, fit: Fit) -> "tuple[NDArray[np.uint8], _Found]":
    """An image as a square of bytes, and what was found of it."""
    from PIL import ImageOps

    if isinstance(opened, Path) and not opened.stat().st_size:
        raise ValueError("empty")
    with open_image(opened) as image:
        is_animated = bool(getattr(image, "is_animated", False))
        image.draft("RGB", (2 * side, 2 * side))  # a JPEG is decoded at a smaller scale
        image.load()
        turned = ImageOps.exif_transpose(image)
    image = _in_colours(turned)
    if fit == "crop":
        square = ImageOps.fit(image, (side, side))
    else:
        square = ImageOps.pad(image, (side, side), color="white")
    found = _Found(is_animated=is_animated, is_square=image.width == image.height)
    return np.asarray(square, dtype=np.uint8), found


def _in_colours(image: Any) -> Any:
    """An image of 8 bits in RGB, on white where it is transparent."""
    from PIL import Image

    if image.mode.startswith(("I", "F")):
        values = np.asarray(image).astype(np.float64)
        if image.mode == "F" and not (values.min() >= 0 and values.max() <= 1):
            raise ValueError("floating-point pixels, expected values from 0 to 1")
        values *= 255 if image.mode == "F" else 1 / 257
        return Image.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    return image.convert("RGB")


def _distinct(source: str, pixels: NDArray[np.uint8], names: Sequence[str], notes: list[str]) -> list[int]:
    """The first of each group of equal images; adds a line to `notes` about the others."""
    first: dict[bytes, int] = {}
    pairs = []
    for place, image in enumerate(pixels):
        known = first.setdefault(hashlib.sha256(image.tobytes()).digest(), place)
        if known != place:
            pairs.append(f"{names[place]} equals {names[known]}")
    if pairs:
        notes.append(f"{source}: equal images are taken once: {_some(pairs)}")
    return list(first.values())


def _left_out(folder: Path, images: set[Path]) -> list[str]:
    """A line about the files beside the images, if there are any."""
    others = [
        file.relative_to(folder).as_posix()
        for file in sorted([*folder.iterdir(), *folder.glob("*/*")])
        if file.is_file() and file not in images and not file.name.startswith(".")
    ]
    return [f"{folder}: files with other endings are left out: {_some(others)}"] if others else []


def _some(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more


def _reason(error: BaseException) -> str:
    """Why an image can't be read, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{' '.join(str(error).split()) or type(error).__name__:.80}"
