"""Rendered images: shapes on a canvas, their scenes, and worlds whose objects are such images."""

import math
from collections.abc import Mapping
from copy import copy
from functools import cache
from itertools import product
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.games.worlds.world import World
from ecsuite.runtime.randomness import random_words

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
"""Substitute for 0 as a divisor at the centre of an ellipse."""
CHUNK_PIXELS = 131072
"""Number of pixels computed at once: few enough for a core's cache."""


class Scenes(NamedTuple):
    """Contents of images, one object each; the arguments of `render`."""

    shape: Integers
    """Indices into `SHAPES`, (num_pictures,)."""
    colour: Floats
    """RGB values from 0 to 1, (num_pictures, 3)."""
    x: Floats
    """Centre of gravity of the object in pixels from the left, (num_pictures,)."""
    y: Floats
    """Centre in pixels from the top, (num_pictures,)."""
    width: Floats
    """Extent in pixels along the object's own first axis, at least 2, (num_pictures,): the diameter of a circle, the
    side of a square and of the (equilateral) triangle."""
    height: Floats
    """Extent along the second axis of an ellipse or rectangle, at least 2, (num_pictures,). Other shapes ignore it."""
    rotation: Floats
    """Angle in radians, clockwise in the image, (num_pictures,). At 0 the triangle points up."""

    def table(self) -> Floats:
        """Scene numbers from which `render_table` draws images, (num_pictures, 10).

        Maximum red, green and blue, up to 255; centre; half width and half height; cosine and sine of the rotation;
        the index in `COVERAGES`.
        """
        height = own_height(self.shape, self.width, self.height)
        sides = np.stack([self.x, self.y, self.width / 2, height / 2], axis=1)
        turn = np.stack([np.cos(self.rotation), np.sin(self.rotation), FAMILIES[self.shape]], axis=1)
        return np.concatenate([255 * self.colour, sides, turn], axis=1)


def render(
    shape: Integers, colour: Floats, x: Floats, y: Floats, width: Floats, height: Floats, rotation: Floats
) -> Pictures:
    """Draw one object per image; parts outside the image are cut off.

    Each image depends only on its own row of the arguments, see `Scenes`.

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
    """Draw the images of `Scenes.table`, (num_pictures, 10), on its device, equal to those of `render`.

    The operations do not depend on values, so they can be a CUDA graph.

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
    """Height of ellipses and rectangles, and width of other shapes, (...)."""
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
    """Coordinates of the pixels of windows along the axes of their objects, in pixels from the centre.

    Args:
        x: Centre of the object in its window, (num_pictures, 1, 1).
        y: Centre from the top, (num_pictures, 1, 1).
        cos: Cosine of the rotation, (num_pictures, 1, 1).
        sin: Sine of the rotation, (num_pictures, 1, 1).
        pixels: Coordinates of columns and of rows, (size,).

    Returns:
        Coordinates along and across the object, (num_pictures, size, size) each, in single precision.
    """
    right, down = pixels - x, pixels[:, None] - y
    along = single(cos * right) + single(sin * down)
    across = single(cos * down) - single(sin * right)
    return along, across


def single(values: Any) -> Any:
    """Convert values to single precision."""
    return values.float() if isinstance(values, Tensor) else values.astype(np.float32)


def cover_ellipse(along: Numbers, across: Numbers, half_width: Numbers, half_height: Numbers) -> Numbers:
    """Share of each pixel that a filled ellipse covers, (num_pictures, height, width).

    With f = |(u/a, v/b)| and g = |(u/a^2, v/b^2)|, f (f - 1) / g is the signed distance to the edge: exactly for a
    circle, and to first order at the edge of an ellipse.
    """
    along, across = along / half_width, across / half_height
    scaled = (along * along + across * across) ** 0.5  # a square root in numpy and torch
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
"""Index of the function that draws each shape: circles are ellipses, squares are rectangles."""


COLORS = ("red", "blue", "green", "yellow", "white", "gray")
"""Names of the colour indices."""
COLUMNS = ("left", "centre", "right")
"""Horizontal positions of SHAPE."""
ROWS = ("top", "middle", "bottom")
"""Vertical positions of SHAPE."""
SHAPE_CONCEPTS = (
    *(f"shape={name}" for name in SHAPES),
    *(f"color={name}" for name in COLORS),
    *(f"horizontal={name}" for name in COLUMNS),
    *(f"vertical={name}" for name in ROWS),
)
"""The 17 concepts of SHAPE, in the order of a label's attributes and their values."""

HUES = np.array([0, 2 / 3, 1 / 3, 1 / 6, 0, 0])
"""Hue of each colour; 1 is the full colour circle."""
SATURATIONS = np.array([0.9, 0.9, 0.9, 0.9, 0, 0])
VALUES = np.array([0.9, 0.9, 0.9, 0.9, 1, 0.44])
HUE_NOISE, SATURATION_NOISE, VALUE_NOISE = 0.02, 0.2, 0.2
"""Largest deviation of a shade from its colour, in both directions (all as in ShapeWorld)."""

JITTER = 6.0
"""Largest distance per axis of a SHAPE object's centre from the centre of its cell, in pixels; half a cell is 10.7."""
SHAPE_WIDTHS = np.array([(9, 15), (13, 18), (9, 14), (12.5, 17), (12, 17)])
"""Minimum and maximum width of each shape of SHAPE, in pixels: large enough for networks with pooling."""
SHAPE_RATIOS = (1.7, 2.3)
"""Minimum and maximum ratio of the axes of an ellipse, and of the sides of a rectangle, in SHAPE."""

FIRST_PLACE, LAST_PLACE = 8, 47
"""Minimum and maximum coordinate of a centre in ShapeWorld, in pixels."""
MIN_RATIO = 1.5
"""Minimum ratio of the axes of an ellipse, and of the sides of a rectangle, in ShapeWorld."""
PEN = 1.0
"""Width of polygon outlines in ShapeWorld, in pixels: half of it enlarges the polygon on each side."""


def shape_scenes(seed: int, split: str, indices: Integers, labels: Integers) -> Scenes:
    """Draw the scenes of SHAPE (CBM paper, section 4 and appendix B).

    The paper defines shapes, colours, the nine positions and the black background. Sizes, jitter and shades are our
    choice: a label defines a cell of a 3 x 3 grid, the object's centre is near the centre of the cell, and the whole
    object is inside the image. Labels are shape, colour, column and row, (num_pictures, 4); splits share no images.
    """
    shape, colour, column, row = labels.T
    draws = uniform(seed, f"shape {split}", indices, 8)
    least, greatest = SHAPE_WIDTHS[shape].T
    width = least + (greatest - least) * draws[0]
    height = width / (SHAPE_RATIOS[0] + (SHAPE_RATIOS[1] - SHAPE_RATIOS[0]) * draws[1])
    radius = reach(shape, width, height)
    return Scenes(
        shape,
        shades(colour, draws[2:5]),
        place_in_cell(column, radius, draws[5]),
        place_in_cell(row, radius, draws[6]),
        width,
        height,
        2 * np.pi * draws[7],
    )


def shapeworld_scenes(
    seed: int, split: str, indices: Integers, colours: Integers, shapes: Integers
) -> Scenes:
    """Draw scenes as in Mu and Goodman's ShapeWorld (2021; generator `minishapeworld`).

    Small objects at integer coordinates from 8 to 47, rotated by integer degrees below 90, with integer sizes before
    the outline: radius 2 to 7; axes 2 to 7 with a ratio of at least 1.5; sides 4 to 9. Two peculiarities of the
    generator are not copied: here an ellipse is filled, and (x, y) is the centre of every shape, even of a square,
    not its corner. So no object touches the border. Colours and shapes are indices into `COLORS` and `SHAPES`,
    (num_pictures,); splits share no images.
    """
    draws = uniform(seed, f"shapeworld {split}", indices, 7)
    places = np.arange(FIRST_PLACE, LAST_PLACE + 1, dtype=np.float64)
    width, height = shapeworld_sizes(shapes, draws[3])
    return Scenes(
        shapes,
        shades(colours, draws[:3]),
        choose(places, draws[4]),
        choose(places, draws[5]),
        width,
        height,
        np.deg2rad(choose(np.arange(90), draws[6])),
    )


def shapeworld_sizes(shapes: Integers, draws: Floats) -> tuple[Floats, Floats]:
    """Width and height of ShapeWorld's objects; all sizes of a shape are equally likely, (num_pictures,) each."""
    sizes = np.zeros((len(shapes), 2))
    for shape, choices in choices_of_size().items():
        members = shapes == shape
        sizes[members] = choose(choices, draws[members])
    return sizes[:, 0], sizes[:, 1]


@cache
def choices_of_size() -> Mapping[int, Integers | Floats]:
    """Width and height of ShapeWorld's objects, (num_sizes, 2), by shape."""
    radii, sides = np.arange(2, 8), np.arange(4, 10)
    axes = elongated(radii, radii)
    boxes = elongated(sides, radii)
    boxes = np.concatenate([boxes, boxes[:, ::-1]])
    equal = np.ones(2)
    return {
        CIRCLE: 2 * radii[:, None] * equal,
        ELLIPSE: 2 * axes,
        SQUARE: (sides + PEN)[:, None] * equal,
        RECTANGLE: boxes + PEN,
        TRIANGLE: (sides + PEN * np.sqrt(3))[:, None] * equal,  # each edge moves out by half the outline
    }


def elongated(firsts: Integers, seconds: Integers) -> Integers:
    """All pairs of a first and a second length whose ratio is at least `MIN_RATIO`, (num_pairs, 2)."""
    pairs: Integers = np.stack(np.meshgrid(firsts, seconds, indexing="ij"), axis=-1).reshape(-1, 2)
    is_long: NDArray[np.bool_] = pairs.max(1) >= MIN_RATIO * pairs.min(1)
    return pairs[is_long]


def place_in_cell(cell: Integers, radius: Floats, draws: Floats) -> Floats:
    """A coordinate near the centre of a cell that keeps the object inside the image, (num_pictures,)."""
    centre = (cell + 0.5) * IMAGE_SIZE / 3 - 0.5  # pixel centres have integer coordinates
    least = np.maximum(centre - JITTER, radius)
    greatest = np.minimum(centre + JITTER, IMAGE_SIZE - 1 - radius)
    return least + (greatest - least) * draws


def shades(colours: Integers, draws: Floats) -> Floats:
    """RGB values, 0 to 1, of random shades of colours, (num_pictures, 3), from draws, 0 to 1, (3, num_pictures)."""
    noise = 2 * draws - 1
    hue = HUES[colours] + HUE_NOISE * noise[0]
    saturation = np.clip(SATURATIONS[colours] + SATURATION_NOISE * noise[1], 0, 1)
    value = np.clip(VALUES[colours] + VALUE_NOISE * noise[2], 0, 1)
    sector = (6 * hue[:, None] + np.array([5, 3, 1])) % 6  # one falling ramp, shifted for red, green and blue
    share = np.clip(np.minimum(sector, 4 - sector), 0, 1)
    rgb: Floats = value[:, None] * (1 - saturation[:, None] * share)
    return rgb


def choose(choices: Integers | Floats, draws: Floats) -> Floats:
    """Select an entry of `choices` for each uniform draw, (num_pictures, ...)."""
    chosen: Floats = np.asarray(choices[(draws * len(choices)).astype(np.int64)], dtype=np.float64)
    return chosen


def uniform(seed: int, stream: str, indices: Integers, number: int) -> Floats:
    """Uniform draws from [0, 1) as a pure function of seed, stream and index, (number, num_pictures)."""
    words = random_words(seed, stream, indices, number)
    draws: Floats = (words >> np.uint64(11)).astype(np.float64).T * 2.0**-53
    return draws


class RenderedWorld(World):
    """Base class of worlds whose objects are images of scenes.

    Its batches contain images; batches of `unrendered` contain a row of numbers per image, from which `features`
    renders the same images on the device of the rows.
    """

    object_shape = (IMAGE_SIZE, IMAGE_SIZE, 3)
    is_rendered = True

    def objects_of(self, scenes: Scenes) -> NDArray[np.uint8] | NDArray[np.float64]:
        """Objects that show these scenes, (num_objects, *object_shape); unrendered, (num_objects, 10)."""
        return render(*scenes) if self.is_rendered else scenes.table()

    def unrendered(self) -> Self:
        """See `World`."""
        world = copy(self)
        world.is_rendered = False
        return world

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """Images, rendered if objects are numbers, (num_objects, 10); unrendered, unchanged objects. See `World`."""
        if not self.is_rendered:
            return objects
        return super().features(render_table(objects) if objects.dim() == 2 else objects, dtype)
