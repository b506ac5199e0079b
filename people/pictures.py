"""Pictures of coloured shapes as PNG, drawn by the renderer of the games' worlds."""

import io
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


@lru_cache(maxsize=256)
def panel_picture(dataset: Dataset, thing: int) -> bytes:
    """An object upright in the middle, as the training panel shows it."""
    centre = (SIZE - 1) / 2
    return _png(dataset, thing, centre, centre, 0.62 * SIZE, 0.0)


def example_picture(dataset: Dataset, thing: int, seed: int, step: int) -> bytes:
    """An object at a random place, in a random size and turn, all of which follow from the seed and the step."""
    rng = stream(seed, f"picture{step}")
    width = float(rng.uniform(0.35, 0.6)) * SIZE
    reach = 0.6 * width  # of a triangle, the widest from its centre
    x, y = rng.uniform(reach, SIZE - 1 - reach, size=2)
    return _png(dataset, thing, float(x), float(y), width, float(rng.uniform(0, 2 * np.pi)))


def _png(dataset: Dataset, thing: int, x: float, y: float, width: float, rotation: float) -> bytes:
    colour, shape = dataset.values(thing)
    share = covered_by(SHAPES[shape], x, y, width, rotation)
    return as_png(share[:, :, None] * np.array(tuple(COLOURS.values())[colour], dtype=np.float32))


def as_png(pixels: NDArray[Any]) -> bytes:
    """Pixels from 0 to 255, (height, width, 3), as PNG; small ones are enlarged to `SIZE` without smoothing."""
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
        x: Its centre from the left, in pixels.
        y: Its centre from the top.
        width: In pixels.
        rotation: In radians.
    """
    turn = np.full((1, 1, 1), rotation)
    centre = np.full((1, 1, 1), x), np.full((1, 1, 1), y)
    along, across = own_coordinates(*centre, np.cos(turn), np.sin(turn), np.arange(SIZE))
    found: Singles = _covered(shape, along, across, np.full((1, 1, 1), width / 2, dtype=np.float32))[0]
    return found


def _covered(shape: str, along: Singles, across: Singles, half_width: Singles) -> Singles:
    """Share of each pixel that a shape covers, (1, size, size)."""
    if shape == "circle":
        return cover_ellipse(along, across, half_width, half_width)
    if shape == "square":
        side = half_width * np.float32(0.85)
        return cover_rectangle(along, across, side, side)
    if shape == "triangle":
        return cover_triangle(along, across, half_width, half_width)
    num_corners = NUM_CORNERS[shape]
    edge = half_width * np.float32(np.cos(np.pi / num_corners))  # distance of the centre from each side
    angles = np.pi / 2 + np.pi * (2 * np.arange(num_corners) + 1) / num_corners
    share: Singles = np.ones_like(along)
    for angle in angles:
        share = share * cover(along * np.float32(np.cos(angle)) - across * np.float32(np.sin(angle)) - edge)
    return share
