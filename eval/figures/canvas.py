"""What all figures share: their look, print sizes, names of limited width, and files of the same bytes.

Sizes, fonts and colours are those of a paper of two columns: 3.3 or 6.9 inches wide, letters of 7 points, the colours
of Okabe and Ito, with markers, line styles and hatches beside them, so that a figure can be read in grey and by readers
who tell few colours apart. Where things stand is left to matplotlib's constrained layout.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecsuite.files.atomic_files import check_output_file, prepare_output_file, write_atomically
from ecsuite.runtime.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

WIDTHS = (3.3, 6.9)
"""Widths of a column and of a page of a paper in inches."""
FONT_SIZE = 7
"""Size of all letters in points, the least that journals take."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
"""Palette of Okabe and Ito, distinguishable for colour-blind readers."""
MARKERS = "os^DvPX*"
"""Markers in the order of the colours."""
STYLES = ("-", "--", "-.", ":")
"""Line styles."""
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "oooo", "++++")
"""Hatches in the order of the colours."""
INK, SOFT, LINE = "#1b1e23", "#555b66", "#d5d9e0"
"""Of letters, of what is said beside, and of grids: on a page, those of the page, light or dark."""
MAX_LABEL = 28
"""Maximum number of characters of a label; longer ones are cut."""
MAX_LISTED = 16
"""Most names in a legend: more can't be told apart."""
ARROWS: Mapping[str | None, str] = {"higher": " ↑", "lower": " ↓", None: ""}
"""Which way is better, after a name."""
LOOK = {
    "axes.axisbelow": True, "axes.edgecolor": SOFT, "axes.formatter.useoffset": False, "axes.grid": True,
    "axes.labelcolor": INK, "axes.labelsize": FONT_SIZE, "axes.linewidth": 0.6, "axes.spines.right": False,
    "axes.spines.top": False, "axes.titlelocation": "left", "axes.titlesize": FONT_SIZE, "axes.unicode_minus": True,
    "figure.constrained_layout.h_pad": 0.04, "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.04, "figure.dpi": 200, "figure.titlesize": FONT_SIZE + 1,
    "font.size": FONT_SIZE, "grid.color": LINE, "grid.linewidth": 0.5, "hatch.linewidth": 0.5,
    "legend.columnspacing": 1.2, "legend.fontsize": FONT_SIZE, "legend.frameon": False, "legend.handlelength": 2.2,
    "legend.title_fontsize": FONT_SIZE, "lines.linewidth": 1.2, "lines.markersize": 4, "savefig.dpi": 200,
    "svg.hashsalt": "ecsuite", "text.color": INK, "text.hinting": "none", "text.parse_math": False, "xtick.color": SOFT,
    "xtick.labelcolor": INK, "xtick.labelsize": FONT_SIZE, "xtick.major.size": 2, "xtick.major.width": 0.6,
    "xtick.minor.size": 1, "ytick.color": SOFT, "ytick.labelcolor": INK, "ytick.labelsize": FONT_SIZE,
    "ytick.major.size": 2, "ytick.major.width": 0.6, "ytick.minor.size": 1,
}  # fmt: skip
"""Settings of matplotlib; all others are its own, whatever the user's are. Without a salt, ids in an SVG are random;
with hinting, letters have other widths in an SVG than where they were measured."""


@contextmanager
def look() -> Iterator[None]:
    """The look of all figures, within a `with` or as a decorator of what draws.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # not pyplot, which has global state and may need a display
        import matplotlib.style
    except ImportError:
        raise missing_extra("a picture needs matplotlib", "plots") from None
    with matplotlib.style.context(["default", LOOK]):
        yield


def new_figure(width: float = WIDTHS[0], height: float = 2.0) -> "Figure":
    """An empty figure of this size in inches, to be filled within `look`.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    with look():
        from matplotlib.figure import Figure

        return Figure(figsize=(width, height))


def prepare_picture(file: Path) -> None:
    """Check before the work starts that a figure can be drawn into a file, and create its folder.

    Raises:
        ConfigError: If the name does not end in .svg or .png, matplotlib is not installed, or the file can't be
            written.
    """
    check_picture(file)
    prepare_output_file(file)


def check_picture(file: Path) -> None:
    """Check the same, but create no folder."""
    _require_suffix(file)
    require_matplotlib()
    check_output_file(file)


def _require_suffix(file: Path) -> None:
    if file.suffix not in (".svg", ".png"):
        raise ConfigError(f"{file}: expected the name of a picture, ending in .svg or .png")


def require_matplotlib() -> None:
    """Check before the work starts that figures can be drawn; `ConfigError` if matplotlib is not installed."""
    new_figure()


def require_values(values: Iterable[object]) -> None:
    """Raise `ConfigError` if there is nothing to draw, such as the results of a study that has none yet."""
    if next(iter(values), None) is None:
        raise ConfigError("nothing to draw: there are no values yet")


def save(figure: "Figure", *paths: Path) -> None:
    """Write a figure as SVG or PNG, by the suffix of each file; the same figure gives the same bytes.

    Raises:
        ConfigError: If a file has another suffix; nothing is written then.
    """
    for path in paths:
        _require_suffix(path)
    for path in paths:
        write_atomically(path, _rendered(figure, path.suffix[1:]))


def _rendered(figure: "Figure", kind: str, *, transparent: bool = False, **settings: Any) -> bytes:
    """The content of a file."""
    buffer = BytesIO()
    metadata = {"svg": {"Date": None}, "png": {"Software": None}}[kind]
    with look():
        from matplotlib import rc_context

        with rc_context(settings):  # type: ignore[arg-type]  # names of settings are no literals here
            figure.savefig(buffer, format=kind, metadata=metadata, transparent=transparent)
    return buffer.getvalue()


ROOM = 5.0
"""Enough for all that stands above and below axes, in inches, before it is known."""
SCALE = 1.35
"""How much larger a figure is on a screen than in print."""
ON_PAGE = {INK: "var(--ink)", SOFT: "var(--soft)", LINE: "var(--line)"}
"""Colours that a page chooses, light or dark."""


def as_svg(figure: "Figure", title: str, description: str) -> str:
    """A figure as an SVG element of a page: texts are texts, ink has the page's colour, and nothing needs a style.

    A page that allows no styles but its own takes presentation attributes. The page has to say how lines end, as
    matplotlib does in a style element.

    Args:
        figure: The figure.
        title: Its name, for readers who do not see it.
        description: What it shows, in words.
    """
    settings = {"svg.fonttype": "none", "svg.hashsalt": title}  # ids that no other figure of the page has
    text = _rendered(figure, "svg", transparent=True, **settings).decode()
    text = re.sub(r"<(metadata|style).*?</\1>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r' style="([^"]*)"', _attributes, text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    for colour, name in ON_PAGE.items():
        text = text.replace(f'="{colour}"', f'="{name}"')
    head, _, content = text.partition(">")
    width, height = (round(72 * SCALE * side, 2) for side in figure.get_size_inches())
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    names = f"<title>{escape(title, quote=False)}</title>\n<desc>{escape(description, quote=False)}</desc>"
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    size = f'{box[0]} width="{width}pt" height="{height}pt"'
    return f'<svg {spaces} class="drawn" role="img" {size}>{names}{content}'


def _attributes(style: re.Match[str]) -> str:
    """The properties of a style as attributes."""
    parts = [part.partition(":") for part in style[1].split(";") if part.strip()]
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in parts)


def label(name: object, most: int = MAX_LABEL) -> str:
    """A name on one line, cut to so many characters; characters without a glyph become question marks."""
    text = " ".join(str(name).split()) or "(empty)"
    return plain(text if len(text) <= most else text[: most - 1] + "…")


def labels(names: Iterable[object], most: int = MAX_LABEL) -> list[str]:
    """Labels of names, which differ where the names do: those that begin alike keep their ends, or have numbers."""
    whole = list(map(str, names))
    shown = {name: label(name, most) for name in whole}
    for is_second in (False, True):
        counts = Counter(shown.values())
        alike = [name for name in shown if counts[shown[name]] > 1]
        for place, name in enumerate(alike, start=1):
            shown[name] = f"{shown[name]} ({place})" if is_second else _with_end(name, most)
    return [shown[name] for name in whole]


def _with_end(name: str, most: int) -> str:
    text = " ".join(name.split())
    return label(text if len(text) <= most else f"{text[: most // 2]}…{text[1 - most // 2 :]}", most)


def plain(text: str) -> str:
    """A text whose characters without a glyph are question marks."""
    from matplotlib.font_manager import FontProperties, findfont

    glyphs = _glyphs(findfont(FontProperties()))
    return "".join(character if character == "\n" or ord(character) in glyphs else "?" for character in text)


@cache
def _glyphs(font: str) -> frozenset[int]:
    """The characters that a font, by its file, has a glyph for."""
    from matplotlib.font_manager import get_font

    return frozenset(get_font(font).get_charmap())


def write_title(figure: "Figure", title: str, notes: Sequence[str] = ()) -> None:
    """Write a title above all, and notes below it, as many lines as they need."""
    lines = [plain(" ".join(line.split())) for line in (title, *notes) if line]
    if lines:
        written: Any = figure.suptitle("\n".join(lines), x=0.02, ha="left", wrap=True)
        width_of = written._get_rendered_text_width
        # Where it finds lines, matplotlib reads dollars as formulas, whatever `text.parse_math` says.
        written._get_rendered_text_width = lambda line: width_of(line.replace("$", "S"))


def fit(
    figure: "Figure",
    grid: Any,
    width: float,
    height: float,
    handles: Mapping[str, "Artist"],
    heading: str = "",
) -> None:
    """Give a figure the least of the print widths that suffices, and a height, and draw its legend below.

    Names below the axes stand upright if they would lie on one another.

    Args:
        figure: The figure.
        grid: Its axes, shape (num_rows, num_columns).
        width: What a row of axes needs in inches; the figure gets wider than a page if it must.
        height: Of a row of axes in inches.
        handles: What the legend shows, by name.
        heading: Above the legend.
    """
    layout: Any = figure.get_layout_engine()
    room = height * len(grid) + ROOM
    figure.set_size_inches(2 * WIDTHS[-1], room)
    layout.execute(figure)
    first, last = grid[0, 0].get_window_extent(), grid[0, -1].get_window_extent()
    needed = figure.bbox.width - (last.x1 - first.x0) + width * figure.dpi
    legend = _write_legend(figure, handles, heading, 1)
    needed = max(needed, legend.get_window_extent().width if legend else 0.0) / figure.dpi
    figure.set_size_inches(next((each for each in WIDTHS if needed <= each + 0.01), needed), room)
    for columns in range(len(handles), 0, -1):
        legend.remove()
        legend = _write_legend(figure, handles, heading, columns)
        if legend.get_window_extent().width <= figure.bbox.width:
            break
    layout.execute(figure)
    crowded = [axes for axes in figure.axes if _is_crowded(axes)]
    for each in crowded:
        each.tick_params(axis="x", labelrotation=90)
    if crowded:
        layout.execute(figure)
    beside = room - len(grid) * grid[0, 0].get_window_extent().height / figure.dpi
    figure.set_size_inches(figure.get_size_inches()[0], beside + len(grid) * height)
    layout.execute(figure)
    figure.set_layout_engine("none")  # what is drawn stays where it is


def ticks(most: int) -> Any:
    """At most so many ticks of an axis, however long it is: the layout would not see others come."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=most)


def _is_crowded(axes: Any) -> bool:
    """Whether level names below the axes lie on one another."""
    axes.xaxis.get_tightbbox()  # puts the names where they are now
    texts = [text for text in axes.get_xticklabels() if text.get_text() and text.get_visible()]
    boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: float(box.x0))
    is_level = any(text.get_rotation() == 0 for text in texts)
    return is_level and any(one.x1 + 3 > other.x0 for one, other in pairwise(boxes))


def _write_legend(figure: "Figure", handles: Mapping[str, "Artist"], heading: str, columns: int) -> Any:
    """Write a legend below all, in so many columns; None if there is nothing to show."""
    if not handles:
        return None
    place: dict[str, Any] = {
        "loc": "outside lower center",
        "ncols": columns,
        "title": label(heading) if heading else None,
    }
    legend = figure.legend(list(handles.values()), [""] * len(handles), **place)
    for text, name in zip(legend.get_texts(), labels(handles, 2 * MAX_LABEL), strict=True):
        text.set_text(name)  # given as a label, a name that begins with _ would be left out
    return legend


def ink_on(colour: str) -> str:
    """Black or white: what is read better on a colour (WCAG's relative luminance)."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return "black" if 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 else "white"


def ends(mean: float | None, half_width: float | None) -> tuple[float | None, float | None]:
    """The ends of an interval around a mean; None where there is none."""
    if mean is None or half_width is None:
        return None, None
    return mean - half_width, mean + half_width


def finite(values: Sequence[float | None]) -> Any:
    """Numbers as an array, what is none of them or not finite as NaN."""
    import numpy as np

    array = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)
