"""EGG's text formats: what they hold, and every fault named with file and line."""

import re

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.text_files import TextWorld, read_examples
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def read(tmp_path, text, task="discrimination", num_values=4):
    file = tmp_path / "examples.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_examples(str(file), several=task != "reconstruction", num_values=num_values)


@pytest.mark.parametrize(
    ("text", "task", "candidates", "targets"),
    [
        ("1 0 . 1 2 . 1\n3 3 . 0 0 . 0", "discrimination", [[[1, 0], [1, 2]], [[3, 3], [0, 0]]], [[1], [0]]),
        ("1 0 . 1 2 . 3 3 . 1 0\r\n", "concept", [[[1, 0], [1, 2], [3, 3]]], [[1, 0]]),
        ("2 1 0 2 1\r\n0 0 0 0 3\n", "reconstruction", [[[2, 1, 0, 2, 1]], [[0, 0, 0, 0, 3]]], [[0], [0]]),
    ],
)
def test_rounds_of_each_format(tmp_path, text, task, candidates, targets):
    objects, chosen = read(tmp_path, text, task)
    assert (objects.tolist(), chosen.tolist()) == (candidates, targets)


FAULTS = {
    "discrimination": {
        "1 x . 0 0 . 1": "expected integers and dots, got '1 x . 0 0 . 1'",
        "1 1.5 . 0 0 . 1": "expected objects with the same number of values, got '1 1.5 . 0 0 . 1'",
        "1 1_0 . 0 0 . 1": "expected integers and dots, got '1 1_0 . 0 0 . 1'",
        "": "expected objects separated by dots, then the target's index, got ''",
        "1 0 . 0": "expected objects separated by dots, then the target's index, got '1 0 . 0'",
        "1 0 . 0 0 . 2": "expected a target from 0 to 1, got 2",
        "1 0 . 0 0 . -1": "expected a target from 0 to 1, got -1",
        "1 0 . 0 0 0 . 1": "expected objects with the same number of values, got '1 0 . 0 0 0 . 1'",
        " . . 1": "expected objects with the same number of values, got ' . . 1'",
        "1 0 . 0 4 . 1": "expected values from 0 to 3 (world.num_values=4), got 4",
        "1 0 . 0 -1 . 1": "expected values from 0 to 3 (world.num_values=4), got -1",
        "1 0 . 0 0 . ": "expected objects separated by dots, then the target's index, got '1 0 . 0 0 . '",
        "1 0 . 0 0 . 1 1": "expected objects separated by dots, then the target's index, got '1 0 . 0 0 . 1 1'",
        "1 0 . 0 0 . 0 2": "expected a target from 0 to 1, got 2",
        "1 0 . 0 0 . 0 1": "expected 1 targets as before, got '1 0 . 0 0 . 0 1'",
        "1 0 0 . 0 0 0 . 1": "expected 2 objects of 2 values as before, got '1 0 0 . 0 0 0 . 1'",
        "1 0 . 0 0 . 3 3 . 1": "expected 2 objects of 2 values as before, got '1 0 . 0 0 . 3 3 . 1'",
    },
    "reconstruction": {
        "1 . 0": "expected integers, got '1 . 0'",
        "1": "expected 1 objects of 2 values as before, got '1'",
        "1 9": "expected values from 0 to 3 (world.num_values=4), got 9",
        "": "expected objects with the same number of values, got ''",
        "9" * 5000 + " 1": f"expected integers, got '{'9' * 27}...{'9' * 26} 1'",
    },
}


@pytest.mark.parametrize(("task", "line"), [(task, line) for task, lines in FAULTS.items() for line in lines])
def test_every_fault_is_named_with_its_line(tmp_path, task, line):
    good = {"discrimination": "1 0 . 0 0 . 1", "reconstruction": "0 3"}[task]
    with pytest.raises(ConfigError, match=re.escape(f"examples.txt:2: {FAULTS[task][line]}") + "$"):
        read(tmp_path, f"{good}\n{line}\n{good}\n", task)


def test_all_faults_are_counted_and_the_first_is_shown(tmp_path):
    with pytest.raises(ConfigError, match=r"txt:2: expected integers, got 'bad' \(and 24 more\)$"):
        read(tmp_path, "0 3\n" + "bad\n" * 25, "reconstruction")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere.txt: cannot be read: No such file"):
        read_examples(str(tmp_path / "nowhere.txt"), several=False, num_values=4)
    with pytest.raises(ConfigError, match=r"examples.txt:1: not UTF-8: byte 0xff"):
        read(tmp_path, b"\xff\xfe1 2\n", "reconstruction")
    with pytest.raises(ConfigError, match=r"examples.txt: empty file, expected one message per line"):
        read(tmp_path, "", "reconstruction")


def load(file, *overrides):
    """The experiment of one file for both splits, as --train-data and --valid-data give it."""
    files = {f"world.{split}_data": str(file) for split in ("train", "valid")}
    return load_experiment("disc_tiny", overrides, files)


def test_sizes_are_taken_from_the_file(tmp_path):
    file = tmp_path / "train.txt"
    file.write_text("1 0 0 . 1 0 2 . 1\n")
    experiment = load(file)
    world = make_world(experiment)
    assert isinstance(world, TextWorld) and experiment.task.options.num_distractors is None
    assert (len(world.num_values), world.num_distractors, world.object_shape) == (3, 1, (12,))
    file.write_text("1 0 0 1 2\n")
    world = make_world(load(file, "task.kind=reconstruction"))
    assert (len(world.num_values), world.num_distractors) == (5, 0)
    assert load_experiment("disc_tiny").world.kind == "attributes"


def test_a_number_of_distractors_of_ones_own_is_kept_and_must_fit(tmp_path):
    file = tmp_path / "train.txt"
    file.write_text("1 0 . 1 2 . 1\n")
    assert make_world(load(file, "task.num_distractors=1")).num_distractors == 1
    with pytest.raises(
        ConfigError, match=r"has 1 distractors .* expected 2 distractors .*: set task.num_distractors"
    ):
        make_world(load(file, "task.num_distractors=2"))


def test_lines_with_several_targets_are_rounds_of_the_concept_task(tmp_path):
    file = tmp_path / "train.txt"
    file.write_text("1 0 . 1 2 . 3 3 . 0 2 . 1 0\n3 3 . 0 0 . 1 1 . 1 3 . 2 3\n")
    concept = ["task.kind=concept", "task.num_targets=2", "training.num_examples=2"]
    world = make_world(load(file, *concept))
    assert (world.rounds.num_targets, world.num_distractors, world.num_train) == (2, 2, 2)
    batch = world.batch("valid", 0)
    assert batch.labels.tolist() == [[True, True, False, False], [False, False, True, True]]
    assert batch.objects[batch.shown].tolist() == [[[1, 2], [1, 0]], [[1, 1], [1, 3]]]
    description = world.describe(batch)
    assert description.meanings.tolist() == [[1, -1], [1, -1]]  # what the targets share
    names = [[description.concept_names[concept] for concept in phrase] for phrase in description.concepts]
    assert names == [["attribute0=1"]] * 2
    (of_corpus,) = world.corpus_batches(100)
    assert (of_corpus.shown == batch.shown).all() and of_corpus.num_positive == 2
    informed = make_world(load(file, *concept, "task.sender_input=targets_and_distractors")).batch("valid", 0)
    assert informed.objects[informed.shown[0]].tolist() == [[1, 0], [1, 2], [3, 3], [0, 2]]
    with pytest.raises(ConfigError, match="expected 2 distractors and 1 targets of 2 attributes"):
        make_world(load(file))


def test_files_that_differ_from_each_other(tmp_path):
    (tmp_path / "train.txt").write_text("1 0 . 1 2 . 1\n")
    (tmp_path / "valid.txt").write_text("1 0 0 . 1 2 0 . 1\n")
    files = {f"world.{split}_data": str(tmp_path / f"{split}.txt") for split in ("train", "valid")}
    with pytest.raises(
        ConfigError, match=r"valid.txt: has 1 distractors and 1 targets of 3 attributes per line"
    ):
        make_world(load_experiment("disc_tiny", flags=files))


def examples(world, split, indices):
    """The values of the candidates of rounds, and the places of their targets."""
    numbers, places = world.candidates(split, 0, indices)
    return world.objects.values(numbers), places


def test_meanings_are_the_distinct_targets_of_validation_first(tmp_path):
    (tmp_path / "train.txt").write_text("0 1 . 2 3 . 1\n1 1 . 2 3 . 0\n")
    (tmp_path / "valid.txt").write_text("3 3 . 0 0 . 0\n0 0 . 3 3 . 1\n2 3 . 0 0 . 0\n")
    files = {f"world.{split}_data": str(tmp_path / f"{split}.txt") for split in ("train", "valid")}
    world = make_world(load_experiment("disc_tiny", flags=files))
    assert (world.num_train, world.num_valid) == (2, 3)
    candidates, targets = examples(world, "train", np.array([1, 0]))
    assert candidates[[0, 1], targets[:, 0]].tolist() == [[1, 1], [2, 3]]
    assert world.objects.values(world.distinct_meanings(10)).tolist() == [[3, 3], [2, 3], [1, 1]]
    assert world.objects.values(world.distinct_meanings(2)).tolist() == [[3, 3], [2, 3]]
