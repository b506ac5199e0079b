"""A world of a user's images: folders, IDX files and data sets, and the features that pretrained models see in them."""

import gzip
import hashlib
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from msgspec import Meta
from numpy.typing import NDArray

from ecsuite.games.config.sources import (
    find_idx_files,
    find_images,
    is_data_set,
    read_stored_images,
    stay_offline_without_network,
)
from ecsuite.games.worlds.object_worlds import ObjectListWorld, OwnListOptions
from ecsuite.games.worlds.objects import ObjectList
from ecsuite.games.worlds.world import Integers
from ecsuite.parts.config import Count
from ecsuite.runtime.devices import choose_device, unrounded_products
from ecsuite.runtime.errors import ConfigError, missing_extra
from ecsuite.runtime.memory import require_memory, require_weights_fit

DEFAULT_ENCODER = "microsoft/resnet-18"
"""512 features per image. Mu & Goodman use the same network for CUB and fine-tune it during the game."""
RANDOM = "random"
"""The encoder of fixed random convolutions."""
RANDOM_SIDE, RANDOM_CHANNELS, RANDOM_GRID = 64, 64, 4
"""Width and height of an image as random convolutions get it, their channels, and the grid of cells that are pooled."""
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Formats that Pillow reads, whatever a file is called: for others, such as EPS, it would start another program."""
PIXEL = 8
"""Bytes of memory for a pixel while an image is decoded: as in its file, and in RGB."""
BATCH = 32
"""Images per batch."""


def encode_folder(
    folder: Path,
    encoder: str = DEFAULT_ENCODER,
    *,
    device: str = "auto",
    progress: Callable[[str, float, float], None],
) -> dict[str, NDArray[Any]]:
    """Encode all images in a folder, as arrays for `feature_files.write_features`.

    Either each class has a subfolder with its images, `folder/robin/1.jpg`, and `class_id` numbers the subfolders in
    order of their names; or all images are in `folder` itself, without classes. Rows are in order of file names.
    `features`, (num_images, width), are the encoder's pooled output or, where it has none, the mean of its last hidden
    states.

    Args:
        folder: Contains the images, or subfolders of images.
        encoder: `random`, a folder, or a name on the Hugging Face hub.
        device: auto, cpu, cuda or mps.
        progress: Called as `progress(label, images done, images in total)`.

    Raises:
        ConfigError: If there are no images, only some are in subfolders, one can't be read, or the encoder can't be
            loaded or is not an image encoder.
    """
    files, classes = find_images(folder)
    encode = make_encoder(encoder, device)
    rows = []
    for first in range(0, len(files), BATCH):
        chunk = files[first : first + BATCH]
        rows.append(encode([_open(file) for file in chunk]))
        progress(f"images encoded by {encoder}", first + len(chunk), len(files))
    arrays: dict[str, NDArray[Any]] = {"features": np.concatenate(rows)}
    if classes:
        names, ids = np.unique(classes, return_inverse=True)
        arrays |= {"class_id": ids.astype(np.int64), "class_names": names}
    return arrays


def encode_images(images: NDArray[np.uint8], encoder: str) -> NDArray[np.float32]:
    """Encode images, (num_images, height, width, 3), into vectors, (num_images, width); on the CPU.

    Raises:
        ConfigError: If the encoder can't be loaded or is not an image encoder.
    """
    from PIL import Image

    encode = make_encoder(encoder, "cpu")
    chunks = (images[first : first + BATCH] for first in range(0, len(images), BATCH))
    return np.concatenate([encode([Image.fromarray(image) for image in chunk]) for chunk in chunks])


def make_encoder(encoder: str, device: str) -> Callable[[Sequence[Any]], NDArray[np.float32]]:
    """A function from Pillow's images to vectors, (num_images, width); see `encode_folder`."""
    if encoder == RANDOM:
        return _random_vectors
    processor, model = _load(encoder)
    torch_device = choose_device(device)
    model.to(torch_device).eval()
    return lambda images: _encode(images, encoder, processor, model, torch_device)


def _random_vectors(images: Sequence[Any]) -> NDArray[np.float32]:
    """Means over the cells of a grid of random convolutions, normalised in each image."""
    made = torch.Generator().manual_seed(0)
    filters = torch.randn(RANDOM_CHANNELS, 3, 8, 8, generator=made) / (3 * 8 * 8) ** 0.5
    filters -= filters.mean((1, 2, 3), keepdim=True)  # of contrasts and colours, not of brightness
    fitted = [np.asarray(image.resize((RANDOM_SIDE, RANDOM_SIDE))) for image in images]
    pixels = torch.from_numpy(np.stack(fitted)).permute(0, 3, 1, 2).float() / 255
    maps = torch.nn.functional.conv2d(pixels, filters, stride=4).relu()
    cells = torch.nn.functional.adaptive_avg_pool2d(maps, RANDOM_GRID).flatten(1)
    vectors: NDArray[np.float32] = torch.nn.functional.layer_norm(cells, cells.shape[1:]).numpy()
    return vectors


def _load(encoder: str) -> tuple[Any, Any]:
    """The image processor of an encoder, and the encoder."""
    try:
        import PIL  # noqa: F401
        import transformers
    except ImportError:
        raise missing_extra(f"encoder {encoder} needs transformers and pillow", "images") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    require_weights_fit(Path(encoder))
    if not Path(encoder).exists():
        stay_offline_without_network()
    try:
        model = transformers.AutoModel.from_pretrained(encoder, use_safetensors=True)
        processor = transformers.AutoImageProcessor.from_pretrained(encoder)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise ConfigError(
            f"encoder {encoder}: cannot be loaded: {reason}; without a network, give {RANDOM}, or a folder with "
            "config.json, model.safetensors and preprocessor_config.json"
        ) from None
    return processor, model


@torch.no_grad()
def _encode(
    images: Sequence[Any], name: str, processor: Any, model: Any, device: torch.device
) -> NDArray[np.float32]:
    """Feature vectors of images, (num_images, width)."""
    pixels = processor(images=list(images), return_tensors="pt")["pixel_values"]
    try:
        with unrounded_products(device):
            found = model(pixel_values=pixels.to(device))
        pooled = getattr(found, "pooler_output", None)
        if pooled is None:
            pooled = found.last_hidden_state.mean(1)
    except (TypeError, ValueError, AttributeError):
        raise ConfigError(
            f"encoder {name}: {type(model).__name__} does not map images to vectors; expected an image "
            "encoder such as a ResNet, ViT or DINOv2"
        ) from None
    vectors: NDArray[np.float32] = pooled.flatten(1).float().cpu().numpy()
    return vectors


def open_image(opened: Any) -> Any:
    """Open an image without decoding it.

    Args:
        opened: A path or an open file.

    Raises:
        ConfigError: If its pixels take more memory than is allowed.
        ValueError: If it is no image of one of `FORMATS`, or has more pixels than Pillow takes.
        OSError: If it can't be read.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(opened, formats=FORMATS)
    except Image.DecompressionBombError:
        raise ValueError("more than 178 million pixels") from None
    except UnidentifiedImageError:
        raise ValueError("no image, or of a form that Pillow does not read") from None
    require_memory(PIXEL * image.width * image.height, f"{image.width} x {image.height} pixels")
    return image


def _open(file: Path) -> Any:
    """An image as RGB."""
    try:
        with open_image(file) as image:
            return image.convert("RGB")
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError) as error:
        raise ConfigError(f"{file}: can't be read as an image: {' '.join(str(error).split())}") from None


BYTES = 8
"""The type of values that are read."""


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
    """Notes about the treatment of the files, for people."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """Findings about an image file."""

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


ENCODED_SIZE = 224
"""Width and height in which encoders get images."""


class ImagesWorld(ObjectListWorld):
    """The images of a folder or a data set, as pixels.

    Images are expensive to encode, so the rounds of a batch share `images_per_batch` of them.

    Raises:
        ConfigError: If an image can't be read, or there are too few.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(OwnListOptions):
        """Options of the world."""

        size: Annotated[int, Meta(ge=16, le=1024, multiple_of=16)] = 64
        """Width and height of what agents see, in pixels, a multiple of 16."""
        fit: Literal["pad", "crop"] = "pad"
        """pad: the whole image, with white beside it where it is no square. crop: cut at its longer sides."""
        images_per_batch: Count = 256
        """Most images that the rounds of a batch share; each image is encoded once per batch."""

    default_perceptions = ("conv_grid", "conv_grid")
    expected_source = "a folder of images, such as --objects photos/"
    shares_objects = True

    @property
    def most_per_batch(self) -> int | None:
        """See `ObjectListWorld`."""
        most: int = self.options.images_per_batch
        return most

    def read(self, source: str, trained: ObjectListWorld | None) -> ObjectList:
        """Read the images. See `ObjectListWorld`.

        The meaning is the class or, where there are none, the number of the image. Where the task asks for classes,
        they have the numbers of training.
        """
        images = read_images(source, self.side, self.options.fit)
        if trained is not None and self.rounds.needs_values:
            images = _with_classes(images, trained.value_names)
        number = np.arange(len(images.files))
        has_classes = images.class_id is not None
        classes = (number if images.class_id is None else images.class_id)[:, None]
        of_classes = f" of {len(images.class_names)} classes" if images.class_names else ""
        return ObjectList(
            source=source,
            table=self.encoded(images.images),
            names=[tuple(f"class={name}" for name in images.class_names)] if has_classes else [],
            values_table=classes,
            rows=number,
            columns={"file": np.array(images.files)},
            notes=(*images.notes, f"{source}: {len(images.files):,} images{of_classes}"),
        )

    @property
    def side(self) -> int:
        """Width and height in which images are read, in pixels."""
        side: int = self.options.size
        return side

    def encoded(self, images: NDArray[np.uint8]) -> NDArray[Any]:
        """Images as agents see them, (num_images, ...)."""
        return images


class ImageFeaturesWorld(ImagesWorld):
    """The images of a folder or a data set, as the features of an encoder that is not trained.

    Raises:
        ConfigError: If an image can't be read, there are too few, or the encoder can't be loaded.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(OwnListOptions):
        """Options of the world."""

        encoder: str = RANDOM
        """random: convolutions with fixed random weights, without a download. Or an image encoder: a folder, or a
        name on the Hugging Face hub, such as microsoft/resnet-18."""
        fit: Literal["pad", "crop"] = "pad"
        """See world `images`."""
        images_per_batch: Count = 1024
        """Most images that the rounds of a batch share."""

    default_perceptions = ("linear", "linear")
    side = ENCODED_SIZE

    def encoded(self, images: NDArray[np.uint8]) -> NDArray[Any]:
        """The features. See the base class."""
        return encode_images(images, self.options.encoder)


def _with_classes(found: ImageSet, names: Sequence[Sequence[str]]) -> ImageSet:
    """Images whose classes have the numbers of those in training, which are concepts such as `class=dog`."""
    known = [name.removeprefix("class=") for of_attribute in names for name in of_attribute]
    unknown = [name for name in found.class_names if name not in known]
    if found.class_id is None or unknown:
        got = unknown[0] if unknown else "no classes"
        raise ConfigError(
            f"the images have other classes than in training ({', '.join(known):.200}): got {got}"
        )
    numbers = np.array([known.index(name) for name in found.class_names])
    return replace(found, class_id=numbers[found.class_id], class_names=tuple(known))
