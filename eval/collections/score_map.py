"""The picture of a scored collection: a heat map with a row a corpus and a column a score."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ecsuite.eval.collections.score_table import SIZES
from ecsuite.eval.collections.scoring import ScoredMember
from ecsuite.eval.metrics import SCORES
from ecsuite.eval.reports.canvas import FONT_SIZE, TITLE_SIZE, label, new_figure, save, text_width
from ecsuite.eval.reports.short_table import ARROWS
from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.statistics.distributions import average_ranks

MOST_WITH_NUMBERS = 40
"""Most corpora whose scores are also written as numbers."""
ROW, THIN_ROW = 0.2, 0.13
"""Height of a row with and without numbers, in inches."""
COLUMN, THIN_COLUMN = 0.46, 0.24
"""Width of a column with and without numbers, in inches."""
UNDEFINED = "#dddddd"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreMap:
    """What is drawn."""

    corpora: tuple[str, ...]
    """Names of the rows: the corpora in their order."""
    scores: tuple[str, ...]
    """Names of the columns."""
    values: Floats
    """The scores, shape (num_corpora, num_scores); NaN where one is undefined."""
    ranks: Floats
    """The rank of each score among those of its column, from 0 (lowest) to 1; equal scores share their mean rank."""
    num_left_out: int
    """Scores that are the same for all corpora, or undefined for more than half of them."""


def map_of(scored: Sequence[ScoredMember], names: Sequence[str]) -> ScoreMap:
    """Of named scores those that differ between corpora and are defined for half of them, but no counts of sizes."""
    names = [name for name in names if name not in SIZES]
    table = np.array(
        [
            [np.nan if name not in each.card or (value := each.card[name].value) is None else value for name in names]
            for each in scored
        ],
        dtype=np.float64,
    ).reshape(len(scored), len(names))  # fmt: skip
    ranks = np.full_like(table, np.nan)
    kept = []
    for column in range(len(names)):
        defined = np.isfinite(table[:, column])
        values = table[defined, column]
        if 2 * len(values) < len(scored) or len(np.unique(values)) < 2:
            continue
        ranks[defined, column] = (average_ranks(values) - 1) / (len(values) - 1)
        kept.append(column)
    return ScoreMap(
        corpora=tuple(each.member.name for each in scored),
        scores=tuple(names[column] for column in kept),
        values=table[:, kept],
        ranks=ranks[:, kept],
        num_left_out=len(names) - len(kept),
    )


def draw_map(found: ScoreMap, *files: Path) -> None:
    """Draw the ranks as colours, and the scores as numbers if the corpora are few.

    Args:
        found: What is drawn; at least one score.
        *files: Output files, .svg or .png.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    has_numbers = len(found.corpora) <= MOST_WITH_NUMBERS
    row, column = (ROW, COLUMN) if has_numbers else (THIN_ROW, THIN_COLUMN)
    size = FONT_SIZE if has_numbers else FONT_SIZE - 2
    rows = [label(name) for name in found.corpora]
    columns = [
        label(name) + f" {ARROWS[SCORES[name][1] if name in SCORES else None]}".rstrip()
        for name in found.scores
    ]
    title = "Scores of a collection: the colour is the rank among the corpora"
    notes = ["↑ higher is better, ↓ lower is better; grey: undefined"]
    if found.num_left_out:
        more = f"{found.num_left_out} scores" if found.num_left_out > 1 else "1 score"
        notes.append(f"not drawn: {more}, the same for all corpora or undefined for most")
    left = max(text_width(name, size) for name in rows) + 0.25
    bottom = max(text_width(name, FONT_SIZE) for name in columns) + 0.2
    across, down = column * len(columns), row * len(rows)
    head = 0.4 + 0.18 * len(notes)
    width = max(
        left + across + 0.95, text_width(title, TITLE_SIZE) + 0.3, *(text_width(note) + 0.3 for note in notes)
    )
    height = head + down + bottom
    figure = new_figure(width, height)
    axes = figure.add_axes((left / width, bottom / height, across / width, down / height))
    picture = axes.imshow(np.ma.masked_invalid(found.ranks), cmap="viridis", vmin=0, vmax=1, aspect="auto")
    axes.set_facecolor(UNDEFINED)
    if has_numbers:
        for (place, which), value in np.ndenumerate(found.values):
            if np.isfinite(value):
                ink = "white" if found.ranks[place, which] < 0.55 else "black"
                text = _short(float(value))
                axes.text(which, place, text, ha="center", va="center", fontsize=FONT_SIZE - 1.5, color=ink)
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=FONT_SIZE, parse_math=False)
    axes.set_yticks(range(len(rows)), rows, fontsize=size, parse_math=False)
    axes.tick_params(length=0)
    tall = min(down, 2.0)
    bar = figure.add_axes(
        ((left + across + 0.15) / width, (bottom + down - tall) / height, 0.12 / width, tall / height)
    )
    colours = figure.colorbar(picture, cax=bar)
    colours.set_ticks([0, 1], labels=["lowest", "highest"])
    colours.ax.tick_params(labelsize=FONT_SIZE)
    figure.text(0.1 / width, 1 - 0.2 / height, title, fontsize=TITLE_SIZE, va="center")
    for index, note in enumerate(notes):
        figure.text(0.1 / width, 1 - (0.42 + 0.18 * index) / height, note, fontsize=FONT_SIZE, va="center")
    save(figure, *files)


def _short(value: float) -> str:
    """A number of at most six characters."""
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}" if abs(value) >= 1e4 else f"{value:.0f}"
