"""Feature files: what is read is what was written, and every fault is one line with the file and the array."""

import io
import os
import zipfile

import numpy as np
import pytest

from ecsuite.games.worlds.feature_files import (
    check_classes,
    read_features,
    synthetic_features,
    write_features,
)
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


def test_what_is_written_is_read(path):
    made = arrays(split=SPLIT)
    write_features(path, made)
    file = read_features(path, seed=1)
    assert (file.features == made["features"]).all() and file.features.dtype == np.float32
    assert (file.class_id == made["class_id"]).all() and (file.split == made["split"]).all()
    assert (file.attributes == made["attributes"]).all() and file.attributes.dtype == np.uint8
    assert file.class_names == tuple(made["class_names"]) and file.class_names[7] == "class7"
    assert file.attribute_names == ("attribute0", "attribute1", "attribute2", "attribute3")
    check_classes(file, {"train": 4, "valid": 2, "test": 2})


def test_features_alone_are_enough(path):
    write_features(path, {"features": np.arange(200.0).reshape(100, 2)})
    file = read_features(path, seed=1)
    assert file.features.dtype == np.float32 and file.features[99, 1] == 199
    assert (file.class_id, file.class_names, file.attributes, file.attribute_names) == (None, (), None, ())
    assert np.bincount(file.split).tolist() == [90, 5, 5]


def test_default_split_by_class(path):
    file = read(path)
    of_class = file.split.reshape(8, 6)
    assert (of_class == of_class[:, :1]).all()
    assert np.bincount(of_class[:, 0]).tolist() == [4, 2, 2]
    write_features(path, arrays())
    assert (read_features(path, seed=1).split == file.split).all()
    assert any((read_features(path, seed=seed).split != file.split).any() for seed in (2, 3))


def test_splits_may_be_words_or_numbers(path):
    words = np.repeat(["train", "valid", "train", "valid", "test", "test", "train", "train"], 6)
    as_words = read(path, split=words)
    assert as_words.split.reshape(8, 6)[:, 0].tolist() == [0, 1, 0, 1, 2, 2, 0, 0]
    as_numbers = read(path, split=as_words.split.astype(np.uint8))
    assert (as_numbers.split == as_words.split).all()


def test_classes_with_gaps_keep_their_names(path):
    ids = np.repeat([1, 2, 3, 5, 8, 13, 21, 34], 6)
    without = read(path, class_id=ids, class_names=None)
    assert without.class_names == ("1", "2", "3", "5", "8", "13", "21", "34")
    named = read(path, class_id=ids, class_names=np.array([f"bird {number}" for number in range(35)]))
    assert named.class_names[:4] == ("bird 1", "bird 2", "bird 3", "bird 5")
    assert (named.class_id == np.repeat(np.arange(8), 6)).all()


SPLIT = np.repeat([0, 0, 0, 0, 1, 1, 2, 2], 6)
FAULTS = [
    ({"features": None}, "features: missing, expected an array (rows, features)"),
    ({"features": np.zeros(48, np.float32)},
     "features: expected floats (rows, features), at least one of each, got float32 (48,)"),
    ({"features": np.zeros((48, 2), np.int64)},
     "features: expected floats (rows, features), at least one of each, got int64 (48, 2)"),
    ({"features": np.zeros((0, 2))},
     "features: expected floats (rows, features), at least one of each, got float64 (0, 2)"),
    ({"features": np.where(np.arange(96).reshape(48, 2) > 90, np.nan, 0.0)},
     "features: 3 rows are not finite in float32, first row 45"),
    ({"features": np.where(np.arange(96).reshape(48, 2) == 9, -np.inf, 0.0)},
     "features: 1 rows are not finite in float32, first row 4"),
    ({"features": np.full((48, 2), 1e300)}, "features: 48 rows are not finite in float32, first row 0"),
    ({"class_id": np.zeros(47, np.int64)},
     "class_id: expected integers (48,) like the rows of features, got int64 (47,)"),
    ({"class_id": np.zeros(48)}, "class_id: expected integers (48,) like the rows of features, got float64 (48,)"),
    ({"class_id": np.repeat(np.arange(-1, 7), 6)}, "class_id: expected numbers from 0, got -1"),
    ({"class_id": None}, "class_id: missing, expected the class of each row (task concept)"),
    ({"class_names": np.array([["a"]])}, "class_names: expected text (classes,), got <U1 (1, 1)"),
    ({"class_names": np.arange(8)}, "class_names: expected text (classes,), got int64 (8,)"),
    ({"class_names": np.array(["a", "b", "c"])},
     "class_names: 3 names, but class_id goes up to 7: expected a name for each class from 0 to 7"),
    ({"class_names": np.array(["crow"] * 8)}, "class_names: expected unique names, got some of them twice"),
    ({"attributes": np.zeros((4, 48), np.uint8)},
     "attributes: expected 0 or 1 (48, attributes) like the rows of features, got uint8 (4, 48)"),
    ({"attributes": np.zeros((48, 4))},
     "attributes: expected 0 or 1 (48, attributes) like the rows of features, got float64 (48, 4)"),
    ({"attributes": np.full((48, 4), 2, np.uint8)}, "attributes: expected 0 or 1, got values from 2 to 2"),
    ({"attribute_names": np.array(["wing", "beak"])},
     "attribute_names: expected text (4,) like the columns of attributes, got <U4 (2,)"),
    ({"attribute_names": np.array(["wing"] * 4)}, "attribute_names: expected unique names, got some of them twice"),
    ({"split": np.zeros(47, np.int64)},
     "split: expected text or integers (48,) like the rows of features, got int64 (47,)"),
    ({"split": np.zeros(48)}, "split: expected text or integers (48,) like the rows of features, got float64 (48,)"),
    ({"split": np.array(["train"] * 40 + ["val"] * 8)}, "split: expected train, valid, test, got 'val' in row 40"),
    ({"split": np.arange(48)}, "split: expected 0, 1, 2, got 3 in row 3"),
    ({"split": np.arange(48) % 2},
     "split: class class0 is in train and valid: expected each class in one split (task concept)"),
    ({"split": np.repeat([0, 0, 0, 0, 0, 1, 2, 2], 6)},
     "class_id: expected at least 2 classes in each of train, valid, test, got 1 in valid"),
    ({"class_id": np.zeros(48, np.int64), "split": None},
     "class_id: expected at least 2 classes in each of train, valid, test, got 0 in train"),
    ({"class_id": np.repeat(np.arange(8), [6, 6, 6, 6, 11, 1, 11, 1])},
     "class_id: expected at least 2 rows of each class in valid (task.num_targets), got 1 of class class5"),
    ({"class_id": np.repeat(np.arange(8), [18, 2, 2, 2, 6, 6, 6, 6])},
     "class_id: expected at least 4 rows of each class in train (task.num_targets), got 2 of class class1; "
     "2 more classes are too small"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), FAULTS)
def test_faults_are_one_line_with_the_array(path, changes, message):
    with pytest.raises(ConfigError) as error:
        check_classes(read(path, **{"split": SPLIT, **changes}), {"train": 4, "valid": 2, "test": 2})
    assert str(error.value) == f"{path}: {message}"


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
    assert str(error.value) == (
        f"{path}: class_names: can't be read without unpickling, which could run any program: save numbers or text "
        "of a fixed width, not objects"
    )
    assert not os.path.exists(path + ".harm")
    with pytest.raises(ValueError, match="allow_pickle"):
        write_features(path, {"features": np.array([None])})
    assert os.path.getsize(path) == len(buffer.getvalue())  # what was there is still there


def test_what_is_no_npz_is_refused(path, tmp_path):
    write_features(path, arrays())
    whole = (tmp_path / "birds.npz").read_bytes()
    for content in (b"", b"features\n1 2 3\n", b"\x93NUMPY", whole[: len(whole) // 2]):
        (tmp_path / "birds.npz").write_bytes(content)
        with pytest.raises(ConfigError) as error:
            read_features(path, seed=1)
        assert str(error.value) == f"{path}: not an npz file: write one with numpy.savez"
    with pytest.raises(ConfigError, match=r"none.npz: can't be read: \[Errno 2\]"):
        read_features(str(tmp_path / "none.npz"), seed=1)


@pytest.mark.parametrize("compressed", [False, True])
def test_damage_is_one_line(path, tmp_path, compressed):
    """Any byte may be wrong: the features are those that were written, or the file is refused in one line."""
    (np.savez_compressed if compressed else np.savez)(path, **arrays())
    whole, right = (tmp_path / "birds.npz").read_bytes(), read_features(path, seed=1)
    num_refused = 0
    for place in range(0, len(whole), 13):
        (tmp_path / "birds.npz").write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        try:
            file = read_features(path, seed=1)
        except ConfigError as error:
            num_refused += 1
            assert str(error).startswith(path) and "\n" not in str(error)
        else:
            assert (file.features == right.features).all()
    assert num_refused > 25


def test_arrays_that_do_not_fit_into_the_memory_are_refused_before_they_are_read(path, monkeypatch):
    """Compressed zeros of a thousand times the size of their file."""
    np.savez_compressed(path, features=np.zeros((1000, 1000), np.float16), other=np.zeros(10**6))
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "1M")
    with pytest.raises(ConfigError) as error:
        read_features(path, seed=1)
    assert str(error.value) == (
        f"{path}: needs 1.9 MiB of memory to be read, and 1.0 MiB are allowed; --max-memory 2M allows more"
    )


def test_damage_names_the_array(path, tmp_path):
    write_features(path, arrays())
    whole = (tmp_path / "birds.npz").read_bytes()
    place = whole.index(arrays()["features"].tobytes())
    (tmp_path / "birds.npz").write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
    with pytest.raises(ConfigError) as error:
        read_features(path, seed=1)
    assert str(error.value) == f"{path}: features: damaged: Bad CRC-32 for file 'features.npy'"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("features", "1 2 3")
    with pytest.raises(ConfigError) as error:
        read_features(path, seed=1)
    assert str(error.value) == f"{path}: features: damaged: not an array"


def test_other_arrays_are_left_alone(path):
    made = arrays(split=SPLIT)
    np.savez(path, file_names=np.array([None]), **made)
    assert (read_features(path, seed=1).features == made["features"]).all()


def test_synthetic_features_are_a_function_of_their_arguments():
    first, again, other = (synthetic_features(seed, 10, 8, 6, 5) for seed in (1, 1, 2))
    assert all((first[name] == again[name]).all() for name in first)
    assert (first["features"] != other["features"]).all()
    assert len(synthetic_features(1, 5, 2, 3, 1)["class_names"]) == 5  # more than an attribute can tell apart
    assert first["features"].shape == (80, 6) and first["attributes"].shape == (80, 5)
    assert np.bincount(first["class_id"]).tolist() == [8] * 10


def test_synthetic_classes_differ_and_can_be_told_from_features():
    """Nearest mean of the training rows, on other rows."""
    made = synthetic_features(1, 20, 40, 32, 12)
    features, attributes = made["features"].reshape(20, 40, 32), made["attributes"].reshape(20, 40, 12)
    of_class = attributes.mean(1) > 0.5
    assert len(np.unique(of_class, axis=0)) == 20
    assert np.abs((attributes != of_class[:, None]).mean() - 0.05) < 0.01
    means = features[:, :20].mean(1)
    distances = ((features[:, 20:, None] - means) ** 2).sum(-1)  # (class, row, class)
    assert (distances.argmin(-1) == np.arange(20)[:, None]).mean() > 0.9


@pytest.mark.parametrize("name", ["num_classes", "images_per_class", "num_features", "num_attributes"])
def test_synthetic_sizes_are_checked(name):
    with pytest.raises(ConfigError) as error:
        synthetic_features(1, **{name: 0})
    assert str(error.value) == f"{name}: expected at least 1, got 0"
