"""Handwritten digits: the 1 797 images of 8 x 8 pixels that scikit-learn has, without a download."""

from typing import ClassVar

import numpy as np

from ecsuite.games.worlds.object_lists import ObjectListOptions, ObjectListWorld, described_by
from ecsuite.games.worlds.own_images import ImageFeaturesWorld
from ecsuite.games.worlds.world import Integers, RoundSpec, RunSizes

BRIGHTEST = 16
"""The value of a white pixel."""
NAMES = tuple(f"digit={digit}" for digit in range(10))
"""The classes as concepts."""


class DigitsWorld(ImageFeaturesWorld):
    """The digits of scikit-learn (Alpaydin & Kaynak 1998, UCI), as vectors of 64 pixels from 0 to 1.

    The meaning is the digit; task `reconstruction` is to name it.
    """

    Options = ObjectListOptions  # type: ignore[assignment]
    data_files: ClassVar[tuple[str, ...]] = ()
    source = "digits"
    default_perceptions = ("mlp", "mlp")

    def __init__(
        self,
        options: ObjectListOptions,
        *,
        rounds: RoundSpec,
        sizes: RunSizes,
        trained: ObjectListWorld | None = None,
    ) -> None:
        from sklearn.datasets import load_digits  # here, since it takes half a second

        ObjectListWorld.__init__(self, options, rounds, sizes)
        images, classes = load_digits(return_X_y=True)
        self.images = (images / BRIGHTEST).astype(np.float32)
        self.object_shape = self.images.shape[1:]
        self.classes = classes.astype(np.int64)
        self.num_values, self.value_names = (len(NAMES),), (NAMES,)
        about = self.classes[:, None]
        described = described_by(about, self.value_names, about, image=np.arange(len(about)))
        self._list(described, None, trained)

    def allowed(self, split: str, number: int) -> Integers:
        """See `ObjectListWorld`."""
        return ObjectListWorld.allowed(self, split, number)
