"""Feature files: what is read is what was written, and every fault is one line with the file and the array."""

import io
import os

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
