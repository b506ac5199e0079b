"""Rounds of a game as a picture: their titles are their rules, and mistakes are told in a line."""

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.pictures.rounds import make_preview

FEW = ("task.num_targets=2", "task.num_distractors=2", "training.batch_size=4")


def test_the_same_rounds_are_the_same_bytes_and_splits_differ(tmp_path):
    experiment = load_experiment("shape_qt", [*FEW, "world.images_per_batch=8"])
    sheets = []
    for name, split in (("a", "train"), ("b", "train"), ("c", "valid")):
        make_preview(experiment, num_rounds=1, split=split).draw(tmp_path / f"{name}.png")
        sheets.append((tmp_path / f"{name}.png").read_bytes())
    assert sheets[0] == sheets[1] != sheets[2]
