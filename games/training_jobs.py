"""Training as the work of a job: the game is known by its settings and data, and stops when the job is asked to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import torch

from ecsuite.games.experiment import from_tree, ignore
from ecsuite.games.initial_weights import with_initial_weights
from ecsuite.games.loggers import Logger
from ecsuite.games.precision import choose_game_precision
from ecsuite.games.run_identity import identity, with_data
from ecsuite.games.sections import ROLES, Experiment, with_training
from ecsuite.games.training import train
from ecsuite.games.training_result import Result
from ecsuite.jobs.job import Context, Stopped, hash_of
from ecsuite.runtime.devices import fixed_threads

SLOWNESS = {"thing": 1.0, "shape": 3.0}
"""Relative time per example of a world; only used to order jobs and to estimate the remaining time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Game:
    """An experiment as the input of a job: known by its settings and the content of its data files."""

    tree: dict[str, Any]
    """Every setting as in a YAML file, with the checksums of data files and initial weights."""

    @classmethod
    def of(cls, experiment: Experiment, seed: int, device: torch.device) -> Self:
        """The game of an experiment with a seed, and with the precision of a device."""
        precision = choose_game_precision(experiment, device)
        experiment = with_data(with_training(experiment, seed=seed, precision=precision))
        return cls(tree=with_initial_weights(experiment, None, ignore)[0].to_tree())

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return from_tree(self.tree, self.name)

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return str(self.tree["name"])

    @property
    def seed(self) -> int:
        """The seed of the training."""
        return int(self.tree["training"]["seed"])

    @property
    def folder_name(self) -> str:
        """The name of the run folder: `NAME-SEED-KEY`."""
        return f"{self.name}-{self.seed}-{hash_of(self.job_key())[:8]}"

    @property
    def work(self) -> float:
        """Expected cost, in any unit that is the same for all games."""
        settings = self.tree["training"]
        taught = [self.tree.get(role, {}).get("taught", {}).get("epochs", 0) for role in ROLES]
        examples = settings["num_examples"] * (settings["num_epochs"] + max(taught))
        return float(examples * SLOWNESS.get(self.tree.get("world", {}).get("kind"), 1.0))

    def job_key(self) -> Any:
        """Every setting but the description and the paths of data files."""
        tree = identity(self.experiment)
        if not tree["training"][
            "deterministic"
        ]:  # so that results from before there was this setting keep their keys
            del tree["training"]["deterministic"]
        return tree


class EarlyEnd(Logger, Protocol):
    """A logger that may end a run."""

    @property
    def is_pruned(self) -> bool:
        """Whether the run is to end with a checkpoint."""


def train_in_job(
    game: Game, folder: Path, device: str, context: Context, early_end: EarlyEnd | None = None
) -> Result:
    """Train a game with one thread; a run that was stopped in the folder goes on.

    Args:
        game: What to train.
        folder: The run folder.
        device: cpu, cuda or mps.
        context: See `Context`.
        early_end: Takes the figures of each evaluation, and may end the run, which is then `preempted`.

    Raises:
        DivergedError: If the loss is not finite.
        Stopped: If the training was asked to stop.
    """

    def is_pruned() -> bool:
        return early_end is not None and early_end.is_pruned

    with fixed_threads(1):
        result = train(
            game.experiment,
            folder,
            resume=True,
            device=device,
            progress=lambda label, done, total: context.report_progress(
                f"{game.name} {game.seed}: {label}", done / total
            ),
            note=lambda _: None,  # notes of single runs are not shown in a study
            should_stop=lambda: "preempted" if is_pruned() or context.should_stop() else None,
            loggers=[] if early_end is None else [early_end],
        )
    if result.stopped == "preempted" and not is_pruned():
        raise Stopped
    return result
