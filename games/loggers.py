"""Loggers: what takes the figures of a run's evaluations, such as a CSV file or TensorBoard.

A logger of one's own is a class with these three methods: `--log ./mine.py:MyLogger,option=1`. Figures are named as in
`log.jsonl`, sections by a dot: `train.loss`, `valid.accuracy`, `metrics.topsim`.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import ecsuite.parts.own_code as own_code
from ecsuite.files.atomic_files import write_atomically
from ecsuite.games.registry import LOGGERS
from ecsuite.parts.config import dotted_values
from ecsuite.parts.registry import KIND, option_types, read_part
from ecsuite.runtime.errors import ConfigError, PartError, missing_extra


class Logger(Protocol):
    """Something that takes figures."""

    def start(self, config: Mapping[str, Any], folder: Path, step: int) -> None:
        """Begin, or go on with, a run.

        Args:
            config: Every setting of the run.
            folder: The run folder.
            step: Steps done before. What an earlier attempt logged of later steps comes again, and is to be removed.
        """

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Take the figures of an evaluation after `step` steps; those that are not defined are left out."""

    def close(self) -> None:
        """End, also after an error."""


class CsvLogger:
    """Figures as `log.csv` in the run folder, a row an evaluation, a column a figure."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """A CSV file has no options."""

    def __init__(self, options: Options) -> None:
        self.rows: list[dict[str, str]] = []
        self.columns: list[str] = []

    def start(self, config: Mapping[str, Any], folder: Path, step: int) -> None:
        """Keep the rows up to `step`."""
        self.file = folder / "log.csv"
        lines = self.file.read_text(encoding="utf-8").splitlines(keepends=True) if self.file.exists() else []
        whole = csv.DictReader(line for line in lines if line.endswith("\n"))
        self.columns = list(whole.fieldnames or ["step"])
        for row in whole:
            is_whole = None not in row and None not in row.values()
            if is_whole and re.fullmatch(r"\d+", row.get("step", "")) and int(row["step"]) <= step:
                self.rows.append(row)
        self._write()

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Add a row, and columns for new figures."""
        row = {"step": str(step), **{name: repr(value) for name, value in figures.items()}}
        new = [name for name in row if name not in self.columns]
        self.columns += new
        self.rows.append(row)
        if new:
            self._write()
        else:
            with self.file.open("a", encoding="utf-8", newline="") as file:
                csv.DictWriter(file, self.columns, lineterminator="\n").writerow(row)

    def close(self) -> None:
        """Everything is written already."""

    def _write(self) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_atomically(self.file, text.getvalue().encode())


class TensorboardLogger:
    """Figures as event files for TensorBoard, in the folder `tensorboard` of the run folder."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Event files have no options."""

    def __init__(self, options: Options) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise missing_extra("--log tensorboard needs the package tensorboard", "tensorboard") from None
        self.make_writer = SummaryWriter

    def start(self, config: Mapping[str, Any], folder: Path, step: int) -> None:
        """Open an event file; TensorBoard drops what earlier files have of later steps."""
        self.writer = self.make_writer(str(folder / "tensorboard"), purge_step=step + 1)

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Add a point to each curve."""
        for name, value in figures.items():
            self.writer.add_scalar(name.replace(".", "/"), value, step)
        self.writer.flush()

    def close(self) -> None:
        """Close the event file."""
        self.writer.close()


def make_loggers(texts: Iterable[str]) -> list[Logger]:
    """The loggers of lists such as `csv,wandb,mode=offline`; in a list, options follow the logger that they are of.

    Raises:
        ConfigError: If there is no such logger, or an option is not valid, or a package is missing.
        PartError: If a user's own logger can't be used.
    """
    names: list[str] = []
    for piece in (each.strip() for text in texts for each in text.split(",")):
        if "=" in piece.partition(":")[2] or ("=" in piece and not own_code.is_foreign(piece)):
            if not names:
                raise ConfigError(f"--log: expected a logger before {piece}: {', '.join(LOGGERS.parts)}")
            names[-1] += f",{piece}"
        else:
            names.append(piece)
    own_code.trust(own_code.foreign_kinds(names))
    made = []
    for name in names:
        try:
            section = LOGGERS.section(name, "--log")
            own = option_types(LOGGERS.load(section[KIND]).Options)
            for key in section.keys() - {KIND, *own}:
                choices = f"choices: {', '.join(own)}" if own else "it has none"
                raise ConfigError(f"--log: {section[KIND]}: unknown option '{key}'; {choices}")
            made.append(LOGGERS.make(read_part(LOGGERS, [("", section)], "log")))
        except PartError:
            raise
        except ConfigError as error:
            said = str(error)
            raise ConfigError(said if said.startswith("--log") else f"--log: {said}") from None
    return made


@contextmanager
def started(
    loggers: Iterable[Logger], config: Mapping[str, Any], folder: Path, step: int
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Start loggers, and close them at the end.

    Yields:
        A function that gives an entry of the log to each of them.
    """
    running: list[Logger] = []

    def log(entry: Mapping[str, Any]) -> None:
        if running:
            figures = flat_figures(entry)
            for logger in running:
                logger.log(entry["step"], figures)

    try:
        for logger in loggers:
            logger.start(config, folder, step)
            running.append(logger)
        yield log
    finally:
        for logger in running:
            logger.close()


def flat_figures(entry: Mapping[str, Any]) -> dict[str, float]:
    """The figures of an entry of the log but the step, those of sections by `section.name`."""
    values = dotted_values(entry).items()
    return {name: value for name, value in values if isinstance(value, int | float) and name != "step"}
