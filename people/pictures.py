"""Pictures of coloured shapes and of attribute values as PNG, drawn by the renderer of the games' worlds.

The first attribute of an object is shown as a colour, the second as a shape, the third as a number of copies, and the
fourth as the side of a bar. Each has five values, and their names can be told apart without seeing colours.
"""

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.rendering import (
    Singles,
    cover,
    cover_ellipse,
    cover_rectangle,
    cover_triangle,
    own_coordinates,
)
from ecsuite.grammars.words import stream
from ecsuite.people.objects import COLOURS, SHAPES, Dataset

SIZE = 160
"""Width and height in pixels."""
NUM_CORNERS = {"pentagon": 5, "hexagon": 6}
SIDES = ("", "left", "top", "right", "bottom")
"""Sides of the white bar; empty: no bar."""
NUM_WAYS, NUM_VALUES = 4, 5
"""Maximum number of attributes that a picture can show, and of values per attribute."""
PLACES = {
    1: ((0.5, 0.5),),
    2: ((0.34, 0.5), (0.66, 0.5)),
    3: ((0.34, 0.65), (0.66, 0.65), (0.5, 0.35)),
    4: ((0.35, 0.35), (0.65, 0.35), (0.35, 0.65), (0.65, 0.65)),
    5: ((0.3, 0.3), (0.7, 0.3), (0.5, 0.5), (0.3, 0.7), (0.7, 0.7)),
}
"""Centres of the copies as shares of width and height, by number of copies."""
WIDTHS = {1: 0.46, 2: 0.3, 3: 0.27, 4: 0.27, 5: 0.22}
"""Width of each copy as a share of the picture's width, by number of copies."""
BAR = 0.05
"""Width of the bar, and its distance from the edge, as a share of the picture's width."""


@lru_cache(maxsize=256)
def panel_picture(dataset: Dataset, meaning: int) -> bytes:
    """Picture of an object for the training panel: upright and centred."""
    centre = (SIZE - 1) / 2
    return _png(dataset, meaning, centre, centre, 0.62 * SIZE, 0.0)


def example_picture(dataset: Dataset, meaning: int, seed: int, step: int) -> bytes:
    """Picture of an object with random position, size and rotation, determined by seed and step."""
    rng = stream(seed, f"picture{step}")
    width = float(rng.uniform(0.35, 0.6)) * SIZE
    reach = 0.6 * width  # maximum distance of a corner from the centre, which triangles have
    x, y = rng.uniform(reach, SIZE - 1 - reach, size=2)
    return _png(dataset, meaning, float(x), float(y), width, float(rng.uniform(0, 2 * np.pi)))


def _png(dataset: Dataset, meaning: int, x: float, y: float, width: float, rotation: float) -> bytes:
    colour, shape = dataset.values(meaning)
    share = covered_by(SHAPES[shape], x, y, width, rotation)
    return as_png(share[:, :, None] * np.array(tuple(COLOURS.values())[colour], dtype=np.float32))


def as_png(pixels: NDArray[Any]) -> bytes:
    """Encode pixels from 0 to 255, (height, width, 3), as PNG; small images are enlarged without smoothing."""
    from PIL import Image

    image, file = Image.fromarray(np.rint(pixels).astype(np.uint8)), io.BytesIO()
    if image.width < SIZE:
        height = round(SIZE * image.height / image.width)
        image = image.resize((SIZE, height), Image.Resampling.NEAREST)
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


def covered_by(shape: str, x: float, y: float, width: float, rotation: float) -> Singles:
    """Share of each pixel that a shape covers, (SIZE, SIZE).

    Args:
        shape: One of `SHAPES`.
        x: Distance of the centre from the left, in pixels.
        y: Distance of the centre from the top, in pixels.
        width: Width in pixels.
        rotation: Rotation in radians.
    """
    turn = np.full((1, 1, 1), rotation)
    centre = np.full((1, 1, 1), x), np.full((1, 1, 1), y)
    along, across = own_coordinates(*centre, np.cos(turn), np.sin(turn), np.arange(SIZE))
    half_width = np.full((1, 1, 1), width / 2, dtype=np.float32)
    share: Singles
    if shape == "circle":
        share = cover_ellipse(along, across, half_width, half_width)
    elif shape == "square":
        side = half_width * np.float32(0.85)
        share = cover_rectangle(along, across, side, side)
    elif shape == "triangle":
        share = cover_triangle(along, across, half_width, half_width)
    else:
        num_corners = NUM_CORNERS[shape]
        edge = half_width * np.float32(np.cos(np.pi / num_corners))  # distance of the centre from each side
        angles = np.pi / 2 + np.pi * (2 * np.arange(num_corners) + 1) / num_corners
        share = np.ones_like(along)
        for angle in angles:
            cosine, sine = np.float32(np.cos(angle)), np.float32(np.sin(angle))
            share = share * cover(along * cosine - across * sine - edge)
    covered: Singles = share[0]
    return covered


def can_be_drawn(num_values: Sequence[int]) -> bool:
    """Whether pictures can show objects with these numbers of values per attribute."""
    return len(num_values) <= NUM_WAYS and max(num_values) <= NUM_VALUES


def name_of(values: Sequence[int]) -> str:
    """Describe an object in words: `3 red circles, bar on the left`."""
    colour, shape, number, side = _ways(values)
    counted = f"{number} " if len(values) > 2 else ""
    plural = "s" if number > 1 else ""
    bar = f", bar on the {SIDES[side]}" if SIDES[side] else ""
    return f"{counted}{tuple(COLOURS)[colour]} {SHAPES[shape]}{plural}{bar}"


def draw(values: Sequence[int]) -> bytes:
    """Draw an object as PNG."""
    (colour, shape, number, side), width = _ways(values), round(BAR * SIZE)
    share = np.zeros((SIZE, SIZE), np.float32)
    for x, y in PLACES[number]:
        centre_x, centre_y = x * (SIZE - 1), y * (SIZE - 1)
        share = np.maximum(share, covered_by(SHAPES[shape], centre_x, centre_y, WIDTHS[number] * SIZE, 0.0))
    pixels = share[:, :, None] * np.array(tuple(COLOURS.values())[colour], dtype=np.float32)
    if side:
        near = SIDES[side] in ("left", "top")
        across = slice(width, 2 * width) if near else slice(SIZE - 2 * width, SIZE - width)
        along = slice(2 * width, SIZE - 2 * width)
        pixels[(along, across) if SIDES[side] in ("left", "right") else (across, along)] = 255
    return as_png(pixels)


def _ways(values: Sequence[int]) -> tuple[int, int, int, int]:
    """Colour, shape, number of copies and side of an object; missing attributes have the first value."""
    colour, shape, number, side = [*map(int, values), *[0] * NUM_WAYS][:NUM_WAYS]
    return colour, shape, number + 1, side
