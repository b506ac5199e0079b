"""Figures over settings: a row for each combination, and for each figure the mean over seeds with its interval."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ecsuite.eval.results.comparison import Comparison, common_scores, compare, counts
from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.samples import Estimate, rows_of, samples_of
from ecsuite.eval.results.sources import Source
from ecsuite.runtime.errors import ConfigError, unknown_name

ALWAYS = ("accuracy", "reward")
"""Figures that a table has besides the scores, where runs have them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A figure of a row."""

    estimate: Estimate | None
    """Mean over seeds; None if it is undefined in all runs."""
    is_best: bool = False
    """Whether it is the best of its column, or not told apart from that, see `ComparedScore.best`."""

    @property
    def mean(self) -> float | None:
        """The mean."""
        return None if self.estimate is None else self.estimate.mean

    @property
    def half_width(self) -> float | None:
        """Half of the width of its 95 % interval; None of one value."""
        return None if self.estimate is None else self.estimate.half_width

    @property
    def num_values(self) -> int:
        """Number of seeds in which it is defined."""
        return 0 if self.estimate is None else self.estimate.num_values


@dataclass(frozen=True, kw_only=True, slots=True)
class Combination:
    """A combination of settings."""

    name: str
    """Its name in the comparison."""
    settings: tuple[Any, ...]
    """The values of the table's keys."""
    num_runs: int
    """Runs whose figures are in the means."""
    num_failed: int
    """Runs that failed."""
    num_incomplete: int
    """Runs that were ended by the clock, by a stop, or by pruning, or have not ended, and are not in the means."""
    cells: tuple[Cell, ...]
    """One per figure of the table."""


@dataclass(frozen=True, kw_only=True)
class Means:
    """Means over seeds, with 95 % intervals, and the comparison of all pairs of rows."""

    keys: tuple[str, ...]
    """The settings of a row."""
    figures: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[Combination, ...]
    """The rows, in the order of the runs."""
    comparison: Comparison | None
    """The rows compared; None if nothing is comparable."""
    sources: tuple[Source, ...]
    """The runs of all rows."""

    def to_json(self) -> dict[str, Any]:
        """The means as JSON-ready data."""
        return {
            "rows": [
                {
                    "settings": dict(zip(self.keys, row.settings, strict=True)),
                    "num_runs": row.num_runs,
                    "num_failed": row.num_failed,
                    "num_incomplete": row.num_incomplete,
                    "figures": {
                        name: {
                            "is_best": cell.is_best,
                            "mean": cell.mean,
                            "half_width": cell.half_width,
                            "num_values": cell.num_values,
                        }
                        for name, cell in zip(self.figures, row.cells, strict=True)
                    },
                }
                for row in self.rows
            ],
            "correction": None if self.comparison is None else self.comparison.correction_json(),
        }


def means_of(
    sources: Sequence[Source],
    *,
    by: Sequence[str] | None = None,
    figures: Sequence[str] | None = None,
    with_incomplete: bool = False,
    sizes: EqualSizes | None = None,
) -> Means:
    """Means over the runs that agree in the settings `by`, and the comparison of all pairs of rows.

    Args:
        sources: The runs.
        by: Settings; None: all that vary or, if these are many, those from which the others follow.
        figures: Names of measures and scores, all of which are compared; None: accuracy or reward, and all scores of
            the runs, of which the scores are compared (where there are none, accuracy or reward).
        with_incomplete: Whether runs that were ended by the clock, by a stop or by pruning are in the means, too.
        sizes: Draws from larger corpora; None: scores of corpora of unequal sizes are not compared.

    Raises:
        ConfigError: If a setting or a figure is unknown.
    """
    placed = rows_of(sources, by)
    known = list(dict.fromkeys(name for source in sources for name in source.figures))
    scores = dict.fromkeys(name for source in sources for name in source.scores)
    names = [name for name in known if _is_usual(name, scores)] if figures is None else list(figures)
    for name in names:
        if name not in known:
            raise unknown_name("figure", name, known)
        if names.count(name) > 1:
            raise ConfigError(f"--metrics: {name} is named twice")
    rows: dict[str, list[Source]] = {}
    for source in placed:
        rows.setdefault(source.group, []).append(source)
    counted = [source for source in placed if counts(source, with_incomplete=with_incomplete)]
    keys = (
        list(dict.fromkeys(key for source in placed for key in source.settings)) if by is None else list(by)
    )
    asked = figures
    if asked is None:
        asked = common_scores(counted) or [name for name in ALWAYS if name in known][:1]
    asked = [name for name in asked if any(source.figures.get(name) is not None for source in counted)]
    compared = None
    if len(rows) > 1 and asked:
        sizes = sizes or EqualSizes(may_draw=False)
        compared = compare(placed, asked, as_rows=True, with_incomplete=with_incomplete, sizes=sizes)
    columns = [_column(list(rows), counted, name, compared) for name in names]
    combinations = []
    for place, row in enumerate(rows.values()):
        combinations.append(
            Combination(
                name=row[0].row,
                settings=tuple(row[0].settings.get(key) for key in keys),
                num_runs=len(
                    {
                        source.folder if source.is_run and source.folder is not None else number
                        for number, source in enumerate(row)
                        if source.failure is None and counts(source, with_incomplete=with_incomplete)
                    }
                ),
                num_failed=sum(source.failure is not None for source in row),
                num_incomplete=sum(
                    source.failure is None and not source.is_whole and not with_incomplete for source in row
                ),
                cells=tuple(column[place] for column in columns),
            )
        )
    return Means(
        keys=tuple(keys),
        figures=tuple(names),
        rows=tuple(combinations),
        comparison=compared,
        sources=tuple(sources),
    )


def _is_usual(name: str, scores: Collection[str]) -> bool:
    """Whether a figure is in a table by default: a score, accuracy or reward, the accuracy on seen objects."""
    return name in ALWAYS or name in scores or (name.startswith("seen ") and name.endswith(" accuracy"))


def _column(
    rows: Sequence[str], sources: Sequence[Source], name: str, compared: Comparison | None
) -> list[Cell]:
    """The cells of a figure, one for each row: as compared or, if the figure is not compared, its means."""
    score = (
        next((each for each in compared.scores if each.name == name), None) if compared is not None else None
    )
    best = set[str]() if score is None else score.best()
    defined = [source for source in sources if source.figures.get(name) is not None]
    if score is not None:
        found = list(score.samples.values())
    else:
        found = samples_of(defined, name) if defined else []
    samples = {sample.fingerprint: sample for sample in found}
    return [
        Cell(estimate=samples[row].estimate, is_best=samples[row].name in best)
        if row in samples
        else Cell(estimate=None)
        for row in rows
    ]
