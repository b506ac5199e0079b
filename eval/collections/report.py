"""The table of a collection: a row a corpus, a column a score; JSON and CSV have all of them."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from ecsuite.eval.collections.scoring import ScoredMember
from ecsuite.eval.metrics import table_order, traits_of
from ecsuite.eval.metrics.conclusions import limits_of
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.score_tables import ARROWS
from ecsuite.tables.cells import count, number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

COLUMNS = 5
"""Most scores that are printed."""
HEADING_WIDTH = 14
"""Most characters of a line of a heading, but for longer words."""
ABOUT = ("system", "game", "seed")
"""What CSV has of a corpus beside its name and sizes."""
FILES = ("scores.json", "scores.csv")
"""The files of the folder of a study."""


def report(scored: Sequence[ScoredMember], *, folder: Path | None = None) -> Report:
    """The output of a command.

    Args:
        scored: The corpora with their scores.
        folder: Where a study keeps `FILES`; None: nowhere.
    """
    names = score_names(scored)
    num_printed = len(_most_defined(scored, names))
    lines = []
    if len(names) > num_printed:
        where = (
            "--out FILE.csv (a row a corpus), --out FILE.json (all)"
            if folder is None
            else f"{folder / FILES[1]} (a row a corpus)"
        )
        lines.append(f"{len(names) - num_printed} more scores: {where}")
    signatures = [score.signature for each in scored for score in each.card.scores]
    lines += [f"xferbench: {limits}." for limits in dict.fromkeys(map(limits_of, signatures)) if limits]
    systems = {each.member.system for each in scored if each.member.system is not None}
    of_systems = f" of {len(systems)} systems" if systems else ""
    source = "FILE.json" if folder is None else shlex.quote(str(folder))
    lines.append(f"{len(scored)} corpora{of_systems}; next: ecsuite compare correlations {source}")
    # A comparison of all pairs is of few corpora; the key stays for programs that read it.
    data = {"corpora": [each.to_json() for each in scored], "comparison": None, "notes": lines}
    return Report(tables=[table_of(scored)], notes=tuple(lines), data=data, draw=_drawing(scored, names))


def _drawing(scored: Sequence[ScoredMember], names: Sequence[str]) -> Callable[[Path], None] | None:
    """Draws the heat map of the scores; None if no score differs between the corpora."""
    from ecsuite.eval.collections.score_map import draw_map, map_of

    found = map_of(scored, names)
    return (lambda file: draw_map(found, file)) if found.scores else None


def table_of(scored: Sequence[ScoredMember]) -> Table:
    """A row a corpus: its name, sizes and scores; the most defined scores are printed, all are in CSV and frames."""
    names = score_names(scored)
    printed = _most_defined(scored, names)
    sizes = list(dict.fromkeys(name for each in scored for name in _sizes(each)))
    columns = [name_column("name", "corpus"), *(Column(name, is_shown=False) for name in ABOUT)]
    columns += [number_column(size, "messages", is_shown=size == "num_messages") for size in sizes]
    for name in names:
        arrow = ARROWS[traits_of(name).direction]
        heading = f"{name} {arrow}".replace("_", " ").strip()
        lines = tuple(wrap(heading, HEADING_WIDTH, break_long_words=False))
        columns.append(number_column(name, lines, is_shown=name in printed))
    rows = []
    for each in scored:
        own = _sizes(each)
        values = [each.card[name].value if name in each.card else None for name in names]
        rows.append(
            row_of(
                each.member.name,
                *(text(getattr(each.member, name)) for name in ABOUT),
                *(count(own.get(size)) for size in sizes),
                *map(number, values),
            )
        )
    return Table(columns=columns, rows=rows)


def score_names(scored: Sequence[ScoredMember]) -> list[str]:
    """The names of all scores, in the order of tables."""
    found = dict.fromkeys(name for each in scored for name in each.card)
    return sorted(found, key=table_order)


def _sizes(each: ScoredMember) -> dict[str, Any]:
    """The sizes of a corpus."""
    return {key: value for key, value in each.card.corpus.items() if key.startswith("num_")}


def _most_defined(scored: Sequence[ScoredMember], names: Sequence[str]) -> list[str]:
    """The scores that are printed: those that most corpora have, and of these the first in the order of tables."""

    def share(name: str) -> int:
        return sum(name in each.card and each.card[name].value is not None for each in scored)

    defined = sorted((name for name in names if share(name)), key=lambda name: share(name) * 2 < len(scored))
    chosen = defined[:COLUMNS]
    return [name for name in names if name in chosen]
