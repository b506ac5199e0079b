"""A world from text files in EGG's two formats for attribute-value games, one round per line.

- One object, for reconstruction: its values, `2 1 0 2 1`.
- Several objects: separated by dots, then the index of the target, `1 0 0 . 1 0 2 . 1`, or the indices of all targets
  for the task concept.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecsuite.formats.text_tables import read_text_table
from ecsuite.games.worlds.object_worlds import ValuesWorld
from ecsuite.games.worlds.objects import ObjectList, Subsets, split_names
from ecsuite.games.worlds.world import (
    FREE,
    Batch,
    Description,
    Integers,
    RoundSpec,
    RunSizes,
    attribute_names,
    describe,
)
from ecsuite.parts.config import Levels
from ecsuite.runtime.errors import ConfigError, CorpusError, shown

_VALUE = re.compile(r"-?[0-9]{1,18}")


class TextWorld(ValuesWorld):
    """Rounds from text files, which determine the numbers of rounds, attributes, candidates and targets.

    Raises:
        ConfigError: If a file can't be used; the message names the line.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        train_data: str | None = None
        """Text file of training examples, in EGG's formats."""
        valid_data: str | None = None
        """Text file of validation examples."""
        num_values: Levels = 4
        """Number of values; values in the files are 0 to num_values - 1."""

        def __post_init__(self) -> None:
            """Validate that there are two files."""
            if self.train_data is None or self.valid_data is None:
                raise ConfigError("train_data and valid_data: give both files")

    has_rules = True
    data_files = ("train_data", "valid_data")

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        assert options.train_data is not None and options.valid_data is not None
        files = {"train": options.train_data, "valid": options.valid_data}
        several = rounds.num_distractors != 0
        read = {
            split: read_examples(file, several=several, num_values=options.num_values)
            for split, file in files.items()
        }
        objects, targets = read["train"]
        found = (objects.shape[1] - targets.shape[1], targets.shape[1], objects.shape[2])
        expected = (
            found[0] if rounds.num_distractors is None else rounds.num_distractors,
            rounds.num_targets,
            found[2],
        )
        for split, (objects, targets) in read.items():
            sizes_read = (objects.shape[1] - targets.shape[1], targets.shape[1], objects.shape[2])
            if sizes_read != expected:
                raise ConfigError(
                    f"{files[split]}: has {_sizes(sizes_read)} per line, expected {_sizes(expected)}: set "
                    "task.num_distractors and task.num_targets, or use other files"
                )
        super().__init__(replace(rounds, num_distractors=found[0]), sizes)
        lines = np.concatenate([objects.reshape(-1, found[2]) for objects, _ in read.values()])
        names = attribute_names((options.num_values,) * found[2])
        self.take(
            ObjectList(source=options.train_data, table=lines, values_table=lines, names=names, rows=None),
            Subsets(),
            options.train_data,
        )
        self.rounds_of_split: dict[str, tuple[Integers, Integers]] = {}
        first = 0
        for split, (objects, targets) in read.items():
            numbers = first + np.arange(objects.shape[0] * objects.shape[1]).reshape(objects.shape[:2])
            self.rounds_of_split[split], first = (numbers, targets), first + numbers.size
        self.num_train, self.num_valid = (len(targets) for _, targets in read.values())

    def candidates(self, split: str, number: int, indices: Integers) -> tuple[Integers, Integers]:
        """Rounds of the lines with these indices, from 0; indices after the last line are left out."""
        candidates, targets = self.rounds_of_split[split]
        indices = indices[indices < len(targets)]
        return candidates[indices], targets[indices]

    def distinct_meanings(self, number: int) -> Integers:
        """First distinct targets of the validation file, then of the training file."""
        both = np.concatenate([self._first_targets("valid"), self._first_targets("train")])
        _, first = np.unique(self.objects.values(both), axis=0, return_index=True)
        return both[np.sort(first)[:number]]

    def _first_targets(self, split: str) -> Integers:
        """First target of each line, (num_lines,)."""
        candidates, targets = self.rounds_of_split[split]
        return np.take_along_axis(candidates, targets[:, :1], axis=1)[:, 0]

    def describe(self, batch: Batch) -> Description:
        """Values of the target, or common values of all targets with `FREE` where they differ. See `World`.

        Targets that are not in the training file are held out.
        """
        if self.num_targets == 1:
            described = super().describe(batch)
            trained = self.objects.values(self._first_targets("train"))
            both = np.concatenate([trained, described.meanings])
            places = np.unique(both, axis=0, return_inverse=True)[1].ravel()
            is_held_out = ~np.isin(places[len(trained) :], places[: len(trained)])
            return replace(described, columns={"split": split_names(is_held_out)})
        assert batch.values is not None
        values = batch.values[batch.shown[:, : batch.num_positive]]
        shared = np.where((values == values[:, :1]).all(1), values[:, 0], FREE)
        return describe(shared, self.value_names)


def read_examples(
    file: str, *, several: bool, num_values: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Read a file whose lines have several objects and the indices of targets, or one object.

    Returns:
        Candidates (num_examples, num_candidates, num_attributes) and target indices (num_examples, num_targets).

    Raises:
        ConfigError: If a line is not valid; the message has file and line of the first, and the number of such lines.
    """
    rows: list[list[list[int]]] = []
    targets: list[list[int]] = []
    errors: list[str] = []
    for number, line in enumerate(_lines(file), start=1):
        try:
            objects, target = _parse(line, several, num_values)
            shape = (len(objects), len(objects[0]))
            if rows and shape != (len(rows[0]), len(rows[0][0])):
                raise ValueError(
                    f"expected {len(rows[0])} objects of {len(rows[0][0])} values as before, got {shown(line)}"
                )
            if targets and len(target) != len(targets[0]):
                raise ValueError(f"expected {len(targets[0])} targets as before, got {shown(line)}")
        except ValueError as error:
            errors.append(f"{file}:{number}: {error}")
        else:
            rows.append(objects)
            targets.append(target)
    if errors:
        more = f" (and {len(errors) - 1:,} more)" if len(errors) > 1 else ""
        raise ConfigError(f"{errors[0]}{more}")
    if not rows:
        raise ConfigError(f"{file}: empty file: expected one example per line")
    return np.array(rows, dtype=np.int64), np.array(targets, dtype=np.int64)


def _lines(file: str) -> Sequence[str]:
    """Read the lines of a file.

    Raises:
        ConfigError: If the file can't be read, or is empty.
    """
    try:
        lines = read_text_table(Path(file), file).columns.get("message")
    except CorpusError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(lines, list):
        raise ConfigError(f"{file}: a table: expected one example per line")
    return lines


def _sizes(numbers: tuple[int, int, int]) -> str:
    """Format numbers of distractors, targets and attributes."""
    num_distractors, num_targets, num_attributes = numbers
    return f"{num_distractors} distractors and {num_targets} targets of {num_attributes} attributes"


def _parse(line: str, several: bool, num_values: int) -> tuple[list[list[int]], list[int]]:
    """Parse one line into its objects and the indices of the targets."""
    fields = line.split(".") if several else [line]
    values = [field.split() for field in fields]
    if not all(_VALUE.fullmatch(value) for row in values for value in row):
        expected = "integers and dots" if several else "integers"
        raise ValueError(f"expected {expected}, got {shown(line)}")
    objects = [[int(value) for value in row] for row in values]
    targets = [0]
    if several:
        *objects, targets = objects
        if len(objects) < 2 or not targets or len(set(targets)) < len(targets):
            raise ValueError(
                f"expected objects separated by dots, then the target's index, got {shown(line)}"
            )
        for target in targets:
            if not 0 <= target < len(objects):
                raise ValueError(f"expected a target from 0 to {len(objects) - 1}, got {target}")
    if not objects[0] or any(len(row) != len(objects[0]) for row in objects):
        raise ValueError(f"expected objects with the same number of values, got {shown(line)}")
    for value in (value for row in objects for value in row):
        if not 0 <= value < num_values:
            raise ValueError(
                f"expected values from 0 to {num_values - 1} (world.num_values={num_values}), got {value}"
            )
    return objects, targets
