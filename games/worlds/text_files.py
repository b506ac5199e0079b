"""EGG's two text formats for attribute-value games, one example per line.

- reconstruction: the values of one object, `2 1 0 2 1`.
- discrimination: objects separated by dots, then the index of the target, `1 0 0 . 1 0 2 . 1`.
"""

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import ConfigError, Experiment, override

MAX_ERRORS = 20
"""Most errors shown; all are counted."""


def read_examples(file: str, task: str, num_values: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Read a file of examples.

    Args:
        file: Path.
        task: `discrimination` or `reconstruction`: the expected format.
        num_values: Values are 0 to num_values - 1.

    Returns:
        Candidates (num_examples, num_candidates, num_attributes) and target indices (num_examples,).

    Raises:
        ConfigError: One line per error, with file and line number.
    """
    try:
        with open(file, encoding="utf-8") as lines:
            text = lines.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: can't be read: {error}") from None
    rows: list[list[list[int]]] = []
    targets: list[int] = []
    errors: list[str] = []
    for number, line in enumerate(text, start=1):
        try:
            objects, target = _parse(line, task, num_values)
            shape = (len(objects), len(objects[0]))
            if rows and shape != (len(rows[0]), len(rows[0][0])):
                raise ValueError(
                    f"expected {len(rows[0])} objects of {len(rows[0][0])} values as before, got {line!r:.60}"
                )
        except ValueError as error:
            errors.append(f"{file}:{number}: {error}")
        else:
            rows.append(objects)
            targets.append(target)
    if errors:
        more = [f"… and {len(errors) - MAX_ERRORS} more errors"] if len(errors) > MAX_ERRORS else []
        raise ConfigError("\n".join(errors[:MAX_ERRORS] + more))
    if not rows:
        raise ConfigError(f"{file}: empty file, expected one example a line")
    return np.array(rows, dtype=np.int64), np.array(targets, dtype=np.int64)


def fit_to_files(experiment: Experiment) -> Experiment:
    """Set the number of attributes and of distractors to those of the training file.

    Raises:
        ConfigError: If the file can't be read.
    """
    file = experiment.world.train_data
    if file is None:
        return experiment
    candidates, _ = read_examples(file, experiment.game.task, experiment.world.num_values)
    sizes = [f"world.num_attributes={candidates.shape[2]}"]
    if experiment.game.task == "discrimination":
        sizes.append(f"game.num_distractors={candidates.shape[1] - 1}")
    return override(experiment, sizes)


def _parse(line: str, task: str, num_values: int) -> tuple[list[list[int]], int]:
    """Parse one line into its objects and the index of the target."""
    fields = line.split(".") if task == "discrimination" else [line]
    try:
        # int() would accept 1_0 as 10.
        objects = [[int(value.replace("_", "x")) for value in field.split()] for field in fields]
    except ValueError:
        raise ValueError(f"expected integers for {task}, got {line!r:.60}") from None
    target = 0
    if task == "discrimination":
        *objects, last = objects
        if len(objects) < 2 or len(last) != 1:
            raise ValueError(f"expected objects separated by dots, then the target's index, got {line!r:.60}")
        target = last[0]
        if not 0 <= target < len(objects):
            raise ValueError(f"expected a target from 0 to {len(objects) - 1}, got {target}")
    if not objects[0] or any(len(row) != len(objects[0]) for row in objects):
        raise ValueError(f"expected objects with the same number of values, got {line!r:.60}")
    for value in (value for row in objects for value in row):
        if not 0 <= value < num_values:
            raise ValueError(
                f"expected values from 0 to {num_values - 1} (world.num_values={num_values}), got {value}"
            )
    return objects, target
