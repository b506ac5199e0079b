"""The picture of a scored collection: a heat map with a row a corpus and a column a score."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ecsuite.eval.collections.score_table import SIZES
from ecsuite.eval.collections.scoring import ScoredMember
from ecsuite.eval.metrics import traits_of
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import average_ranks
from ecsuite.eval.views.figures.canvas import ARROWS, label, save
from ecsuite.eval.views.figures.heat_map import heat_map

MOST_WITH_NUMBERS = 40
"""Most corpora whose scores are also written as numbers."""


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
    notes = ["↑ higher is better, ↓ lower is better; grey: undefined"]
    if found.num_left_out:
        more = f"{found.num_left_out} scores" if found.num_left_out > 1 else "1 score"
        notes.append(f"not drawn: {more}, the same for all corpora or undefined for most")
    has_numbers = len(found.corpora) <= MOST_WITH_NUMBERS
    figure = heat_map(
        found.ranks,
        found.corpora,
        [label(name) + ARROWS[traits_of(name).direction] for name in found.scores],
        texts=[[_short(value) for value in row] for row in found.values] if has_numbers else None,
        has_texts=has_numbers,
        limits=(0, 1),
        scale="rank among the corpora",
        ends=("lowest", "highest"),
        title="Scores of a collection: the colour is the rank among the corpora",
        notes=notes,
    )
    save(figure, *files)


def _short(value: float) -> str:
    """A number of at most six characters."""
    if not np.isfinite(value):
        return ""
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}" if abs(value) >= 1e4 else f"{value:.0f}"
