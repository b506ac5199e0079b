"""Loggers that give the figures of a run to a service that tracks experiments: Weights & Biases, Trackio, MLflow.

A resumed run goes on in the run that the service has already. What is computed again after a kill is equal to the last
bit, so figures of steps that the service has are not sent twice.
"""

import json
import secrets
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from ecsuite.files.atomic_files import write_atomically
from ecsuite.parts.config import dotted_values
from ecsuite.parts.error_messages import one_line
from ecsuite.runtime.errors import ConfigError, missing_extra
from ecsuite.runtime.printable import note


class TrackedRun(ABC):
    """A run in a service, under a name that the run folder keeps."""

    service: ClassVar[str]
    """The name of the package, of its extra, and of the folder in the run folder."""

    def start(self, config: Mapping[str, Any], folder: Path, step: int) -> None:
        """Begin a run, or go on with that of the folder."""
        self.kept = folder / self.service / "ecsuite.json"
        state: dict[str, Any] = json.loads(self.kept.read_bytes()) if step and self.kept.exists() else {}
        self.step = state.get("step", -1)
        self.kept.parent.mkdir(exist_ok=True)
        self.is_away = False
        try:
            self.identifier = self.begin(state.get("run"), config, folder)
        except Exception as error:  # of a package of others, whatever it raises
            raise ConfigError(f"--log {self.service}: {_told(error)}") from None
        self._keep()

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Send the figures, unless the service has those of this step or is away; training goes on without it."""
        if step <= self.step or self.is_away:
            return
        try:
            self.send(step, figures)
        except Exception as error:
            self.is_away = True
            note(f"--log {self.service}: nothing is sent from step {step} on: {_told(error)}")
        else:
            self.step = step
            self._keep()

    @abstractmethod
    def begin(self, identifier: str | None, config: Mapping[str, Any], folder: Path) -> str:
        """Begin a run (`None`) or go on with one, and give what the service knows it by."""

    @abstractmethod
    def send(self, step: int, figures: Mapping[str, float]) -> None:
        """Add figures of one step, which is later than those before."""

    def _keep(self) -> None:
        write_atomically(self.kept, json.dumps({"run": self.identifier, "step": self.step}).encode())


def _told(error: Exception) -> str:
    """What an error of a service says, in a line."""
    return one_line(" ".join(str(error).split()))


class WandbLogger(TrackedRun):
    """Figures as a run of Weights & Biases."""

    service = "wandb"

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of Weights & Biases."""

        project: str = "ecsuite"
        """The project."""
        mode: Literal["online", "offline"] = "online"
        """offline: written to the folder `wandb` of the run folder, for `wandb sync`; needs no network."""

    def __init__(self, options: Options) -> None:
        try:
            import wandb
        except ImportError:
            raise missing_extra("--log wandb needs the package wandb", "wandb") from None
        self.options, self.wandb = options, wandb

    def begin(self, identifier: str | None, config: Mapping[str, Any], folder: Path) -> str:
        """Begin a run or go on with one."""
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
    """Figures as a run of Trackio, on this machine; `trackio show` draws them."""

    service = "trackio"

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of Trackio."""

        project: str = "ecsuite"
        """The project."""
        space: str = ""
        """A Space of the Hugging Face hub that shows the runs, OWNER/NAME; without one nothing leaves this machine."""

    def __init__(self, options: Options) -> None:
        try:
            import trackio
        except ImportError:
            raise missing_extra("--log trackio needs the package trackio", "trackio") from None
        self.options, self.trackio = options, trackio

    def begin(self, identifier: str | None, config: Mapping[str, Any], folder: Path) -> str:
        """Begin a run or go on with one of this name."""
        name = identifier or f"{folder.name}-{secrets.token_hex(4)}"
        with redirect_stdout(sys.stderr):  # it prints where to look
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
        """The experiment."""
        tracking: str = ""
        """A server or a file (http://host:5000, sqlite:///all.db); else what MLflow takes: MLFLOW_TRACKING_URI."""

    def __init__(self, options: Options) -> None:
        try:
            import mlflow
        except ImportError:
            raise missing_extra("--log mlflow needs the package mlflow", "mlflow") from None
        self.options, self.mlflow = options, mlflow

    def begin(self, identifier: str | None, config: Mapping[str, Any], folder: Path) -> str:
        """Begin a run with its settings or go on with one."""
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
        for first in range(0, len(settings), 100):  # no server takes more at once
            self.client.log_batch(run, params=settings[first : first + 100])
        return run

    def send(self, step: int, figures: Mapping[str, float]) -> None:
        """Add the figures, at the time that it is."""
        now = round(time.time() * 1000)
        new = [self.mlflow.entities.Metric(name, value, now, step) for name, value in figures.items()]
        self.client.log_batch(self.identifier, metrics=new)

    def close(self) -> None:
        """End the run."""
        self.client.set_terminated(self.identifier)
