"""Worlds of a user's images, one target a round: seen as pixels, or as the features of an encoder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ecsuite.games.worlds.image_encoding import RANDOM, encode_images
from ecsuite.games.worlds.image_files import ImageSet, read_images
from ecsuite.games.worlds.object_lists import (
    ObjectListWorld,
    OwnListOptions,
    described_by,
    shown_places,
)
from ecsuite.games.worlds.world import Batch, Integers, RoundSpec, RunSizes
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

    def __init__(
        self, options: Options, *, rounds: RoundSpec, sizes: RunSizes, trained: "ImagesWorld | None" = None
    ) -> None:
        super().__init__(options, rounds, sizes)
        self.object_shape = (options.size, options.size, 3)
        if options.images_per_batch < self.num_candidates:
            raise ConfigError(
                f"world.images_per_batch: expected at least the {self.num_candidates} candidates of a round, got "
                f"{options.images_per_batch}"
            )
        self._take(read_images(options.objects or "", options.size, options.fit), trained)

    def _take(self, found: ImageSet, trained: ObjectListWorld | None) -> None:
        """Take these images: the meaning is the class or, where there are none, the number of the image.

        Where the task asks for classes, they have the numbers of training.
        """
        if trained is not None and self.rounds.needs_values:
            found = _with_classes(found, trained.value_names)
        self.images: NDArray[np.generic] = found.images
        of_classes = f" of {len(found.class_names)} classes" if found.class_names else ""
        self.notes = (*found.notes, f"{self.options.objects}: {len(found.files):,} images{of_classes}")
        self.classes = found.class_id
        number = np.arange(len(found.files))
        names: list[tuple[str, ...]] = []
        if found.class_id is not None:
            names = [tuple(f"class={name}" for name in found.class_names)]
            if self.rounds.needs_values:
                self.num_values, self.value_names = (len(found.class_names),), names
        about = number if found.class_id is None else found.class_id
        described = described_by(about[:, None], names, about[:, None], file=np.array(found.files))
        self._list(described, None, trained)

    @property
    def shows_values(self) -> bool:
        """Agents see images or features of them."""
        return False

    def allowed(self, split: str, number: int) -> Integers:
        """See the base class: `images_per_batch` images of the split."""
        every = super().allowed(split, number)
        if len(every) <= self.options.images_per_batch:
            return every
        rng = np.random.default_rng([self.seed, *b"images", *split.encode(), number])
        chosen: Integers = rng.choice(every, size=self.options.images_per_batch, replace=False)
        return chosen

    def batch_of(self, candidates: Integers, labels: NDArray[np.bool_]) -> Batch:
        """See the base class. Each image is there once."""
        used, places = np.unique(candidates, return_inverse=True)
        places = places.reshape(candidates.shape)
        shown = shown_places(labels, self.rounds.sender_sees_all)
        values = None
        if self.num_values is not None and self.classes is not None:
            values = self.classes[used][:, None]
        return Batch(
            objects=self.images[used],
            shown=np.take_along_axis(places, shown, axis=1),
            num_positive=1,
            candidates=places,
            labels=labels,
            values=values,
            rules=candidates[labels],
            ids=used,
        )


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

    def __init__(
        self,
        options: Options,
        *,
        rounds: RoundSpec,
        sizes: RunSizes,
        trained: "ImageFeaturesWorld | None" = None,
    ) -> None:
        ObjectListWorld.__init__(self, options, rounds, sizes)
        found = read_images(options.objects or "", ENCODED_SIZE, options.fit)
        self._take(found, trained)
        self.images = encode_images(found.images, options.encoder)
        self.object_shape = self.images.shape[1:]

    def vectors(self, objects: Integers) -> NDArray[np.generic]:
        """The features. See the base class."""
        return self.images[objects]


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
