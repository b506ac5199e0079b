"""Data that the chosen world does not read is refused by name, before anything is read or written."""

from itertools import product
from pathlib import Path

import pytest

GAMES = (
    "disc_tiny",
    "thing_gs",
    "shape_gs",
    "mu_shapeworld",
    "mu_cub",
    "objects.csv",
    "photos",
    "rounds.yaml",
)
FLAGS = {
    "--features": ("x.npz", "--features", "features"),
    "--valid-data": ("x.txt", "--valid-data", "text"),
    "--set": ("world.objects=x.csv", "world.objects", "objects, images, image_features"),
}
READS = {
    ("mu_cub", "--features"),
    ("rounds.yaml", "--valid-data"),
    ("objects.csv", "--set"),
    ("photos", "--set"),
}


@pytest.fixture
def here(tmp_path, image_folder):
    """A folder with data of each kind."""
    (tmp_path / "objects.csv").write_text("a,b\n1,2\n2,1\n1,1\n2,2\n")
    (tmp_path / "photos").symlink_to(image_folder)
    (tmp_path / "rounds.yaml").write_text("world: {kind: text, train_data: r.txt, valid_data: r.txt}\n")


@pytest.mark.parametrize(("game", "flag"), [pair for pair in product(GAMES, FLAGS) if pair not in READS])
def test_a_file_that_the_world_does_not_read(ecsuite, here, game, flag):
    file, option, readers = FLAGS[flag]
    code, _, err = ecsuite("train-game", game, flag, file)
    assert code == 2 and f"{option}: world " in err and f"does not read it; read by {readers}\n" in err, err
    assert err.count("\n") == 1 and not Path("runs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--objects", "objects.csv", "--train-data", "x.txt"], "--objects: world text does not read it"),
        (
            ["--objects", "objects.csv", "--features", "x.npz"],
            "--features: world objects does not read it",
        ),
        (["--objects", "photos", "--task", "concept"], "task concept: world images has no rules"),
        (["--train-data", "x.txt"], "world.train_data and valid_data: give both files"),
        (["--objects", "nothing.csv"], "nothing.csv: can't be read: No such file or directory"),
        (
            ["--objects", "objects.csv", "--world", "attributes"],
            "--objects: world attributes does not read",
        ),
    ],
)
def test_data_that_do_not_go_together(ecsuite, here, arguments, message):
    code, _, err = ecsuite("train-game", "disc_tiny", *arguments)
    assert code == 2 and message in err and err.count("\n") == 1 and not Path("runs").exists(), err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["--objects", "other.csv"], "--objects"), (["--set", "world.objects=other.csv"], "--set")],
)
def test_a_table_that_is_the_game_has_no_other_beside_it(ecsuite, here, arguments, named):
    code, _, err = ecsuite("train-game", "objects.csv", *arguments)
    assert code == 2 and err == f"objects.csv, {named} world.objects='other.csv': expected one of these\n"
    assert not Path("runs").exists()
