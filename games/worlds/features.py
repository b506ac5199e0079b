"""Games on users' feature files: communicate a class (Mu & Goodman 2021) or one image (Yao et al. 2022)."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.candidates import distinct_others, each_once, others_of
from ecsuite.games.worlds.feature_files import SPLITS, FeatureFile, check_classes, read_features
from ecsuite.games.worlds.objects import NOT_TESTED, CandidatePool, Subsets
from ecsuite.games.worlds.rules import RuleWorld
from ecsuite.games.worlds.shapeworld import VARIANTS, evaluation_matrix
from ecsuite.games.worlds.world import (
    SEEN_OBJECTS,
    Batch,
    Description,
    Integers,
    RoundSpec,
    RunSizes,
    Variant,
    World,
)
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged
from ecsuite.runtime.randomness import epoch_order, random_words

SEEN_SHARE = 0.2
"""Share of each training class's images that are reserved for the split `seen`."""
HELD_OUT = ("valid", "test")
"""Splits that are not used for training."""
SHARED_FACTOR = 4
"""Number of images shared by the rounds of a batch with one target each, in multiples of the images of one round."""


class FeatureWorld(RuleWorld):
    """Rounds on the rows of a feature file; the task selects the game.

    About classes (task concept; Mu & Goodman's game on CUB): the targets are different images of one class, each
    distractor is a random image of a random other class. The variants are as in `ShapeWorld`: concept (the receiver's
    targets are other images of the class, with other distractors), set_reference (it sees the sender's images) and
    reference (as set_reference, with one image repeated as all targets). A rule is a class. Classes are equally
    likely. A fifth of the images of each training class, and at least the number that one round needs,
    are reserved for the split `seen`.

    About images (one target; Yao et al.): the sender sees one image, the receiver has to find it among
    `num_distractors` other images, all different, at a random index. A rule is an image. Each image is the
    target equally often. The rounds of a batch share `SHARED_FACTOR` times the images of one round, or one image per
    target: the targets, and others that are redrawn for every batch.

    Raises:
        ConfigError: If the file can't be used for this game.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        features: str | None = None
        """The npz file, with `features` (rows, width) and, for the task concept, `class_id`; see the README."""
        candidates: CandidatePool = "all"
        """Source of the distractors of rounds about rows outside training. all: all rows. split: rows of
        their split (Mu & Goodman 2021; Yao et al. 2022)."""

        def __post_init__(self) -> None:
            """Validate that there is a file."""
            if self.features is None:
                raise ConfigError(
                    "features: expected an npz file of feature vectors, such as --features vectors.npz"
                )

    variants = tuple(VARIANTS)
    corpus_split = "all"  # all classes or images, as in Mu & Goodman and Yao et al.
    data_files = ("features",)
    variant: Variant

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        assert options.features is not None
        super().__init__(rounds, sizes)
        self.variant, self.pool = rounds.variant, options.candidates
        self.file = read_features(options.features, self.seed)
        self.object_shape = (self.file.features.shape[1],)
        if self.file.attributes is not None:
            self.num_values = (2,) * self.file.attributes.shape[1]
        if rounds.needs_rule:
            # In all variants, because the evaluation matrix covers all of them.
            per_class = 2 * self.num_targets
            check_classes(self.file, {"train": 2 * per_class, "valid": per_class, "test": per_class})
            self.classes = _images_by_class(self.file, per_class, self.seed)
            assert self.file.class_id is not None
            trained = np.unique(self.file.class_id[self.file.split == 0])
            rules = class_rules(self.file)
        else:
            least = 1 + self.num_distractors
            self.rows = _rows_by_split(
                self.file, {"train": least, **dict.fromkeys(HELD_OUT, self._least(least))}
            )
            trained = self.rows["train"]
            rules = image_rules(self.file)
        held_out = np.setdiff1d(np.arange(len(rules.meanings)), trained)
        self.take_rules(rules, Subsets.of(trained, held_out))

    def _least(self, least: int) -> int:
        """Number of rows or classes that a split outside training needs, if a round needs `least`."""
        return least if self.pool == "split" else 1

    def _pool(self, split: str) -> str:
        """Split from which the distractors of a split are drawn."""
        return "all" if self.pool == "all" and split in HELD_OUT else split

    def draw(self, split: str, number: int, size: int) -> Batch:
        """See `World`. Rounds of training are reordered in each epoch."""
        indices = self.round_indices(split, number, size)
        if self.rounds.needs_rule:
            return self._class_rounds(split, indices)
        return self._image_rounds(split, indices, number, size)

    @property
    def shows_values(self) -> bool:
        """Agents see features."""
        return False

    def describe(self, batch: Batch) -> Description:
        """Class or image of each round. See `World`."""
        return super().describe(replace(batch, values=None))

    def untested_note(self) -> str | None:
        """See `World`."""
        return NOT_TESTED if self.pool == "split" else None

    def extra_evaluations(self) -> dict[str, tuple[World, str]]:
        """Each variant on training classes and on test classes; training images. See `World`."""
        if not self.rounds.needs_rule:
            return {SEEN_OBJECTS: (self, "seen")}
        worlds: dict[Variant, World] = {}
        for variant in VARIANTS:
            worlds[variant] = world = copy(self)
            world.variant = variant
        return evaluation_matrix(worlds)

    def _class_rounds(self, split: str, indices: Integers) -> Batch:
        """Rounds about classes."""
        num_distractors = self.num_distractors
        images, pool = self.classes[split], self.classes[self._pool(split)]
        num_classes, num_views = len(images.classes), 2 if self.variant == "concept" else 1
        num_others = num_views * num_distractors
        words = random_words(
            self.seed, f"features {split}", indices, 1 + 2 * num_others + images.rows.shape[1]
        )
        first, shifts, others, order = np.split(words, [1, 1 + num_others, 1 + 2 * num_others], axis=1)
        places = (first[:, 0] % np.uint64(num_classes)).astype(np.int64)
        shift = 1 + (shifts % np.uint64(len(pool.classes) - 1)).astype(np.int64)
        others_of_pool = (np.searchsorted(pool.classes, images.classes[places])[:, None] + shift) % len(
            pool.classes
        )
        targets = images.distinct_images(places, num_views * self.num_targets, order)
        distractors = pool.random_images(others_of_pool, others)
        if self.variant == "reference":
            targets = np.repeat(targets[:, :1], self.num_targets, axis=1)
        # With one view, the first images are also the last.
        shown = [targets[:, : self.num_targets], distractors[:, :num_distractors]]
        candidates = [targets[:, -self.num_targets :], distractors[:, -num_distractors:]]
        return self._rounds(
            shown=np.concatenate(shown if self.rounds.sender_sees_all else shown[:1], axis=1),
            candidates=np.concatenate(candidates, axis=1),
            labels=self.targets_first(len(indices)),
            rules=images.classes[places],
        )

    def _image_rounds(self, split: str, indices: Integers, number: int, size: int) -> Batch:
        """Rounds about images."""
        num_candidates = 1 + self.num_distractors
        order = epoch_order(self.seed, f"images of {split}", len(self.rows[split]))
        targets = self.rows[split][order[indices % len(order)]]
        pool, rng = (
            self.rows[self._pool(split)],
            np.random.default_rng([self.seed, *b"features", *split.encode(), number]),
        )
        num_shared = min(max(SHARED_FACTOR * num_candidates, size), len(pool))
        words = random_words(self.seed, f"features {split}", indices, num_candidates)
        if pool is self.rows[split]:
            found, places = np.unique(targets, return_inverse=True)
            rest = rng.choice(
                np.setdiff1d(pool, found, assume_unique=True), num_shared - len(found), replace=False
            )
            others = np.concatenate([found, rest])[distinct_others(places, words[:, 1:], num_shared)]
        else:  # targets are as likely distractors as other rows
            shared = np.sort(rng.choice(pool, num_shared, replace=False))
            others = others_of(shared, targets, words[:, 1:], len(pool))
        labels = np.arange(num_candidates) == (words[:, :1] % np.uint64(num_candidates)).astype(np.int64)
        candidates = np.empty(labels.shape, dtype=np.int64)
        candidates[labels], candidates[~labels] = targets, others.ravel()
        shown = np.concatenate([targets[:, None], others], axis=1)
        if not self.rounds.sender_sees_all:
            shown = shown[:, :1]
        return self._rounds(
            shown=shown,
            candidates=candidates,
            labels=labels,
            rules=targets,
        )

    def _rounds(
        self, *, shown: Integers, candidates: Integers, labels: NDArray[np.bool_], rules: Integers
    ) -> Batch:
        """Build a batch from row numbers of the file: keep only the rows in use, and index into them."""
        used, (shown, candidates) = each_once(shown, candidates)
        return Batch(
            objects=self.file.features[used],
            shown=shown,
            num_positive=self.num_targets,
            candidates=candidates,
            labels=labels,
            values=None if self.file.attributes is None else self.file.attributes[used].astype(np.int64),
            rules=rules,
            ids=used,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassImages:
    """Images of each class of a split."""

    classes: Integers
    """Classes, as indices into the world's rules, (num_classes,)."""
    rows: Integers
    """Rows of the file, padded on the right with repeats, (num_classes, most_images)."""
    num_images: Integers
    """Number of images of each class without padding, (num_classes,)."""

    def distinct_images(self, places: Integers, number: int, words: NDArray[np.uint64]) -> Integers:
        """Draw `number` different images of each class, in random order: rows of the file, (batch, number).

        `words` are random, (batch, most_images).
        """
        is_image = np.arange(self.rows.shape[1]) < self.num_images[places, None]
        order = np.where(is_image, words >> np.uint64(1), np.uint64(2**64 - 1))
        return np.take_along_axis(self.rows[places], order.argsort(1)[:, :number], axis=1)

    def random_images(self, places: Integers, words: NDArray[np.uint64]) -> Integers:
        """Draw one image of each class by random words: rows of the file, in the shape of `places`."""
        return self.rows[places, (words % self.num_images[places].astype(np.uint64)).astype(np.int64)]


def class_rules(file: FeatureFile) -> Description:
    """Make a rule for each class.

    With attributes, the meaning and the concepts of a class are the attributes that more than half of its
    images have (Mu & Goodman). Otherwise the meaning is the class number, and the concept is the class name.
    """
    assert file.class_id is not None
    num_classes = len(file.class_names)
    if file.attributes is None:
        return Description(
            meanings=np.arange(num_classes)[:, None],
            concepts=_one_each(np.arange(num_classes)),
            concept_names=file.class_concepts,
        )
    counts = np.zeros((num_classes, file.attributes.shape[1]), dtype=np.int64)
    np.add.at(counts, file.class_id, file.attributes)
    has = 2 * counts > np.bincount(file.class_id)[:, None]
    ids = np.nonzero(has)[1].astype(np.int32)
    return Description(
        meanings=has.astype(np.int64),
        concepts=Ragged.from_lengths(ids, has.sum(1)),
        concept_names=file.attribute_names,
    )


def image_rules(file: FeatureFile) -> Description:
    """Make a rule for each image: its meaning is the features, its concept is the class, if any."""
    if file.class_id is None:
        return Description(meanings=file.features, concepts=None, concept_names=())
    concepts = _one_each(file.class_id)
    return Description(meanings=file.features, concepts=concepts, concept_names=file.class_concepts)


def _one_each(concepts: Integers) -> Ragged:
    """Phrases of one concept each."""
    return Ragged.from_lengths(concepts.astype(np.int32), np.ones(len(concepts), dtype=np.int64))


def _images_by_class(file: FeatureFile, least: int, seed: int) -> dict[str, ClassImages]:
    """Images of each class by split; images of training classes are divided between `train` and `seen`."""
    assert file.class_id is not None
    rng = np.random.default_rng([seed, *b"kept back"])
    images = rng.permutation(len(file.split))
    images = images[np.argsort(file.class_id[images], kind="stable")]
    of_class = np.split(images, np.cumsum(np.bincount(file.class_id))[:-1])
    members: dict[str, dict[int, Integers]] = {split: {} for split in (*SPLITS, "seen", "all")}
    for number, rows in enumerate(of_class):
        split = SPLITS[file.split[rows[0]]]
        num_seen = max(least, round(SEEN_SHARE * len(rows))) if split == "train" else 0
        members[split][number] = rows[num_seen:]
        if num_seen:
            members["seen"][number] = rows[:num_seen]
        members["all"][number] = rows
    return {split: _padded(classes) for split, classes in members.items()}


def _padded(images: Mapping[int, Integers]) -> ClassImages:
    """Pad the rows of each class to one array."""
    num_images = np.array([len(rows) for rows in images.values()])
    table = np.stack([np.resize(rows, num_images.max()) for rows in images.values()])
    return ClassImages(classes=np.array(list(images)), rows=table, num_images=num_images)


def _rows_by_split(file: FeatureFile, least: Mapping[str, int]) -> dict[str, Integers]:
    """Rows of each split, at least the number it needs; `seen` has the training rows."""
    rows = {split: np.flatnonzero(file.split == place) for place, split in enumerate(SPLITS)}
    for split in SPLITS:
        if len(rows[split]) < least[split]:
            raise ConfigError(
                f"{file.path}: features: expected at least {least[split]} rows in {split} (task.num_distractors and a "
                f"target), got {len(rows[split])} of {len(file.split)}"
            )
    return {**rows, "seen": rows["train"], "all": np.arange(len(file.split))}
