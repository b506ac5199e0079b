"""Rounds of a game as a picture: their titles are their rules, and mistakes are told in a line."""

import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.pictures.rounds import make_preview, rule_text
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

FEW = ("task.num_targets=2", "task.num_distractors=2", "training.batch_size=4")


def test_titles_are_the_rules_of_the_first_rounds(tmp_path):
    experiment = load_experiment("thing_qt", ["world.rule_length=3", *FEW])
    preview = make_preview(experiment, num_rounds=3, split="valid")
    preview.draw(tmp_path / "sheet.png")
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
    world = make_world(experiment)
    for number, (shown, rule) in enumerate(zip(preview.rounds, world.batch("valid", 0).rules, strict=False)):
        values = world.table[rule]
        pairs = [f"attribute{place}={value}" for place, value in enumerate(values) if value >= 0]
        assert shown.title == f"round {number + 1}: {' and '.join(pairs)}" and len(pairs) == 3


def test_the_same_rounds_are_the_same_bytes_and_splits_differ(tmp_path):
    experiment = load_experiment("shape_qt", [*FEW, "world.images_per_batch=8"])
    sheets = []
    for name, split in (("a", "train"), ("b", "train"), ("c", "valid")):
        make_preview(experiment, num_rounds=1, split=split).draw(tmp_path / f"{name}.png")
        sheets.append((tmp_path / f"{name}.png").read_bytes())
    assert sheets[0] == sheets[1] != sheets[2]


def test_shapeworld_s_connectives_join_its_literals():
    rules = make_world(load_experiment("mu_shapeworld")).rules
    titles = [rule_text([rules.concept_names[each] for each in rules.concepts[row]]) for row in range(312)]
    assert len(set(titles)) == 312
    assert {"not red", "red and circle", "red or circle"} <= set(titles)
    assert not any("and and" in text or text.endswith((" and", " or")) for text in titles)


def test_rounds_about_one_object_list_target_and_distractors():
    experiment = load_experiment("disc_tiny")
    preview = make_preview(experiment, num_rounds=3, split="valid")
    rounds = make_world(experiment).batch("valid", 0)
    targets = rounds.objects[rounds.shown[:3, 0]].tolist()
    lines = preview.lines()
    assert lines[0] == "disc_tiny, valid, seed 1" and lines[2] == "round 1" and len(lines) == 1 + 3 * 6
    shown = [line.split(maxsplit=1)[1] for line in lines if line.startswith("  target")]
    assert shown == [f"attribute0={first}  attribute1={second}" for first, second in targets]


def test_long_rounds_and_images_are_cut_in_text():
    lines = make_preview(load_experiment("thing_qt"), num_rounds=1).lines()
    assert sum(line.endswith("and 14 more targets") for line in lines) == 1 and len(lines) == 3 + 2 * 7
    experiment = load_experiment("shape_qt", [*FEW, "world.images_per_batch=8"])
    images = make_preview(experiment, num_rounds=1)
    assert images.has_images and len(images.lines()) == 3


def test_more_rounds_than_a_batch_has_and_splits_of_the_world():
    experiment = load_experiment("thing_qt", [*FEW, "evaluation.num_valid=1"])
    for split in ("train", "all"):
        assert len(make_preview(experiment, num_rounds=5, split=split).rounds) == 5


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
        make_preview(load_experiment(game), num_rounds=num_rounds, split=split).draw(tmp_path / file)
    assert MISTAKES[arguments] in str(error.value)
    assert not list(tmp_path.iterdir())


def test_feature_vectors_are_shown_as_numbers_but_not_drawn(tmp_path, feature_file):
    experiment = load_experiment("mu_cub", [f"world.features={feature_file}", "task.num_targets=2"])
    preview = make_preview(experiment)
    [line] = [line for line in preview.lines() if line.startswith("  target")][:1]
    assert all(float(number) == float(number) for number in line.split()[1:5])
    with pytest.raises(ConfigError, match="float32"):
        preview.draw(tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()
