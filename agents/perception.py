"""Object encoders (perceptions): networks that map an object to a vector, once per distinct object.

A perception is built from its options and the shape of an object, (num_features,) or (height, width, 3) for images,
and has `out_features`, the width of its vectors. A receiver's perception also gets the width of the receiver's states;
if its vectors always have that width, `fits_states`, the game needs no projection of the states.
"""

from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ecsuite.agents.cells import RecurrentCell
from ecsuite.agents.linear import Linear
from ecsuite.agents.options import PerceptionOptions
from ecsuite.agents.recurrence import State, tanh
from ecsuite.agents.registry import CELLS, PERCEPTIONS
from ecsuite.parts.config import Count
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError, look_up


class Perception(nn.Module):
    """Base class of perceptions, including user code; a torch layer may be a second base class, before this one."""

    out_features: int
    """Width of the vectors."""
    takes_images: ClassVar[bool | None] = None
    """Whether objects are images, (height, width, 3), or vectors; None: both are accepted."""
    fits_states = False
    """Whether vectors always have the width of the receiver's states, so that the states need no projection."""

    @property
    def learns(self) -> bool:
        """Whether the perception has trainable weights."""
        return any(True for _ in self.parameters())

    @property
    def is_by_object(self) -> bool:
        """Whether an object's vector depends on that object alone: not with batch normalisation, or in user code."""
        package = f"{__name__.partition('.')[0]}."  # modules of user code have longer names
        is_own = type(self).__module__.startswith(package)
        return is_own and not any(isinstance(each, _BatchNorm) for each in self.modules())


@dataclass(frozen=True, kw_only=True, slots=True)
class SizedOptions(PerceptionOptions):
    """Options of a perception with vectors of any width."""

    size: Count = 60
    """Width of the vectors, and of hidden layers."""


class IdentityPerception(nn.Identity, Perception):
    """The object's features, unchanged."""

    Options = PerceptionOptions
    takes_images = False

    def __init__(
        self, options: PerceptionOptions, *, object_shape: tuple[int, ...], state_size: int | None = None
    ) -> None:
        super().__init__()
        self.out_features = object_shape[0]


class LinearPerception(nn.Sequential, Perception):
    """One linear layer."""

    Options = SizedOptions
    takes_images = False

    def __init__(
        self, options: SizedOptions, *, object_shape: tuple[int, ...], state_size: int | None = None
    ) -> None:
        super().__init__(Linear(object_shape[0], options.size))
        self.out_features = options.size


class MLPPerception(nn.Sequential, Perception):
    """Two linear layers with ReLU between them."""

    Options = SizedOptions
    takes_images = False

    def __init__(
        self, options: SizedOptions, *, object_shape: tuple[int, ...], state_size: int | None = None
    ) -> None:
        size = options.size
        super().__init__(Linear(object_shape[0], size), nn.ReLU(), Linear(size, size))
        self.out_features = size


class TanhPerception(Linear, Perception):
    """One linear layer and tanh; without a size, as wide as the receiver's states.

    Raises:
        ConfigError: If there is neither a size nor a receiver.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(PerceptionOptions):
        """Options of a linear layer with tanh."""

        size: Count | None = None
        """Width of the vectors; null: width of the receiver's states, which then need no projection."""

    takes_images = False

    def __init__(
        self, options: Options, *, object_shape: tuple[int, ...], state_size: int | None = None
    ) -> None:
        size = options.size or state_size
        if size is None:
            raise ConfigError("perception.size: expected a number for the sender, got null")
        super().__init__(object_shape[0], size)
        self.fits_states = options.size is None

    def forward(self, inputs: Tensor) -> Tensor:
        """Map (num_objects, num_features) to (num_objects, size)."""
        return tanh(super().forward(inputs))


class VectorNorm(nn.BatchNorm1d):
    """Batch normalisation of vectors; a batch of one vector is scaled by the running statistics."""

    def forward(self, vectors: Tensor) -> Tensor:
        """Map (num_objects, size) to the same shape."""
        if len(vectors) > 1:
            return super().forward(vectors)
        return nn.functional.batch_norm(
            vectors, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )


class Convolution(nn.Conv2d):
    """`nn.Conv2d` whose weights stay in fp32 while it computes in the precision of its input."""

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, in_channels, height, width) to (batch, out_channels, …)."""
        bias = None if self.bias is None else self.bias.to(images.dtype)
        convolved: Tensor = self._conv_forward(images, self.weight.to(images.dtype), bias)
        return convolved


def outlines(images: Tensor) -> Tensor:
    """Images (num_images, height, width, 3) without their colours, in the same shape.

    Each pixel is the maximum of its three colours, divided by the maximum of the whole image.
    """
    brightness = images.amax(-1, keepdim=True)
    brightest = brightness.amax((1, 2), keepdim=True).clamp(min=1 / 255)
    return (brightness / brightest).expand_as(images)


class ConvolutionalPerception(Perception):
    """Base class of blocks of convolution, batch normalisation, ReLU and optional max-pooling.

    `conv4`, as in Mu & Goodman (2021): four blocks of 3 x 3 convolutions to 64 channels with pooling; the 4 x 4 x 64
    values that remain of an image of 64 x 64 are the vector. Most of its time is spent on the large feature maps of the
    first two blocks. `conv` avoids them: its first block goes from 64 x 64 to 16 x 16, and it ends with a linear layer.

    `conv_max` takes the maximum and the sum of each feature map, then a linear layer. It therefore recognises a shape
    at any position but does not represent positions: it is meant for ShapeWorld, whose formulas have none. Half of its
    feature maps get outlines without colour, because colours are so much easier to learn that agents whose maps all
    have colours rarely name shapes.

    `conv_grid` takes the maximum of each feature map and of each cell of a 4 x 4 grid over it, so it represents shapes
    and positions: it is meant for SHAPE.

    Without an option `size` there is no linear layer: the feature maps of the last block are flattened. Height and
    width of an image are equal and multiples of 16.
    """

    Options: type[PerceptionOptions] = SizedOptions
    takes_images = True
    blocks: tuple[tuple[int, int, int, int], ...]
    """Channels, kernel size, stride and max-pooling size of each block."""
    grids: tuple[int, ...] = ()
    """Sizes of the grids of max-pooling over each feature map of the last block; if empty, the maps are flattened."""
    has_sums = False
    """With grids: whether the vector also has the sum of each feature map of the last block."""
    has_outlines = False
    """Whether half of the feature maps get outlines instead of colours."""

    def __init__(
        self, options: PerceptionOptions, *, object_shape: tuple[int, ...], state_size: int | None = None
    ) -> None:
        super().__init__()
        num_inputs = 2 if self.has_outlines else 1
        channels = [3 * num_inputs, *(block[0] for block in self.blocks)]
        self.convolutions = nn.ModuleList(
            Convolution(
                inner, outer, kernel, stride, (kernel - stride + 1) // 2, groups=num_inputs, bias=False
            )
            for inner, (outer, kernel, stride, _) in zip(channels, self.blocks, strict=False)
        )
        self.convolutions.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in channels[1:])
        cells = sum(grid**2 for grid in self.grids) + self.has_sums or (object_shape[0] // 16) ** 2
        num_pooled = channels[-1] * cells
        self.summary, self.out_features = None, num_pooled
        if isinstance(options, SizedOptions):
            self.summary = nn.Sequential(Linear(num_pooled, options.size), VectorNorm(options.size))
            self.out_features = options.size

    def forward(self, images: Tensor) -> Tensor:
        """Images (num_objects, height, width, 3), from 0 to 1, to vectors (num_objects, out_features)."""
        if self.has_outlines:
            images = torch.cat([images, outlines(images)], -1)
        maps = images.permute(0, 3, 1, 2)  # memory layout stays channels-last
        for convolve, normalise, block in zip(self.convolutions, self.norms, self.blocks, strict=True):
            maps = normalise(convolve(maps)).relu_()
            if (pool := block[-1]) > 1:
                maps = nn.functional.max_pool2d(maps, pool)
        pooled = [nn.functional.adaptive_max_pool2d(maps, grid).flatten(1) for grid in self.grids]
        if self.has_sums:
            pooled.append(maps.sum((2, 3)) / maps.shape[2])  # scaled to the magnitude of the maxima
        vectors = torch.cat(pooled, 1) if pooled else maps.flatten(1)
        return vectors if self.summary is None else self.summary(vectors)


class StridedPerception(ConvolutionalPerception):
    """`conv`: see `ConvolutionalPerception`."""

    blocks = ((32, 8, 4, 1), (64, 3, 2, 1), (64, 3, 2, 1))


class MaximumPerception(ConvolutionalPerception):
    """`conv_max`: see `ConvolutionalPerception`."""

    blocks = ((48, 6, 4, 1), (64, 3, 1, 1))
    grids = (1,)
    has_sums = has_outlines = True


class GridPerception(ConvolutionalPerception):
    """`conv_grid`: see `ConvolutionalPerception`."""

    blocks = ((32, 8, 4, 1), (64, 3, 1, 1))
    grids = (1, 4)


class Conv4Perception(ConvolutionalPerception):
    """`conv4`: see `ConvolutionalPerception`."""

    Options = PerceptionOptions
    blocks = ((64, 3, 1, 2),) * 4


def make_object_perception(
    part: Part, object_shape: tuple[int, ...], state_size: int | None = None
) -> tuple[Perception, int]:
    """Build a perception, and return it with the width of its vectors.

    Args:
        part: The perception and its options.
        object_shape: (num_features,) or, for images, (height, width, 3).
        state_size: Width of the receiver's states; None for a sender.

    Raises:
        ConfigError: If the perception does not accept such objects.
    """
    made = PERCEPTIONS.load(part.kind)
    has_images = len(object_shape) == 3
    if made.takes_images not in (has_images, None):
        found = "images" if has_images else f"vectors of {object_shape[0]} features"
        choices = [
            kind for kind in PERCEPTIONS.parts if PERCEPTIONS.load(kind).takes_images in (has_images, None)
        ]
        raise ConfigError(f"perception: {part.kind} does not take {found}: set one of {', '.join(choices)}")
    perception: Perception = made(part.options, object_shape=object_shape, state_size=state_size)
    return perception, int(perception.out_features)


class RecurrentPerception(Perception):
    """A recurrent encoder that reads an object's features in pieces of equal width; the vector is the last state.

    Pieces of zeros, such as the padding of strings, are skipped.

    Raises:
        ConfigError: If the features can't be cut into such pieces.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(PerceptionOptions):
        """Options of a recurrent perception."""

        size: Count = 60
        """Width of the vectors, and of the cell's state."""
        cell: str = "gru"
        """Name of the cell, see `ecsuite list`."""
        width: Count = 1
        """Number of features per step: 2 for strings of two letters, world.num_values for one attribute."""

        def __post_init__(self) -> None:
            """Check the name of the cell; `ConfigError` if it is unknown."""
            look_up("cell", self.cell, CELLS.parts)

    takes_images = False

    def __init__(
        self, options: Options, *, object_shape: tuple[int, ...], state_size: int | None = None
    ) -> None:
        super().__init__()
        if object_shape[0] % options.width:
            raise ConfigError(
                f"perception.width: expected a divisor of the {object_shape[0]} features of an object, "
                f"got {options.width}"
            )
        self.width, self.out_features = options.width, options.size
        self.cell = cast(RecurrentCell, CELLS.load(options.cell)(options.width, options.size))

    def forward(self, inputs: Tensor) -> Tensor:
        """Map (num_objects, num_features) to (num_objects, size)."""
        step = self.cell.unroll(inputs.dtype)
        state: State = self.cell.start(inputs.new_zeros(len(inputs), self.out_features))
        for piece in inputs.unflatten(1, (-1, self.width)).unbind(1):
            is_read = (piece != 0).any(1, keepdim=True)
            state = tuple(
                torch.where(is_read, new, old) for new, old in zip(step(piece, state), state, strict=True)
            )
        return self.cell.summary(state)
