"""EGG's text formats: what they hold, and every fault named with file and line."""

import re

import pytest

from ecsuite.config import ConfigError
from ecsuite.games.experiment import load_experiment
from ecsuite.games.worlds.text_files import fit_to_files, read_examples


def read(tmp_path, text, task="discrimination", num_values=4):
    file = tmp_path / "examples.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_examples(str(file), task, num_values)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "NEWLINE"])
def test_discrimination(tmp_path, newline, last):
    text = "1 0 0 . 1 0 2 . 1\n3 3 3 . 0 0 0 . 0".replace("\n", newline) + last.replace("NEWLINE", newline)
    candidates, targets = read(tmp_path, text)
    assert candidates.tolist() == [[[1, 0, 0], [1, 0, 2]], [[3, 3, 3], [0, 0, 0]]]
    assert targets.tolist() == [1, 0]


def test_reconstruction(tmp_path):
    candidates, targets = read(tmp_path, "2 1 0 2 1\r\n0 0 0 0 3\n", "reconstruction")
    assert candidates.tolist() == [[[2, 1, 0, 2, 1]], [[0, 0, 0, 0, 3]]]
    assert targets.tolist() == [0, 0]


FAULTS = {
    "discrimination": {
        "1 x . 0 0 . 1": "expected integers for discrimination, got '1 x . 0 0 . 1'",
        "1 1.5 . 0 0 . 1": "expected objects with the same number of values, got '1 1.5 . 0 0 . 1'",
        "1 1_0 . 0 0 . 1": "expected integers for discrimination, got '1 1_0 . 0 0 . 1'",
        "": "expected objects separated by dots, then the target's index, got ''",
        "1 0 . 0": "expected objects separated by dots, then the target's index, got '1 0 . 0'",
        "1 0 . 0 0 . 2": "expected a target from 0 to 1, got 2",
        "1 0 . 0 0 . -1": "expected a target from 0 to 1, got -1",
        "1 0 . 0 0 0 . 1": "expected objects with the same number of values, got '1 0 . 0 0 0 . 1'",
        " . . 1": "expected objects with the same number of values, got ' . . 1'",
        "1 0 . 0 4 . 1": "expected values from 0 to 3 (world.num_values=4), got 4",
        "1 0 . 0 -1 . 1": "expected values from 0 to 3 (world.num_values=4), got -1",
        "1 0 0 . 0 0 0 . 1": "expected 2 objects of 2 values as before, got '1 0 0 . 0 0 0 . 1'",
        "1 0 . 0 0 . 3 3 . 1": "expected 2 objects of 2 values as before, got '1 0 . 0 0 . 3 3 . 1'",
    },
    "reconstruction": {
        "1 . 0": "expected integers for reconstruction, got '1 . 0'",
        "1": "expected 1 objects of 2 values as before, got '1'",
        "1 9": "expected values from 0 to 3 (world.num_values=4), got 9",
        "": "expected objects with the same number of values, got ''",
        "9" * 5000 + " 1": "expected integers for reconstruction, got '" + "9" * 59,
    },
}


@pytest.mark.parametrize(("task", "line"), [(task, line) for task, lines in FAULTS.items() for line in lines])
def test_every_fault_is_named_with_its_line(tmp_path, task, line):
    good = {"discrimination": "1 0 . 0 0 . 1", "reconstruction": "0 3"}[task]
    with pytest.raises(ConfigError, match=re.escape(f"examples.txt:2: {FAULTS[task][line]}") + "$"):
        read(tmp_path, f"{good}\n{line}\n{good}\n", task)


def test_all_faults_are_counted_and_twenty_shown(tmp_path):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, "0 3\n" + "bad\n" * 25, "reconstruction")
    lines = str(caught.value).splitlines()
    assert len(lines) == 21 and lines[-1] == "… and 5 more errors"
    assert [int(line.split(":")[1]) for line in lines[:-1]] == list(range(2, 22))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere.txt: can't be read: .*No such file"):
        read_examples(str(tmp_path / "nowhere.txt"), "reconstruction", 4)
    with pytest.raises(ConfigError, match=r"examples.txt: can't be read: .*codec can't decode"):
        read(tmp_path, b"\xff\xfe1 2\n", "reconstruction")
    with pytest.raises(ConfigError, match=r"examples.txt: empty file, expected one example a line"):
        read(tmp_path, "", "reconstruction")


def test_sizes_are_taken_from_the_file(tmp_path):
    file = tmp_path / "train.txt"
    file.write_text("1 0 0 . 1 0 2 . 1\n")
    files = [f"world.{split}_data={file}" for split in ("train", "valid")]
    fitted = fit_to_files(load_experiment("disc_tiny", files))
    assert (fitted.world.num_attributes, fitted.game.num_distractors) == (3, 1)
    file.write_text("1 0 0 1 2\n")
    fitted = fit_to_files(load_experiment("disc_tiny", [*files, "game.task=reconstruction"]))
    assert (fitted.world.num_attributes, fitted.game.num_distractors) == (5, 3)
    untouched = load_experiment("disc_tiny")
    assert fit_to_files(untouched) is untouched
