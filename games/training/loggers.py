"""Loggers of the measures of a run's evaluations: files, TensorBoard, and services that track experiments.

A resumed run continues its run in the service. Steps that are recomputed after a kill are bit-identical,
so measures that the service already has are not sent twice.
"""

import csv
import io
import json
import re
import secrets
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import ecsuite.parts.own_code as own_code
from ecsuite.files.atomic_files import write_atomically
from ecsuite.games.config.registry import LOGGERS
from ecsuite.parts.config import dotted_values
from ecsuite.parts.error_messages import one_line
from ecsuite.parts.registry import KIND, option_types, read_part
from ecsuite.runtime.errors import ConfigError, PartError, missing_extra
from ecsuite.runtime.printable import note


class Logger(Protocol):
    """Interface of loggers."""

    def start(self, config: Mapping[str, Any], folder: Path, step: int) -> None:
        """Start or resume a run.

        Args:
            config: Every setting of the run.
            folder: The run folder.
            step: Steps done before. Logs of later steps from an earlier attempt are repeated, and have to be removed.
        """

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Log the figures of an evaluation after `step` steps, without undefined figures."""

    def close(self) -> None:
        """End the log, also after an error."""


class CsvLogger:
    """Figures as `log.csv` in the run folder, a row per evaluation, a column per figure."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """No options."""

    def __init__(self, options: Options) -> None:
        self.rows: list[dict[str, str]] = []
        self.columns: list[str] = []

    def start(self, config: Mapping[str, Any], folder: Path, step: int) -> None:
        """Keep only the rows up to `step`."""
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
        """Do nothing: everything is written already."""

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
        """No options."""

    def __init__(self, options: Options) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise missing_extra("--log tensorboard needs the package tensorboard", "tensorboard") from None
        self.make_writer = SummaryWriter

    def start(self, config: Mapping[str, Any], folder: Path, step: int) -> None:
        """Open an event file; TensorBoard drops later steps of earlier files."""
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
    """Make loggers from lists such as `csv,wandb,mode=offline`; in a list, options follow their logger.

    Raises:
        ConfigError: If a logger is unknown, an option is not valid, or a package is missing.
        PartError: If a logger from user code can't be used.
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


class TrackedRun(ABC):
    """A run in a tracking service; its identifier is stored in the run folder."""

    service: ClassVar[str]
    """Name of the package, of its extra, and of the subfolder of the run folder."""

    def start(self, config: Mapping[str, Any], folder: Path, step: int) -> None:
        """Start a run, or resume the run of the folder."""
        self.kept = folder / self.service / "ecsuite.json"
        state: dict[str, Any] = json.loads(self.kept.read_bytes()) if step and self.kept.exists() else {}
        self.step = state.get("step", -1)
        self.kept.parent.mkdir(exist_ok=True)
        self.is_away = False
        try:
            self.identifier = self.begin(state.get("run"), config, folder)
        except Exception as error:  # third-party packages may raise anything
            raise ConfigError(f"--log {self.service}: {_error_line(error)}") from None
        self._keep()

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Send the figures unless the service already has the step; after a failure, training continues without it."""
        if step <= self.step or self.is_away:
            return
        try:
            self.send(step, figures)
        except Exception as error:
            self.is_away = True
            note(f"--log {self.service}: no figures are sent from step {step} on: {_error_line(error)}")
        else:
            self.step = step
            self._keep()

    @abstractmethod
    def begin(self, identifier: str | None, config: Mapping[str, Any], folder: Path) -> str:
        """Start a run (`None`) or resume one; return its identifier in the service."""

    @abstractmethod
    def send(self, step: int, figures: Mapping[str, float]) -> None:
        """Add the figures of a step, which is later than all previous steps."""

    def _keep(self) -> None:
        write_atomically(self.kept, json.dumps({"run": self.identifier, "step": self.step}).encode())


def _error_line(error: Exception) -> str:
    """Message of a service's error, in one line."""
    return one_line(" ".join(str(error).split()))


class WandbLogger(TrackedRun):
    """Figures as a run of Weights & Biases."""

    service = "wandb"

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of Weights & Biases."""

        project: str = "ecsuite"
        """Name of the project."""
        mode: Literal["online", "offline"] = "online"
        """offline: write to the folder `wandb` of the run folder, for `wandb sync`, without a network."""

    def __init__(self, options: Options) -> None:
        try:
            import wandb
        except ImportError:
            raise missing_extra("--log wandb needs the package wandb", "wandb") from None
        self.options, self.wandb = options, wandb

    def begin(self, identifier: str | None, config: Mapping[str, Any], folder: Path) -> str:
        """Start or resume a run."""
        identifier = identifier or secrets.token_hex(4)
        self.run = self.wandb.init(
            project=self.options.project,
            mode=self.options.mode,
            name=folder.name,
            dir=str(folder),
            id=identifier,
            resume="allow",
            config=dict(config),
            settings=self.wandb.Settings(silent=True, console="off"),
        )
        return identifier

    def send(self, step: int, figures: Mapping[str, float]) -> None:
        """Add the figures."""
        self.run.log(dict(figures), step=step)

    def close(self) -> None:
        """End the run, and wait until it is written."""
        self.run.finish()


class TrackioLogger(TrackedRun):
    """Figures as a local run of Trackio; `trackio show` plots them."""

    service = "trackio"

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of Trackio."""

        project: str = "ecsuite"
        """Name of the project."""
        space: str = ""
        """Space of the Hugging Face hub that shows the runs, OWNER/NAME; empty: data stay on this machine."""

    def __init__(self, options: Options) -> None:
        try:
            import trackio
        except ImportError:
            raise missing_extra("--log trackio needs the package trackio", "trackio") from None
        self.options, self.trackio = options, trackio

    def begin(self, identifier: str | None, config: Mapping[str, Any], folder: Path) -> str:
        """Start a run, or resume a run of this name."""
        name = identifier or f"{folder.name}-{secrets.token_hex(4)}"
        with redirect_stdout(sys.stderr):  # it prints the address of its pages
            self.run = self.trackio.init(
                project=self.options.project,
                name=name,
                space_id=self.options.space or None,
                config=dict(config),
                resume="allow",
                embed=False,
                auto_log_gpu=False,
                auto_log_cpu=False,
            )
        return name

    def send(self, step: int, figures: Mapping[str, float]) -> None:
        """Add the figures."""
        self.run.log(dict(figures), step=step)

    def close(self) -> None:
        """End the run, and wait until it is written."""
        with redirect_stdout(sys.stderr):
            self.trackio.finish()


class MlflowLogger(TrackedRun):
    """Figures as a run of MLflow, whose parameters are the settings."""

    service = "mlflow"

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of MLflow."""

        experiment: str = "ecsuite"
        """Name of the experiment."""
        tracking: str = ""
        """A server or a file (http://host:5000, sqlite:///all.db); empty: MLflow's default, MLFLOW_TRACKING_URI."""

    def __init__(self, options: Options) -> None:
        try:
            import mlflow
        except ImportError:
            raise missing_extra("--log mlflow needs the package mlflow", "mlflow") from None
        self.options, self.mlflow = options, mlflow

    def begin(self, identifier: str | None, config: Mapping[str, Any], folder: Path) -> str:
        """Start a run with its settings, or resume one."""
        self.client = self.mlflow.MlflowClient(tracking_uri=self.options.tracking or None)
        if identifier:
            self.client.update_run(identifier, "RUNNING")
            return identifier
        found = self.client.get_experiment_by_name(self.options.experiment)
        experiment = found.experiment_id if found else self.client.create_experiment(self.options.experiment)
        run: str = self.client.create_run(experiment, run_name=folder.name).info.run_id
        settings = [
            self.mlflow.entities.Param(name, str(value)) for name, value in dotted_values(config).items()
        ]
        for first in range(0, len(settings), 100):  # limit of servers per request
            self.client.log_batch(run, params=settings[first : first + 100])
        return run

    def send(self, step: int, figures: Mapping[str, float]) -> None:
        """Add the figures with the current time."""
        now = round(time.time() * 1000)
        new = [self.mlflow.entities.Metric(name, value, now, step) for name, value in figures.items()]
        self.client.log_batch(self.identifier, metrics=new)

    def close(self) -> None:
        """End the run."""
        self.client.set_terminated(self.identifier)
