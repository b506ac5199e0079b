"""Messages as coloured tiles, and objects as coloured shapes: boxes that matplotlib packs next to each other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.views.figures.canvas import SOFT, ink_on, label
from ecsuite.eval.views.language import EMPTY, PALE, LanguageView, Message

MAX_NAME = 8
"""Maximum number of characters of a symbol in its tile."""
MAX_TILES = 12
"""Maximum number of tiles of a message; a longer one ends in three dots."""
MARKERS: Mapping[str, str] = {
    "circle": "o",
    "square": "s",
    "triangle": "^",
    "star": "*",
    "diamond": "D",
    "pentagon": "p",
    "hexagon": "h",
    "cross": "P",
    "plus": "P",
    "ellipse": "ellipse",
    "rectangle": "rectangle",
}
"""Markers by value of the attribute `shape`."""
OBJECT_WIDTH = 18
"""Width of an object in points."""


class Tiles:
    """Boxes of messages in which a symbol always has the same colour; for use within `look`.

    Args:
        language: Language whose symbols are drawn.
    """

    def __init__(self, language: LanguageView) -> None:
        self.language = language
        self.colours = language.colours

    def message(self, message: Message) -> Any:
        """Make the row of tiles of a message."""
        from matplotlib.offsetbox import HPacker

        if not message:
            return text(EMPTY, color=SOFT, style="italic")
        tiles = [self._tile(symbol) for symbol in message[:MAX_TILES]]
        more = [text("…", color=SOFT)] if len(message) > MAX_TILES else []
        return HPacker(children=[*tiles, *more], pad=0, sep=2, align="center")

    def _tile(self, symbol: int) -> Any:
        from matplotlib.offsetbox import PaddedBox

        colour = self.colours.get(symbol, PALE)
        name = text(label(self.language.name(symbol), MAX_NAME), color=ink_on(colour))
        box = {"facecolor": colour, "edgecolor": "none", "boxstyle": "round,pad=0,rounding_size=2"}
        return PaddedBox(name, pad=2.5, draw_frame=True, patch_attrs=box)


def text(content: str, **style: Any) -> Any:
    """Make a box with a line of text."""
    from matplotlib.offsetbox import TextArea

    return TextArea(content, textprops=style)


def image(pixels: NDArray[np.uint8]) -> Any:
    """Make a box with an image, (height, width, 3), in the size of an object."""
    from matplotlib.offsetbox import OffsetImage

    return OffsetImage(pixels, zoom=OBJECT_WIDTH / len(pixels), interpolation="antialiased")


def shape(concepts: Sequence[str]) -> Any:
    """Make a box with the object that has these concepts; see `can_draw`."""
    from matplotlib.lines import Line2D
    from matplotlib.offsetbox import DrawingArea
    from matplotlib.patches import Ellipse, Rectangle

    name, colour = shape_and_colour(concepts)
    assert name is not None
    area = DrawingArea(OBJECT_WIDTH, OBJECT_WIDTH)
    middle, flat = OBJECT_WIDTH / 2, OBJECT_WIDTH * 0.55
    style: dict[str, Any] = {"facecolor": colour, "edgecolor": "#404040", "linewidth": 0.5}
    if MARKERS[name] == "ellipse":
        area.add_artist(Ellipse((middle, middle), OBJECT_WIDTH, flat, **style))
    elif MARKERS[name] == "rectangle":
        area.add_artist(Rectangle((0, middle - flat / 2), OBJECT_WIDTH, flat, **style))
    else:
        size = (
            OBJECT_WIDTH * 0.8 * (1.35 if name == "star" else 1.0)
        )  # marker sizes refer to the enclosing circle
        mark: dict[str, Any] = {"marker": MARKERS[name], "markersize": size, "color": colour}
        area.add_artist(Line2D([middle], [middle], markeredgecolor="#404040", markeredgewidth=0.5, **mark))
    return area


def can_draw(concepts: Sequence[str]) -> bool:
    """Return whether an object with these concepts has a shape that can be drawn."""
    return shape_and_colour(concepts)[0] is not None


def shape_and_colour(concepts: Sequence[str]) -> tuple[str | None, str]:
    """Return the shape and the colour of an object; None for an unknown shape, white for an unknown colour."""
    from matplotlib.colors import is_color_like

    values = {name.partition("=")[0]: name.partition("=")[2] for name in concepts}
    colour = values.get("color", values.get("colour", ""))
    shape = values.get("shape")
    named = NAMED_COLOURS.get(colour, colour)
    return shape if shape in MARKERS else None, named if is_color_like(named) else "white"


NAMED_COLOURS: Mapping[str, str] = {
    "red": "#D7263D",
    "orange": "#F28C28",
    "yellow": "#F5D547",
    "green": "#3A9D5D",
    "blue": "#2A6FDB",
    "purple": "#7B4BB7",
    "gray": "#8A8A8A",
}
"""Softer tones for common colour names; other names have the colours of CSS."""
