"""From a folder of images to the arrays of a feature file, by a published encoder of images.

Mu & Goodman (2021) and Yao et al. (2022) play on what a ResNet sees in a photo. Here any encoder of the package
transformers will do, by its name on Hugging Face's hub or from a folder; weights are read from safetensors alone.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.config import ConfigError
from ecsuite.devices import choose_device

DEFAULT_ENCODER = "microsoft/resnet-18"
"""512 features an image. Mu & Goodman take the same network for the birds of CUB, trained further inside the game."""
SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""How the names of images end."""
BATCH = 32
"""Images encoded at a time."""


def encode_folder(
    folder: Path,
    encoder: str = DEFAULT_ENCODER,
    *,
    device: str = "auto",
    progress: Callable[[str, float, float], None],
) -> dict[str, NDArray[Any]]:
    """Encode all images in a folder, as arrays for `feature_files.write_features`.

    Images of one class lie in a folder of its own, `folder/robin/1.jpg`, and `class_id` numbers these folders by
    name; or all lie in `folder` itself, and there are no classes. Rows are in the order of the files' names.

    Args:
        folder: Holds the images, or folders of them.
        encoder: A folder, or a name on Hugging Face's hub.
        device: auto, cpu or cuda.
        progress: Called as `progress(label, images done, images in all)`.

    Returns:
        `features`, (num_images, width): the encoder's summary of an image or, where it has none, the mean of its last
        states; and `class_id` and `class_names` where there are classes.

    Raises:
        ConfigError: If there are no images, some are in classes and some are not, one of them can't be read, or
            the encoder can't be loaded or is none of images.
    """
    files, classes = find_images(folder)
    processor, model = _load(encoder)
    place = choose_device(device)
    model.to(place).eval()
    rows = []
    for first in range(0, len(files), BATCH):
        chunk = files[first : first + BATCH]
        rows.append(_encode(chunk, encoder, processor, model, place))
        progress(f"images seen by {encoder}", first + len(chunk), len(files))
    arrays: dict[str, NDArray[Any]] = {"features": np.concatenate(rows)}
    if classes:
        names, ids = np.unique(classes, return_inverse=True)
        arrays |= {"class_id": ids.astype(np.int64), "class_names": names}
    return arrays


def find_images(folder: Path) -> tuple[list[Path], list[str]]:
    """The images in a folder by name, and the class of each; no classes where they lie in the folder itself.

    Raises:
        ConfigError: If there are none, or some are in classes and some are not.
    """
    if not folder.is_dir():
        raise ConfigError(f"--images {folder}: expected a folder of images")
    loose = list(_images_in(folder))
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    sorted_out = [(file, path.name) for path in inner for file in _images_in(path)]
    if loose and sorted_out:
        raise ConfigError(
            f"--images {folder}: {loose[0].name} is in no class, {sorted_out[0][0].relative_to(folder)} is in one: "
            "expected a folder for each class, or no folders"
        )
    if not loose and not sorted_out:
        raise ConfigError(
            f"--images {folder}: no images found, in it or in its folders; expected names that end in "
            f"{', '.join(SUFFIXES)}"
        )
    return loose or [file for file, _ in sorted_out], [name for _, name in sorted_out]


def _images_in(folder: Path) -> Iterator[Path]:
    """The images that lie in a folder itself, by name."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in SUFFIXES and not path.name.startswith("."):
            yield path


def _load(encoder: str) -> tuple[Any, Any]:
    """What prepares images for an encoder, and the encoder."""
    try:
        import PIL  # noqa: F401
        import transformers
    except ImportError:
        raise ConfigError("--images needs transformers and pillow: pip install 'ecsuite[images]'") from None
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        model = transformers.AutoModel.from_pretrained(encoder, use_safetensors=True)
        processor = transformers.AutoImageProcessor.from_pretrained(encoder)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise ConfigError(
            f"--encoder {encoder}: cannot be loaded: {reason}; without a network, expected a folder with config.json, "
            "model.safetensors and preprocessor_config.json"
        ) from None
    return processor, model


@torch.no_grad()
def _encode(
    files: Sequence[Path], name: str, processor: Any, model: Any, device: torch.device
) -> NDArray[Any]:
    """Vectors of some images, (len(files), width)."""
    pixels = processor(images=[_open(file) for file in files], return_tensors="pt")["pixel_values"]
    try:
        found = model(pixel_values=pixels.to(device))
        seen = getattr(found, "pooler_output", None)
        if seen is None:
            seen = found.last_hidden_state.mean(1)
    except (TypeError, ValueError, AttributeError):
        raise ConfigError(
            f"--encoder {name}: {type(model).__name__} does not turn images alone into vectors; expected an encoder "
            "of images, such as a ResNet, ViT or DINOv2"
        ) from None
    vectors: NDArray[np.float32] = seen.flatten(1).float().cpu().numpy()
    return vectors


def _open(file: Path) -> Any:
    """An image, in colour."""
    from PIL import Image

    try:
        with Image.open(file) as image:
            return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ConfigError(f"{file}: can't be read as an image: {' '.join(str(error).split())}") from None
