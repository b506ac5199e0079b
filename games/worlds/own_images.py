"""Worlds of a user's images, one target a round: seen as pixels, or as the features of an encoder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ecsuite.games.worlds.image_encoding import RANDOM, encode_images
from ecsuite.games.worlds.image_files import ImageSet, read_images
from ecsuite.games.worlds.object_lists import ObjectListWorld, OwnListOptions
from ecsuite.games.worlds.objects import ObjectList
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError

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
        """What agents see of images, (num_images, ...)."""
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
