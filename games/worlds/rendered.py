"""Worlds of images that are rendered, and not read from files."""

from copy import copy
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.games.worlds.rendering import IMAGE_SIZE, Scenes, render, render_table
from ecsuite.games.worlds.world import World


class RenderedWorld(World):
    """Base class of worlds whose objects are images of scenes.

    Its batches have the images; those of `unrendered` have a row of numbers in the place of each, of which `features`
    makes the same images, where the rows are.
    """

    object_shape = (IMAGE_SIZE, IMAGE_SIZE, 3)
    is_rendered = True

    def objects_of(self, scenes: Scenes) -> NDArray[np.uint8] | NDArray[np.float64]:
        """The objects that show these scenes, (num_objects, *object_shape); unrendered, (num_objects, 10)."""
        return render(*scenes) if self.is_rendered else scenes.table()

    def unrendered(self) -> Self:
        """See `World`."""
        world = copy(self)
        world.is_rendered = False
        return world

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """Images, also those of rows of numbers, (num_objects, 10); unrendered, objects as they are. See `World`."""
        if not self.is_rendered:
            return objects
        return super().features(render_table(objects) if objects.dim() == 2 else objects, dtype)
