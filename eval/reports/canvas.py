"""Shared functions of figures: creation without global state, labels of limited width, reproducible files."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ecsuite.files.atomic_files import prepare_output_file, write_atomically
from ecsuite.runtime.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ecsuite.corpus import Corpus

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
"""Palette of Okabe and Ito, distinguishable for colour-blind readers."""
FONT_SIZE = 8
"""Font size of labels in points."""
TITLE_SIZE = 10
"""Font size of titles in points."""
MAX_LABEL = 28
"""Maximum number of characters of a label; longer ones are cut."""


def prepare_picture(file: Path) -> None:
    """Check before the work starts that a figure can be drawn into a file, and create its folder.

    Raises:
        ConfigError: If the name does not end in .svg or .png, matplotlib is not installed, or the file is a folder.
    """
    check_picture(file)
    prepare_output_file(file)


def check_picture(file: Path) -> None:
    """Check the same, but write nothing: `ConfigError` if the suffix is wrong or matplotlib is not installed."""
    _require_suffix(file)
    require_matplotlib()


def require_matplotlib() -> None:
    """Check before the work starts that figures can be drawn; `ConfigError` if matplotlib is not installed."""
    new_figure(1, 1)


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = None) -> "Figure":
    """An empty figure of this size in inches; `constrained` is automatic layout.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # not pyplot, which has global state and may need a display
    except ImportError:
        raise missing_extra("a picture needs matplotlib", "plots") from None
    return Figure(figsize=(width, height), dpi=150, layout=layout)


def save(figure: "Figure", *paths: Path) -> None:
    """Write a figure as SVG or PNG, by the suffix of each file; the same figure gives the same bytes.

    Raises:
        ConfigError: If a file has another suffix; nothing is written then.
    """
    import matplotlib

    for path in paths:
        _require_suffix(path)
    for path in paths:
        buffer = BytesIO()
        is_svg = path.suffix == ".svg"
        with matplotlib.rc_context({"svg.hashsalt": "ecsuite"}):  # otherwise the ids in an SVG are random
            figure.savefig(
                buffer, format=path.suffix[1:], metadata={"Date": None} if is_svg else {"Software": None}
            )
        write_atomically(path, buffer.getvalue())


def _require_suffix(file: Path) -> None:
    if file.suffix not in (".svg", ".png"):
        raise ConfigError(f"{file}: expected the name of a picture, ending in .svg or .png")


def label(name: str | int) -> str:
    """A name on one line, cut to `MAX_LABEL` characters; characters without a glyph become question marks."""
    text = " ".join(str(name).split()) or "(empty)"
    text = text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"
    glyphs = _glyphs()
    return "".join(character if ord(character) in glyphs else "?" for character in text)


def corpus_name(corpus: "Corpus") -> str:
    """What a corpus is called in titles: its run folder or file; `corpus` if it was made in Python."""
    source = Path(str(corpus.metadata.get("source_path", "")))
    name = source.resolve().parent.name if source.name == "corpus.jsonl" else source.name
    return label(name) if name else "corpus"


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Width of a line of text in inches."""
    from matplotlib.textpath import TextToPath

    width, _, _ = TextToPath().get_text_width_height_descent(text, _font(size), ismath=False)
    return float(width) / 72


def whole_numbers() -> Any:
    """Tick locator for counts."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, integer=True)


def _font(size: float) -> Any:
    """The font of all labels."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=size)


def _glyphs() -> Any:
    """The code points in the font of labels."""
    from matplotlib.font_manager import findfont, get_font

    return get_font(findfont(_font(FONT_SIZE))).get_charmap()


def format_curves(axes: Any, x: str, y: str) -> None:
    """Format the axes of curves: both from 0, and thousands with commas."""
    axes.set_xlabel(x, fontsize=FONT_SIZE)
    axes.set_ylabel(y, fontsize=FONT_SIZE)
    axes.tick_params(labelsize=FONT_SIZE)
    axes.set_ylim(bottom=0)
    axes.grid(linewidth=0.5, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.xaxis.set_major_locator(whole_numbers())
