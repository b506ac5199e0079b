"""Messages as coloured tiles, and objects as coloured shapes: boxes that matplotlib packs beside each other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.figures.canvas import SOFT, ink_on, label
from ecsuite.eval.views.language import EMPTY, PALE, LanguageView, Message

MAX_NAME = 8
"""Most characters of a symbol in its tile."""
MAX_TILES = 12
"""Most tiles of a message; a longer one ends in three dots."""
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
"""Shapes that can be drawn, by the value of the attribute `shape`."""
OBJECT = 18
"""Width of an object in points."""


class Tiles:
    """Makes boxes of messages and objects; a symbol has the same colour everywhere. To be used within `look`.

    Args:
        language: Whose symbols are drawn.
    """

    def __init__(self, language: LanguageView) -> None:
        self.language = language
        self.colours = language.colours

    def message(self, message: Message) -> Any:
        """A row of tiles."""
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


def text(content: str, **look_of: Any) -> Any:
    """A line of text as a box."""
    from matplotlib.offsetbox import TextArea

    return TextArea(content, textprops=look_of)


def image(pixels: NDArray[np.uint8]) -> Any:
    """An image, (height, width, 3), as a box of the size of an object."""
    from matplotlib.offsetbox import OffsetImage

    return OffsetImage(pixels, zoom=OBJECT / len(pixels), interpolation="antialiased")


def shape(concepts: Sequence[str]) -> Any:
    """The object that has these concepts as a box; see `can_draw`."""
    from matplotlib.lines import Line2D
    from matplotlib.offsetbox import DrawingArea
    from matplotlib.patches import Ellipse, Rectangle

    name, colour = drawn(concepts)
    assert name is not None
    area = DrawingArea(OBJECT, OBJECT)
    middle, flat = OBJECT / 2, OBJECT * 0.55
    look_of: dict[str, Any] = {"facecolor": colour, "edgecolor": "#404040", "linewidth": 0.5}
    if MARKERS[name] == "ellipse":
        area.add_artist(Ellipse((middle, middle), OBJECT, flat, **look_of))
    elif MARKERS[name] == "rectangle":
        area.add_artist(Rectangle((0, middle - flat / 2), OBJECT, flat, **look_of))
    else:
        size = (
            OBJECT * 0.8 * (1.35 if name == "star" else 1.0)
        )  # a marker's size is that of the circle around it
        mark: dict[str, Any] = {"marker": MARKERS[name], "markersize": size, "color": colour}
        area.add_artist(Line2D([middle], [middle], markeredgecolor="#404040", markeredgewidth=0.5, **mark))
    return area


def can_draw(concepts: Sequence[str]) -> bool:
    """Whether these concepts are of an object whose shape can be drawn."""
    return drawn(concepts)[0] is not None


def drawn(concepts: Sequence[str]) -> tuple[str | None, str]:
    """The shape and the colour of an object; None if its shape is not known, white if its colour is not."""
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
"""Softer tones of the usual names of colours; of others, those of CSS."""
