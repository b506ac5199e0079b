"""The chart of colours: each chip in the mean colour of its word, with lines where words meet."""

import numpy as np

from ecsuite.eval.views.figures.heat_map import NO_WORD, colour_chart

CHART = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]])
COLOURS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]], float)


def test_a_chip_has_the_mean_colour_of_its_word():
    figure = colour_chart(CHART, COLOURS, np.array([0, 0, 1, -1, 1]), np.array([3, 1, 1, 1, 1.0]))
    [axes] = figure.axes
    picture = axes.images[0].get_array()
    assert np.allclose(picture[0, 0], [0.75, 0.25, 0]) and np.allclose(picture[0, 1], picture[0, 0])
    assert np.allclose(picture[0, 2], [0, 0, 0.5]) and np.allclose(picture[1, 1], picture[0, 2])
    assert np.allclose(picture[1, 0], NO_WORD) and np.allclose(picture[1, 2], 1)
    across, upright = axes.collections
    assert len(across.get_segments()) == 3  # below all three of the first row
    assert len(upright.get_segments()) == 3
