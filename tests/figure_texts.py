"""The texts of figures: what is visible, and whether it can be read."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def texts(figure):
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    beyond = {  # ticks past the end of an axis are laid out but not drawn
        tick.label1
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    found = [text for text in figure.findobj(Text) if text.get_visible() and text not in beyond]
    found = [text for text in found if text.get_text().strip()]
    boxes = [text.get_window_extent(canvas.get_renderer()).extents for text in found]
    return [text.get_text() for text in found], np.array(boxes)


def assert_readable(figure):
    names, boxes = texts(figure)
    shared = np.minimum(boxes[:, None, 2:], boxes[:, 2:]) - np.maximum(boxes[:, None, :2], boxes[:, :2])
    clashes = np.argwhere(np.triu((shared > 0.5).all(axis=2), 1))
    assert [(names[a], names[b]) for a, b in clashes] == []
    width, height = figure.get_size_inches() * figure.dpi
    assert (boxes[:, :2] >= 0).all() and (boxes[:, 2] <= width).all() and (boxes[:, 3] <= height).all()
