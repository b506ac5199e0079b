"""Handwritten digits: the 1 797 images of 8 x 8 pixels that scikit-learn has, without a download."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import Share
from ecsuite.games.worlds.object_lists import ObjectListWorld, described_by, shown_places
from ecsuite.games.worlds.world import Batch, Integers, RoundSpec, RunSizes

BRIGHTEST = 16
"""The value of a white pixel."""
NAMES = tuple(f"digit={digit}" for digit in range(10))
"""The classes as concepts."""


class DigitsWorld(ObjectListWorld):
    """The digits of scikit-learn (Alpaydin & Kaynak 1998, UCI), as vectors of 64 pixels from 0 to 1.

    The meaning is the digit. Task `reconstruction` is to name it.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        held_out: Share = 0.2
        """Share of the images that are held out from training; evaluations are then about these."""
        held_out_value: str | None = None
        """Hold out all images of a digit, such as digit=3, instead of a share."""

    data_files = ()
    source = "digits"
    default_perceptions = ("mlp", "mlp")
    object_shape = (64,)
    num_values = (10,)
    value_names = (NAMES,)

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        from sklearn.datasets import load_digits  # here, so that `ecsuite list` need not import it

        super().__init__(options, rounds, sizes)
        images, self.classes = load_digits(return_X_y=True)
        self.images: NDArray[np.float32] = (images / BRIGHTEST).astype(np.float32)
        about = self.classes[:, None].astype(np.int64)
        self._list(described_by(about, self.value_names, about, image=np.arange(len(about))), None, None)

    @property
    def shows_values(self) -> bool:
        """Agents see pixels."""
        return False

    def batch_of(self, candidates: Integers, labels: NDArray[np.bool_]) -> Batch:
        """See the base class. Each image is there once."""
        used, places = np.unique(candidates, return_inverse=True)
        places = places.reshape(candidates.shape)
        shown = shown_places(labels, self.rounds.sender_sees_all)
        return Batch(
            objects=self.images[used],
            shown=np.take_along_axis(places, shown, axis=1),
            num_positive=1,
            candidates=places,
            labels=labels,
            values=self.classes[used][:, None].astype(np.int64),
            rules=candidates[labels],
            ids=used,
        )
