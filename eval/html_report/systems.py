"""Systems side by side: every run and corpus as a row, with its kind, size, and scores beside their chance levels."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ecsuite.eval.html_report.comparing import ScoreAbout, about_scores
from ecsuite.eval.metrics import table_order
from ecsuite.eval.results.sources import Record, Source, kind_of

MOST_SCORES = 8
"""Most scores of a table, where none were asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A score of a system."""

    value: float | None
    """None: it is undefined, or was not measured."""
    low: float | None = None
    high: float | None = None
    """The ends of its 95 % interval."""
    chance: float | None = None
    """Its chance level."""
    reason: str = ""
    """Why it is undefined."""
    is_faint: bool = False
    """Whether it is not told from chance: its interval holds the level, or the band of chance holds it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """A row."""

    name: str
    kind: str
    """What made it: the game of a run, `grammar`, or `corpus`."""
    problem: str
    """Why it failed, or did not end as planned; empty if it did."""
    num_messages: int | None
    corpus: int | None
    """The place of its messages in the page's browser; None: they are not there."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Systems:
    """All systems of a page."""

    rows: tuple[System, ...]
    about: tuple[ScoreAbout, ...]
    """What is known of the scores, in the order of the cells."""
    num_more: int
    """Scores that are not shown."""

    @property
    def kinds(self) -> dict[str, int]:
        """The kinds, each with its number of systems."""
        return dict(Counter(row.kind for row in self.rows).most_common())

    @property
    def num_failed(self) -> int:
        """Systems that failed, or did not end as planned."""
        return sum(bool(row.problem) for row in self.rows)


def systems(sources: Sequence[Source], places: Mapping[str, int], names: Sequence[str] | None) -> Systems:
    """A row a source.

    Args:
        sources: Runs, corpora and files of scores.
        places: The places of their messages in the browser, by title.
        names: Scores that were asked for; None: those that most sources have.
    """
    counts = Counter(
        record.score
        for source in sources
        for record in source.records
        if not record.is_measure and record.value is not None
    )
    common = [name for name, _ in counts.most_common(MOST_SCORES)]
    chosen = [name for name in names if name in counts] if names else sorted(common, key=table_order)
    about = about_scores(sources, chosen)
    return Systems(
        rows=tuple(
            System(
                name=source.title,
                kind=_kind(source),
                problem=source.failure or ("" if source.is_whole else source.ending),
                num_messages=_num_messages(source),
                corpus=places.get(source.title),
                cells=tuple(_cell(source.records_of(name)) for name in chosen),
            )
            for source in sources
        ),
        about=tuple(about),
        num_more=len(counts) - len(chosen),
    )


def _kind(source: Source) -> str:
    if source.is_run:
        return source.game or "run"
    return kind_of(source.metadata)


def _num_messages(source: Source) -> int | None:
    number = source.sizes.get("num_messages", source.metadata.get("num_messages"))
    return int(number) if isinstance(number, int | float) else None


def _cell(records: Sequence[Record]) -> Cell:
    if not records:
        return Cell(value=None, reason="not measured")
    record = records[0]
    if record.value is None:
        return Cell(value=None, reason=record.reason or "undefined")
    value, chance = float(record.value), record.chance or {}
    level, bottom, top = (_number(chance.get(key)) for key in ("level", "low", "high"))
    low, high = record.ci95 or (None, None)
    holds_level = low is not None and high is not None and level is not None and low <= level <= high
    is_in_band = bottom is not None and top is not None and bottom <= value <= top
    return Cell(value=value, low=low, high=high, chance=level, is_faint=holds_level or is_in_band)


def _number(value: object) -> float | None:
    """What JSON says of a chance level."""
    return float(value) if isinstance(value, int | float) else None
