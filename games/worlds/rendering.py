"""A renderer of small images: one anti-aliased object on a black background, many images at once.

Pixel centres have integer coordinates: column 3 has its centre at x = 3, and an image extends from -0.5 to 63.5.
Rows are numbered from the top.
"""

from itertools import product

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Pictures = NDArray[np.uint8]

IMAGE_SIZE = 64
"""Width and height of an image, in pixels."""
SHAPES = ("circle", "ellipse", "square", "rectangle", "triangle")
"""Names of the shape indices."""
CIRCLE, ELLIPSE, SQUARE, RECTANGLE, TRIANGLE = range(len(SHAPES))

WINDOW_SIZES = (16, 20, 24, 32, 48, IMAGE_SIZE)
"""Sides of the square windows in which pixels are computed; each object uses the smallest that contains it."""
CHUNK_PIXELS = 131072
"""Pixels computed at once: few enough for the cache of a core."""


def render(
    shape: Integers, colour: Floats, x: Floats, y: Floats, width: Floats, height: Floats, rotation: Floats
) -> Pictures:
    """Draw one object per image. Parts of an object outside its image are cut off.

    Each image depends only on its own row of the arguments.

    Args:
        shape: Indices into `SHAPES`, (num_pictures,).
        colour: RGB values from 0 to 1, (num_pictures, 3).
        x: Centre (of gravity) of the object in pixels from the left, (num_pictures,).
        y: The same in pixels from the top, (num_pictures,).
        width: Extent in pixels along the object's own first axis, at least 2, (num_pictures,): the diameter of a
            circle, the side of a square and of the (equilateral) triangle.
        height: Extent along the second axis of an ellipse or rectangle, at least 2, (num_pictures,). Other
            shapes ignore it.
        rotation: Angle in radians, clockwise in the image, (num_pictures,). At 0 the triangle
            points up.

    Returns:
        Images, (num_pictures, 64, 64, 3).
    """
    height = np.where((shape == ELLIPSE) | (shape == RECTANGLE), height, width)
    pictures = np.zeros((len(shape), IMAGE_SIZE, IMAGE_SIZE, 3), dtype=np.uint8)
    extent = 2 * reach(shape, width, height) + 3  # 2 for anti-aliased corners, 1 for rounding
    window = np.minimum(np.searchsorted(WINDOW_SIZES, extent), len(WINDOW_SIZES) - 1)
    families = (
        ((CIRCLE, ELLIPSE), cover_ellipse),
        ((SQUARE, RECTANGLE), cover_rectangle),
        ((TRIANGLE,), cover_triangle),
    )
    for (members, coverage), (place, size) in product(families, enumerate(WINDOW_SIZES)):
        windows = sliding_window_view(pictures, (size, size), axis=(1, 2), writeable=True)
        selected = np.flatnonzero(np.isin(shape, members) & (window == place))
        step = CHUNK_PIXELS // size**2
        for rows in (selected[start : start + step] for start in range(0, len(selected), step)):
            left, top = (window_start(centre[rows], size) for centre in (x, y))
            along, across = own_coordinates(x[rows] - left, y[rows] - top, rotation[rows], size)
            half_width, half_height = (
                (side[rows, None, None] / 2).astype(np.float32) for side in (width, height)
            )
            covered = coverage(along, across, half_width, half_height)  # (chunk, size, size)
            pixel_values = covered[:, None] * (255 * colour[rows, :, None, None]).astype(np.float32)
            windows[rows, top, left] = np.rint(pixel_values).astype(np.uint8)  # (chunk, 3, size, size)
    return pictures


def reach(shape: Integers, width: Floats, height: Floats) -> Floats:
    """Radius in pixels of the smallest circle around the centre that contains the object at any rotation, (...)."""
    height = np.where((shape == ELLIPSE) | (shape == RECTANGLE), height, width)
    is_round, is_box = shape <= ELLIPSE, (shape == SQUARE) | (shape == RECTANGLE)
    corner = np.where(is_box, np.hypot(width, height) / 2, width / np.sqrt(3))
    radius: Floats = np.where(is_round, np.maximum(width, height) / 2, corner)
    return radius


def window_start(centre: Floats, size: int) -> Integers:
    """First pixel of the window around each centre, shifted to lie inside the image, (chunk,)."""
    start: Integers = np.clip(np.rint(centre - (size - 1) / 2), 0, IMAGE_SIZE - size).astype(np.int64)
    return start


def own_coordinates(x: Floats, y: Floats, rotation: Floats, size: int) -> tuple[Singles, Singles]:
    """Coordinates of the pixels of windows along the axes of their objects, in pixels from the centre.

    Args:
        x: Centre of the object in its window, (chunk,).
        y: The same from the top, (chunk,).
        rotation: Angle in radians, (chunk,).
        size: Side of the windows in pixels.

    Returns:
        Along and across the object, each (chunk, size, size).
    """
    pixels = np.arange(size)
    right = (pixels - x[:, None])[:, None, :]
    down = (pixels - y[:, None])[:, :, None]
    cos, sin = np.cos(rotation)[:, None, None], np.sin(rotation)[:, None, None]
    along = (cos * right).astype(np.float32) + (sin * down).astype(np.float32)
    across = (cos * down).astype(np.float32) - (sin * right).astype(np.float32)
    return along, across


def cover_ellipse(along: Singles, across: Singles, half_width: Singles, half_height: Singles) -> Singles:
    """Share of each pixel that a filled ellipse covers, (chunk, size, size).

    With f = |(u/a, v/b)| and g = |(u/a^2, v/b^2)|, f (f - 1) / g is the signed distance to the edge: exactly for a
    circle, and to first order at the edge of an ellipse.
    """
    along, across = along / half_width, across / half_height
    scaled: Singles = np.sqrt(along * along + across * across)
    along /= half_width
    across /= half_height
    slope: Singles = np.sqrt(along * along + across * across)
    tiny = np.float32(1e-6)  # both are 0 at the centre
    distance: Singles = np.maximum(scaled, tiny)
    distance /= np.maximum(slope, tiny)
    distance *= scaled - 1
    return cover(distance)


def cover_rectangle(along: Singles, across: Singles, half_width: Singles, half_height: Singles) -> Singles:
    """Share of each pixel that a rectangle covers, (chunk, size, size)."""
    return cover(np.abs(along) - half_width) * cover(np.abs(across) - half_height)


def cover_triangle(along: Singles, across: Singles, half_width: Singles, _: Singles) -> Singles:
    """Share of each pixel that an equilateral triangle covers, (chunk, size, size)."""
    edge = half_width / np.float32(np.sqrt(3))  # distance of the centre from each side
    sideways, upward = along * np.float32(np.sqrt(0.75)), across / 2 + edge
    return cover(across - edge) * cover(sideways - upward) * cover(-sideways - upward)


def cover(distance: Singles) -> Singles:
    """Share of a pixel on the inner side of an edge, from the signed distance of its centre (inside is negative).

    At a corner the shares of both edges are multiplied, which preserves the area of a rectangle and almost that of a
    triangle; with the share of the nearest edge alone, small polygons would be too large.
    """
    share: Singles = np.clip(np.float32(0.5) - distance, 0, 1)
    return share
