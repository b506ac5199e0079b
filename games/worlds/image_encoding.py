"""Encode images into vectors: with a pretrained image encoder, or with fixed random convolutions.

Mu & Goodman (2021) and Yao et al. (2022) use ResNet features of photos. Here any image encoder of the package
transformers can be used, by its name on the Hugging Face hub or from a folder; weights must be in safetensors files.
Random convolutions (Saxe et al. 2011, "On random weights and unsupervised feature learning") need no download.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.games.worlds.hub_data import stay_offline_without_network
from ecsuite.runtime.devices import choose_device, unrounded_products
from ecsuite.runtime.errors import ConfigError, missing_extra
from ecsuite.runtime.memory import require_memory, require_weights_fit

DEFAULT_ENCODER = "microsoft/resnet-18"
"""512 features per image. Mu & Goodman use the same network for CUB and fine-tune it during the game."""
RANDOM = "random"
"""The encoder of fixed random convolutions."""
RANDOM_SIDE, RANDOM_CHANNELS, RANDOM_GRID = 64, 64, 4
"""Width and height of an image as random convolutions get it, their channels, and the grid of cells that are pooled."""
SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""File name suffixes of images."""
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


def find_images(folder: Path) -> tuple[list[Path], list[str]]:
    """The images of a folder, sorted by name, and the class of each; no classes where they are in the folder itself."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder of images")
    loose = list(_images_in(folder))
    deeper = next((file for path in sorted(folder.glob("*/*/")) for file in _images_in(path)), None)
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    in_classes = [(file, path.name) for path in inner for file in _images_in(path)]
    if loose and in_classes:
        raise ConfigError(
            f"{folder}: {loose[0].name} is in no subfolder, {in_classes[0][0].relative_to(folder)} is in one: "
            "expected a subfolder per class, or no subfolders"
        )
    if deeper is not None:
        raise ConfigError(
            f"{folder}: {deeper.relative_to(folder)} lies two folders deep: give the folder of the classes, such as "
            f"{deeper.parent.parent}"
        )
    if not loose and not in_classes:
        raise ConfigError(
            f"{folder}: no images found in it or its subfolders; expected file names that end in "
            f"{', '.join(SUFFIXES)}"
        )
    return loose or [file for file, _ in in_classes], [name for _, name in in_classes]


def _images_in(folder: Path) -> Iterator[Path]:
    """The images directly in a folder, sorted by name."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in SUFFIXES and not path.name.startswith("."):
            yield path


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
