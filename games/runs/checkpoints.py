"""Checkpoints: all state needed to resume a run, in one safetensors file with a checksum.

No random state is saved: the examples, their order, the channel's noise and draws of users' parts from torch's global
generators are pure functions of the seed and the step. A checkpoint is written to a temporary file and renamed, and the
previous checkpoint is kept.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ecsuite.files.tensor_files import (
    digest_of,
    optimizer_tensors,
    read_tensors,
    restore_optimizer,
    write_tensors,
)
from ecsuite.games.config.sections import NUM_KEPT, ROLES, Experiment, Role, TrainingOptions
from ecsuite.games.config.society import SocietyOptions
from ecsuite.games.players.pair import SIDES
from ecsuite.games.plays.population import AgentWeights
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.games.tasks.directions import DIRECTIONS
from ecsuite.parts.config import parse_yaml
from ecsuite.runtime.errors import ConfigError, DamagedError, unknown_name


def save_checkpoint(
    folder: Path,
    step: int,
    state: Mapping[str, Tensor],
    optimizer: torch.optim.Optimizer | None,
    **values: Any,
) -> None:
    """Write a checkpoint of a play and its optimizer after `step` steps, then remove all but the newest two.

    Args:
        folder: The run folder.
        step: Steps done.
        state: Tensors of the play.
        optimizer: Optimizer whose state is saved; None: nothing is trained.
        **values: Further values to save, JSON-serialisable.
    """
    tensors = {f"model.{name}": tensor for name, tensor in state.items()}
    tensors |= {} if optimizer is None else optimizer_tensors(optimizer)
    write_tensors(RunFolder(folder).checkpoint(step), tensors, {"step": step, **values})
    remove_old_checkpoints(folder)


def remove_old_checkpoints(folder: Path) -> None:
    """Remove all but the newest `NUM_KEPT` checkpoints."""
    for old in RunFolder(folder).checkpoints[NUM_KEPT:]:
        old.unlink()


def load_checkpoint(
    folder: Path,
    restore: Callable[[Mapping[str, Tensor]], object],
    note: Callable[[str], None],
    optimizer: torch.optim.Optimizer | None = None,
) -> dict[str, Any] | None:
    """Restore a play and its optimizer from the newest undamaged checkpoint.

    Args:
        folder: The run folder.
        restore: Loads the tensors of the play.
        note: Called with a message about each damaged checkpoint.
        optimizer: Receives the stored optimizer state.

    Returns:
        The values saved with the tensors, including `step`; None if there is no checkpoint.

    Raises:
        DamagedError: If there are checkpoints and all are damaged.
    """
    found = _first_undamaged(folder, note, lambda tensors: _restore(tensors, restore, optimizer))
    return None if found is None else found[1]


def newest_weights(folder: Path, note: Callable[[str], None]) -> dict[str, Tensor] | None:
    """Model weights of the newest undamaged checkpoint, by name; `note` gets a message about each damaged checkpoint.

    Returns:
        None if there is no checkpoint.

    Raises:
        DamagedError: If there are checkpoints and all are damaged.
    """
    found = _first_undamaged(folder, note, lambda tensors: None)
    return None if found is None else weights_in(found[0])


def _first_undamaged(
    folder: Path, note: Callable[[str], None], use: Callable[[Mapping[str, Tensor]], None]
) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Tensors and values of the newest checkpoint that can be read and used; see `load_checkpoint`."""
    found = RunFolder(folder).checkpoints
    for file in found:
        try:
            tensors, values = read_tensors(file)
            use(tensors)
        except DamagedError as error:
            note(f"{file.name} is damaged: {error}; trying the previous checkpoint")
        else:
            return tensors, values
    if found:
        raise DamagedError(f"{folder}: none of its {len(found)} checkpoints can be read; nothing was changed")
    return None


def weights_in(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Model tensors of a checkpoint, with the prefix `model.` removed from their names."""
    return {name.removeprefix("model."): each for name, each in tensors.items() if name.startswith("model.")}


def _restore(
    tensors: Mapping[str, Tensor],
    restore: Callable[[Mapping[str, Tensor]], object],
    optimizer: torch.optim.Optimizer | None,
) -> None:
    """Load the tensors of a checkpoint into a play and its optimizer."""
    try:
        restore(weights_in(tensors))
    except (RuntimeError, KeyError):
        raise DamagedError("its tensors do not fit this model") from None
    if optimizer is not None:
        restore_optimizer(optimizer, tensors)


class Best:
    """The best evaluation so far.

    Args:
        training: Options `keep_best` (the monitored figure) and `patience` (evaluations).
        figures: Figures of an evaluation by name, for messages and to check the name.
        lower_is_better: Metrics for which lower values are better.

    Raises:
        ConfigError: If no figure has the name.
    """

    def __init__(
        self,
        training: TrainingOptions,
        figures: Collection[str],
        lower_is_better: Collection[str] = (),
    ) -> None:
        assert training.keep_best is not None
        self.figure = training.keep_best.removeprefix("-")
        if self.figure not in figures:
            raise ConfigError(f"training.keep_best: {unknown_name('figure', self.figure, figures)}")
        is_low = DIRECTIONS.get(self.figure) == "lower" or self.figure in lower_is_better
        is_low = is_low or training.keep_best.startswith("-")
        self.sign, self.patience = -1 if is_low else 1, training.patience
        self.step: int | None = None
        """Step of the best evaluation; None before the first one."""
        self.value: float | None = None
        self.num_since = 0
        """Number of evaluations since the best one."""

    def restore(self, saved: Mapping[str, Any] | None) -> None:
        """Load the state that `to_json` returned for a checkpoint; None: no evaluation yet."""
        if saved is not None:
            self.step, self.value, self.num_since = saved["step"], saved["value"], saved["since"]

    def improves(self, figures: Mapping[str, float | None]) -> bool:
        """Whether an evaluation is better than the best so far; an undefined value is never better."""
        value = figures.get(self.figure)
        return value is not None and (self.value is None or self.sign * (value - self.value) > 0)

    def add(self, step: int, figures: Mapping[str, float | None]) -> bool:
        """Record an evaluation; return whether it is the best so far."""
        is_best = self.improves(figures)
        if is_best:
            self.step, self.value = step, figures[self.figure]
        self.num_since = 0 if is_best else self.num_since + 1
        return is_best

    @property
    def is_over(self) -> bool:
        """Whether `patience` evaluations have passed without an improvement."""
        return self.patience is not None and self.num_since >= self.patience

    def to_json(self) -> dict[str, Any]:
        """State for a checkpoint; see `restore`."""
        return {"step": self.step, "value": self.value, "since": self.num_since}


def save_best(folder: Path, step: int, state: Mapping[str, Tensor]) -> None:
    """Write the tensors of the best state after `step` steps, then remove all but the newest two such files."""
    write_tensors(RunFolder(folder).best_state(step), state, {"step": step})
    for old in RunFolder(folder).best_states[NUM_KEPT:]:
        old.unlink()


def read_best(folder: Path, step: int) -> dict[str, Tensor]:
    """Read the weights of the best state.

    Raises:
        DamagedError: If the file is missing or damaged.
    """
    file = RunFolder(folder).best_state(step)
    try:
        return read_tensors(file)[0]
    except (DamagedError, OSError) as error:
        raise DamagedError(
            f"{file}: the best state of this run can't be read ({error}): train it again in another folder"
        ) from None


def weights_of_corpus(folder: Path, note: Callable[[str], None]) -> dict[str, Tensor] | None:
    """Weights of the agents that produced the corpus of a run folder: the best state, or the newest one.

    Args:
        folder: The run folder; its code is not imported.
        note: Called with a message about each damaged checkpoint.

    Returns:
        None if there is no checkpoint.

    Raises:
        DamagedError: If the file is damaged.
    """
    run = RunFolder(folder)
    if (step := run.best_step) is not None and run.best_state(step).exists():
        return read_best(folder, step)
    return newest_weights(folder, note)


SIZES = ("num_attributes", "num_values")
"""World options that determine the size of objects."""


def read_initial_weights(
    experiment: Experiment, folder: Path | None, note: Callable[[str], None]
) -> tuple[dict[str, str], dict[Role, AgentWeights]]:
    """Read initial weights from other runs; return their checksums and the weights, both by role.

    Args:
        experiment: Names the runs.
        folder: Run folder of the experiment, which may not exist; if it has a checkpoint, its config supplies the
            checksums of runs that can't be read. None: no folder.
        note: Called with a message about each damaged checkpoint of the other runs.

    Raises:
        ConfigError: If a run has no checkpoint, or its weights have changed since the config was written.
    """
    sums: dict[str, str] = {}
    weights: dict[Role, AgentWeights] = {}
    for role in ROLES:
        source, key = experiment.training.init_of(role), f"training.init_{role}"
        if experiment.society.members:
            if source is not None:
                raise ConfigError(f"{key}: society.members sets the initial weights: expected null")
            source, key = ", ".join(experiment.society.members), "society.members"
            if not any(member.run for member in experiment.society.members_of(role) if member.is_of(role)):
                continue
        if source is None:
            continue
        place = f"{key}: {source}"
        try:
            if experiment.society.members:
                for run in dict.fromkeys(
                    each.run for each in experiment.society.members_of(role) if each.run
                ):
                    require_sizes(Path(run), experiment)
                weights[role] = member_weights(experiment.society, role, note)
            else:
                require_sizes(Path(source), experiment)
                weights[role] = agent_weights(Path(source), role, note)
        except (ConfigError, DamagedError) as error:
            known = None if folder is None else _begun(folder).get(role)
            if known is None:
                raise type(error)(f"{key}: {error}") from None
            sums[role] = known
            continue
        sums[role] = _digest(weights[role])
        if experiment.weights.get(role, sums[role]) != sums[role]:
            raise ConfigError(
                f"{place} has other weights than when this config was written (SHA-256 {sums[role]}, expected "
                f"{experiment.weights[role]}): name the run again with --init-from, or restore it"
            )
    return sums, weights


def member_weights(society: SocietyOptions, role: Role, note: Callable[[str], None]) -> AgentWeights:
    """Weights of the members of a role; members from one run take its agents in rotation."""
    runs: dict[str, Iterator[Mapping[str, Tensor] | None]] = {}
    found: list[Mapping[str, Tensor] | None] = []
    for member in society.members_of(role):
        if member.run is None or not member.is_of(role):
            found.append(None)
            continue
        if member.run not in runs:
            runs[member.run] = cycle(agent_weights(Path(member.run), role, note))
        found.append(next(runs[member.run]))
    return found


def agent_weights(folder: Path, role: Role, note: Callable[[str], None]) -> AgentWeights:
    """Read the weights of each agent of a role of a run, by name. No code of the run is imported.

    Raises:
        ConfigError: If the folder has no checkpoint, or no agents of the role.
        DamagedError: If no checkpoint can be read.
    """
    tensors = weights_of_corpus(folder, note)
    if tensors is None:
        raise ConfigError(f"{folder}: expected a run folder with a checkpoint")
    agents: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if (place := re.fullmatch(rf"(?:players\.)?agents\.(\d+)\.{SIDES[role]}\.(.+)", name)) is not None:
            agents.setdefault(int(place[1]), {})[place[2]] = tensor
    if not agents:
        raise ConfigError(f"{folder}: expected a run with a {role}")
    return [agents[number] for number in sorted(agents)]


def require_sizes(folder: Path, experiment: Experiment) -> None:
    """Raise if a run has other numbers of attributes or values; weights may fit anyway, if products are equal.

    Raises:
        ConfigError: If `num_attributes` or `num_values` differ in worlds of the same kind.
    """
    try:
        there = parse_yaml(RunFolder(folder).config.read_text(encoding="utf-8"), str(folder))["world"]
        here = experiment.to_tree()["world"]
        others = [key for key in SIZES if there["kind"] == here["kind"] and there.get(key) != here.get(key)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # reported by the reader of the weights
    if others:
        told = ", ".join(f"{key} is {there.get(key)} in the run and {here.get(key)} here" for key in others)
        raise ConfigError(f"{folder}: expected a run with objects of the same sizes, but {told}")


def _digest(agents: AgentWeights) -> str:
    """SHA-256 of the weights of agents."""
    named = {
        f"{number}.{name}": tensor
        for number, weights in enumerate(agents)
        for name, tensor in (weights or {}).items()
    }
    return digest_of(named)


def _begun(folder: Path) -> Mapping[str, str]:
    """Checksums in the config of a run with a checkpoint, which needs no initial weights; empty without one."""
    try:
        tree = parse_yaml(RunFolder(folder).config.read_text(encoding="utf-8"), str(folder))
        return dict(tree["weights"]) if RunFolder(folder).newest_step else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
