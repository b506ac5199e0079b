"""`ecsuite evaluate`: the figures of training again, and those of other rounds and objects."""

import json

import pytest

import ecsuite as ec

TABLE = "shape,color\n" + "".join(f"{s},{c}\n" for s in ("star", "ring", "box") for c in ("red", "blue"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs: `drawn` about drawn objects, and `table` about those of a table."""
    folder = tmp_path_factory.mktemp("evaluate")
    (folder / "objects.csv").write_text(TABLE)
    quick = {"training.num_examples": 1024, "training.num_epochs": 1, "training.precision": "fp32"}
    for name, game in (("drawn", "disc_tiny"), ("table", folder / "objects.csv")):
        ec.train(
            game,
            out=folder / name,
            overrides=quick,
            progress=lambda *_: None,
            note=lambda _: None,
            device="cpu",
        )
    return folder


@pytest.mark.slow
def test_the_last_evaluation_of_training_is_repeated(ecsuite, folder):
    code, out, _ = ecsuite("evaluate", str(folder / "drawn"), "--json")
    assert code == 0
    assert json.loads(out)["evaluations"]["valid"] == ec.load_run(folder / "drawn").measures


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["drawn", "--set", "world.num_values=5"],
            "the objects have other attributes or values than training",
        ),
        (
            ["drawn", "--set", "channel.vocab_size=9"],
            "the agents do not fit the changed game: their weights",
        ),
        (["drawn", "--set", "channel.vocab=9"], "--set: unknown key 'channel.vocab'"),
        (
            ["drawn", "--objects", "wrong.csv"],
            "has no objects of a file to exchange: expected a run that was trained on a table or images",
        ),
        (["drawn", "--features", "x.npz"], "has no features of a file to exchange"),
        (["drawn", "--reason", "nope"], "--reason: unknown reasoning 'nope'; choices: literal, rsa"),
        (
            ["table", "--objects", "wrong.csv"],
            'wrong.csv: row 2, column "color": expected a training value (blue, red), got green',
        ),
        (
            ["drawn", "--intervene", "drop", "--keep", "interactions", "--out", "kept.parquet"],
            "--intervene, --keep: expected one of these",
        ),
        (["nothing"], "nothing: not a run folder: it has no config.yaml"),
    ],
)
def test_mistakes(ecsuite, folder, tmp_path, arguments, message):
    (tmp_path / "wrong.csv").write_text("shape,color\nstar,green\nring,blue\nbox,red\nbox,blue\n")
    name, *rest = arguments
    code, _, err = ecsuite("evaluate", str(folder / name), *rest)
    assert code == 2 and message in err and err.count("\n") == 1
