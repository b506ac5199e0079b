"""The images of two worlds: SHAPE (the CBM paper) and ShapeWorld (Mu and Goodman 2021).

An image is a pure function of the seed, the split, its index and its label: nothing is stored, and any image can be
drawn again. Position, size, rotation and shade vary with the index.
"""

from collections.abc import Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.rendering import (
    CIRCLE,
    ELLIPSE,
    IMAGE_SIZE,
    RECTANGLE,
    SHAPES,
    SQUARE,
    TRIANGLE,
    Floats,
    Integers,
    Scenes,
    reach,
)
from ecsuite.runtime.randomness import random_words

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
"""Largest distance of a SHAPE object's centre from that of its cell per axis, in pixels; half a cell is 10.7."""
SHAPE_WIDTHS = np.array([(9, 15), (13, 18), (9, 14), (12.5, 17), (12, 17)])
"""Least and greatest width of each shape of SHAPE, in pixels: large enough for networks with pooling."""
SHAPE_RATIOS = (1.7, 2.3)
"""Least and greatest ratio of the axes of an ellipse, and of the sides of a rectangle, in SHAPE."""

FIRST_PLACE, LAST_PLACE = 8, 47
"""ShapeWorld's least and greatest coordinate of a centre, in pixels."""
MIN_RATIO = 1.5
"""ShapeWorld's least ratio of the axes of an ellipse, and of the sides of a rectangle."""
PEN = 1.0
"""Width of ShapeWorld's polygon outlines, in pixels: half of it enlarges the polygon on each side."""


def shape_scenes(seed: int, split: str, indices: Integers, labels: Integers) -> Scenes:
    """Draw what images of SHAPE show (CBM paper, section 4 and appendix B).

    The paper defines shapes, colours, the nine positions and the black background. Sizes, jitter and shades are our
    choice: a label defines a cell of a 3 x 3 grid, the object's centre is near that of the cell, and the whole object
    is inside the image. Labels are shape, colour, column and row, (num_pictures, 4); splits share no images.
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
    """Draw what is shown by images like those of Mu and Goodman's ShapeWorld (2021; generator `minishapeworld`).

    Small objects at integer coordinates from 8 to 47, rotated by integer degrees below 90, with integer sizes before
    the outline: radius 2 to 7; axes 2 to 7 with a ratio of at least 1.5; sides 4 to 9. Two peculiarities of the
    generator are not copied: here an ellipse is filled, and (x, y) is the centre of every shape, also of a square,
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
    """An entry of `choices` for each uniform draw, (num_pictures, ...)."""
    chosen: Floats = np.asarray(choices[(draws * len(choices)).astype(np.int64)], dtype=np.float64)
    return chosen


def uniform(seed: int, stream: str, indices: Integers, number: int) -> Floats:
    """Uniform draws from [0, 1) as a pure function of seed, stream and index, (number, num_pictures)."""
    words = random_words(seed, stream, indices, number)
    draws: Floats = (words >> np.uint64(11)).astype(np.float64).T * 2.0**-53
    return draws
