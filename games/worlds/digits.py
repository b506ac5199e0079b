"""Handwritten digits: the 1 797 images of 8 x 8 pixels that scikit-learn has, without a download."""

from typing import ClassVar

import numpy as np

from ecsuite.games.worlds.object_lists import ObjectListOptions, ObjectListWorld
from ecsuite.games.worlds.objects import ObjectList

BRIGHTEST = 16
"""The value of a white pixel."""
NAMES = tuple(f"digit={digit}" for digit in range(10))
"""The classes as concepts."""


class DigitsWorld(ObjectListWorld):
    """The digits of scikit-learn (Alpaydin & Kaynak 1998, UCI), as vectors of 64 pixels from 0 to 1.

    The meaning is the digit; task `reconstruction` is to name it.
    """

    Options = ObjectListOptions
    data_files: ClassVar[tuple[str, ...]] = ()
    source = "digits"
    default_perceptions = ("mlp", "mlp")
    names_values = shares_objects = True

    def read(self, source: str, trained: ObjectListWorld | None) -> ObjectList:
        """See `ObjectListWorld`."""
        from sklearn.datasets import load_digits  # here, since it takes half a second

        images, classes = load_digits(return_X_y=True)
        rows = np.arange(len(images))
        return ObjectList(
            source=source,
            table=(images / BRIGHTEST).astype(np.float32),
            names=(NAMES,),
            values_table=classes.astype(np.int64)[:, None],
            rows=rows,
            columns={"image": rows},
        )
