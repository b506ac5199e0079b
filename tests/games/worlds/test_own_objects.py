"""Objects of a user's table: read, named, held out, and spoken of."""

from itertools import product

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.tables import read_objects
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError, ReadingQuestion

ROWS = [("shape", "color", "size"), *product(("star", "ring", "box"), ("red", "blue"), (1, 2))]
SMALL = (
    "training.num_examples=64", "training.num_epochs=1", "training.batch_size=32", "evaluation.num_valid=32",
)  # fmt: skip


def write(path, rows=ROWS, delimiter=","):
    path.write_text("".join(delimiter.join(map(str, row)) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("write_one", ["{} {}", "{}_{}", "shape={};color={}"])
def test_objects_that_are_one_text(tmp_path, write_one):
    texts = [write_one.format(*row[:2]) for row in ROWS[1::2]]
    (tmp_path / "a.csv").write_text("\n".join(["picture", *texts]) + "\n")
    table = read_objects(str(tmp_path / "a.csv"))
    named = ("shape", "color") if "=" in write_one else ("attribute0", "attribute1")
    assert [{name.partition("=")[0] for name in names} for names in table.names] == [{name} for name in named]
    assert len(table.table) == 6 and "meaning: picture" in table.notes[0]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "empty file, expected a header and a row for each object"),
        ("a.csv", "a,b\n1,2\n3\n", "a.csv: row 3: expected 2 cells, as in the header, got 1"),
        ("a.csv", "a,a\n1,2\n", "a.csv: row 1: two columns have the name a"),
        ("a.csv", "a,b\n1,\n", "expected a header and at least 2 objects, got 1"),
        ("a.csv", "a,b\n1,2\n1,\n", 'a.csv: row 3, column "b": expected a value, got nothing'),
        ("a.csv", "a\n1\n1\n", "expected a column with different values"),
        ("a.csv", "a\n" + "\n".join(map(hex, range(1001))), 'column "a": expected at most 1000 different values, got'),
        ("a.xlsx", "a\n1\n2\n", r"expected a table that ends in .csv, .tsv, .json, .parquet or .npz"),
        ("a.json", "[1, 2]", "expected a list of objects with named values"),
        ("a.json", '[{"a": 1}, {"b": 1}]', r'row 1, column "b": expected a value, got nothing'),
        ("a.json", '[{"a": [1]}, {"a": "x"}]', "item 2, column a: expected a value like the first"),
        ("a.json", "[" * 100_000, "a.json: expected JSON, got nesting that is too deep"),
        ("a.json", "[1", "a.json:1: expected JSON, got other text at column 3"),
        ("a.parquet", "no", "can't be read as parquet"),
    ],
    ids=lambda value: repr(value)[:14].replace("\\", "/"),
)
def test_mistakes(tmp_path, name, text, message):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_objects(str(tmp_path / name))


FEATURES = [("shape", "weight", "height"), ("star", 1, 10), ("box", 2, 30), ("star", 3, 50), ("box", 6, 10)]


def test_other_objects_are_coded_as_those_of_training(tmp_path):
    trained = read_objects(str(write(tmp_path / "a.csv", FEATURES)), "features")
    other = str(write(tmp_path / "b.csv", [FEATURES[0], ("star", 3, 20), ("star", 6, 20)]))
    table = read_objects(other, "features", trained)
    assert table.table[:, :2].tolist() == [[0, 1], [0, 1]]
    assert table.table[:, 2].tolist() == trained.table[2:, 2].tolist()
    rows = [("name", "weight"), *((f"o{number % 2}", number) for number in range(40))]
    binned = read_objects(str(write(tmp_path / "c.csv", rows)))
    (of_training, again) = (
        read_objects(str(write(tmp_path / "d.csv", [rows[0], ("o1", 39), ("o0", -5)])), "bins", coding)
        for coding in (None, binned)
    )
    assert again.values_table.tolist() == [[1, 4], [0, 0]] != of_training.values_table.tolist()
    with pytest.raises(ConfigError, match=r"expected the training columns, name, weight"):
        read_objects(other, "bins", binned)


def write_npz(path, **arrays):
    features = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    np.savez(path, features=features, **arrays)
    return str(path)


def test_features_of_an_npz_file(tmp_path):
    names = np.array(["cat", "bird"] * 6)
    split = np.array(["train"] * 8 + ["test"] * 4)
    attributes = np.arange(24).reshape(12, 2) % 3 == 0
    file = write_npz(tmp_path / "a.npz", labels=names, split=split, attributes=attributes)
    world = make_world(load_experiment(file, SMALL))
    assert world.object_shape == (5,) and world.num_values is None
    (batch,) = world.corpus_batches(1)
    description = world.describe(batch)
    assert (description.meanings == world.objects.table).all()
    assert description.columns["split"].tolist() == ["train"] * 8 + ["held_out"] * 4
    assert description.columns["row"].tolist() == list(range(12))
    phrases = [[description.concept_names[each] for each in phrase] for phrase in description.concepts]
    assert phrases[0] == ["class=cat", "attribute0"] and phrases[2] == ["class=cat"]
    assert not np.isin(world.draw("train", 0, 64).rules, range(8, 12)).any()
    other = write_npz(tmp_path / "b.npz", labels=names)
    assert not make_world(load_experiment(other, SMALL), trained=world).subsets.members
    values = make_world(load_experiment(file, [*SMALL, "task=reconstruction"]))
    assert values.num_values == (2, 2, 2) and not values.shows_values
    with pytest.raises(ConfigError, match="labels: expected no class_id as well"):
        read_objects(write_npz(tmp_path / "c.npz", labels=names, class_id=np.zeros(12, dtype=int)))


def test_no_object_is_dropped_by_a_game_with_a_smaller_corpus(tmp_path):
    file = str(write(tmp_path / "things.csv"))
    world = make_world(load_experiment("disc_tiny", ["evaluation.corpus_size=4"], {"world.objects": file}))
    assert sum(map(len, world.corpus_batches(4))) == 12


def test_equal_numbers_are_no_feature(tmp_path):
    file = write(tmp_path / "a.csv", [("a", "b"), ("1", 3), ("1.0", 4), ("01", 5)])
    assert read_objects(str(file), "features").table.shape == (3, 1)
    file = write(tmp_path / "a.csv", [("a", "b"), ("1e308", 3), ("-1e308", 4), ("1e308", 5)])
    with pytest.raises(ConfigError, match=r'a.csv: column "a": expected smaller numbers, got -?1e308'):
        read_objects(str(file), "features")


def test_few_objects_are_explained(tmp_path):
    rows = [("name", "size"), *((f"o{number}", number % 3) for number in range(20))]
    file = write(tmp_path / "a.csv", rows)
    with pytest.raises(ReadingQuestion, match="which columns are part of the meaning: size, or more"):
        make_world(load_experiment(str(file), SMALL))
    roles = {"world.columns": {"name": "kept"}}
    with pytest.raises(ConfigError, match=r"there are 3: .*not used: name .*; .*20 rows are 3 different objects"):
        make_world(load_experiment(str(file), SMALL, roles))


def test_names_that_a_corpus_would_refuse_are_refused_before_training(tmp_path):
    def world_of(*rows):
        setting = f"world.objects={write(tmp_path / 'a.csv', [*rows, ('y', 'z'), ('y', 'x')])}"
        return make_world(load_experiment("objects", [setting, *SMALL]))

    with pytest.raises(ConfigError, match="names of values: expected different names, got 'a=b=x' at 0"):
        world_of(("a", "a=b"), ("b=x", "x"), ("b=x", "z"))
    assert world_of(("a=b", "a=c"), ("x", "x"), ("x", "z")).names_of_attributes == ("a=b", "a=c")


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_splits_of_a_table_are_told_as_those_of_all_games(tmp_path, order):
    """What is also in training is not held out, whatever the order of rows; names of a table's own are kept."""
    named = [(*row, "train" if row[2] == 1 else "dev") for row in ROWS[1:]]
    rows = [(*ROWS[0], "split"), *[*named, ("star", "red", 2, "train")][order]]
    file = write(tmp_path / "a.csv", rows)
    world = make_world(load_experiment(str(file), SMALL))
    values, split = world.objects.values_table, world.rules.columns["split"]
    is_trained = (values[:, 2] == 0) | (values == [2, 1, 1]).all(1)
    assert split.tolist() == np.where(is_trained, "train", "held_out").tolist() and is_trained.sum() == 7
    assert world.rules.columns["split (kept)"].tolist().count("dev") == 5
    world = make_world(load_experiment(str(file), [*SMALL, "world.held_out_value=color=red"]))
    is_red = world.objects.values_table[:, 1] == 1
    assert world.rules.columns["split"].tolist() == np.where(is_red, "held_out", "train").tolist()
