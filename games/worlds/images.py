"""World of a user's images (folders, IDX files, data sets), and features of them from pretrained models."""

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
"""Name of the encoder with fixed random convolutions."""
RANDOM_SIDE, RANDOM_CHANNELS, RANDOM_GRID = 64, 64, 4
"""Size of images for random convolutions, number of their channels, and side of the grid of pooled cells."""
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Formats that Pillow may read, whatever the file name: for others, such as EPS, it would start another program."""
PIXEL = 8
"""Bytes of memory per pixel while an image is decoded: original and RGB."""
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

    Either each class has a subfolder of images, `folder/robin/1.jpg`, and `class_id` numbers the subfolders in order
    of name; or all images are in `folder` itself, without classes. Rows are in order of file name. `features`,
    (num_images, width), are the encoder's pooled output or, without one, the mean of its last hidden states.

    Args:
        folder: Contains the images, or subfolders of images.
        encoder: `random`, a folder, or a name on the Hugging Face hub.
        device: auto, cpu, cuda or mps.
        progress: Called as `progress(label, images done, images in total)`.

    Raises:
        ConfigError: If there are no images, only some are in subfolders, an image can't be read, or the encoder can't
            be loaded or is not an image encoder.
    """
    files, classes = find_images(folder)
    encode = make_encoder(encoder, device)
    rows = []
    for first in range(0, len(files), BATCH):
        chunk = files[first : first + BATCH]
        rows.append(encode([_open_rgb(file) for file in chunk]))
        progress(f"images encoded by {encoder}", first + len(chunk), len(files))
    arrays: dict[str, NDArray[Any]] = {"features": np.concatenate(rows)}
    if classes:
        names, ids = np.unique(classes, return_inverse=True)
        arrays |= {"class_id": ids.astype(np.int64), "class_names": names}
    return arrays


def encode_images(images: NDArray[np.uint8], encoder: str) -> NDArray[np.float32]:
    """Encode images, (num_images, height, width, 3), as vectors, (num_images, width), on the CPU.

    Raises:
        ConfigError: If the encoder can't be loaded or is not an image encoder.
    """
    from PIL import Image

    encode = make_encoder(encoder, "cpu")
    chunks = (images[first : first + BATCH] for first in range(0, len(images), BATCH))
    return np.concatenate([encode([Image.fromarray(image) for image in chunk]) for chunk in chunks])


def make_encoder(encoder: str, device: str) -> Callable[[Sequence[Any]], NDArray[np.float32]]:
    """Make a function from Pillow images to vectors, (num_images, width); see `encode_folder`."""
    if encoder == RANDOM:
        return _random_vectors
    processor, model = _load(encoder)
    torch_device = choose_device(device)
    model.to(torch_device).eval()
    return lambda images: _encode(images, encoder, processor, model, torch_device)


def _random_vectors(images: Sequence[Any]) -> NDArray[np.float32]:
    """Mean responses of random convolutions in grid cells, normalised per image."""
    made = torch.Generator().manual_seed(0)
    filters = torch.randn(RANDOM_CHANNELS, 3, 8, 8, generator=made) / (3 * 8 * 8) ** 0.5
    filters -= filters.mean((1, 2, 3), keepdim=True)  # responds to contrasts and colours, not to brightness
    fitted = [np.asarray(image.resize((RANDOM_SIDE, RANDOM_SIDE))) for image in images]
    pixels = torch.from_numpy(np.stack(fitted)).permute(0, 3, 1, 2).float() / 255
    maps = torch.nn.functional.conv2d(pixels, filters, stride=4).relu()
    cells = torch.nn.functional.adaptive_avg_pool2d(maps, RANDOM_GRID).flatten(1)
    vectors: NDArray[np.float32] = torch.nn.functional.layer_norm(cells, cells.shape[1:]).numpy()
    return vectors


def _load(encoder: str) -> tuple[Any, Any]:
    """Load the image processor of an encoder, and the encoder."""
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
            f"encoder {encoder}: cannot be loaded: {reason}; without a network, use {RANDOM}, or a folder with "
            "config.json, model.safetensors and preprocessor_config.json"
        ) from None
    return processor, model


@torch.no_grad()
def _encode(
    images: Sequence[Any], name: str, processor: Any, model: Any, device: torch.device
) -> NDArray[np.float32]:
    """Compute feature vectors of images, (num_images, width)."""
    pixels = processor(images=list(images), return_tensors="pt")["pixel_values"]
    try:
        with unrounded_products(device):
            found = model(pixel_values=pixels.to(device))
        pooled = getattr(found, "pooler_output", None)
        if pooled is None:
            pooled = found.last_hidden_state.mean(1)
    except (TypeError, ValueError, AttributeError):
        raise ConfigError(
            f"encoder {name}: {type(model).__name__} does not map images to vectors: expected an image "
            "encoder such as a ResNet, ViT or DINOv2"
        ) from None
    vectors: NDArray[np.float32] = pooled.flatten(1).float().cpu().numpy()
    return vectors


def open_image(opened: Any) -> Any:
    """Open an image without decoding it.

    Args:
        opened: A path or an open file.

    Raises:
        ConfigError: If the pixels exceed the memory limit.
        ValueError: If it is not an image in one of `FORMATS`, or has more pixels than Pillow accepts.
        OSError: If the file can't be read.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(opened, formats=FORMATS)
    except Image.DecompressionBombError:
        raise ValueError("more than 178 million pixels") from None
    except UnidentifiedImageError:
        raise ValueError("not an image, or in a format that Pillow does not read") from None
    require_memory(PIXEL * image.width * image.height, f"{image.width} x {image.height} pixels")
    return image


def _open_rgb(file: Path) -> Any:
    """Open an image as RGB."""
    try:
        with open_image(file) as image:
            return image.convert("RGB")
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError) as error:
        raise ConfigError(f"{file}: can't be read as an image: {' '.join(str(error).split())}") from None


BYTES = 8
"""Type code of IDX files for unsigned bytes."""


def read_idx(file: Path, num_dimensions: int) -> NDArray[np.uint8]:
    """Read the values of an IDX file with `num_dimensions` dimensions.

    Raises:
        ConfigError: If the file is not an IDX file of bytes, has other dimensions, or is damaged.
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
        raise ConfigError(f"{file}: expected {size:,} values according to its header, got {more}")
    return np.frombuffer(content, np.uint8).reshape(shape)


def read_idx_images(folder: Path) -> list[tuple[str, str, bytes]]:
    """Read the name, the label and the content of each image, as a PGM file.

    Raises:
        ConfigError: As `find_idx_files` and `read_idx`, or if the numbers of labels and images differ.
    """
    found = []
    for part, file, of_labels in find_idx_files(folder):
        images, labels = read_idx(file, 3), read_idx(of_labels, 1)
        if len(images) != len(labels):
            raise ConfigError(f"{of_labels}: expected {len(images):,} labels, as images, got {len(labels):,}")
        head = f"P5 {images.shape[2]} {images.shape[1]} 255\n".encode()
        for number, (image, label) in enumerate(zip(images, labels.tolist(), strict=True)):
            found.append((f"{part}/{number}", str(label), head + image.tobytes()))
    return found


Fit = Literal["pad", "crop"]
MAX_SHOWN = 3
"""Maximum number of file names in a message."""
NUM_THREADS = 4
"""Number of images decoded in parallel."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSet:
    """Distinct images of one size."""

    images: NDArray[np.uint8]
    """Pixels, (num_images, side, side, 3)."""
    files: tuple[str, ...]
    """Name of each image, relative to the folder: `dog/17.jpg`."""
    class_id: Integers | None
    """Class of each image, as an index into `class_names`; None without classes."""
    class_names: tuple[str, ...]
    """Names of the subfolders, or of the classes of the data set."""
    notes: tuple[str, ...]
    """Messages about the treatment of the files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Finding:
    """Findings about an image file."""

    is_animated: bool = False
    is_square: bool = True
    fault: str = ""
    """Reason why the image can't be read; empty if it can."""


def read_images(source: str, side: int, fit: Fit = "pad") -> ImageSet:
    """Read images, each scaled to a square.

    Transparent pixels become white, photos are rotated as in their EXIF data, 16-bit images are scaled to 8 bits, and
    the first frame of animations is used. Images that are equal in this size are used once.

    Args:
        source: A folder of images or of IDX files, or a data set with a column of images.
        side: Width and height, in pixels.
        fit: pad: the whole image, with white margins; crop: the longer sides are cut.

    Raises:
        ConfigError: If Pillow is not installed, there are no images, or images can't be read; the message names them.
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
        notes += _other_files_note(folder, set(opened))
    needed = len(opened) * side * side * 3
    require_memory(2 * needed, f"{source}: {len(opened):,} images of {side} x {side}", "as pixels")
    pixels, found = _decoded(source, opened, names, side, fit)
    if moving := [name for name, each in zip(names, found, strict=True) if each.is_animated]:
        notes.append(f"{source}: the first frame of animated images is used: {_first_names(moving)}")
    if oblong := sum(not each.is_square for each in found):
        done = "padded with white (--set world.fit=crop cuts them)" if fit == "pad" else "cut to squares"
        notes.append(f"{source}: {oblong} of {len(names)} images are not square: {done}")
    kept = _distinct_indices(source, pixels, names, notes)
    class_names = tuple(sorted({label for label in labels if label})) if any(labels) else ()
    places = {label: place for place, label in enumerate(class_names)}
    unlabelled = [name for name, label in zip(names, labels, strict=True) if class_names and not label]
    if unlabelled:
        raise ConfigError(
            f"{source}: expected a class for every image, got none for {_first_names(unlabelled)}"
        )
    return ImageSet(
        images=pixels[kept],
        files=tuple(names[place] for place in kept),
        class_id=np.array([places[labels[place]] for place in kept]) if class_names else None,
        class_names=class_names,
        notes=tuple(notes),
    )


def _decoded(
    source: str, opened: Sequence[Any], names: Sequence[str], side: int, fit: Fit
) -> "tuple[NDArray[np.uint8], list[_Finding]]":
    """Decode all images: pixels, (num_images, side, side, 3), and findings about each image."""
    pixels = np.empty((len(opened), side, side, 3), dtype=np.uint8)

    def read(place: int) -> _Finding:
        try:
            pixels[place], found = _square(opened[place], side, fit)
        except (OSError, ValueError, SyntaxError, EOFError, MemoryError) as error:
            return _Finding(fault=_reason(error))
        return found

    with warnings.catch_warnings(), ThreadPoolExecutor(NUM_THREADS) as threads:
        warnings.simplefilter(
            "ignore"
        )  # Pillow warns about photos of more than 89 million pixels and unusual metadata
        found = list(threads.map(read, range(len(opened))))
    damaged = [f"{name} ({each.fault})" for name, each in zip(names, found, strict=True) if each.fault]
    if damaged:
        number = "an image" if len(damaged) == 1 else f"{len(damaged)} images"
        raise ConfigError(
            f"{source}: {number} can't be read: {_first_names(damaged)}; remove or replace them"
        )
    return pixels, found


def _square(opened: Any, side: int, fit: Fit) -> "tuple[NDArray[np.uint8], _Finding]":
    """Convert an image to a square of bytes; also return findings about it."""
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
    found = _Finding(is_animated=is_animated, is_square=image.width == image.height)
    return np.asarray(square, dtype=np.uint8), found


def _in_colours(image: Any) -> Any:
    """Convert an image to 8-bit RGB, on white where it is transparent."""
    from PIL import Image

    if image.mode.startswith(("I", "F")):
        values = np.asarray(image).astype(np.float64)
        if image.mode == "F" and not (values.min() >= 0 and values.max() <= 1):
            raise ValueError("floating-point pixels: expected values from 0 to 1")
        values *= 255 if image.mode == "F" else 1 / 257
        return Image.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    return image.convert("RGB")


def _distinct_indices(
    source: str, pixels: NDArray[np.uint8], names: Sequence[str], notes: list[str]
) -> list[int]:
    """Select the first of each group of equal images; a message about the others is added to `notes`."""
    first: dict[bytes, int] = {}
    pairs = []
    for place, image in enumerate(pixels):
        known = first.setdefault(hashlib.sha256(image.tobytes()).digest(), place)
        if known != place:
            pairs.append(f"{names[place]} equals {names[known]}")
    if pairs:
        notes.append(f"{source}: equal images are used once: {_first_names(pairs)}")
    return list(first.values())


def _other_files_note(folder: Path, images: set[Path]) -> list[str]:
    """Message about files that are not images, if any."""
    others = [
        file.relative_to(folder).as_posix()
        for file in sorted([*folder.iterdir(), *folder.glob("*/*")])
        if file.is_file() and file not in images and not file.name.startswith(".")
    ]
    return [f"{folder}: files with other endings are left out: {_first_names(others)}"] if others else []


def _first_names(names: Iterable[str]) -> str:
    """The first names, and the number of further ones."""
    names = list(names)
    more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more


def _reason(error: BaseException) -> str:
    """Reason why an image can't be read, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{' '.join(str(error).split()) or type(error).__name__:.80}"


ENCODED_SIZE = 224
"""Width and height of the images that encoders get."""


class ImagesWorld(ObjectListWorld):
    """The images of a folder or a data set, as pixels.

    Images are expensive to encode, so the rounds of a batch share `images_per_batch` of them.

    Raises:
        ConfigError: If an image can't be read, or there are too few images.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(OwnListOptions):
        """Options of the world."""

        size: Annotated[int, Meta(ge=16, le=1024, multiple_of=16)] = 64
        """Width and height, in pixels, of the images that agents see, a multiple of 16."""
        fit: Literal["pad", "crop"] = "pad"
        """pad: the whole image, with white margins if it is not square. crop: the longer sides are cut."""
        images_per_batch: Count = 256
        """Maximum number of images that the rounds of a batch share; each image is encoded once per batch."""

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

        The meaning is the class or, without classes, the index of the image. If the task needs classes,
        they are numbered as in training.
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
        """Width and height to which images are scaled, in pixels."""
        side: int = self.options.size
        return side

    def encoded(self, images: NDArray[np.uint8]) -> NDArray[Any]:
        """Convert images to the agents' input, (num_images, ...)."""
        return images


class ImageFeaturesWorld(ImagesWorld):
    """The images of a folder or a data set, as the features of a frozen encoder.

    Raises:
        ConfigError: If an image can't be read, there are too few images, or the encoder can't be loaded.
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
        """Maximum number of images that the rounds of a batch share."""

    default_perceptions = ("linear", "linear")
    side = ENCODED_SIZE

    def encoded(self, images: NDArray[np.uint8]) -> NDArray[Any]:
        """Encode images as features. See the base class."""
        return encode_images(images, self.options.encoder)


def _with_classes(found: ImageSet, names: Sequence[Sequence[str]]) -> ImageSet:
    """Renumber classes as in training, with concepts such as `class=dog`."""
    known = [name.removeprefix("class=") for of_attribute in names for name in of_attribute]
    unknown = [name for name in found.class_names if name not in known]
    if found.class_id is None or unknown:
        got = unknown[0] if unknown else "no classes"
        raise ConfigError(f"expected images of the training classes ({', '.join(known):.200}), got {got}")
    numbers = np.array([known.index(name) for name in found.class_names])
    return replace(found, class_id=numbers[found.class_id], class_names=tuple(known))
