"""Interface of worlds: batches of rounds about sets of objects; a single object is a set of one."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.games.config.registry import TASKS, WORLDS
from ecsuite.games.config.sections import Experiment
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.given_values import require_different
from ecsuite.runtime.ragged import Ragged
from ecsuite.runtime.randomness import epoch_order, initial_weights, random_words

Integers = NDArray[np.int64]

FREE = -1
"""Mark in a rule: the attribute may have any value."""
SEEN_OBJECTS, SEEN_RULES = "seen objects", "seen rules"
"""Names of evaluations on training objects and training rules, in worlds with held-out ones."""
Variant = Literal["set_reference", "concept", "reference"]
"""Targets of the receiver. set_reference: the sender's targets. concept: others of the same rule. reference: one
object, repeated as all targets of both agents. (The setref, concept and ref games of Mu & Goodman 2021.)"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundSpec:
    """Requirements of a task for a world's rounds."""

    num_targets: int = 1
    num_distractors: int | None = 0
    """Number of distractors per round; None: as in the world's files."""
    sender_sees_all: bool = False
    """Whether the sender also sees the distractors."""
    variant: Variant = "set_reference"
    needs_rule: bool = False
    """Whether the targets are described by a rule; otherwise the target is one object."""
    needs_values: bool = False
    """Whether the task needs the attribute values of the target."""
    in_batch: bool = False
    """Whether the candidates of a round are the targets of all rounds of its batch."""
    fewest_distractors: int | None = None
    """Lower bound of the number of distractors of a round, drawn up to `num_distractors`; None: no variation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSizes:
    """Requirements of a run for its world."""

    seed: int
    num_train: int
    """Rounds per epoch."""
    num_valid: int
    """Rounds per evaluation."""
    batch_size: int
    """Rounds per step of training."""
    evaluation_batch_size: int
    """Rounds per batch of evaluations and of the corpus."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """A batch of rounds; fields refer to objects by their index in `objects`, so that each is encoded once."""

    objects: NDArray[Any]
    """The objects of the batch: attribute values (num_objects, num_attributes), images of bytes (num_objects, height,
    width, 3), or features (num_objects, num_features)."""
    shown: Integers
    """Objects that the sender sees, targets first, (batch, num_shown)."""
    num_positive: int
    """Number of targets, the first entries of `shown`; the others are distractors."""
    candidates: Integers | None
    """Objects that the receiver sees, (batch, num_candidates). None: objects are stored by round and position, in
    this order, and each object occurs once, so no lookup is needed."""
    labels: NDArray[np.bool_]
    """Mask of targets among candidates, (batch, num_candidates)."""
    values: Integers | None = None
    """Attribute values of the objects, (num_objects, num_attributes); None if they have none."""
    rules: Integers | None = None
    """Rule of each round, as an index into the world's rules, (batch,); None if rounds have no rules."""
    present: NDArray[np.bool_] | None = None
    """Mask of candidates that the receiver may choose, (batch, num_candidates); None: all."""
    shares_candidates: bool = False
    """Whether all rounds have the same candidates in the same order."""
    ids: Integers | None = None
    """Index of each object in the world's list, such as its row in a file, (num_objects,); None without a list."""

    def __len__(self) -> int:
        """Number of rounds."""
        return len(self.labels)

    def candidate_indices(self) -> Integers:
        """Objects that the receiver sees, (batch, num_candidates), even if `candidates` is None."""
        if self.candidates is not None:
            return self.candidates
        return np.arange(self.labels.size).reshape(self.labels.shape)

    def cut(self, size: int) -> "Batch":
        """Select the first `size` rounds."""
        return self if size >= len(self) else self.part(0, size)

    def part(self, start: int, stop: int) -> "Batch":
        """Select the rounds `start` to `stop` - 1."""
        rounds, first, by_place = slice(start, stop), 0, slice(None)
        if self.candidates is None:  # objects are stored by round and position
            width = self.labels.shape[1]
            first, by_place = start * width, slice(start * width, stop * width)
        return replace(
            self,
            objects=self.objects[by_place],
            values=None if self.values is None else self.values[by_place],
            ids=None if self.ids is None else self.ids[by_place],
            shown=self.shown[rounds] - first if first else self.shown[rounds],
            candidates=None if self.candidates is None else self.candidates[rounds],
            labels=self.labels[rounds],
            present=None if self.present is None else self.present[rounds],
            rules=None if self.rules is None else self.rules[rounds],
        )

    def take(self, rows: Integers) -> "Batch":
        """Select rounds by index."""
        return replace(
            self,
            shown=self.shown[rows],
            candidates=self.candidate_indices()[rows],
            labels=self.labels[rows],
            present=None if self.present is None else self.present[rows],
            rules=None if self.rules is None else self.rules[rows],
        )

    def sharing_candidates(self) -> "Batch":
        """Replace candidates by the targets of all rounds, each object once; each round has one target."""
        targets = self.candidate_indices()[self.labels]
        # Without indices, an object may occur several times.
        objects = targets if self.candidates is not None else self.objects[targets].reshape(len(self), -1)
        _, first, places = np.unique(objects, axis=0, return_index=True, return_inverse=True)
        shape = (len(self), len(first))
        return replace(
            self,
            candidates=np.broadcast_to(targets[first], shape),
            labels=places.reshape(-1, 1) == np.arange(len(first)),
            shares_candidates=True,
        )

    def with_targets_at(self, places: Integers) -> "Batch":
        """Exchange the first candidate, the only target, with the candidate at these positions, (batch,)."""
        candidates, rounds = self.candidate_indices().copy(), np.arange(len(self))
        candidates[:, 0], candidates[rounds, places] = candidates[rounds, places], candidates[:, 0].copy()
        return replace(self, candidates=candidates, labels=places[:, None] == np.arange(candidates.shape[1]))

    def with_distractors(self, numbers: Integers) -> "Batch":
        """Restrict each round to its first `numbers`, (batch,), distractors as available choices."""
        places = np.cumsum(~self.labels, axis=1)
        return replace(self, present=self.labels | (places <= numbers[:, None]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """Meanings of the rounds of a batch, or the rules of a world's rounds, one per row."""

    meanings: NDArray[Any]
    """Meaning of each row as a vector, (num_rows, width)."""
    concepts: Ragged | None
    """Ids of the concepts of each row (its phrase); None if concepts have no names."""
    concept_names: tuple[str, ...]
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further columns of the corpus by name, (num_rows,), such as `split`."""

    def of(self, rows: Integers) -> "Description":
        """Select rows of the description."""
        return replace(
            self,
            meanings=self.meanings[rows],
            concepts=None if self.concepts is None else self.concepts.take(rows),
            columns={name: values[rows] for name, values in self.columns.items()},
        )


class World(ABC):
    """A source of objects and of rounds about them.

    A class in the registry of worlds is built from its `Options`, requirements of the task (`rounds`) and of the run
    (`sizes`).
    """

    object_shape: tuple[int, ...]
    """Shape of an object as input of perceptions: (num_features,) or (height, width, 3)."""
    num_values: tuple[int, ...] | None = None
    """Number of values of each attribute of an object; None if objects have no attribute values."""
    value_names: Sequence[Sequence[str]] = ()
    """Names of the values of each attribute as concepts, such as `color=red`."""
    rules: Description | None = None
    """Rules of rounds; None if rounds are not about rules."""
    has_rules: ClassVar[bool] = False
    """Whether rounds may be about a rule with several targets."""
    rules_are_objects: ClassVar[bool] = False
    """Whether the rule of a round is its target, so that the target's values are its whole meaning."""
    has_targets_first: ClassVar[bool] = False
    """Whether the targets of a drawn round are its first candidates; a single one then moves to a random position."""
    variants: ClassVar[tuple[Variant, ...]] = ("set_reference",)
    splits: Sequence[str] = ("train", "valid")
    """Names of splits: train; valid and test (held-out rules or objects, if some are held out); seen (training rules,
    new objects); all."""
    corpus_split: str = "valid"
    """Split from which the corpus is generated."""
    default_perceptions: ClassVar[tuple[str, str]] = ("linear", "linear")
    """Default perceptions of sender and receiver."""
    notes: Sequence[str] = ()
    """Messages about the treatment of the world's files."""
    data_files: ClassVar[tuple[str, ...]] = ()
    """Options that name a file whose content is part of the run's identity."""

    def __init__(self, rounds: RoundSpec, sizes: RunSizes) -> None:
        self.rounds, self.sizes, self.seed = rounds, sizes, sizes.seed
        self.num_targets = rounds.num_targets
        self.num_train, self.num_valid = sizes.num_train, sizes.num_valid

    @property
    def num_distractors(self) -> int:
        """Number of distractors per round; `ConfigError` if neither the config nor the world's files define it."""
        if self.rounds.num_distractors is None:
            raise ConfigError(
                "task.num_distractors: expected a number (only world text takes it from its files)"
            )
        return self.rounds.num_distractors

    def targets_first(self, size: int) -> NDArray[np.bool_]:
        """Labels of rounds whose first candidates are the targets, (size, num_candidates)."""
        num_candidates = self.num_targets + self.num_distractors
        return np.broadcast_to(np.arange(num_candidates) < self.num_targets, (size, num_candidates))

    @abstractmethod
    def draw(self, split: str, number: int, size: int) -> Batch:
        """Draw batch `number`, from 0, of a split: `size` rounds, a pure function of the seed and the arguments."""

    def round_indices(self, split: str, number: int, size: int) -> Integers:
        """Indices of the rounds of a batch; training rounds are reordered in each epoch."""
        if split != "train":
            return np.arange(number * size, (number + 1) * size)
        epoch, place = divmod(number, -(-self.num_train // size))
        return epoch_order(self.seed, epoch, self.num_train)[place * size :][:size]

    def batch(self, split: str, number: int) -> Batch:
        """Batch `number`, from 0, of a split; the last batch of an epoch or evaluation may be smaller."""
        in_training = split == "train"
        total = self.num_train if in_training else self.num_valid
        size = self.sizes.batch_size if in_training else self.sizes.evaluation_batch_size
        place = number % -(-total // size) if in_training else number
        return self.as_asked(self.draw(split, number, size).cut(max(total - place * size, 0)), split, number)

    def batches(self, split: str, numbers: Sequence[int]) -> Batch | None:
        """Draw the rounds of several batches at once, concatenated; None if that may differ from separate batches.

        The batches have equal sizes, and objects are stored by round and position.
        """
        return None

    def as_asked(self, batch: Batch, split: str, number: int) -> Batch:
        """Convert rounds drawn as batch `number` of a split to the candidates that the task requires."""
        if self.rounds.in_batch and batch.labels.shape[1] == 1 and len(batch):
            return batch.sharing_candidates()
        size = max(self.sizes.batch_size, self.sizes.evaluation_batch_size)
        indices = number * size + np.arange(len(batch))
        if self.has_targets_first and not self.rounds.needs_rule and self.num_distractors:
            words = random_words(self.seed, f"places of {split}", indices, 1)[:, 0]
            batch = batch.with_targets_at((words % np.uint64(batch.labels.shape[1])).astype(np.int64))
        if (fewest := self.rounds.fewest_distractors) is not None:
            words = random_words(self.seed, f"distractors of {split}", indices, 1)[:, 0]
            choices = np.uint64(self.num_distractors - fewest + 1)
            return batch.with_distractors(fewest + (words % choices).astype(np.int64))
        return batch

    def corpus_batches(self, num_messages: int) -> Iterator[Batch]:
        """Batches of the corpus: `num_messages` rounds in all, or fewer if the world has fewer meanings."""
        size = self.sizes.evaluation_batch_size
        for number in range(-(-num_messages // size)):
            yield self.draw(self.corpus_split, number, size).cut(num_messages - number * size)

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """Convert objects to input of perceptions, (num_objects, *object_shape); bytes become numbers from 0 to 1."""
        features = objects.to(dtype)
        return features / 255 if objects.dtype == torch.uint8 else features

    def unrendered(self) -> "World | None":
        """Copy of the world with scene numbers instead of rendered images; its `features` returns them unchanged.

        `features` of the world itself renders them. None: the world renders no images.
        """
        return None

    def describe(self, batch: Batch) -> Description:
        """Meaning and concepts of each round: the rule, or the attribute values of the target."""
        about = None if self.rules is None or batch.rules is None else self.rules.of(batch.rules)
        if self.rules is None or (batch.values is not None and not self.rounds.needs_rule):
            assert batch.values is not None, "expected rules or attribute values"
            described = describe(batch.values[batch.shown[:, 0]], self.value_names)
            return described if about is None else replace(described, columns=about.columns)
        assert about is not None
        return about

    @property
    def names_of_attributes(self) -> tuple[str, ...]:
        """See `names_in`."""
        return names_in(self.value_names)

    @property
    def shows_values(self) -> bool:
        """Whether objects are attribute values, rather than images or features."""
        return self.num_values is not None and len(self.object_shape) == 1

    def remade(self, made: Any, options: Any, rounds: RoundSpec, sizes: RunSizes) -> "World":
        """Make a world for evaluations of agents that were trained in this one.

        Args:
            made: Class of the new world.
            options: Options of the new world.
            rounds: Requirements of the task.
            sizes: Requirements of the run.

        Raises:
            ConfigError: If the new objects have other attributes or values.
        """
        world: World = made(options, rounds=rounds, sizes=sizes)
        names, before = ([list(each) for each in of.value_names] for of in (world, self))
        if names != before:
            raise ConfigError(
                "the objects have other attributes or values than training objects: expected a table with the values "
                f"{', '.join(name for each in before for name in each):.200}"
            )
        return world

    def trained_values(self) -> Integers | None:
        """Attribute values of the training objects, (num_objects, num_attributes).

        None if agents do not see values, or no objects are held out.
        """
        return None

    def untested_note(self) -> str | None:
        """Message for users if held-out rounds do not test held-out combinations; else None."""
        return None

    def trained_note(self, trained: "World") -> str | None:
        """Message for users if objects held out here were in training, in another world; else None."""
        return None

    def extra_evaluations(self) -> "dict[str, tuple[World, str]]":
        """Further evaluations of the trained agents by name: a world and a split of it."""
        return {}


def describe(values: Integers, names: Sequence[Sequence[str]]) -> Description:
    """Describe attribute values, (num_rows, num_attributes): one concept per value that is not `FREE`."""
    first = np.cumsum([0, *(len(of_attribute) for of_attribute in names[:-1])])
    is_fixed = values != FREE
    ids = (values + first)[is_fixed].astype(np.int32)
    flat = tuple(name for of_attribute in names for name in of_attribute)
    return Description(
        meanings=values, concepts=Ragged.from_lengths(ids, is_fixed.sum(1)), concept_names=flat
    )


def names_in(value_names: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Attribute names, such as `color` for values `color=red` and `color=blue`; empty if they are not unique.

    If two names would be equal, as for `color=red=0` and `color=blue=0`, names are common prefixes of values.
    """
    pieces = [[value.split("=")[:-1] or [value] for value in values] for values in value_names]
    if any(len({each[0] for each in values}) != 1 for values in pieces):
        return ()
    names = [values[0][0] for values in pieces]
    if len(set(names)) < len(names):
        same = [takewhile(lambda each: len({*each}) == 1, zip(*values, strict=False)) for values in pieces]
        names = ["=".join(each[0] for each in begin) for begin in same]
    return tuple(names) if len(set(names)) == len(names) else ()


def attribute_names(num_values: Sequence[int]) -> list[list[str]]:
    """Default names of attribute values: `attribute0=3`."""
    return [[f"attribute{a}={v}" for v in range(number)] for a, number in enumerate(num_values)]


def one_hot(values: Tensor, num_values: int, dtype: torch.dtype) -> Tensor:
    """Convert attribute values (..., num_attributes) to one-hot features (..., num_attributes * num_values)."""
    features = torch.zeros(*values.shape, num_values, dtype=dtype, device=values.device)
    return features.scatter_(-1, values[..., None], 1.0).flatten(-2)


NOISE = "noise objects"
"""Name of the evaluation on noise objects."""


def evaluations_of(world: World, experiment: Experiment) -> Mapping[str, tuple[World, str]]:
    """Further evaluations of trained agents, besides validation rounds, by name: a world and a split of it.

    Raises:
        ConfigError: If noise objects are requested in a world of attribute values.
    """
    found = world.extra_evaluations()
    if experiment.evaluation.noise_objects:
        found[NOISE] = (with_noise_objects(world), "valid")
    return found


def with_noise_objects(world: World) -> World:
    """Copy of a world with noise objects: bytes or numbers from 0 to 1, uniformly distributed."""
    require_seen(world)
    noisy = copy(world)

    def batch(split: str, number: int) -> Batch:
        drawn = world.batch(split, number)
        rng = np.random.default_rng([world.seed, *b"noise objects", *split.encode(), number])
        if drawn.objects.dtype == np.uint8:
            return replace(drawn, objects=rng.integers(256, size=drawn.objects.shape, dtype=np.uint8))
        return replace(drawn, objects=rng.random(drawn.objects.shape, dtype=np.float32))

    noisy.batch = batch  # type: ignore[method-assign]
    return noisy


def require_seen(world: World) -> None:
    """Raise `ConfigError` if the objects of a world are neither images nor feature vectors."""
    if world.shows_values:
        raise ConfigError(
            "evaluation.noise_objects: the objects of this world are attribute values: expected images or features"
        )


class ObjectNumbers:
    """Numbering of objects: as in the world or, without numbers there, in order of appearance, from 0."""

    def __init__(self) -> None:
        self.by_digest: dict[bytes, int] = {}

    def of(self, batch: Batch) -> Integers:
        """Numbers of the objects of a batch, (num_objects,)."""
        return self.of_rows(batch.objects) if batch.ids is None else batch.ids

    def of_rows(self, rows: NDArray[Any]) -> Integers:
        """Numbers of rows, equal for equal rows, (num_rows,); a hash of each row is stored."""
        digests = (hashlib.blake2b(each.tobytes(), digest_size=16).digest() for each in rows)
        found = [self.by_digest.setdefault(each, len(self.by_digest)) for each in digests]
        return np.array(found, dtype=np.int64)


def make_world(experiment: Experiment, trained: World | None = None) -> World:
    """Make the world of an experiment, for its task.

    Args:
        experiment: The experiment.
        trained: Training world of the agents to evaluate.

    Raises:
        ConfigError: If the world does not meet the requirements of the task, or a file can't be used.
    """
    task, training, evaluation = experiment.task, experiment.training, experiment.evaluation
    kind, spec = experiment.world.kind, TASKS.load(task.kind).rounds(task.options)
    world_class = WORLDS.load(kind)
    if spec.variant not in world_class.variants:
        expected = " or ".join(world_class.variants)
        raise ConfigError(f"task.variant: expected {expected} in world {kind}, got {spec.variant}")
    if spec.needs_rule and not world_class.has_rules:
        choices = [name for name in WORLDS.parts if WORLDS.load(name).has_rules]
        raise ConfigError(
            f"task {task.kind}: world {kind} has no rules; worlds with rules: {', '.join(choices)}"
        )
    sizes = RunSizes(
        seed=training.seed,
        num_train=training.num_examples,
        num_valid=evaluation.num_valid,
        batch_size=training.batch_size,
        evaluation_batch_size=evaluation.batch_size or training.batch_size,
    )
    world: World
    if trained is not None:
        world = trained.remade(world_class, experiment.world.options, spec, sizes)
    else:
        with initial_weights(training.seed):  # user code may have random features, or a network
            world = WORLDS.make(experiment.world, rounds=spec, sizes=sizes)
    require_different(f"world {kind}: names of values", [name for of in world.value_names for name in of])
    if world.rules is not None:
        require_different(f"world {kind}: names of concepts", world.rules.concept_names)
    assert world.num_distractors >= 0  # raises an error if the world's files should define it
    if evaluation.noise_objects:
        require_seen(world)
    return world
