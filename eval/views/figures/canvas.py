"""Style of all figures: print sizes, colours, labels of limited width, layout, and files with reproducible bytes.

Sizes, fonts and colours are for a two-column paper: 3.3 or 6.9 inches wide, letters of 7 points, the colours of Okabe
and Ito, with markers, line styles and hatches in addition, so that figures are readable in grey and for colour-blind
readers. Positions are left to matplotlib's constrained layout.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from html import escape
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecsuite.files.atomic_files import check_output_file, prepare_output_file, write_atomically
from ecsuite.runtime.errors import ConfigError, missing_extra
from ecsuite.runtime.printable import note

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

WIDTHS = (3.3, 6.9)
"""Widths of a column and of a page of a paper in inches."""
FONT_SIZE = 7
"""Size of all letters in points, the minimum that journals accept."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
"""Palette of Okabe and Ito, distinguishable for colour-blind readers."""
MARKERS = "os^DvPX*"
"""Markers in the order of the colours."""
STYLES = ("-", "--", "-.", ":")
"""Line styles."""
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "oooo", "++++")
"""Hatches in the order of the colours."""
INK, SOFT, LINE = "#1b1e23", "#555b66", "#d5d9e0"
"""Colours of letters, of secondary texts and of grids; an HTML page replaces them by its light or dark colours."""
MAX_LABEL = 28
"""Maximum number of characters of a label; longer ones are cut."""
MAX_LISTED = 16
"""Maximum number of names in a legend, as more can't be distinguished."""
ARROWS: Mapping[str | None, str] = {"higher": " ↑", "lower": " ↓", None: ""}
"""Arrow after a name, by the better direction."""
LOOK = {
    "axes.axisbelow": True, "axes.edgecolor": SOFT, "axes.formatter.useoffset": False, "axes.grid": True,
    "axes.labelcolor": INK, "axes.labelsize": FONT_SIZE, "axes.linewidth": 0.6, "axes.spines.right": False,
    "axes.spines.top": False, "axes.titlelocation": "left", "axes.titlesize": FONT_SIZE, "axes.unicode_minus": True,
    "figure.constrained_layout.h_pad": 0.04, "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.04, "figure.dpi": 200, "figure.titlesize": FONT_SIZE + 1,
    "font.size": FONT_SIZE, "grid.color": LINE, "grid.linewidth": 0.5, "hatch.linewidth": 0.5,
    "legend.columnspacing": 1.2, "legend.fontsize": FONT_SIZE, "legend.frameon": False, "legend.handlelength": 2.2,
    "legend.title_fontsize": FONT_SIZE, "lines.linewidth": 1.2, "lines.markersize": 4, "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.hashsalt": "ecsuite", "text.color": INK, "text.hinting": "none", "text.parse_math": False, "xtick.color": SOFT,
    "xtick.labelcolor": INK, "xtick.labelsize": FONT_SIZE, "xtick.major.size": 2, "xtick.major.width": 0.6,
    "xtick.minor.size": 1, "ytick.color": SOFT, "ytick.labelcolor": INK, "ytick.labelsize": FONT_SIZE,
    "ytick.major.size": 2, "ytick.major.width": 0.6, "ytick.minor.size": 1,
}  # fmt: skip
"""Settings of matplotlib; all others are its defaults, not the user's. Without a salt, ids in an SVG are random; with
hinting, letters in an SVG have other widths than measured. Font type 42 keeps the letters of a PDF as letters, which
publishers require."""
METADATA: Mapping[str, Mapping[str, None]] = {
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
}
"""Formats of pictures by suffix, with the metadata that are omitted as they change from run to run."""


AXIS_WORDS: Mapping[str, str] = {
    "batch_size": "batch size",
    "lr": "learning rate",
    "max_len": "message length limit",
    "num_epochs": "epochs",
    "num_examples": "rounds per epoch",
    "seed": "seed",
    "vocab_size": "vocabulary size",
}
"""Words for the last part of a setting's key; other keys are written with spaces, and their section in brackets."""
_LABELS: ContextVar[Mapping[str, str]] = ContextVar("labels")


@contextmanager
def axis_labels(labels: Mapping[str, str]) -> Iterator[None]:
    """Use these labels for settings and scores by their names, in figures that are drawn within this context."""
    token = _LABELS.set(labels)
    try:
        yield
    finally:
        _LABELS.reset(token)


def axis_label(name: str) -> str:
    """Label of a setting or a score: the user's, else words for the key of a setting, else the name as it is.

    `channel.max_len` is "message length limit", `sender.hidden_size` "hidden size (sender)", `channel.kind` "channel".
    An arrow after the name stays.
    """
    arrow = next((each for each in ARROWS.values() if each and name.endswith(each)), "")
    key = name.removesuffix(arrow)
    section, dot, last = key.partition(".")
    if key in (given := _LABELS.get({})):
        return given[key] + arrow
    if not dot or not key.replace(".", "").isidentifier():
        return name
    if last in AXIS_WORDS:
        return AXIS_WORDS[last]
    return section if last == "kind" else f"{re.sub('[._]', ' ', last)} ({section})"


@contextmanager
def look() -> Iterator[None]:
    """Apply the style of all figures: a context manager, also a decorator of functions that draw.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # pyplot has global state and may need a display
        import matplotlib.style
    except ImportError:
        raise missing_extra("a picture needs matplotlib", "plots") from None
    with matplotlib.style.context(["default", LOOK]):
        yield


def new_figure(width: float = WIDTHS[0], height: float = 2.0) -> "Figure":
    """Make an empty figure of this size in inches, to be filled within `look`.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    with look():
        from matplotlib.figure import Figure

        return Figure(figsize=(width, height))


def prepare_picture(file: Path) -> None:
    """Check, before the work starts, that a figure can be written to a file, and create its folder.

    Raises:
        ConfigError: If the name does not end in .svg, .pdf or .png, matplotlib is not installed, or the file
            can't be written.
    """
    check_picture(file)
    prepare_output_file(file)


def check_picture(file: Path) -> None:
    """Check that a figure can be written to a file, as `prepare_picture` does, but create no folder."""
    _require_suffix(file)
    require_matplotlib()
    check_output_file(file)


def _require_suffix(file: Path) -> None:
    if file.suffix not in METADATA:
        raise ConfigError(f"{file}: expected the name of a picture, ending in {', '.join(METADATA)}")


def require_matplotlib() -> None:
    """Check, before the work starts, that figures can be drawn; `ConfigError` if matplotlib is not installed."""
    new_figure()


def require_values(values: Iterable[object]) -> None:
    """Raise `ConfigError` if there are no values to draw, as in a study without results."""
    if next(iter(values), None) is None:
        raise ConfigError("nothing to draw: expected at least one value")


def save(figure: "Figure", *paths: Path) -> None:
    """Write a figure as SVG, PDF or PNG, by the suffix of each file; equal figures give equal bytes.

    Its title and notes become the title in the file's metadata, and are printed as a caption on a terminal.

    Raises:
        ConfigError: If a file has another suffix; nothing is written then.
    """
    for path in paths:
        _require_suffix(path)
    for path in paths:
        write_atomically(path, _rendered(figure, path.suffix))
    if paths and sys.stderr.isatty() and (caption := figure.get_suptitle()):
        note(f"{paths[0]}: {caption.replace(chr(10), '. ')}")


def _rendered(figure: "Figure", kind: str, *, transparent: bool = False, **settings: Any) -> bytes:
    buffer = BytesIO()
    caption = figure.get_suptitle()
    metadata = {**METADATA[kind], **({"Title": caption} if caption else {})}
    with look():
        from matplotlib import rc_context

        with rc_context(settings):  # type: ignore[arg-type]  # names of settings are no literals here
            figure.savefig(buffer, format=kind[1:], metadata=metadata, transparent=transparent)
    return buffer.getvalue()


MARGIN = 5.0
"""Space above and below axes in inches, enough for all texts before they are measured."""
SCREEN_SCALE = 1.35
"""Size of a figure on a screen relative to its size in print."""
ON_PAGE = {INK: "var(--ink)", SOFT: "var(--soft)", LINE: "var(--line)"}
"""Variables of a page's style that replace colours."""


def as_svg(figure: "Figure", title: str, description: str) -> str:
    """Make an SVG element for a page: texts stay texts, ink has the page's colour, and there is no style element.

    Presentation attributes are allowed on pages that allow no further styles. The page must set line caps, as
    matplotlib does in a style element.

    Args:
        figure: Figure to convert.
        title: Name for readers who do not see it.
        description: Content in words.
    """
    settings = {"svg.fonttype": "none", "svg.hashsalt": title}  # ids that no other figure of the page has
    text = _rendered(figure, ".svg", transparent=True, **settings).decode()
    text = re.sub(r"<(metadata|style).*?</\1>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r' style="([^"]*)"', _attributes, text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    for colour, name in ON_PAGE.items():
        text = text.replace(f'="{colour}"', f'="{name}"')
    head, _, content = text.partition(">")
    width, height = (round(72 * SCREEN_SCALE * side, 2) for side in figure.get_size_inches())
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    names = f"<title>{escape(title, quote=False)}</title>\n<desc>{escape(description, quote=False)}</desc>"
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    size = f'{box[0]} width="{width}pt" height="{height}pt"'
    return f'<svg {spaces} class="drawn" role="img" {size}>{names}{content}'


def _attributes(style: re.Match[str]) -> str:
    """Convert the properties of a style to attributes."""
    parts = [part.partition(":") for part in style[1].split(";") if part.strip()]
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in parts)


def label(name: object, most: int = MAX_LABEL) -> str:
    """Format a name on one line of at most `most` characters; characters without a glyph become question marks."""
    text = " ".join(str(name).split()) or "(empty)"
    return plain(text if len(text) <= most else text[: most - 1] + "…")


def labels(names: Iterable[object], most: int = MAX_LABEL) -> list[str]:
    """Format names as labels that stay distinct: names with the same beginning keep their ends, or get numbers."""
    texts = list(map(str, names))
    label_of = {name: label(name, most) for name in texts}
    for is_second in (False, True):
        counts = Counter(label_of.values())
        ambiguous = [name for name in label_of if counts[label_of[name]] > 1]
        for number, name in enumerate(ambiguous, start=1):
            label_of[name] = f"{label_of[name]} ({number})" if is_second else _with_end(name, most)
    return [label_of[name] for name in texts]


def _with_end(name: str, most: int) -> str:
    text = " ".join(name.split())
    return label(text if len(text) <= most else f"{text[: most // 2]}…{text[1 - most // 2 :]}", most)


def plain(text: str) -> str:
    """Replace characters without a glyph by question marks."""
    from matplotlib.font_manager import FontProperties, findfont

    glyphs = _glyphs(findfont(FontProperties()))
    return "".join(character if character == "\n" or ord(character) in glyphs else "?" for character in text)


@cache
def _glyphs(font: str) -> frozenset[int]:
    """Return the characters for which a font, by its file, has a glyph."""
    from matplotlib.font_manager import get_font

    return frozenset(get_font(font).get_charmap())


def set_caption(figure: "Figure", title: str, notes: Sequence[str] = ()) -> None:
    """Give a figure its title and notes, which are not drawn into it: `save` stores them for a caption."""
    lines = [" ".join(line.split()) for line in (title, *notes) if line]
    if lines:
        figure.suptitle("\n".join(lines), visible=False, in_layout=False)


def fit(
    figure: "Figure",
    grid: Any,
    width: float,
    height: float,
    handles: Mapping[str, "Artist"],
    heading: str = "",
) -> None:
    """Set the size of a figure, the smallest print width that suffices, and draw its legend below.

    Names below the axes are rotated if they would overlap.

    Args:
        figure: Figure with a constrained layout, which ends here.
        grid: Axes, shape (num_rows, num_columns).
        width: Minimum width of a row of axes in inches; the figure gets wider than a page if necessary.
        height: Height of a row of axes in inches.
        handles: Entries of the legend by name.
        heading: Heading of the legend.
    """
    layout: Any = figure.get_layout_engine()
    full_height = height * len(grid) + MARGIN
    figure.set_size_inches(2 * WIDTHS[-1], full_height)
    layout.execute(figure)
    first, last = grid[0, 0].get_window_extent(), grid[0, -1].get_window_extent()
    needed = figure.bbox.width - (last.x1 - first.x0) + width * figure.dpi
    legend = _write_legend(figure, handles, heading, 1)
    needed = max(needed, legend.get_window_extent().width if legend else 0.0) / figure.dpi
    figure.set_size_inches(next((width for width in WIDTHS if needed <= width + 0.01), needed), full_height)
    for columns in range(len(handles), 0, -1):
        legend.remove()
        legend = _write_legend(figure, handles, heading, columns)
        if legend.get_window_extent().width <= figure.bbox.width:
            break
    layout.execute(figure)
    crowded = [axes for axes in figure.axes if _is_crowded(axes)]
    for axes in crowded:
        axes.tick_params(axis="x", labelrotation=90)
    if crowded:
        layout.execute(figure)
    margins = full_height - len(grid) * grid[0, 0].get_window_extent().height / figure.dpi
    figure.set_size_inches(figure.get_size_inches()[0], margins + len(grid) * height)
    layout.execute(figure)
    figure.set_layout_engine("none")  # later changes move nothing


def ticks(most: int) -> Any:
    """Make a locator with a maximum number of ticks for any axis length, as the layout ignores later ticks."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=most)


def _is_crowded(axes: Any) -> bool:
    """Return whether horizontal names below the axes overlap."""
    axes.xaxis.get_tightbbox()  # updates the positions of the names
    texts = [text for text in axes.get_xticklabels() if text.get_text() and text.get_visible()]
    boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: float(box.x0))
    is_level = any(text.get_rotation() == 0 for text in texts)
    return is_level and any(one.x1 + 3 > other.x0 for one, other in pairwise(boxes))


def _write_legend(figure: "Figure", handles: Mapping[str, "Artist"], heading: str, columns: int) -> Any:
    """Write a legend with `columns` columns below the figure; None without entries."""
    if not handles:
        return None
    options: dict[str, Any] = {
        "loc": "outside lower center",
        "ncols": columns,
        "title": label(heading) if heading else None,
    }
    legend = figure.legend(list(handles.values()), [""] * len(handles), **options)
    for text, name in zip(legend.get_texts(), labels(handles, 2 * MAX_LABEL), strict=True):
        text.set_text(name)  # given as a label, a name that begins with _ would be left out
    return legend


def ink_on(colour: str) -> str:
    """Choose black or white for letters on a colour, by WCAG's relative luminance."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return "black" if 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 else "white"


def ends(
    mean: float | None, half_width: float | None, limits: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float | None, float | None]:
    """Return the ends of an interval around a mean, within the possible values of the mean; None without one."""
    if mean is None or half_width is None:
        return None, None
    return max(limits[0], mean - half_width), min(limits[1], mean + half_width)


def finite(values: Sequence[float | None]) -> Any:
    """Convert numbers to an array, with NaN for None and values that are not finite."""
    import numpy as np

    array = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)
