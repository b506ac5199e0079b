"""The table of a collection: a row a corpus, a column a score; JSON and CSV have all of them."""

import csv
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.eval.collections.scoring import ScoredMember
from ecsuite.eval.metrics import place_of, traits_of
from ecsuite.eval.metrics.preset_limits import limits_of
from ecsuite.eval.reports.console import Report
from ecsuite.eval.reports.short_table import ARROWS, shown
from ecsuite.files.atomic_files import write_atomically

COLUMNS = 5
"""Most scores that are printed."""
NAME_WIDTH = 28
"""Most columns of a corpus's name."""
CSV = ".csv"
FILES = ("scores.json", "scores.csv")
"""The files of the folder of a study."""


def report(scored: Sequence[ScoredMember], *, folder: Path | None = None) -> Report:
    """The output of a command.

    Args:
        scored: The corpora with their scores.
        folder: Where a study keeps `FILES`; None: nowhere.
    """
    names = score_names(scored)
    chosen = _most_defined(scored, names)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    width = min(NAME_WIDTH, max(len(each.member.name) for each in scored))
    table.add_column("corpus", min_width=width, max_width=width, overflow="fold")
    table.add_column("messages", justify="right", no_wrap=True)
    for name in chosen:
        arrow = ARROWS[traits_of(name).direction]
        table.add_column(f"{name} {arrow}".replace("_", " ").strip(), justify="right", min_width=6)
    for each in scored:
        values = [each.card[name].value if name in each.card else None for name in chosen]
        cells = ["-" if value is None else shown(value) for value in values]
        table.add_row(Text(each.member.name), f"{each.card.corpus['num_messages']:,}", *cells)
    lines = []
    if len(names) > len(chosen):
        where = (
            "--out FILE.csv (a row a corpus), --out FILE.json (all)"
            if folder is None
            else f"{folder / FILES[1]} (a row a corpus)"
        )
        lines.append(f"{len(names) - len(chosen)} more scores: {where}")
    signatures = [score.signature for each in scored for score in each.card.scores]
    lines += [f"xferbench: {limits}." for limits in dict.fromkeys(map(limits_of, signatures)) if limits]
    systems = {each.member.system for each in scored if each.member.system is not None}
    of_systems = f" of {len(systems)} systems" if systems else ""
    source = "FILE.json" if folder is None else folder
    lines.append(f"{len(scored)} corpora{of_systems}; next: ecsuite correlate {source}")
    # A comparison of all pairs is of few corpora; the key stays for programs that read it.
    data = {"corpora": [each.to_json() for each in scored], "comparison": None, "notes": lines}
    return Report(tables=[table], notes=tuple(lines), data=data, draw=_drawing(scored, names))


def _drawing(scored: Sequence[ScoredMember], names: Sequence[str]) -> Callable[[Path], None] | None:
    """Draws the heat map of the scores; None if no score differs between the corpora."""
    from ecsuite.eval.collections.score_map import draw_map, map_of

    found = map_of(scored, names)
    return (lambda file: draw_map(found, file)) if found.scores else None


def write_csv(file: Path, scored: Sequence[ScoredMember]) -> None:
    """Write a table with a row a corpus: names, sizes, and every score; an undefined one is an empty cell."""
    names = score_names(scored)
    sizes = list(dict.fromkeys(key for each in scored for key in _sizes(each)))
    known = ("name", "system", "game", "seed")
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*known, *sizes, *names])
    for each in scored:
        of_member = [getattr(each.member, key) for key in known]
        own = _sizes(each)
        values = [each.card[name].value if name in each.card else None for name in names]
        writer.writerow([*of_member, *(own.get(key) for key in sizes), *values])
    write_atomically(file, text.getvalue().encode())


def score_names(scored: Sequence[ScoredMember]) -> list[str]:
    """The names of all scores, in the order of tables."""
    found = dict.fromkeys(name for each in scored for name in each.card)
    return sorted(found, key=place_of)


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
