"""Rounds of a game as a picture: their titles are their rules, and mistakes are told in a line."""

import pytest

from ecsuite.config import ConfigError
from ecsuite.games.experiment import load_experiment
from ecsuite.games.game import make_world
from ecsuite.games.preview import round_titles, show_rounds

FEW = ("task.num_targets=2", "task.num_distractors=2", "training.batch_size=4")


def test_titles_are_the_rules_of_the_first_rounds(tmp_path):
    experiment = load_experiment("thing_qt", ["world.rule_length=3", *FEW])
    titles = show_rounds(experiment, tmp_path / "sheet.png", num_rounds=3, split="valid")
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
    world = make_world(experiment)
    for text, rule in zip(titles, world.batch("valid", 0).rules, strict=False):
        values = world.table[rule]
        pairs = [f"attribute{place}={value}" for place, value in enumerate(values) if value >= 0]
        assert text == f"targets: {' and '.join(pairs)}" and len(pairs) == 3


def test_the_same_rounds_are_the_same_bytes_and_splits_differ(tmp_path):
    experiment = load_experiment("shape_qt", [*FEW, "world.images_per_batch=8"])
    sheets = []
    for name, split in (("a", "train"), ("b", "train"), ("c", "valid")):
        show_rounds(experiment, tmp_path / f"{name}.png", num_rounds=1, split=split)
        sheets.append((tmp_path / f"{name}.png").read_bytes())
    assert sheets[0] == sheets[1] != sheets[2]


def test_shapeworld_s_connectives_join_its_literals():
    titles = round_titles(make_world(load_experiment("mu_shapeworld")).rules)
    assert len(set(titles)) == 312
    assert {"targets: not red", "targets: red and circle", "targets: red or circle"} <= set(titles)
    assert not any("and and" in text or text.endswith((" and", " or")) for text in titles)


def test_rounds_about_one_object_are_titled_by_its_values(tmp_path):
    experiment = load_experiment("disc_tiny")
    titles = show_rounds(experiment, tmp_path / "sheet.png", num_rounds=3, split="valid")
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
    rounds = make_world(experiment).batch("valid", 0)
    targets = rounds.objects[rounds.shown[:3, 0]].tolist()
    assert titles == [f"targets: attribute0={first} and attribute1={second}" for first, second in targets]


def test_more_rounds_than_a_batch_has_and_splits_of_the_world(tmp_path):
    experiment = load_experiment("thing_qt", [*FEW, "evaluation.num_valid=1"])
    for split in ("train", "all"):
        assert len(show_rounds(experiment, tmp_path / "a.svg", num_rounds=5, split=split)) == 5


MISTAKES = {
    ("thing_qt", "a.pdf", 1, "train"): "a.pdf: expected the name of a picture, ending in .png or .svg",
    ("thing_qt", "a.png", 51, "train"): "--rounds 51: expected 1 to 50",
    (
        "thing_qt",
        "a.png",
        1,
        "validation",
    ): "unknown split 'validation'; did you mean 'valid'? choices: train, val",
    ("disc_tiny", "a.png", 1, "seen"): "unknown split 'seen'; choices: train, valid",
}


@pytest.mark.parametrize("arguments", MISTAKES)
def test_mistakes(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    game, file, num_rounds, split = arguments
    with pytest.raises(ConfigError) as error:
        show_rounds(load_experiment(game), tmp_path / file, num_rounds=num_rounds, split=split)
    assert MISTAKES[arguments] in str(error.value)
    assert not list(tmp_path.iterdir())


def test_feature_vectors_cannot_be_drawn(tmp_path, feature_file):
    experiment = load_experiment("mu_cub", [f"world.features={feature_file}", "task.num_targets=2"])
    with pytest.raises(ConfigError, match="float32"):
        show_rounds(experiment, tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()
