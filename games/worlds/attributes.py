"""Worlds of single objects with attribute values, drawn at random or read from files.

A drawn example is a pure function of (seed, split, index): nothing is stored, and any example can be drawn again.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.config import ConfigError, Experiment
from ecsuite.games.worlds.text_files import read_examples
from ecsuite.randomness import distinct_draws, epoch_order, random_words

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Examples:
    """A batch of rounds of a game on single objects."""

    candidates: Integers
    """Attribute values of all candidates, (batch, num_candidates, num_attributes)."""
    targets: Integers
    """Index of the candidate that the sender sees, (batch,)."""

    @property
    def meanings(self) -> Integers:
        """The objects that the sender sees, (batch, num_attributes)."""
        return self.candidates[np.arange(len(self.targets)), self.targets]


class World(ABC):
    """A world of single objects with indexed examples.

    Args:
        experiment: Sets the batch size and the seed.
    """

    num_attributes: int
    num_values: int
    num_train: int
    num_valid: int

    def __init__(self, experiment: Experiment) -> None:
        self.seed, self.batch_size = experiment.training.seed, experiment.training.batch_size

    def batch(self, split: str, number: int) -> Examples:
        """Batch `number`, from 0, of a split: `train` (shuffled anew in each epoch) or `valid`."""
        size = self.batch_size
        if split == "valid":
            return self.examples(split, np.arange(number * size, min((number + 1) * size, self.num_valid)))
        epoch, place = divmod(number, -(-self.num_train // size))
        return self.examples(split, epoch_order(self.seed, epoch, self.num_train)[place * size :][:size])

    @abstractmethod
    def examples(self, split: str, indices: Integers) -> Examples:
        """The examples of a split with the given indices."""

    @abstractmethod
    def distinct_meanings(self, number: int) -> Integers:
        """`number` distinct meanings, or all if there are fewer, (number, num_attributes)."""


class AttributeValueWorld(World):
    """Objects with `num_attributes` attributes of `num_values` values each, all combinations equally likely.

    The candidates of an example are distinct, and each set of distinct objects is equally likely.

    Args:
        experiment: Sets sizes and seed.

    Raises:
        ConfigError: If there are fewer objects than candidates, or more than 63-bit indices can number.
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__(experiment)
        self.num_attributes = experiment.world.num_attributes
        self.num_values = experiment.world.num_values
        self.num_train = experiment.training.num_examples
        self.num_valid = experiment.evaluation.num_valid
        self.num_candidates = num_candidates(experiment)
        self.num_objects = self.num_values**self.num_attributes
        if self.num_objects < self.num_candidates:
            raise ConfigError(
                f"{self.num_candidates} distinct candidates need as many objects, but {self.num_attributes} attributes "
                f"of {self.num_values} values make {self.num_objects}: lower game.num_distractors"
            )
        if self.num_objects >= 2**63:
            raise ConfigError(
                f"{self.num_attributes} attributes of {self.num_values} values make more than 2^63 objects: "
                "lower world.num_attributes or world.num_values"
            )

    def examples(self, split: str, indices: Integers) -> Examples:
        """See the base class."""
        draws = random_words(self.seed, split, indices, self.num_candidates + 1)
        chosen = distinct_draws(draws[:, :-1], self.num_objects)
        targets = (draws[:, -1] % np.uint64(self.num_candidates)).astype(np.int64)
        return Examples(candidates=self.attributes(chosen), targets=targets)

    def distinct_meanings(self, number: int) -> Integers:
        """A seeded sample without replacement, sorted by object index; all objects if there are fewer."""
        if number >= self.num_objects:
            return self.attributes(np.arange(self.num_objects))
        rng = np.random.default_rng([self.seed, *b"corpus"])
        return self.attributes(np.sort(rng.choice(self.num_objects, size=number, replace=False)))

    def attributes(self, objects: Integers) -> Integers:
        """Object indices (...) to attribute values (..., num_attributes); the first attribute is most significant."""
        places = self.num_values ** np.arange(self.num_attributes - 1, -1, -1, dtype=np.int64)
        return objects[..., None] // places % self.num_values


class FileWorld(World):
    """Examples from text files, in EGG's formats (see `text_files`).

    Args:
        experiment: Names the files; its sizes must match their content.

    Raises:
        ConfigError: If a file can't be used; the message names the line.
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__(experiment)
        assert experiment.world.train_data is not None and experiment.world.valid_data is not None
        self.num_attributes = experiment.world.num_attributes
        self.num_values = experiment.world.num_values
        self.splits = {}
        for split, file in (("train", experiment.world.train_data), ("valid", experiment.world.valid_data)):
            candidates, targets = read_examples(file, experiment.game.task, self.num_values)
            expected = (num_candidates(experiment), self.num_attributes)
            if candidates.shape[1:] != expected:
                raise ConfigError(
                    f"{file}: has {candidates.shape[1]} objects of {candidates.shape[2]} attributes per line, expected "
                    f"{expected[0]} of {expected[1]}: set game.num_distractors and world.num_attributes"
                )
            self.splits[split] = Examples(candidates=candidates, targets=targets)
        self.num_train, self.num_valid = (len(examples.targets) for examples in self.splits.values())

    def examples(self, split: str, indices: Integers) -> Examples:
        """The lines with these indices, counted from 0."""
        chosen = self.splits[split]
        return Examples(candidates=chosen.candidates[indices], targets=chosen.targets[indices])

    def distinct_meanings(self, number: int) -> Integers:
        """The first distinct targets of the validation file, then of the training file."""
        meanings = np.concatenate([self.splits["valid"].meanings, self.splits["train"].meanings])
        _, first = np.unique(meanings, axis=0, return_index=True)
        return meanings[np.sort(first)[:number]]


def num_candidates(experiment: Experiment) -> int:
    """Candidates per round; a reconstruction game has only the target."""
    return 1 + experiment.game.num_distractors if experiment.game.task == "discrimination" else 1


def one_hot_array(objects: Integers, num_values: int) -> NDArray[np.float32]:
    """Attribute values (n, num_attributes) to features (n, num_attributes * num_values), one-hot per attribute."""
    features = np.zeros((*objects.shape, num_values), dtype=np.float32)
    np.put_along_axis(features, objects[..., None], 1, axis=-1)
    return features.reshape(len(objects), -1)


def one_hot(meanings: Tensor, num_values: int, dtype: torch.dtype) -> Tensor:
    """Attribute values (..., num_attributes) to features (..., num_attributes * num_values), one-hot per attribute."""
    features = torch.zeros(*meanings.shape, num_values, dtype=dtype, device=meanings.device)
    return features.scatter_(-1, meanings[..., None], 1.0).flatten(-2)
