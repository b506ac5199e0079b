"""Output of commands: progress and notes on standard error, results as tables or JSON on standard output."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecsuite.files.atomic_files import write_if_changed
from ecsuite.files.format_numbers import with_format
from ecsuite.runtime.errors import unknown_name
from ecsuite.runtime.printable import note as print_note
from ecsuite.runtime.time_left import TimeLeft
from ecsuite.tables.forms import SUFFIXES, Form, publish, rendered
from ecsuite.tables.table import Table, as_frame

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress, TaskID

    from ecsuite.tables.table import Table


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Results of a study."""

    tables: Sequence[Table]
    """Tables of the results."""
    notes: tuple[str, ...]
    """Notes on the tables."""
    data: Mapping[str, Any]
    """All results, JSON-ready."""
    draw: Callable[[Path], None] | None = None
    """Draws a figure into a file; None if there is no figure."""

    def publish(
        self, *, out: Path | None, picture: Path | None, as_json: bool, form: Form = Form.TEXT
    ) -> None:
        """Write the requested files, and print JSON, or the tables and notes in a form."""
        self.write(out)
        if picture is not None:
            assert self.draw is not None
            self.draw(picture)
        if as_json:
            print_json(with_format("result", self.data))
        else:
            publish(self.tables, form, self.notes)

    def write(self, out: Path | None) -> None:
        """Write the JSON to a file, or the tables if its suffix is one of their forms."""
        if out is None:
            return
        if out.suffix in SUFFIXES:
            write_if_changed(out, rendered(self.tables, SUFFIXES[out.suffix], self.notes).encode())
        else:
            write_json(out, with_format("result", self.data))


class Reporter:
    """Progress and notes on standard error: a progress bar with an ETA on a terminal, otherwise a line every 15 s.

    Args:
        cache_dir: Folder of finished jobs; named in a note if the user interrupts the work.
        quiet: Show neither progress nor notes.
    """

    SECONDS_BETWEEN_LINES = 15.0

    def __init__(self, cache_dir: Path | None = None, *, quiet: bool = False) -> None:
        self.cache_dir, self.quiet = cache_dir, quiet
        self.live: Live | None = None
        self.bar: Progress | None = None
        self.task: TaskID | None = None
        self.left = TimeLeft(0.0)
        self.last = time.monotonic()

    def __enter__(self) -> "Reporter":
        """Return the reporter; nothing is shown yet."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        """Remove the progress bar; after an interrupt, note where finished jobs are cached."""
        if self.live is not None:
            self.live.stop()
            self.live = None
        if isinstance(error, KeyboardInterrupt) and self.cache_dir is not None and self.cache_dir.is_dir():
            self.end(
                error,
                f"stopped; finished jobs are stored in {self.cache_dir}; run the same command to resume",
            )

    def end(self, stop: BaseException, text: str) -> None:
        """Print the note on stopped work, and attach it so that the command line prints no more."""
        self.note(text)
        stop.add_note(text)

    def progress(self, label: str, done: float, total: float) -> None:
        """Show progress, `done` of `total` in any unit; a new total starts a new progress bar.

        Further lines of the label are shown below the bar, on a terminal only.
        """
        if self.quiet:
            return
        now = time.monotonic()
        is_new = total != self.left.total
        if is_new:
            self.left = TimeLeft(total)
        self.left.add(now, done)
        if sys.stderr.isatty():
            self._show_live(label, done, self.left.text(now, done), is_new=is_new)
        elif now - self.last >= self.SECONDS_BETWEEN_LINES and done > self.left.began:
            self.last = now
            parts = (f"{done / total:4.0%}", self.left.text(now, done), label.partition("\n")[0])
            self.note("  ".join(part for part in parts if part))

    def note(self, text: str) -> None:
        """Print a note for the user."""
        if self.quiet:
            return
        if self.live is not None:
            self.live.console.print(text, markup=False, highlight=False)
        else:
            print_note(text)

    def _show_live(self, label: str, done: float, left: str, *, is_new: bool) -> None:
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
        from rich.text import Text

        if self.live is None:
            columns = (BarColumn(bar_width=16), TaskProgressColumn(), TextColumn("{task.fields[left]}"))
            self.bar = Progress(*columns, TextColumn("{task.description}", markup=False))
            self.live = Live(console=Console(stderr=True), transient=True, refresh_per_second=8)
            self.live.start()
        assert self.bar is not None
        if is_new:
            for task in self.bar.task_ids:
                self.bar.remove_task(task)
            self.task = self.bar.add_task("", total=self.left.total, left=left)
        assert self.task is not None
        first, _, others = label.partition("\n")
        self.bar.update(self.task, description=first, completed=done, left=left)
        below = Text(others, no_wrap=True, overflow="ellipsis")
        self.live.update(Group(self.bar, below) if others else self.bar)


def print_json(data: Any) -> None:
    """Write JSON to standard output."""
    sys.stdout.write(as_text(data))


def write_json(path: Path, data: Any) -> None:
    """Write JSON to a file, atomically."""
    write_if_changed(path, as_text(data).encode())


def as_text(data: Any) -> str:
    """Indented JSON."""
    return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


ROWS = ("rows", "differences", "scores", "sources")
"""Keys of the lists in the results of commands; the first non-empty one makes the frame."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Findings(Mapping[str, Any]):
    """A mapping with the keys of the command's `--json`; it prints as the command's tables and notes."""

    report: Report
    """The tables, notes and data."""

    def __getitem__(self, key: str) -> Any:
        """The value of a key of the JSON, such as `rows`."""
        if key not in self.report.data:
            raise KeyError(str(unknown_name("key", key, list(self))))
        return self.report.data[key]

    def __iter__(self) -> Iterator[str]:
        """The keys of the JSON."""
        return iter(self.report.data)

    def __len__(self) -> int:
        """Number of keys."""
        return len(self.report.data)

    def __str__(self) -> str:
        """The tables and notes as text."""
        return "\n".join(map(str, self.report.tables)) + "".join(f"{line}\n" for line in self.report.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The tables and notes in a notebook."""
        return rendered(self.report.tables, Form.HTML, self.report.notes)

    def table(self, number: int = 0) -> Table:
        """A table of the results, which has all forms.

        Args:
            number: Index of the table, from 0.
        """
        table: Table = self.report.tables[number]
        return table

    def to_frame(self) -> Any:
        """A `pandas.DataFrame` with one row per model and grammar, or per difference.

        Raises:
            ConfigError: If pandas is not installed.
        """
        rows: list[Any] = next((self[key] for key in ROWS if self.get(key)), [])
        return as_frame([each for row in rows for each in _flat(row)])


def _flat(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Scalar values of a row, repeated for each of its cells or differences, if any."""
    own = {key: value for key, value in row.items() if isinstance(value, str | int | float | None)}
    if isinstance(interval := row.get("ci95"), list | tuple):
        own |= {"low": interval[0], "high": interval[1]}
    cells = row.get("cells") or row.get("differences")
    return [own | each for cell in cells for each in _flat(cell)] if cells else [own]
