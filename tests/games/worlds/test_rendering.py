"""The renderer: areas and centres agree with geometry, and each picture depends on its own row alone."""

import numpy as np

from ecsuite.games.worlds.rendering import SQUARE, render

WHITE = (1.0, 1.0, 1.0)


def draw(shape, *, colour=WHITE, x=31.5, y=31.5, width=12.0, height=7.0, rotation=0.0):
    """One picture for each entry of the longest argument."""
    values = [shape, x, y, width, height, rotation]
    shape, x, y, width, height, rotation = np.broadcast_arrays(*map(np.atleast_1d, values))
    colours = np.broadcast_to(np.asarray(colour, dtype=np.float64), (len(shape), 3))
    places = [value.astype(np.float64) for value in (x, y, width, height, rotation)]
    return render(shape.astype(np.int64), colours, *places)


def test_a_square_on_the_pixel_grid_is_exact():
    pictures = draw(SQUARE, x=9.5, y=20.5, width=4.0)
    expected = np.zeros((64, 64, 3), dtype=np.uint8)
    expected[19:23, 8:12] = 255
    assert (pictures[0] == expected).all()
