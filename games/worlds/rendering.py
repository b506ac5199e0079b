"""A renderer of small images: one anti-aliased object on a black background, many images at once.

Pixel centres have integer coordinates: column 3 has its centre at x = 3, and an image extends from -0.5 to 63.5.
Rows are numbered from the top. The processor computes a window around each object, in numpy; a GPU whole images, of a
table of numbers, in torch. What a pixel is covered by is the same formula for both.
"""

import math
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch import Tensor

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Pictures = NDArray[np.uint8]
Numbers = TypeVar("Numbers", Singles, Tensor)

IMAGE_SIZE = 64
"""Width and height of an image, in pixels."""
SHAPES = ("circle", "ellipse", "square", "rectangle", "triangle")
"""Names of the shape indices."""
CIRCLE, ELLIPSE, SQUARE, RECTANGLE, TRIANGLE = range(len(SHAPES))

WINDOW_SIZES = (16, 20, 24, 32, 48, IMAGE_SIZE)
"""Sides of the square windows in which pixels are computed; each object uses the smallest that contains it."""
TINY = 1e-6
"""In the place of 0, by which nothing can be divided: at the centre of an ellipse."""
CHUNK_PIXELS = 131072
"""Pixels computed at once: few enough for the cache of a core."""


class Scenes(NamedTuple):
    """What images show, an object each; the arguments of `render`."""

    shape: Integers
    """Indices into `SHAPES`, (num_pictures,)."""
    colour: Floats
    """RGB values from 0 to 1, (num_pictures, 3)."""
    x: Floats
    """Centre (of gravity) of the object in pixels from the left, (num_pictures,)."""
    y: Floats
    """The same in pixels from the top, (num_pictures,)."""
    width: Floats
    """Extent in pixels along the object's own first axis, at least 2, (num_pictures,): the diameter of a circle, the
    side of a square and of the (equilateral) triangle."""
    height: Floats
    """Extent along the second axis of an ellipse or rectangle, at least 2, (num_pictures,). Other shapes ignore it."""
    rotation: Floats
    """Angle in radians, clockwise in the image, (num_pictures,). At 0 the triangle points up."""

    def table(self) -> Floats:
        """The numbers of which `render_table` draws the images, (num_pictures, 10).

        Brightest red, green and blue, up to 255; centre; half width and half height; cosine and sine of the rotation;
        the place in `COVERAGES`.
        """
        height = own_height(self.shape, self.width, self.height)
        sides = np.stack([self.x, self.y, self.width / 2, height / 2], axis=1)
        turn = np.stack([np.cos(self.rotation), np.sin(self.rotation), FAMILIES[self.shape]], axis=1)
        return np.concatenate([255 * self.colour, sides, turn], axis=1)


def render(
    shape: Integers, colour: Floats, x: Floats, y: Floats, width: Floats, height: Floats, rotation: Floats
) -> Pictures:
    """Draw one object per image. Parts of an object outside its image are cut off.

    Each image depends only on its own row of the arguments, which are those of `Scenes`.

    Returns:
        Images, (num_pictures, 64, 64, 3).
    """
    height = own_height(shape, width, height)
    pictures = np.zeros((len(shape), IMAGE_SIZE, IMAGE_SIZE, 3), dtype=np.uint8)
    extent = 2 * reach(shape, width, height) + 3  # 2 for anti-aliased corners, 1 for rounding
    window = np.minimum(np.searchsorted(WINDOW_SIZES, extent), len(WINDOW_SIZES) - 1)
    families = FAMILIES[shape]
    for (family, coverage), (place, size) in product(enumerate(COVERAGES), enumerate(WINDOW_SIZES)):
        selected = np.flatnonzero((families == family) & (window == place))
        step, pixels = CHUNK_PIXELS // size**2, np.arange(size)
        for rows in (selected[start : start + step] for start in range(0, len(selected), step)):
            left, top = (window_start(centre[rows], size) for centre in (x, y))
            turn = rotation[rows, None, None]
            centres = (x[rows] - left)[:, None, None], (y[rows] - top)[:, None, None]
            along, across = own_coordinates(*centres, np.cos(turn), np.sin(turn), pixels)
            half_width, half_height = (single(side[rows, None, None] / 2) for side in (width, height))
            covered = coverage(along, across, half_width, half_height)  # (chunk, size, size)
            pixel_values = covered[:, None] * single(255 * colour[rows, :, None, None])
            windows = sliding_window_view(pictures, (size, size), axis=(1, 2), writeable=True)
            windows[rows, top, left] = np.rint(pixel_values).astype(np.uint8)  # (chunk, 3, size, size)
    return pictures


def render_table(table: Tensor) -> Tensor:
    """Draw the images of `Scenes.table`, (num_pictures, 10), where it is: those of `render`.

    The operations do not depend on values, so that they can be a graph of CUDA.

    Returns:
        Images, (num_pictures, 64, 64, 3), of bytes.
    """
    colour = single(table[:, None, None, :3])
    x, y, half_width, half_height, cos, sin, family = table[:, 3:, None, None].unbind(1)
    along, across = own_coordinates(x, y, cos, sin, torch.arange(IMAGE_SIZE, device=table.device))
    sides = single(half_width), single(half_height)
    covered = torch.zeros((), device=table.device)
    for place, coverage in enumerate(COVERAGES):
        covered = torch.where(family == place, coverage(along, across, *sides), covered)
    pictures: Tensor = (covered[..., None] * colour).round().to(torch.uint8)
    return pictures


def own_height(shape: Integers, width: Floats, height: Floats) -> Floats:
    """The height of ellipses and rectangles, and the width of other shapes, (...)."""
    return np.where((shape == ELLIPSE) | (shape == RECTANGLE), height, width)


def reach(shape: Integers, width: Floats, height: Floats) -> Floats:
    """Radius in pixels of the smallest circle around the centre that contains the object at any rotation, (...)."""
    height = own_height(shape, width, height)
    is_round, is_box = shape <= ELLIPSE, (shape == SQUARE) | (shape == RECTANGLE)
    corner = np.where(is_box, np.hypot(width, height) / 2, width / np.sqrt(3))
    radius: Floats = np.where(is_round, np.maximum(width, height) / 2, corner)
    return radius


def window_start(centre: Floats, size: int) -> Integers:
    """First pixel of the window around each centre, shifted to lie inside the image, (chunk,)."""
    start: Integers = np.clip(np.rint(centre - (size - 1) / 2), 0, IMAGE_SIZE - size).astype(np.int64)
    return start


def own_coordinates(x: Any, y: Any, cos: Any, sin: Any, pixels: Any) -> tuple[Any, Any]:
    """Coordinates of the pixels of squares along the axes of their objects, in pixels from the centre.

    Args:
        x: Centre of the object in its square, (num_pictures, 1, 1).
        y: The same from the top, (num_pictures, 1, 1).
        cos: Cosine of the rotation, (num_pictures, 1, 1).
        sin: Sine of the rotation, (num_pictures, 1, 1).
        pixels: Coordinates of the columns, which are those of the rows, too, (size,).

    Returns:
        Along and across the object, each (num_pictures, size, size), in single precision.
    """
    right, down = pixels - x, pixels[:, None] - y
    along = single(cos * right) + single(sin * down)
    across = single(cos * down) - single(sin * right)
    return along, across


def single(values: Any) -> Any:
    """The values in single precision."""
    return values.float() if isinstance(values, Tensor) else values.astype(np.float32)


def cover_ellipse(along: Numbers, across: Numbers, half_width: Numbers, half_height: Numbers) -> Numbers:
    """Share of each pixel that a filled ellipse covers, (num_pictures, height, width).

    With f = |(u/a, v/b)| and g = |(u/a^2, v/b^2)|, f (f - 1) / g is the signed distance to the edge: exactly for a
    circle, and to first order at the edge of an ellipse.
    """
    along, across = along / half_width, across / half_height
    scaled = (along * along + across * across) ** 0.5  # numpy and torch take square roots for this
    along /= half_width
    across /= half_height
    slope = (along * along + across * across) ** 0.5
    distance = scaled.clip(TINY)
    distance /= slope.clip(TINY)
    distance *= scaled - 1
    return cover(distance)


def cover_rectangle(along: Numbers, across: Numbers, half_width: Numbers, half_height: Numbers) -> Numbers:
    """Share of each pixel that a rectangle covers, (num_pictures, height, width)."""
    return cover(abs(along) - half_width) * cover(abs(across) - half_height)


def cover_triangle(along: Numbers, across: Numbers, half_width: Numbers, _: Numbers) -> Numbers:
    """Share of each pixel that an equilateral triangle covers, (num_pictures, height, width)."""
    edge = half_width / math.sqrt(3)  # distance of the centre from each side
    sideways, upward = along * math.sqrt(0.75), across / 2 + edge
    return cover(across - edge) * cover(sideways - upward) * cover(-sideways - upward)


def cover(distance: Numbers) -> Numbers:
    """Share of a pixel on the inner side of an edge, from the signed distance of its centre (inside is negative).

    At a corner the shares of both edges are multiplied, which preserves the area of a rectangle and almost that of a
    triangle; with the share of the nearest edge alone, small polygons would be too large.
    """
    return (0.5 - distance).clip(0, 1)


COVERAGES = (cover_ellipse, cover_rectangle, cover_triangle)
FAMILIES = np.array([0, 0, 1, 1, 2])
"""Which of these draws each shape: a circle is an ellipse, a square a rectangle."""
