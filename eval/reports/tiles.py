"""Messages as coloured tiles, and objects as coloured shapes; positions are in inches from the top left corner."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.reports.canvas import COLOURS, FONT_SIZE, label, text_width
from ecsuite.eval.reports.languages import Language, Message

TILE = 0.2
"""Height of a tile, and its least width, in inches."""
GAP = 0.03
"""Space between tiles, in inches."""
MAX_NAME = 8
"""Most characters of a symbol in its tile."""
MAX_TILES = 12
"""Most tiles of a message; a longer one ends in three dots."""
GREY, PALE = "#555555", "#D9D9D9"
"""Of what is said beside the pictures, and of symbols beyond the colours."""
SYMBOL_COLOURS = (
    *COLOURS[:6],
    COLOURS[7],
    "#8C8C8C",
    *("#7FB8D8", "#EBAF80", "#7FCFB9", "#E6BDD3"),
    COLOURS[6],
)
"""Colours of symbols: those of Okabe and Ito, and lighter ones."""
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
OBJECT = 0.28
"""Width of an object, in inches."""


class Tiles:
    """Draws messages and objects on axes whose unit is an inch; a symbol has the same colour everywhere.

    Args:
        axes: From (0, 0) at the top left.
        language: Whose symbols are drawn.
    """

    def __init__(self, axes: Any, language: Language) -> None:
        self.axes, self.language = axes, language
        self.colours = symbol_colours(language)

    def draw(self, message: Message, left: float, middle: float) -> None:
        """Draw a message from this left edge, centred at this height."""
        from matplotlib.patches import FancyBboxPatch

        if not message:
            self.write(left, middle, "(empty)", color=GREY, style="italic")
        for symbol in message[:MAX_TILES]:
            text, width = self.name(symbol), self.tile_width(symbol)
            colour = self.colours.get(symbol, PALE)
            self.axes.add_patch(
                FancyBboxPatch(
                    (left + 0.03, middle - TILE / 2 + 0.03),
                    width - 0.06,
                    TILE - 0.06,
                    boxstyle="round,pad=0.03,rounding_size=0.045",
                    facecolor=colour,
                    edgecolor="none",
                )
            )
            self.write(left + width / 2, middle, text, ha="center", color=ink(colour))
            left += width + GAP
        if len(message) > MAX_TILES:
            self.write(left, middle, "…", color=GREY)

    def width(self, message: Message) -> float:
        """Width of a message."""
        if not message:
            return text_width("(empty)")
        tiles = sum(self.tile_width(symbol) + GAP for symbol in message[:MAX_TILES]) - GAP
        return tiles + (TILE if len(message) > MAX_TILES else 0)

    def name(self, symbol: int) -> str:
        """The text in a tile."""
        text = label(self.language.name(symbol))
        return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "…"

    def tile_width(self, symbol: int) -> float:
        """Width of the tile of a symbol."""
        return max(TILE, text_width(self.name(symbol)) + 0.1)

    def image(self, pixels: NDArray[np.uint8], centre: float, middle: float) -> None:
        """Draw an image, (height, width, 3), centred at this place, in the size of an object."""
        half = OBJECT / 2
        self.axes.imshow(
            pixels,
            extent=(centre - half, centre + half, middle + half, middle - half),
            aspect="auto",
            interpolation="antialiased",
        )

    def object(self, concepts: Sequence[str], centre: float, middle: float) -> None:
        """Draw the object that has these concepts; see `can_draw`."""
        from matplotlib.patches import Ellipse, Rectangle

        shape, colour = drawn(concepts)
        assert shape is not None
        look: dict[str, Any] = {"facecolor": colour, "edgecolor": "#404040", "linewidth": 0.5}
        size = OBJECT * 0.8
        if MARKERS[shape] == "ellipse":
            self.axes.add_patch(Ellipse((centre, middle), OBJECT, OBJECT * 0.55, **look))
        elif MARKERS[shape] == "rectangle":
            box = (centre - OBJECT / 2, middle - OBJECT * 0.27)
            self.axes.add_patch(Rectangle(box, OBJECT, OBJECT * 0.54, **look))
        else:
            larger = 1.35 if shape == "star" else 1.0  # a marker's size is that of the circle around it
            self.axes.plot(
                [centre],
                [middle],
                marker=MARKERS[shape],
                color=colour,
                ms=size * 72 * larger,
                mec="#404040",
                mew=0.5,
                clip_on=False,
            )

    def write(self, x: float, y: float, text: str, **look: Any) -> None:
        """Write a line, centred at this height."""
        plain = {"fontsize": FONT_SIZE, "va": "center_baseline", "parse_math": False}
        self.axes.text(x, y, text, **plain | look)


def symbol_colours(language: Language) -> dict[int, str]:
    """The colour of each symbol: by id where there are as many colours, else of the most used ones."""
    symbols = language.symbols
    if len(symbols) > len(SYMBOL_COLOURS):
        symbols = sorted(language.by_use()[: len(SYMBOL_COLOURS)])
    elif not symbols or 1 <= symbols[0] <= symbols[-1] <= len(SYMBOL_COLOURS):
        return {symbol: SYMBOL_COLOURS[symbol - 1] for symbol in symbols}
    return dict(zip(symbols, SYMBOL_COLOURS, strict=False))


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


def ink(colour: str) -> str:
    """Black or white: what is read better on a colour (WCAG's relative luminance)."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return "black" if 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 else "white"
