"""Contact sheets: rounds of a concept game on one page, targets above distractors (CBM paper, figure 3)."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import ConfigError, unknown_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
"""What a sheet can be."""
PER_LINE = 10
"""Objects in a line; more go on in the next line."""
MIN_COLUMNS = 4
"""A page has room for so many objects beside one another at least, so that headings have room, too."""
SIDE = 1.0
"""Width of an object on the page, in inches."""
MIN_HEIGHT = 0.75
"""Least height of a line of objects, in inches: room for the word beside it."""
GAP = 0.0625
"""Space between objects, in inches: 8 of the page's pixels, as an object's side is 128."""
MARGIN = 0.25
"""Space round the page and between its parts, in inches."""
PIXELS_AN_INCH = 128
"""Twice a picture's side, so that each of its pixels is a sharp 2 x 2 square."""
SMALL, LARGE = 7.0, 10.0
"""Sizes of captions and of headings, in points (72 an inch)."""
LETTER, HEADING_LETTER = 0.62, 0.75
"""Width of a letter as a share of its size: of each in the captions' font, and of most in the headings'."""
LINE = 1.35
"""Distance of lines of text as a share of the size of their letters."""
LEFT = 0.625
"""Where objects begin, in inches from the left."""
BAR = 0.5
"""Where the bar beside a group of objects stands, in inches from the left."""
TARGET_COLOUR, DISTRACTOR_COLOUR = "#009E73", "#D55E00"
"""Okabe and Ito's, which colour-blind people tell apart."""
MAX_HEIGHT = 400.0
"""Highest page in inches that matplotlib can be trusted to draw."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownRound:
    """A round of a game, as it's drawn."""

    objects: NDArray[Any]
    """Pictures, uint8 (num_objects, height, width, 3), or attribute values, integers (num_objects, num_attributes)."""
    labels: NDArray[np.bool_]
    """Which of the objects are targets, (num_objects,)."""
    captions: Sequence[str] | None = None
    """What stands below each object."""
    title: str = ""
    """What stands above the round."""


def contact_sheet(
    pictures: NDArray[Any],
    labels: NDArray[np.bool_],
    captions: Sequence[str] | None,
    title: str,
    *,
    format: Literal["png", "svg"] = "png",  # noqa: A002 (matplotlib's own word)
) -> bytes:
    """Draw one round; see `draw_rounds`.

    Args:
        pictures: The objects: uint8 (num_objects, 64, 64, 3), or attribute values (num_objects, num_attributes).
        labels: Which of them are targets, (num_objects,).
        captions: What stands below each object, or None.
        title: What stands above.
        format: png or svg.
    """
    return draw_rounds(
        [ShownRound(objects=pictures, labels=labels, captions=captions)], title=title, format=format
    )


def draw_rounds(
    rounds: Sequence[ShownRound],
    *,
    title: str = "",
    format: Literal["png", "svg"] = "png",  # noqa: A002 (matplotlib's own word)
) -> bytes:
    """Draw rounds below one another, the targets of each above its distractors.

    Objects that are attribute values become small tables, `attribute0=3` for value 3 of the first attribute; the
    values that all targets of a round share are bold, in its distractors, too.

    Args:
        rounds: What to draw.
        title: What stands above all of it.
        format: png or svg.

    Returns:
        The picture's file; the same rounds give the same bytes.

    Raises:
        ConfigError: If matplotlib is not installed, or this can't be drawn.
    """
    if format not in FORMATS:
        raise unknown_name("picture format", format, FORMATS)
    figure = lay_out(rounds, title)
    from matplotlib import rc_context

    buffer = BytesIO()
    # Names inside an SVG would be random, and its pictures one, of fewer pixels.
    with rc_context({"svg.hashsalt": "ecsuite", "image.composite_image": False}):
        figure.savefig(buffer, format=format, metadata={"Software" if format == "png" else "Date": None})
    return buffer.getvalue()


def lay_out(rounds: Sequence[ShownRound], title: str) -> "Figure":
    """Put rounds on a page; see `draw_rounds`."""
    try:
        from matplotlib.figure import Figure  # not pyplot, which keeps global state and may want a display
    except ImportError:
        raise ConfigError("a picture needs matplotlib: pip install 'ecsuite[plots]'") from None

    for shown in rounds:
        check_drawable(shown.objects)
    widest = max((count for shown in rounds for count in group_sizes(shown)), default=0)
    if not widest:
        raise ConfigError("a contact sheet needs a round with an object in it")
    width = LEFT + min(max(widest, MIN_COLUMNS), PER_LINE) * (SIDE + GAP) - GAP + MARGIN
    figure = Figure(dpi=PIXELS_AN_INCH)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    bottom = draw_heading(axes, title, MARGIN, width, weight="bold")
    for shown in rounds:
        bottom = draw_round(axes, shown, bottom, width)
        if bottom > MAX_HEIGHT:
            raise ConfigError(f"a contact sheet of {len(rounds)} rounds is too long to draw: show fewer")
    figure.set_size_inches(width, bottom)
    axes.set_xlim(0, width)
    axes.set_ylim(bottom, 0)
    return figure


def check_drawable(objects: NDArray[Any]) -> None:
    """Raise a `ConfigError` for objects that are neither pictures nor attribute values, such as feature vectors."""
    if objects.ndim != 4 and (objects.ndim != 2 or objects.dtype.kind not in "iu"):
        raise ConfigError(
            f"a contact sheet shows pictures or attribute values, but these objects are {objects.dtype} of shape "
            f"{objects.shape[1:]}"
        )


def group_sizes(shown: ShownRound) -> tuple[int, int]:
    """Number of targets and of distractors."""
    num_targets = int(shown.labels.sum())
    return num_targets, len(shown.labels) - num_targets


def draw_round(axes: "Axes", shown: ShownRound, top: float, width: float) -> float:
    """Draw a round and its title; see `write_lines` for the arguments and what is returned."""
    top = draw_heading(axes, shown.title, top, width, weight="normal")
    for name, colour, members in (
        ("targets", TARGET_COLOUR, np.flatnonzero(shown.labels)),
        ("distractors", DISTRACTOR_COLOUR, np.flatnonzero(~shown.labels)),
    ):
        if not len(members):
            continue
        bottom = top
        for start in range(0, len(members), PER_LINE):
            bottom = draw_line(axes, shown, members[start : start + PER_LINE], bottom)
        axes.plot([BAR, BAR], [top, bottom - GAP], color=colour, linewidth=2.5, solid_capstyle="butt")
        middle = (top + bottom - GAP) / 2
        axes.text(BAR - GAP, middle, name, fontsize=SMALL, rotation=90, ha="right", va="center", color=colour)
        top = bottom + GAP
    return top + MARGIN - GAP


def draw_line(axes: "Axes", shown: ShownRound, members: NDArray[np.int64], top: float) -> float:
    """Draw objects beside one another, with their captions; see `write_lines`."""
    targets = shown.objects[shown.labels]
    lowest = top + MIN_HEIGHT
    for column, member in enumerate(members):
        left = LEFT + column * (SIDE + GAP)
        thing = shown.objects[member]
        if thing.ndim == 3:
            bottom = top + SIDE * len(thing) / len(thing[0])
            axes.imshow(thing, extent=(left, left + SIDE, bottom, top), interpolation="none", aspect="auto")
        else:
            bottom = draw_values(axes, thing, targets, left, top)
        if shown.captions is not None:
            letters = int(SIDE * 72 / (SMALL * LETTER))
            lines = wrap(shown.captions[member], letters)
            bottom = write_lines(axes, lines, left, bottom + GAP / 2, size=SMALL, family="monospace")
        lowest = max(lowest, bottom)
    return (
        ceil((lowest + GAP) * PIXELS_AN_INCH) / PIXELS_AN_INCH
    )  # pictures begin at whole pixels, to be sharp


def draw_values(
    axes: "Axes", values: NDArray[np.int64], targets: NDArray[np.int64], left: float, top: float
) -> float:
    """Draw an object as a table of its attributes in a frame; see `write_lines`."""
    is_shared = (targets == values).all(0) & bool(len(targets))
    bottom = top + GAP
    for attribute, (value, is_bold) in enumerate(zip(values, is_shared, strict=True)):
        weight = "bold" if is_bold else "normal"
        line = f"attribute{attribute}={value}"
        bottom = write_lines(axes, [line], left + GAP, bottom, size=SMALL, family="monospace", weight=weight)
    frame_x, frame_y = [left, left + SIDE, left + SIDE, left, left], [top, top, bottom, bottom, top]
    axes.plot(frame_x, frame_y, color="0.6", linewidth=0.8)
    return bottom


def draw_heading(axes: "Axes", text: str, top: float, width: float, weight: str) -> float:
    """Write a heading over the width of the page, in as many lines as it needs; see `write_lines`."""
    lines = wrap(text, int((width - 2 * MARGIN) * 72 / (LARGE * HEADING_LETTER)))
    bottom = write_lines(axes, lines, MARGIN, top, size=LARGE, family="sans-serif", weight=weight)
    return bottom + GAP if lines else top


def wrap(text: str, letters: int) -> list[str]:
    """A text's own lines, those that are too long as several."""
    return [part for line in text.splitlines() for part in textwrap.wrap(line, letters)]


def write_lines(
    axes: "Axes",
    lines: Sequence[str],
    left: float,
    top: float,
    *,
    size: float,
    family: str,
    weight: str = "normal",
) -> float:
    """Write lines below one another.

    Args:
        axes: Where to; its unit is an inch, counted from the top left corner of the page.
        lines: What to write.
        left: Where each line begins.
        top: Where the first one begins.
        size: Of the letters, in points.
        family: Of the letters.
        weight: normal or bold.

    Returns:
        Where the next thing below may begin.
    """
    for line in lines:
        axes.text(left, top, line, fontsize=size, family=family, weight=weight, va="top", parse_math=False)
        top += size * LINE / 72
    return top
