"""The best state of a run by a figure of its evaluations (`training.keep_best`), and patience with those that follow.

Evaluations at multiples of `training.evaluate_every` count, so that a run that was stopped and continued keeps the same
state. The weights are kept in `best-STEP.safetensors`, the newest two of them, as checkpoints are.
"""

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from ecsuite.files.checksums import require_unchanged
from ecsuite.files.tensor_files import read_tensors, write_tensors
from ecsuite.games.checkpoints import NUM_KEPT, newest_weights
from ecsuite.games.directions import DIRECTIONS
from ecsuite.games.sections import TrainingOptions
from ecsuite.runtime.errors import ConfigError, DamagedError, unknown_name


class Best:
    """The best evaluation so far.

    Args:
        training: Which figure is watched, and for how many evaluations.
        figures: The figures of an evaluation by name, for messages and to check the name.
        lower_is_better: Metrics of which a lower value is better.

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
        """Steps before the best evaluation; None before the first one."""
        self.value: float | None = None
        self.num_since = 0
        """Evaluations since the best one."""

    def restore(self, saved: Mapping[str, Any] | None) -> None:
        """Go on from what `to_json` returned for a checkpoint; None: there was no evaluation yet."""
        if saved is not None:
            self.step, self.value, self.num_since = saved["step"], saved["value"], saved["since"]

    def improves(self, figures: Mapping[str, float | None]) -> bool:
        """Whether an evaluation is better than the best so far; one that is not defined never is."""
        value = figures.get(self.figure)
        return value is not None and (self.value is None or self.sign * (value - self.value) > 0)

    def add(self, step: int, figures: Mapping[str, float | None]) -> bool:
        """Take an evaluation; returns whether it is the best."""
        is_best = self.improves(figures)
        if is_best:
            self.step, self.value = step, figures[self.figure]
        self.num_since = 0 if is_best else self.num_since + 1
        return is_best

    @property
    def is_over(self) -> bool:
        """Whether patience has come to its end."""
        return self.patience is not None and self.num_since >= self.patience

    def to_json(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"step": self.step, "value": self.value, "since": self.num_since}


def save_best(folder: Path, step: int, state: Mapping[str, Tensor]) -> None:
    """Write the tensors of the best state after `step` steps, then remove all but the newest two such files."""
    write_tensors(_file(folder, step), state, {"step": step})
    for old in sorted(folder.glob("best-*.safetensors"), reverse=True)[NUM_KEPT:]:
        old.unlink()


def read_best(folder: Path, step: int) -> dict[str, Tensor]:
    """The weights of the best state.

    Raises:
        DamagedError: If the file is not there or damaged.
    """
    file = _file(folder, step)
    try:
        return read_tensors(file)[0]
    except (DamagedError, OSError) as error:
        raise DamagedError(
            f"{file}: the best state of this run can't be read ({error}); train it again in another folder"
        ) from None


def best_step(folder: Path) -> int | None:
    """Steps of the best state, of which the corpus of a run folder is; None where it is that of the last one."""
    file = folder / "metadata.json"
    try:
        metadata = json.loads(file.read_bytes())
        require_unchanged(metadata, file)
        step = metadata["training"]["best_step"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return step if isinstance(step, int) else None


def weights_of_corpus(folder: Path, note: Callable[[str], None]) -> dict[str, Tensor] | None:
    """The weights of the agents whose messages are the corpus of a run folder: its best state, or the newest one.

    Args:
        folder: The run folder; nothing of it is imported.
        note: Told of each damaged checkpoint.

    Returns:
        None if there is no checkpoint.

    Raises:
        DamagedError: If the file is damaged.
    """
    step = best_step(folder)
    if step is not None and _file(folder, step).exists():
        return read_best(folder, step)
    return newest_weights(folder, note)


def _file(folder: Path, step: int) -> Path:
    return folder / f"best-{step:09d}.safetensors"
