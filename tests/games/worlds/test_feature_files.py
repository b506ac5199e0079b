"""Feature files: read as they were written, faults in one line; games on them: targets, splits and rules of classes."""

import io
import os
import re

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.feature_files import check_classes, read_features, synthetic_features, write_features
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def arrays(**changes):
    """A small good file: 8 classes of 6 rows; an array set to None is left out."""
    made = {**synthetic_features(1, 8, 6, 5, 4), **changes}
    return {name: array for name, array in made.items() if array is not None}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "birds.npz")


def read(path, **changes):
    write_features(path, arrays(**changes))
    return read_features(path, seed=1)


SPLIT = np.repeat([0, 0, 0, 0, 1, 1, 2, 2], 6)
FAULTS = [
    ({"features": None}, "features: missing, expected an array (rows, features)"),
    ({"features": np.zeros(48, np.float32)}, "features: expected floats (rows, features), at least one of each, got f"),
    ({"features": np.zeros((0, 2))}, "features: expected floats (rows, features), at least one of each, got float64 ("),
    ({"features": np.where(np.arange(96).reshape(48, 2) > 90, np.nan, 0.0)}, "features: 3 rows are not finite in floa"),
    ({"features": np.full((48, 2), 1e300)}, "features: 48 rows are not finite in float32, first row 0"),
    ({"class_id": np.zeros(48)}, "class_id: expected integers (48,) like the rows of features, got float64 (48,)"),
    ({"class_id": np.repeat(np.arange(-1, 7), 6)}, "class_id: expected numbers from 0, got -1"),
    ({"class_id": None}, "class_id: missing, expected the class of each row (task concept)"),
    ({"class_names": np.array([["a"]])}, "class_names: expected text (classes,), got <U1 (1, 1)"),
    ({"class_names": np.arange(8)}, "class_names: expected text (classes,), got int64 (8,)"),
    ({"class_names": np.array(["a", "b", "c"])}, "class_names: 3 names, but class_id goes up to 7: expected a name fo"),
    ({"class_names": np.array(["crow"] * 8)}, "class_names: expected unique names, got some of them twice"),
    ({"attributes": np.zeros((4, 48), np.uint8)}, "attributes: expected 0 or 1 (48, attributes) like the rows of feat"),
    ({"attributes": np.zeros((48, 4))}, "attributes: expected 0 or 1 (48, attributes) like the rows of features, got"),
    ({"attributes": np.full((48, 4), 2, np.uint8)}, "attributes: expected 0 or 1, got values from 2 to 2"),
    ({"attribute_names": np.array(["wing", "beak"])}, "attribute_names: expected text (4,) like the columns of attrib"),
    ({"attribute_names": np.array(["wing"] * 4)}, "attribute_names: expected unique names, got some of them twice"),
    ({"split": np.zeros(48)}, "split: expected text or integers (48,) like the rows of features, got float64 (48,)"),
    ({"split": np.array(["train"] * 40 + ["val"] * 8)}, "split: expected train, valid, test, got 'val' in row 40"),
    ({"split": np.arange(48)}, "split: expected 0, 1, 2, got 3 in row 3"),
    ({"split": np.arange(48) % 2}, "split: class class0 is in train and valid: expected each class in one split (task"),
    ({"split": np.repeat([0, 0, 0, 0, 0, 1, 2, 2], 6)}, "class_id: expected at least 2 classes in each of train, vali"),
    ({"class_id": np.zeros(48, np.int64), "split": None}, "class_id: expected at least 2 classes in each of train, va"),
    ({"class_id": np.repeat(np.arange(8), [6, 6, 6, 6, 11, 1, 11, 1])}, "class_id: expected at least 2 rows of each c"),
    ({"class_id": np.repeat(np.arange(8), [18, 2, 2, 2, 6, 6, 6, 6])}, "class_id: expected at least 4 rows of each cl"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), FAULTS)
def test_faults_are_one_line_with_the_array(path, changes, message):
    with pytest.raises(ConfigError) as error:
        check_classes(read(path, **{"split": SPLIT, **changes}), {"train": 4, "valid": 2, "test": 2})
    assert str(error.value).startswith(f"{path}: {message}") and "\n" not in str(error.value)


def test_arrays_of_objects_are_never_unpickled(path):
    class Harm:
        def __reduce__(self):
            return os.mkdir, (path + ".harm",)

    buffer = io.BytesIO()
    np.savez(buffer, features=np.zeros((4, 2)), class_names=np.array([Harm()], dtype=object))
    with open(path, "wb") as file:
        file.write(buffer.getvalue())
    with pytest.raises(ConfigError) as error:
        read_features(path, seed=1)
    assert str(error.value).startswith(f"{path}: class_names: can't be read without unpickling, which could")
    assert not os.path.exists(path + ".harm")
    with pytest.raises(ValueError, match="allow_pickle"):
        write_features(path, {"features": np.array([None])})
    assert os.path.getsize(path) == len(buffer.getvalue())  # what was there is still there


@pytest.mark.parametrize("compressed", [False, True])
def test_any_byte_may_be_wrong(path, tmp_path, compressed):
    """The features are those that were written, or the file is refused in one line."""
    (np.savez_compressed if compressed else np.savez)(path, **arrays())
    file, num_refused, right = tmp_path / "birds.npz", 0, read_features(path, seed=1)
    whole = file.read_bytes()
    for place in range(0, len(whole), 31):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        try:
            found = read_features(path, seed=1)
        except ConfigError as error:
            num_refused += 1
            assert str(error).startswith(path) and "\n" not in str(error)
        else:
            assert (found.features == right.features).all()
    assert num_refused > 10


@pytest.fixture
def birds(tmp_path):
    """A file whose first feature is the number of the row."""
    made = synthetic_features(1, 16, 24, 5, 6)
    made["features"][:, 0] = np.arange(len(made["features"]))
    write_features(tmp_path / "birds.npz", made)
    return str(tmp_path / "birds.npz")


def make(birds, *overrides, task="concept"):
    informed = "task.sender_input=targets_and_distractors"
    sets = ["task.num_targets=5", "task.num_distractors=5", informed]
    base = ["world.kind=features", f"world.features={birds}", f"task.kind={task}", "training.batch_size=64"]
    base += sets if task == "concept" else ["task.num_distractors=15"]
    return make_world(load_experiment("disc_tiny", [*base, *overrides]))


def rows(rounds, places):
    """The row of the file of each object."""
    return rounds.objects[:, 0].astype(np.int64)[places]


def test_rules_of_classes_are_their_commonest_attributes_or_their_names(tmp_path):
    file, few = tmp_path / "birds.npz", "task.num_targets=2"
    attributes = np.zeros((96, 3), np.uint8)
    for attribute, number in enumerate((12, 6, 7)):  # of 12 images: all, half, more than half
        attributes[:number, attribute] = 1
    plain = {"features": np.zeros((96, 2), np.float32), "class_id": np.repeat(np.arange(8), 12)}
    names = np.array(["wing", "beak", "tail"])
    write_features(file, {**plain, "attributes": attributes, "attribute_names": names})
    rules = make(file, few).rules
    assert rules.meanings.tolist() == [[1, 0, 1]] + [[0, 0, 0]] * 7 and rules.concept_names == tuple(names)
    assert [rules.concepts[number].tolist() for number in range(8)] == [[0, 2]] + [[]] * 7
    write_features(file, {**plain, "class_id": np.repeat([3, 4, 6, 7, 9, 11, 12, 20], 12)})
    rules = make(file, few).rules
    assert rules.meanings.tolist() == [[number] for number in range(8)]
    assert rules.concept_names[:3] == ("class=3", "class=4", "class=6")
    assert [rules.concepts[number].tolist() for number in range(8)] == [[number] for number in range(8)]


@pytest.mark.parametrize("task", ["concept", "discrimination"])
def test_distractors_of_what_is_not_trained_on_are_of_all_splits(birds, task):
    world = make(birds, task=task)
    assert world.untested_note() is None
    assert "not tested" in make(birds, "world.candidates=split", task=task).untested_note()
    for split, others in {"train": {0}, "seen": {0}, "valid": {0, 1, 2}, "test": {0, 1, 2}}.items():
        batches = [world.batch(split, number) for number in range(4)]
        targets, distractors = (
            {int(of) for b in batches for of in world.file.split[rows(b, b.candidates)[b.labels == is_target]]}
            for is_target in (True, False)
        )  # fmt: skip
        assert targets == {{"train": 0, "seen": 0, "valid": 1, "test": 2}[split]} and distractors == others
        assert all(len(np.unique(row)) == len(row) for b in batches for row in b.candidates if task[0] == "d")


@pytest.mark.parametrize(
    ("override", "task", "message"),
    [
        ("num_targets=7", "concept", "class_id: expected at least 28 rows of each class in train (task.num_tar"),
        ("num_distractors=96", "discrimination", "features: expected at least 97 rows in valid (task.num_dist"),
    ],
)
def test_files_that_are_too_small_are_refused(birds, override, task, message):
    with pytest.raises(ConfigError, match="^" + re.escape(f"{birds}: {message}")):
        make(birds, f"task.{override}", "world.candidates=split", task=task)


@pytest.mark.parametrize("variant", ["reference", "set_reference", "concept"])
def test_targets_are_of_the_class_and_distractors_of_others_of_the_split(birds, variant):
    world = make(birds, f"task.variant={variant}", "world.candidates=split")
    for split in ("train", "valid", "test", "seen", "all"):
        rounds = world.batch(split, 1)
        assert (rounds.labels.sum(1) == 5).all() and rounds.num_positive == 5
        for places, labels in ((rounds.candidates, rounds.labels), (rounds.shown, np.arange(10) < 5)):
            chosen = rows(rounds, places)
            assert ((world.file.class_id[chosen] == rounds.rules[:, None]) == labels).all()
            assert np.isin(chosen, world.classes[split].rows).all()
    parts = {split: {*images.classes.tolist()} for split, images in world.classes.items()}
    assert [len(parts[split]) for split in ("train", "valid", "test", "all")] == [8, 4, 4, 16]
    assert not np.isin(world.classes["seen"].rows, world.classes["train"].rows).any()


def test_features_without_attributes_cannot_be_reconstructed(path):
    write_features(path, {"features": arrays()["features"]})
    experiment = load_experiment("disc_tiny", [f"world=features,features={path}", "task.kind=reconstruction"])
    with pytest.raises(ConfigError, match=r"^task: reconstruction needs objects with attribute values"):
        make_pair(experiment, make_world(experiment))
