"""Games on feature files: which rows are targets of what, by split and variant, and what the rules say of them."""

import re
import tracemalloc

import numpy as np
import pytest
from scipy.stats import chisquare

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.feature_files import synthetic_features, write_features
from ecsuite.games.worlds.features import FeatureWorld
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

VARIANTS = ("reference", "set_reference", "concept")
NAMES = ("ref", "setref", "concept")


@pytest.fixture
def path(tmp_path):
    """A file whose first feature is the number of the row."""
    made = synthetic_features(1, 16, 24, 5, 6)
    made["features"][:, 0] = np.arange(len(made["features"]))
    write_features(tmp_path / "birds.npz", made)
    return str(tmp_path / "birds.npz")


def make(path, *overrides, task="concept"):
    informed = "task.sender_input=targets_and_distractors"
    sizes = {
        "concept": ["task.num_targets=5", "task.num_distractors=5", informed],
        "discrimination": ["task.num_distractors=15"],
    }
    base = ["world.kind=features", f"world.features={path}", f"task.kind={task}", "training.batch_size=64"]
    world = make_world(load_experiment("disc_tiny", [*base, *sizes[task], *overrides]))
    assert isinstance(world, FeatureWorld)
    return world


def rows(rounds, places):
    """The row of the file of each object."""
    return rounds.objects[:, 0].astype(np.int64)[places]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("split", ["train", "valid", "test", "seen", "all"])
def test_targets_are_of_the_class_and_distractors_of_others_of_the_split(path, variant, split):
    world = make(path, f"task.variant={variant}", "world.candidates=split")
    for number in range(2):
        rounds = world.batch(split, number)
        assert rounds.objects.dtype == np.float32 and world.object_shape == (5,)
        assert rounds.shown.shape == rounds.candidates.shape == rounds.labels.shape == (64, 10)
        assert (rounds.labels.sum(1) == 5).all() and rounds.num_positive == 5
        for places, labels in ((rounds.candidates, rounds.labels), (rounds.shown, np.arange(10) < 5)):
            chosen = rows(rounds, places)
            assert ((world.file.class_id[chosen] == rounds.rules[:, None]) == labels).all()
            assert np.isin(chosen, world.classes[split].rows).all()
        in_use = np.unique(np.concatenate([rounds.shown, rounds.candidates]))
        assert in_use.tolist() == list(range(len(rounds.objects)))


def test_what_the_receiver_sees_by_variant(path):
    concept = make(path, "task.variant=concept").batch("train", 0)
    targets = np.concatenate([concept.shown[:, :5], concept.candidates[:, :5]], axis=1)
    assert all(len(set(row)) == 10 for row in targets.tolist())
    assert (concept.shown[:, 5:] != concept.candidates[:, 5:]).any(1).mean() > 0.9
    setref = make(path, "task.variant=set_reference").batch("train", 0)
    assert (setref.candidates == setref.shown).all()
    assert all(len(set(row)) == 5 for row in setref.shown[:, :5].tolist())
    ref = make(path, "task.variant=reference").batch("train", 0)
    assert (ref.candidates == ref.shown).all() and (ref.shown[:, :5] == ref.shown[:, :1]).all()


def test_splits_share_no_class_and_seen_shares_no_image(path):
    world = make(path)
    parts = {split: set(images.classes.tolist()) for split, images in world.classes.items()}
    assert [len(parts[split]) for split in ("train", "valid", "test")] == [8, 4, 4]
    assert parts["train"] | parts["valid"] | parts["test"] == parts["all"] == set(range(16))
    assert parts["seen"] == parts["train"]
    train, seen = world.classes["train"], world.classes["seen"]
    assert not np.isin(seen.rows, train.rows).any()
    assert (train.num_images == 14).all() and (seen.num_images == 10).all()  # a fifth is too few for a round


def test_a_fifth_of_large_classes_is_kept_for_seen(tmp_path):
    write_features(tmp_path / "large.npz", synthetic_features(1, 8, 100, 3, 4))
    world = make(tmp_path / "large.npz")
    assert (world.classes["train"].num_images == 80).all() and (world.classes["seen"].num_images == 20).all()


def test_classes_and_images_are_equally_likely_though_classes_differ_in_size(tmp_path):
    sizes = np.array([20, 21, 40, 33, 20, 25, 20, 29])
    made = {
        "features": np.arange(sizes.sum(), dtype=np.float32)[:, None],
        "class_id": np.repeat(np.arange(8), sizes),
        "split": np.repeat([0, 0, 0, 0, 1, 1, 2, 2], sizes),
    }
    write_features(tmp_path / "uneven.npz", made)
    world = make(tmp_path / "uneven.npz", "training.batch_size=20000")
    rounds = world.batch("train", 0)
    assert chisquare(np.bincount(rounds.rules, minlength=4)).pvalue > 1e-4
    chosen = rows(rounds, rounds.candidates)
    for number in range(4):
        images = world.classes["train"].rows[number, : world.classes["train"].num_images[number]]
        of_rule = rounds.rules == number
        for places in (chosen[of_rule, :5], rows(rounds, rounds.shown)[of_rule, :5]):
            counts = np.bincount(places.ravel(), minlength=sizes.sum())[images]
            # Draws without replacement vary less than a chi-square says: it can only pass too easily by that.
            assert counts.sum() == places.size and chisquare(counts).pvalue > 1e-4
        others = made["class_id"][chosen[of_rule, 5:]]
        assert chisquare(np.bincount(others.ravel(), minlength=4)[np.arange(4) != number]).pvalue > 1e-4
        counts = np.bincount(chosen[~of_rule, 5:].ravel(), minlength=sizes.sum())[images]
        assert chisquare(counts).pvalue > 1e-4


def test_rules_of_classes_are_their_commonest_attributes(tmp_path):
    attributes = np.zeros((96, 3), np.uint8)
    for attribute, number in enumerate((12, 6, 7)):  # of 12 images: all, half, more than half
        attributes[:number, attribute] = 1
    made = {
        "features": np.zeros((96, 2), np.float32),
        "class_id": np.repeat(np.arange(8), 12),
        "attributes": attributes,
        "attribute_names": np.array(["wing", "beak", "tail"]),
    }
    write_features(tmp_path / "birds.npz", made)
    rules = make(tmp_path / "birds.npz", "task.num_targets=2").rules
    assert rules.meanings.tolist() == [[1, 0, 1]] + [[0, 0, 0]] * 7
    assert rules.concept_names == ("wing", "beak", "tail")
    assert [rules.concepts[number].tolist() for number in range(8)] == [[0, 2]] + [[]] * 7


def test_rules_of_classes_without_attributes_are_their_names(tmp_path):
    made = {"features": np.zeros((96, 2)), "class_id": np.repeat([3, 4, 6, 7, 9, 11, 12, 20], 12)}
    write_features(tmp_path / "birds.npz", made)
    rules = make(tmp_path / "birds.npz", "task.num_targets=2").rules
    assert rules.meanings.tolist() == [[number] for number in range(8)]
    assert rules.concept_names[:3] == ("class=3", "class=4", "class=6")
    assert [rules.concepts[number].tolist() for number in range(8)] == [[number] for number in range(8)]


def test_further_evaluations_are_the_evaluation_matrix(path):
    world = make(path, "task.variant=set_reference")
    further = world.extra_evaluations()
    assert list(further) == [f"{seen} {variant}" for seen in ("seen", "unseen") for variant in NAMES]
    trained_on = set(world.classes["train"].classes.tolist())
    for name, (other, split) in further.items():
        rounds = other.batch(split, 0)
        assert set(rounds.rules.tolist()).isdisjoint(trained_on) == name.startswith("unseen")
        assert NAMES[VARIANTS.index(other.variant)] == name.split()[1] and other.file is world.file
        is_same = bool((rounds.shown == rounds.candidates).all())
        assert is_same == (other.variant != "concept")
    assert world.variant == "set_reference"


@pytest.mark.parametrize("split", ["train", "valid", "test", "seen", "all"])
def test_discrimination_is_one_image_among_different_others(path, split):
    world = make(path, "world.candidates=split", task="discrimination")
    for number in range(3):
        rounds = world.batch(split, number)
        assert rounds.shown.shape == (64, 1) and rounds.candidates.shape == (64, 16)
        assert (rounds.labels.sum(1) == 1).all() and rounds.num_positive == 1
        assert (rounds.candidates[rounds.labels] == rounds.shown[:, 0]).all()
        chosen = rows(rounds, rounds.candidates)
        assert (np.diff(np.sort(chosen, axis=1), axis=1) > 0).all() and np.isin(
            chosen, world.rows[split]
        ).all()
        assert (rows(rounds, rounds.shown)[:, 0] == rounds.rules).all()
        assert len(rounds.objects) <= 4 * 16
    assert world.extra_evaluations() == {"seen objects": (world, "seen")}


@pytest.mark.parametrize("task", ["concept", "discrimination"])
def test_distractors_of_what_is_not_trained_on_are_of_all_splits(path, task):
    world = make(path, task=task)
    assert world.untested_note() is None
    assert "not tested" in make(path, "world.candidates=split", task=task).untested_note()
    for split, others in {"train": {0}, "seen": {0}, "valid": {0, 1, 2}, "test": {0, 1, 2}}.items():
        batches = [world.batch(split, number) for number in range(4)]
        targets, distractors = (
            {
                int(of)
                for b in batches
                for of in world.file.split[rows(b, b.candidates)[b.labels == is_target]]
            }
            for is_target in (True, False)
        )
        assert targets == {{"train": 0, "seen": 0, "valid": 1, "test": 2}[split]} and distractors == others
        assert all(len(np.unique(row)) == len(row) for b in batches for row in b.candidates if task[0] == "d")


def test_targets_places_and_distractors_are_uniform(path):
    world = make(path, "world.candidates=split", task="discrimination")
    batches = [world.draw("valid", number, 64) for number in range(300)]
    assert len(world.rows["valid"]) == 96
    assert chisquare(np.bincount(np.concatenate([b.labels.argmax(1) for b in batches]))).pvalue > 1e-4
    # Draws without replacement, so counts of targets are more even than a chi-square expects.
    targets = np.bincount(np.concatenate([b.rules for b in batches]), minlength=384)[world.rows["valid"]]
    assert targets.sum() == 300 * 64 and chisquare(targets).pvalue > 1e-4
    # Rounds of a batch share a pool, so their candidates are correlated: 4 % standard deviation, not 2 %.
    candidates = np.concatenate([rows(b, b.candidates).ravel() for b in batches])
    counts = np.bincount(candidates, minlength=384)[world.rows["valid"]]
    assert counts.sum() == 300 * 64 * 16 and np.abs(counts / counts.mean() - 1).max() < 0.16


def test_rules_of_images_are_their_features(path, tmp_path):
    world = make(path, task="discrimination")
    assert world.rules.meanings is world.file.features and len(world.rules.meanings) == 384
    assert world.rules.concept_names[15] == "class=class15" and world.rules.concepts[383].tolist() == [15]
    write_features(tmp_path / "bare.npz", {"features": np.zeros((400, 2))})
    bare = make(tmp_path / "bare.npz", task="discrimination")
    assert bare.rules.concepts is None and bare.rules.concept_names == ()
    sizes = {split: len(rows) for split, rows in bare.rows.items()}
    assert sizes == {"train": 360, "valid": 20, "test": 20, "seen": 360, "all": 400}


@pytest.mark.parametrize(
    ("override", "task", "message"),
    [
        (
            "task.num_targets=7",
            "concept",
            "class_id: expected at least 28 rows of each class in train (task.num_targets)",
        ),
        (
            "task.num_distractors=96",
            "discrimination",
            "features: expected at least 97 rows in valid (task.num_dist",
        ),
    ],
)
def test_files_that_are_too_small_are_refused(path, override, task, message):
    with pytest.raises(ConfigError, match="^" + re.escape(f"{path}: {message}")):
        make(path, override, "world.candidates=split", task=task)


@pytest.mark.parametrize("task", ["concept", "discrimination", "in_batch"])
def test_each_training_example_is_used_once_an_epoch(task, feature_file):
    """In a new order, about the same classes and targets; also where an epoch is no multiple of a batch."""
    experiment = load_experiment(
        "disc_tiny",
        ["world=features", f"world.features={feature_file}", f"task={task}",
         "training.num_examples=50", "training.batch_size=16", *SIZES[task]],
    )  # fmt: skip
    world = make_world(experiment)

    def epoch(number):
        batches = [world.batch("train", 4 * number + place) for place in range(4)]
        return [tuple(sorted(batch.ids[row])) for batch in batches for row in batch.shown], batches

    (first, batches), (second, _) = epoch(0), epoch(1)
    assert len(first) == 50 and sorted(first) == sorted(second) and first != second
    rules = np.concatenate([batch.rules for batch in batches])
    if task != "concept":  # every image is the target equally often
        counts = np.unique(rules, return_counts=True)[1]
        assert counts.max() - counts.min() <= 1
    assert all(batch.labels[row].any() for batch in batches for row in range(len(batch)))


SIZES = {
    "concept": ("task.num_targets=2", "task.num_distractors=2"),
    "discrimination": ("task.num_distractors=3",),
    "in_batch": (),
}


def test_memory_of_rounds_about_images_grows_with_candidates_and_not_with_images(tmp_path):
    write_features(str(tmp_path / "many.npz"), synthetic_features(1, 8, 2500, 4, 4))
    experiment = load_experiment(
        "disc_tiny",
        ["world=features", f"world.features={tmp_path}/many.npz", "task.num_distractors=5",
         "training.batch_size=4096"],
    )  # fmt: skip
    world = make_world(experiment)
    tracemalloc.start()
    world.batch("train", 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
