"""What agents see is perturbed in training: each agent gets a view of its own of every object of a batch."""

import torch
from torch import Tensor

from ecsuite.agents.options import PerceptionOptions
from ecsuite.games.noise import Noise, normal, uniform
from ecsuite.runtime.errors import ConfigError


class Perturbation:
    """The perturbations of one agent, which are options of its perception.

    Raises:
        ConfigError: If objects are to be shifted that are no images.
    """

    def __init__(self, role: str, options: PerceptionOptions, object_shape: tuple[int, ...]) -> None:
        self.noise, self.shift, self.brightness = options.noise, options.shift, options.brightness
        self.is_on = bool(self.noise or self.shift or self.brightness)
        if self.shift and len(object_shape) != 3:
            raise ConfigError(
                f"{role}.perception.shift: only images can be shifted, expected 0 for vectors of {object_shape[0]} "
                "features"
            )
        if self.shift and self.shift >= object_shape[0]:
            raise ConfigError(
                f"{role}.perception.shift: expected fewer pixels than the {object_shape[0]} of an image, got "
                f"{self.shift}"
            )

    def __call__(self, objects: Tensor, generator: Noise | None) -> Tensor:
        """Objects (num_objects, *object_shape) as they are seen in training, of the same shape.

        Args:
            objects: Features, or images from 0 to 1.
            generator: Source of the perturbations.
        """
        one_each = (len(objects), *(1 for _ in objects.shape[1:]))
        if self.shift:
            objects = shifted(objects, uniform((2, len(objects)), generator, objects.device), self.shift)
        if self.brightness:
            factors = 1 + self.brightness * (2 * uniform(one_each, generator, objects.device) - 1)
            objects = objects * factors.to(objects.dtype)
        if self.noise:
            objects = objects + (self.noise * normal(objects.shape, generator, objects.device)).to(
                objects.dtype
            )
        return objects


def shifted(images: Tensor, draws: Tensor, most: int) -> Tensor:
    """Images (num_images, height, width, 3) moved by up to so many pixels down and right, or up and left.

    What leaves an image on one side comes in on the other.

    Args:
        images: Images whose height and width are at least `most`.
        draws: From 0 to 1 for the rows and the columns of each image, (2, num_images).
        most: Most pixels.
    """
    by = (draws * (2 * most + 1)).long() - most
    _, height, width, _ = images.shape
    rows = (torch.arange(height, device=images.device) - by[0][:, None]) % height
    columns = (torch.arange(width, device=images.device) - by[1][:, None]) % width
    every = torch.arange(len(images), device=images.device)[:, None, None]
    moved: Tensor = images[every, rows[:, :, None], columns[:, None, :]]
    return moved
