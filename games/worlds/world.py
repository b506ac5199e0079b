"""The interface of worlds: batches of rounds about sets of objects, where a single object is a set of one."""

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
"""In a rule: an attribute that may have any value."""
SEEN_OBJECTS, SEEN_RULES = "seen objects", "seen rules"
"""Names of evaluations on objects and on rules of training, in worlds that hold some out."""
Variant = Literal["set_reference", "concept", "reference"]
"""Which targets the receiver gets. set_reference: the sender's. concept: others of the same rule. reference: one
object, repeated as all targets of both. (The setref, concept and ref games of Mu & Goodman 2021.)"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundSpec:
    """Requirements of a task for a world's rounds."""

    num_targets: int = 1
    num_distractors: int | None = 0
    """None: as many as the world's files have."""
    sender_sees_all: bool = False
    """Whether the sender also sees the distractors."""
    variant: Variant = "set_reference"
    needs_rule: bool = False
    """Whether the targets are described by a rule; otherwise the target is one object."""
    needs_values: bool = False
    """Whether the task asks for the attribute values of the target."""
    in_batch: bool = False
    """Whether the candidates of a round are the targets of all rounds of its batch."""
    fewest_distractors: int | None = None
    """The number of distractors of a round is drawn from this one to `num_distractors`; None: it is the same in all."""


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
    """A batch of rounds. All fields refer to objects by their index in `objects`, so that each is encoded once."""

    objects: NDArray[Any]
    """The objects of the batch: attribute values (num_objects, num_attributes), images of bytes (num_objects, height,
    width, 3), or features (num_objects, num_features)."""
    shown: Integers
    """The objects that the sender sees, targets first, (batch, num_shown)."""
    num_positive: int
    """The first `num_positive` of `shown` are targets, the others distractors."""
    candidates: Integers | None
    """The objects that the receiver sees, (batch, num_candidates). None: the objects are laid out by place, those of
    the first round first, and no object is in two places; so nothing has to be searched."""
    labels: NDArray[np.bool_]
    """Which candidates are targets, (batch, num_candidates)."""
    values: Integers | None = None
    """Attribute values of the objects, (num_objects, num_attributes); None where they have none."""
    rules: Integers | None = None
    """The rule of each round, as an index into the world's rules, (batch,); None where rounds have no rules."""
    present: NDArray[np.bool_] | None = None
    """Which candidates the receiver may choose, (batch, num_candidates); None: all."""
    shares_candidates: bool = False
    """Whether all rounds have the same candidates in the same order."""
    ids: Integers | None = None
    """Number of each object in the world's list, such as its row in a file, (num_objects,); None where there is no
    list."""

    def __len__(self) -> int:
        """Number of rounds."""
        return len(self.labels)

    def candidate_indices(self) -> Integers:
        """The objects that the receiver sees, (batch, num_candidates), also where they are laid out by place."""
        if self.candidates is not None:
            return self.candidates
        return np.arange(self.labels.size).reshape(self.labels.shape)

    def cut(self, size: int) -> "Batch":
        """The first `size` rounds."""
        return self if size >= len(self) else self.part(0, size)

    def part(self, start: int, stop: int) -> "Batch":
        """The rounds from one number to before another."""
        rounds, first, by_place = slice(start, stop), 0, slice(None)
        if self.candidates is None:  # the objects are laid out by place
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
        """These rounds, by their numbers."""
        return replace(
            self,
            shown=self.shown[rows],
            candidates=self.candidate_indices()[rows],
            labels=self.labels[rows],
            present=None if self.present is None else self.present[rows],
            rules=None if self.rules is None else self.rules[rows],
        )

    def sharing_candidates(self) -> "Batch":
        """The rounds with the targets of all of them as candidates, each object once; each round has one target."""
        targets = self.candidate_indices()[self.labels]
        # Without indices an object may be in several places.
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
        """The rounds with the first candidate, the only target, at these places and what was there first, (batch,)."""
        candidates, rounds = self.candidate_indices().copy(), np.arange(len(self))
        candidates[:, 0], candidates[rounds, places] = candidates[rounds, places], candidates[:, 0].copy()
        return replace(self, candidates=candidates, labels=places[:, None] == np.arange(candidates.shape[1]))

    def with_distractors(self, numbers: Integers) -> "Batch":
        """The rounds with as many of their distractors, (batch,), as the receiver may choose."""
        places = np.cumsum(~self.labels, axis=1)
        return replace(self, present=self.labels | (places <= numbers[:, None]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """Meanings of the rounds of a batch, or the rules of a world's rounds, one per row."""

    meanings: NDArray[Any]
    """Each as a vector, (num_rows, width)."""
    concepts: Ragged | None
    """Ids of the concepts of each (its phrase); None where concepts have no names."""
    concept_names: tuple[str, ...]
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further columns of the corpus by name, (num_rows,), such as `split`."""

    def of(self, rows: Integers) -> "Description":
        """The description of these rows."""
        return replace(
            self,
            meanings=self.meanings[rows],
            concepts=None if self.concepts is None else self.concepts.take(rows),
            columns={name: values[rows] for name, values in self.columns.items()},
        )


class World(ABC):
    """A source of objects and of rounds about them.

    A class in the registry of worlds is built from its `Options`, what the task asks (`rounds`) and what the run asks
    (`sizes`).
    """

    object_shape: tuple[int, ...]
    """Shape of an object as input of perceptions: (num_features,) or (height, width, 3)."""
    num_values: tuple[int, ...] | None = None
    """Number of values of each attribute of an object; None where objects have no attribute values."""
    value_names: Sequence[Sequence[str]] = ()
    """Names of the values of each attribute as concepts, such as `color=red`."""
    rules: Description | None = None
    """Rules of rounds; None if rounds are not about rules."""
    has_rules: ClassVar[bool] = False
    """Whether rounds may be about a rule with several targets."""
    rules_are_objects: ClassVar[bool] = False
    """Whether the rule of a round is its target, so that the values of the target are all that is said of it."""
    has_targets_first: ClassVar[bool] = False
    """Whether the targets of a drawn round are its first candidates; a single one is then moved to a random place."""
    variants: ClassVar[tuple[Variant, ...]] = ("set_reference",)
    splits: Sequence[str] = ("train", "valid")
    """Splits by name: train; valid and test (held-out rules or objects, where some are held out); seen (training rules,
    new objects); all."""
    corpus_split: str = "valid"
    """The split from which the corpus is generated."""
    default_perceptions: ClassVar[tuple[str, str]] = ("linear", "linear")
    """Perceptions of sender and receiver where a config names none."""
    notes: Sequence[str] = ()
    """Notes about the treatment of the world's files, for people."""
    data_files: ClassVar[tuple[str, ...]] = ()
    """Options that name a file whose content belongs to the experiment."""

    def __init__(self, rounds: RoundSpec, sizes: RunSizes) -> None:
        self.rounds, self.sizes, self.seed = rounds, sizes, sizes.seed
        self.num_targets = rounds.num_targets
        self.num_train, self.num_valid = sizes.num_train, sizes.num_valid

    @property
    def num_distractors(self) -> int:
        """Distractors per round; `ConfigError` if the config leaves them to the world's files, and it has none."""
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
        """The indices of the rounds of a batch; those of training are in a new order in each epoch."""
        if split != "train":
            return np.arange(number * size, (number + 1) * size)
        epoch, place = divmod(number, -(-self.num_train // size))
        return epoch_order(self.seed, epoch, self.num_train)[place * size :][:size]

    def batch(self, split: str, number: int) -> Batch:
        """Batch `number`, from 0, of a split; the last batch of an epoch or of an evaluation is cut to what is left."""
        in_training = split == "train"
        total = self.num_train if in_training else self.num_valid
        size = self.sizes.batch_size if in_training else self.sizes.evaluation_batch_size
        place = number % -(-total // size) if in_training else number
        return self.as_asked(self.draw(split, number, size).cut(max(total - place * size, 0)), split, number)

    def batches(self, split: str, numbers: Sequence[int]) -> Batch | None:
        """The rounds of several batches, one after the other, drawn at once; None where that is not known to be alike.

        The batches have equally many rounds, and objects are laid out by place.
        """
        return None

    def as_asked(self, batch: Batch, split: str, number: int) -> Batch:
        """Rounds that were drawn as batch `number` of a split, with the candidates that the task asks for."""
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
        """The batches of the corpus: as many rounds in all, or fewer where the world has fewer meanings."""
        size = self.sizes.evaluation_batch_size
        for number in range(-(-num_messages // size)):
            yield self.draw(self.corpus_split, number, size).cut(num_messages - number * size)

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """Objects as input of perceptions, (num_objects, *object_shape); bytes become numbers from 0 to 1."""
        features = objects.to(dtype)
        return features / 255 if objects.dtype == torch.uint8 else features

    def unrendered(self) -> "World | None":
        """The world with numbers in the place of images that it renders; its `features` leaves these as they are.

        `features` of the world itself makes them what it makes of the images. None: it renders no images.
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
        """Whether objects are attribute values, and neither images nor features."""
        return self.num_values is not None and len(self.object_shape) == 1

    def remade(self, made: Any, options: Any, rounds: RoundSpec, sizes: RunSizes) -> "World":
        """A world for evaluations of agents that were trained in this one.

        Args:
            made: Its class.
            options: Its options.
            rounds: What the task asks.
            sizes: What the run asks.

        Raises:
            ConfigError: If its objects have other attributes or values.
        """
        world: World = made(options, rounds=rounds, sizes=sizes)
        names, before = ([list(each) for each in of.value_names] for of in (world, self))
        if names != before:
            raise ConfigError(
                "the objects have other attributes or values than those of training: expected a table with the values "
                f"{', '.join(name for each in before for name in each):.200}"
            )
        return world

    def trained_values(self) -> Integers | None:
        """Attribute values of the objects of training, (num_objects, num_attributes).

        None if agents do not see such values, or no objects are held out.
        """
        return None

    def untested_note(self) -> str | None:
        """A line for people where what is held out need not be understood in held-out rounds; None elsewhere."""
        return None

    def trained_note(self, trained: "World") -> str | None:
        """A line for people where what this world holds out was in training, in another world; None elsewhere."""
        return None

    def extra_evaluations(self) -> "dict[str, tuple[World, str]]":
        """Further evaluations of the trained agents by name: a world and the split of it to evaluate on."""
        return {}


def describe(values: Integers, names: Sequence[Sequence[str]]) -> Description:
    """The description of attribute values, (num_rows, num_attributes): a concept for each that is not `FREE`."""
    first = np.cumsum([0, *(len(of_attribute) for of_attribute in names[:-1])])
    is_fixed = values != FREE
    ids = (values + first)[is_fixed].astype(np.int32)
    flat = tuple(name for of_attribute in names for name in of_attribute)
    return Description(
        meanings=values, concepts=Ragged.from_lengths(ids, is_fixed.sum(1)), concept_names=flat
    )


def names_in(value_names: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Names of attributes such as `color` of the values `color=red` and `color=blue`; empty if not each has its own.

    Where two would have the same, of `color=red=0` and `color=blue=0`, they are what all values of one begin with.
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
    """Names of values of attributes that have no names of their own: `attribute0=3`."""
    return [[f"attribute{a}={v}" for v in range(number)] for a, number in enumerate(num_values)]


def one_hot(values: Tensor, num_values: int, dtype: torch.dtype) -> Tensor:
    """Attribute values (..., num_attributes) to features (..., num_attributes * num_values), one-hot per attribute."""
    features = torch.zeros(*values.shape, num_values, dtype=dtype, device=values.device)
    return features.scatter_(-1, values[..., None], 1.0).flatten(-2)


NOISE = "noise objects"
"""The name of the evaluation."""


def evaluations_of(world: World, experiment: Experiment) -> Mapping[str, tuple[World, str]]:
    """The evaluations of trained agents beside the one on validation rounds, by name: a world, and the split of it.

    Raises:
        ConfigError: If the experiment asks for objects of noise in a world of attribute values.
    """
    found = world.extra_evaluations()
    if experiment.evaluation.noise_objects:
        found[NOISE] = (with_noise_objects(world), "valid")
    return found


def with_noise_objects(world: World) -> World:
    """The world with objects of noise in the place of its own: bytes or numbers from 0 to 1, all equally likely."""
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
    """Raise `ConfigError` if the objects of a world are neither images nor vectors of numbers."""
    if world.shows_values:
        raise ConfigError(
            "evaluation.noise_objects: the objects of this world are attribute values: expected images or features"
        )


class ObjectNumbers:
    """Numbers of objects: those of the world, or where it has none, in the order in which they appear, from 0."""

    def __init__(self) -> None:
        self.by_digest: dict[bytes, int] = {}

    def of(self, batch: Batch) -> Integers:
        """The numbers of the objects of a batch, (num_objects,)."""
        return self.of_rows(batch.objects) if batch.ids is None else batch.ids

    def of_rows(self, rows: NDArray[Any]) -> Integers:
        """The numbers of rows, equal ones having one number, (num_rows,); a digest of each is kept."""
        digests = (hashlib.blake2b(each.tobytes(), digest_size=16).digest() for each in rows)
        found = [self.by_digest.setdefault(each, len(self.by_digest)) for each in digests]
        return np.array(found, dtype=np.int64)


def make_world(experiment: Experiment, trained: World | None = None) -> World:
    """The world of an experiment, for its task.

    Args:
        experiment: What the world is of.
        trained: The world in which agents were trained that are evaluated in this one.

    Raises:
        ConfigError: If the world does not have what the task asks for, or a file can't be used.
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
        with initial_weights(training.seed):  # a world of the user's may have random features, or a network
            world = WORLDS.make(experiment.world, rounds=spec, sizes=sizes)
    require_different(f"world {kind}: names of values", [name for of in world.value_names for name in of])
    if world.rules is not None:
        require_different(f"world {kind}: names of concepts", world.rules.concept_names)
    assert world.num_distractors >= 0  # which says so where the files of a world would have to give them
    if evaluation.noise_objects:
        require_seen(world)
    return world
