"""Objects of a user's table: read, named, held out, and spoken of."""

import json
from itertools import product

import numpy as np
import pytest
import torch

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.play import make_play
from ecsuite.games.worlds.tables import read_objects
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError, ReadingQuestion

ROWS = [("shape", "color", "size"), *product(("star", "ring", "box"), ("red", "blue"), (1, 2))]
SMALL = (
    "training.num_examples=64",
    "training.num_epochs=1",
    "training.batch_size=32",
    "evaluation.num_valid=32",
)


def write(path, rows=ROWS, delimiter=","):
    path.write_text("".join(delimiter.join(map(str, row)) + "\n" for row in rows))
    return path


def write_json(path, lines):
    records = [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]
    path.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(records))
    return path


@pytest.mark.parametrize(
    "made",
    [
        lambda folder: write(folder / "a.csv"),
        lambda folder: write(folder / "a.csv", delimiter=";"),
        lambda folder: write(folder / "a.tsv", delimiter="\t"),
        lambda folder: write(folder / "a.txt", delimiter=" "),
        lambda folder: write_json(folder / "a.json", lines=False),
        lambda folder: write_json(folder / "a.jsonl", lines=True),
    ],
    ids=["csv", "semicolons", "tsv", "spaces", "json", "jsonl"],
)
def test_tables_of_every_form(made, tmp_path):
    table = read_objects(str(made(tmp_path)))
    assert table.names == (
        ("shape=box", "shape=ring", "shape=star"), ("color=blue", "color=red"), ("size=1", "size=2")
    )  # fmt: skip
    assert table.table.shape == (12, 3) and table.values_table[0].tolist() == [2, 1, 0] and not table.notes


@pytest.mark.parametrize("write_one", ["{} {}", "{}_{}", "shape={};color={}"])
def test_objects_that_are_one_text(tmp_path, write_one):
    texts = [write_one.format(*row[:2]) for row in ROWS[1::2]]
    (tmp_path / "a.csv").write_text("\n".join(["picture", *texts]) + "\n")
    table = read_objects(str(tmp_path / "a.csv"))
    named = ("shape", "color") if "=" in write_one else ("attribute0", "attribute1")
    assert [{name.partition("=")[0] for name in names} for names in table.names] == [{name} for name in named]
    assert len(table.table) == 6 and "meaning: picture" in table.notes[0]


def test_a_first_row_of_values_is_no_header(tmp_path):
    for text, got in (("red,cup\nblue,cup\nred,ball\nblue,ball\n", "red, cup"),
                      ("red cup\nblue cup\nred ball\nblue ball\n", "red cup")):  # fmt: skip
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(ConfigError, match=f"a.csv: row 1: expected the names of the columns, got {got}"):
            read_objects(str(tmp_path / "a.csv"))
    (tmp_path / "a.csv").write_text("red,kind\nred,a\nblue,a\n")
    assert len(read_objects(str(tmp_path / "a.csv")).table) == 2


def test_decimal_commas_that_all_differ_are_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n" + "".join(f"{place},5;{place % 3},25\n" for place in range(12)))
    assert len(read_objects(str(tmp_path / "a.csv")).names) == 2
    (tmp_path / "b.csv").write_text(
        "message;x\n" + "".join(f"{place % 3} 1;{place},5\n" for place in range(12))
    )
    assert read_corpus(tmp_path / "b.csv", numeric="values").attribute_names == ("x",)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = dict(zip(ROWS[0], map(list, zip(*ROWS[1:], strict=True)), strict=True))
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    assert read_objects(str(tmp_path / "a.parquet")).table.shape == (12, 3)


def test_numbers_are_sorted_into_bins_with_a_note(tmp_path):
    rows = [("name", "weight"), *((f"o{number}", number / 10) for number in range(50))]
    table = read_objects(str(write(tmp_path / "a.csv", rows)))
    assert table.names[1] == tuple(f"weight={low:g}..{low + 0.9:g}" for low in range(5))
    assert np.bincount(table.values_table[:, 1]).tolist() == [10] * 5
    assert "sorted into 5 bins: 0..0.9, 1..1.9, 2..2.9, 3..3.9, 4..4.9 (--set world." in table.notes[0]


def test_equal_rows_and_constant_columns_are_told(tmp_path):
    table = read_objects(str(write(tmp_path / "a.csv", [("a", "b"), (1, 7), (2, 7), (1, 7)])))
    assert table.values_table.tolist() == [[0], [1]]
    assert [note.split(": ", 1)[1] for note in table.notes] == [
        "column b is left out: all its values are 7", "3 rows are 2 different objects; each is used once",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "empty file, expected a header and a row for each object"),
        ("a.csv", "a,b\n1,2\n3\n", "a.csv: row 3: expected 2 cells, as in the header, got 1"),
        ("a.csv", "a,a\n1,2\n", "a.csv: row 1: two columns have the name a"),
        ("a.csv", "a,b\n1,\n", "expected a header and at least 2 objects, got 1"),
        ("a.csv", "a,b\n1,2\n1,\n", 'a.csv: row 3, column "b": expected a value, got nothing'),
        ("a.csv", "a\n1\n1\n", "expected a column with different values"),
        (
            "a.csv",
            "a\n" + "".join(f"x{number}\n" for number in range(1001)),
            'a.csv: column "a": expected at most 1000 different values, got 1001',
        ),
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


def test_a_table_is_a_game_and_the_corpus_speaks_of_every_object(ecsuite, tmp_path):
    write(tmp_path / "things.csv")
    quick = [text for setting in SMALL for text in ("--set", setting)]
    code, out, _ = ecsuite("train-game", "things.csv", *quick)
    assert code == 0 and "Corpus in runs/things;" in out
    corpus = read_corpus(tmp_path / "runs" / "things")
    assert len(corpus.messages) == 12
    assert {corpus.concept_names[each] for each in corpus.concepts[0]} == {
        "shape=star",
        "color=red",
        "size=1",
    }
    code, _, err = ecsuite("train-game", "things.csv", *quick, "--task", "reconstruction", "--out", "values")
    assert code == 0, err
    code, _, err = ecsuite("train-game", "thing_qt", "--objects", "nothing.csv")
    assert (code, err.count("\n")) == (2, 1)


def test_a_changed_table_is_another_run(ecsuite, tmp_path):
    write(tmp_path / "things.csv")
    line = ["train-game", "things.csv", *(text for setting in SMALL for text in ("--set", setting))]
    assert ecsuite(*line)[0] == 0
    write(tmp_path / "things.csv", ROWS[:-1])
    code, _, err = ecsuite(*line)
    assert code == 2 and "holds another run (the content of world.objects differs)" in err


@pytest.mark.parametrize("setting", ["world.held_out=0.5", "world.held_out_value=color=red"])
def test_objects_are_held_out(tmp_path, setting):
    write(tmp_path / "things.csv")
    world = make_world(
        load_experiment(str(tmp_path / "things.csv"), [*SMALL, setting, "task.num_distractors=2"])
    )
    batches = {split: [world.draw(split, number, 32) for number in range(4)] for split in ("train", "valid")}
    every, seen = (
        {tuple(row) for batch in batches[split] for row in batch.objects.tolist()}
        for split in ("valid", "train")
    )
    held_out = {tuple(row) for batch in batches["valid"] for row in batch.objects[batch.shown[:, 0]].tolist()}
    assert every == seen | held_out
    assert len(seen) == len(held_out) == 6 and not seen & held_out
    if "=color" in setting:
        assert {row[1] for row in held_out} == {1}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["world.held_out_value=color=rad"], "unknown value 'color=rad'; did you mean 'color=red'"),
        (
            ["world.held_out=0.1", "world.candidates=split"],
            r"4 distinct candidates .* of .* there are 11 in train, 1 in valid: lower",
        ),
        (["world.held_out=0.5", "world.held_out_value=color=red"], "expected held_out to be unset"),
        (
            ["task.num_distractors=12"],
            r"13 distinct candidates need 13 objects, but of .* there are 12: lower",
        ),
        (["task=concept"], "world objects has no rules"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, settings, message):
    write(tmp_path / "things.csv")
    with pytest.raises(ConfigError, match=message):
        make_world(load_experiment(str(tmp_path / "things.csv"), settings))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b\n1,x\n\n2,\n,y\n",
            'row 4, column "b": expected a value, got nothing, and 1 more cells are empty',
        ),
        ("a,b\n1,x\n2,\n", 'row 3, column "b": expected a value, got nothing$'),
        (
            "a,b\n1\n2\n3,4\n",
            "row 2: expected 2 cells, as in the header, got 1, and 1 more rows have another number of cells",
        ),
        ("1,2\n3,4\n5,6\n", "row 1: expected the names of the columns, got 1, 2"),
        (
            "a\n" + "".join(f"{n}\n" for n in range(30)) + "n/a\n",
            'row 32, column "a": expected a number, as in 30',
        ),
    ],
)
def test_one_cause_is_one_error_by_row_and_column(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ConfigError, match=message) as found:
        read_objects(str(tmp_path / "a.csv"))
    assert "\n" not in str(found.value)


def test_tables_of_spreadsheets(tmp_path):
    """Quoted cells with line ends, empty rows, and the byte order mark of Excel."""
    text = '\ufeffname;kind\r\n"a\nb";x\r\n;\r\nc;y\r\n\r\n'
    (tmp_path / "a.csv").write_bytes(text.encode())
    assert read_objects(str(tmp_path / "a.csv")).names == (("name=a\\nb", "name=c"), ("kind=x", "kind=y"))
    (tmp_path / "a.csv").write_bytes("a,b\né,1\n".encode("cp1252"))
    with pytest.raises(ConfigError, match=r"a\.csv:2: not UTF-8: byte 0xe9: save it as UTF-8"):
        read_objects(str(tmp_path / "a.csv"))


FEATURES = [("shape", "weight", "height"), ("star", 1, 10), ("box", 2, 30), ("star", 3, 50), ("box", 6, 10)]


def test_columns_of_numbers_are_features_where_asked(tmp_path):
    file = str(write(tmp_path / "a.csv", FEATURES))
    assert read_objects(file).table.dtype == np.int64
    table = read_objects(file, "features")
    assert table.names == (("shape=box", "shape=star"),) and table.rows.tolist() == [2, 3, 4, 5]
    assert table.table[:, :2].tolist() == [[0, 1], [1, 0], [0, 1], [1, 0]]
    assert np.abs(table.table[:, 2:].mean(0)).max() < 1e-6
    assert table.table[:, 2:].std(0) == pytest.approx([1, 1])
    assert table.notes[0].endswith(
        "the numbers of weight, height are features, scaled to mean 0 and deviation 1"
    )
    experiment = load_experiment(file, [*SMALL, "world.numeric=features"])
    description = make_world(experiment).describe(make_world(experiment).draw("valid", 0, 8))
    assert description.meanings.dtype == np.float32 and set(description.columns) == {"row"}
    with pytest.raises(ConfigError, match=r"expected bins: .* has no column of numbers"):
        read_objects(str(write(tmp_path / "b.csv", [("a",), ("x",), ("y",)])), "features")


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


@pytest.mark.parametrize("rows", [["1", "1.0", "2", "01"], ["01", "2", "1.0", "1"]])
def test_numbers_in_several_spellings_are_in_one_order(tmp_path, rows):
    """It was that of a set, which differs between processes."""
    table = read_objects(str(write(tmp_path / "a.csv", [("a", "b"), *((row, "x") for row in rows)])))
    assert table.names == (("a=01", "a=1", "a=1.0", "a=2"),)


def test_equal_numbers_are_no_feature(tmp_path):
    file = write(tmp_path / "a.csv", [("a", "b"), ("1", 3), ("1.0", 4), ("01", 5)])
    assert read_objects(str(file), "features").table.shape == (3, 1)
    file = write(tmp_path / "a.csv", [("a", "b"), ("1e308", 3), ("-1e308", 4), ("1e308", 5)])
    with pytest.raises(ConfigError, match=r'a.csv: column "a": expected smaller numbers, got -?1e308'):
        read_objects(str(file), "features")


def test_bins_of_large_numbers_have_names_of_their_own(tmp_path):
    rows = [("mass", "color"), *((1_700_000_000 + number, number % 3) for number in range(60))]
    names = read_objects(str(write(tmp_path / "a.csv", rows))).names[0]
    assert len(set(names)) == 5 and names[1] == "mass=1.70000001e+09..1.70000002e+09", names


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


def test_columns_of_objects_are_not_taken_for_those_of_messages(tmp_path):
    names = ("shape", "color", "size", "speaker", "episode", "row")
    rows = [names, *((*row, f"s{place % 2}", place % 3, place) for place, row in enumerate(ROWS[1:]))]
    kept = read_objects(str(write(tmp_path / "a.csv", rows))).columns
    assert set(kept) == {"speaker (kept)", "episode (kept)", "row (kept)"}


def test_few_objects_are_explained(tmp_path):
    rows = [("name", "size"), *((f"o{number}", number % 3) for number in range(20))]
    file = write(tmp_path / "a.csv", rows)
    with pytest.raises(ReadingQuestion, match="which columns are part of the meaning: size, or more"):
        make_world(load_experiment(str(file), SMALL))
    roles = {"world.columns": {"name": "kept"}}
    with pytest.raises(ConfigError, match=r"there are 3: .*kept: name .*; .*20 rows are 3 different objects"):
        make_world(load_experiment(str(file), SMALL, roles))


def test_names_that_a_corpus_would_refuse_are_refused_before_training(tmp_path):
    rows = [("a", "a=b"), ("b=x", "x"), ("y", "z"), ("y", "x"), ("b=x", "z")]
    setting = f"world.objects={write(tmp_path / 'a.csv', rows)}"
    with pytest.raises(
        ConfigError, match="names of values: expected different names, got 'a=b=x' at 0 and 2"
    ):
        make_world(load_experiment("objects", [setting, *SMALL]))
    rows = [("a=b", "a=c"), ("x", "x"), ("y", "z"), ("y", "x"), ("x", "z")]
    setting = f"world.objects={write(tmp_path / 'b.csv', rows)}"
    assert make_world(load_experiment("objects", [setting, *SMALL])).names_of_attributes == ("a=b", "a=c")


def test_attributes_of_an_environment_have_different_names(tmp_path):
    table = write(tmp_path / "a.csv", [("asked0", "size"), *product("xyz", "uv")])
    settings = [f"play.environment.world.{each}" for each in ("kind=objects", f"objects={table}")]
    experiment = load_experiment("task_and_talk", settings)
    with pytest.raises(
        ConfigError, match="attribute_names: expected different names, got 'asked0' at 0 and 2"
    ):
        make_play(experiment, torch.device("cpu"))
