"""Training and test examples of hand-made folders: no sentence is in both."""

import pytest
from xtreme_data import find_examples

from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError


def training_examples(data, task, language, *, is_zero_shot):
    return find_examples(data, task, language, "train", is_zero_shot=is_zero_shot).read()


def held_out_examples(data, task, language, *, is_zero_shot):
    return find_examples(data, task, language, "test", is_zero_shot=is_zero_shot).read()


def both(data, task, language, *, is_zero_shot):
    train_language = "en" if is_zero_shot else language
    name, learnt = training_examples(data, task, train_language, is_zero_shot=is_zero_shot)
    split, tested = held_out_examples(data, task, language, is_zero_shot=is_zero_shot)
    return name, learnt, split, tested


@pytest.mark.parametrize(
    ("part", "number", "num_tested"), [("dev", 12, 2), ("test", 12, 2), ("test", 15, 3), ("test", 3, 1)]
)
def test_one_split_is_divided_in_language(write_data, part, number, num_tested):
    data = write_data("udpos", parts={"eu": (part,)}, number=number)
    name, learnt, split, tested = both(data, "udpos", "eu", is_zero_shot=False)
    assert (name, split) == (f"{part}, first 80%", f"{part}, last 20%")
    assert learnt + tested == TASKS["udpos"].read(data, "eu", part)
    assert len(tested) == num_tested


def test_a_language_without_labels_is_refused(write_data):
    data = write_data("udpos", parts={"en": ("train", "test")})
    with pytest.raises(ConfigError) as raised:
        held_out_examples(data, "udpos", "ru", is_zero_shot=True)
    assert str(raised.value) == (
        f"{data}: expected labels of udpos in 'ru' (test or dev), found none; exclude the language by "
        "--languages or the task by --tasks"
    )


def test_examples_are_known_by_their_content(write_data):
    first, moved = (
        find_examples(write_data("udpos", folder=folder), "udpos", "en", "test", is_zero_shot=True)
        for folder in ("a", "b")
    )
    assert first.data != moved.data and first.job_key() == moved.job_key() == ["udpos", "en", first.digest]
    assert first.read() == ("test", TASKS["udpos"].read(first.data, "en", "test"))
