"""EGG's text formats: what they hold, and every fault named with file and line."""

import re

import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.evaluation import record_corpus
from ecsuite.games.plays.population import make_population
from ecsuite.games.worlds.text_files import read_examples
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def read(tmp_path, text, task="discrimination", num_values=4):
    file = tmp_path / "examples.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_examples(str(file), several=task != "reconstruction", num_values=num_values)


FAULTS = {
    "discrimination": {
        "1 x . 0 0 . 1": "expected integers and dots, got '1 x . 0 0 . 1'",
        "1 1.5 . 0 0 . 1": "expected objects with the same number of values, got '1 1.5 . 0 0 . 1'",
        "": "expected objects separated by dots, then the target's index, got ''",
        "1 0 . 0": "expected objects separated by dots, then the target's index, got '1 0 . 0'",
        "1 0 . 0 0 . 2": "expected a target from 0 to 1, got 2",
        "1 0 . 0 0 0 . 1": "expected objects with the same number of values, got '1 0 . 0 0 0 . 1'",
        " . . 1": "expected objects with the same number of values, got ' . . 1'",
        "1 0 . 0 4 . 1": "expected values from 0 to 3 (world.num_values=4), got 4",
        "1 0 . 0 0 . ": "expected objects separated by dots, then the target's index, got '1 0 . 0 0 . '",
        "1 0 . 0 0 . 1 1": "expected objects separated by dots, then the target's index, got '1 0 . 0 0 . 1 1'",
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


def load(file, *overrides):
    """The experiment of one file for both splits, as --train-data and --valid-data give it."""
    files = {f"world.{split}_data": str(file) for split in ("train", "valid")}
    return load_experiment("disc_tiny", overrides, files)


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


def test_a_target_that_the_training_file_does_not_have(tmp_path):
    (tmp_path / "train.txt").write_text("0 1\n2 3\n")
    (tmp_path / "valid.txt").write_text("2 3\n3 3\n")
    files = {f"world.{split}_data": str(tmp_path / f"{split}.txt") for split in ("train", "valid")}
    experiment = load_experiment("disc_tiny", ["task=reconstruction"], files)
    corpus = record_corpus(make_population(experiment, make_world(experiment)), experiment)
    assert corpus.meanings.tolist() == [[2, 3], [3, 3], [0, 1]]
    assert corpus.columns["split"].tolist() == ["train", "held_out", "train"]
