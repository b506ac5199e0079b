"""Training and test examples of hand-made folders: no sentence is in both."""

import json

import pytest
from xtreme_data import find_examples, find_text

from ecsuite.eval.xtreme.data import ExampleSet
from ecsuite.eval.xtreme.scoring.task import Bitext
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


@pytest.mark.parametrize("is_zero_shot", [True, False])
@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        (("train", "dev", "test"), ("train", 12, "test", 12)),
        (("train", "test"), ("train", 12, "test", 12)),
        (("dev", "test"), ("dev", 12, "test", 12)),
        (("train", "dev"), ("train", 12, "dev", 12)),
    ],
)
def test_splits_for_training_and_test(write_data, parts, wanted, is_zero_shot):
    data = write_data("udpos", parts={"en": parts})
    name, learnt, split, tested = both(data, "udpos", "en", is_zero_shot=is_zero_shot)
    assert (name, len(learnt), split, len(tested)) == wanted
    assert not {one.words for one in learnt} & {one.words for one in tested}


@pytest.mark.parametrize(
    ("part", "number", "num_tested"), [("dev", 12, 2), ("test", 12, 2), ("test", 15, 3), ("test", 3, 1)]
)
def test_one_split_is_divided_in_language(write_data, part, number, num_tested):
    data = write_data("udpos", parts={"eu": (part,)}, number=number)
    name, learnt, split, tested = both(data, "udpos", "eu", is_zero_shot=False)
    assert (name, split) == (f"{part}, first 80%", f"{part}, last 20%")
    assert learnt + tested == TASKS["udpos"].read(data, "eu", part)
    assert len(tested) == num_tested


@pytest.mark.parametrize(
    ("parts", "number", "language", "is_zero_shot"),
    [
        # One example cannot be divided, and the English test set is not used for training.
        ({"eu": ("test",)}, 1, "eu", False),
        ({"en": ("dev",), "ru": ("test",)}, 12, "en", True),
        ({"en": ("test",), "ru": ("test",)}, 12, "en", True),
    ],
)
def test_training_examples_may_be_missing(write_data, parts, number, language, is_zero_shot):
    data = write_data("udpos", parts=parts, number=number)
    with pytest.raises(ConfigError) as raised:
        training_examples(data, "udpos", language, is_zero_shot=is_zero_shot)
    assert str(raised.value) == f"{data}: expected training examples of udpos in '{language}', found none"
    assert len(held_out_examples(data, "udpos", language, is_zero_shot=is_zero_shot)[1]) == number


def test_a_test_split_without_labels_is_not_scored(write_data):
    data = write_data("udpos", parts={"en": ("train", "dev", "test")})
    file = data / "udpos" / "test-en.tsv"
    file.write_text("".join(line.partition("\t")[0] + "\n" for line in file.read_text().splitlines()))
    name, learnt, split, _ = both(data, "udpos", "en", is_zero_shot=True)
    assert (name, len(learnt), split) == ("train", 12, "dev")
    # It is no training text either, as others may score it.
    lines = find_text("en", data, None).read()
    assert set(lines) == {" ".join(one.words) for one in learnt}


def without_labels(file):
    if file.suffix == ".json":
        content = json.loads(file.read_text())
        for entry in content["data"][0]["paragraphs"]:
            entry["qas"][0]["answers"] = []
        file.write_text(json.dumps(content))
    else:
        file.write_text("".join(line.rpartition("\t")[0] + "\n" for line in file.read_text().splitlines()))


@pytest.mark.parametrize(
    ("task", "file", "then"),
    [
        ("panx", "panx/train-en.tsv", "dev"),
        ("xnli", "xnli/train-en.tsv", "dev"),
        ("xquad", "squad/train-v1.1.json", "train of tydiqa"),
    ],
)
def test_training_examples_without_labels_teach_nothing(write_data, task, file, then):
    data = write_data(task, "tydiqa")
    assert training_examples(data, task, "en", is_zero_shot=True)[0] == "train"
    without_labels(data / file)
    name, learnt = training_examples(data, task, "en", is_zero_shot=True)
    assert (name, len(learnt)) == (then, 12)
    if task != "xquad":
        assert None not in TASKS[task].english_examples(data)[1]


def test_a_language_without_labels_is_refused(write_data):
    data = write_data("udpos", parts={"en": ("train", "test")})
    with pytest.raises(ConfigError) as raised:
        held_out_examples(data, "udpos", "ru", is_zero_shot=True)
    assert str(raised.value) == (
        f"{data}: expected labels of udpos in 'ru' (test or dev), found none; exclude the language by "
        "--languages or the task by --tasks"
    )


@pytest.mark.parametrize(
    ("tasks", "wanted"), [(("xquad", "tydiqa"), "train"), (("mlqa", "tydiqa"), "train of tydiqa")]
)
def test_questions_of_squad_or_of_another_task(write_data, tasks, wanted):
    data = write_data(*tasks)
    if tasks[0] == "mlqa":
        # Without SQuAD, a dev split distinct from the test split is used.
        assert training_examples(data, "mlqa", "en", is_zero_shot=True)[0] == "dev"
        (data / "mlqa/MLQA_V1/dev/dev-context-en-question-en.json").unlink()
    name, learnt = training_examples(data, tasks[0], "en", is_zero_shot=True)
    assert (name, len(learnt)) == (wanted, 12)
    if wanted != "train":
        assert learnt == TASKS["tydiqa"].read(data, "en", "train")


def test_the_dev_split_that_xquad_translates_is_not_used(write_data):
    data = write_data("xquad", "tydiqa")
    (data / "squad" / "train-v1.1.json").unlink()
    assert training_examples(data, "xquad", "en", is_zero_shot=True)[0] == "train of tydiqa"
    (data / "tydiqa" / "tydiqa-goldp-v1.1-train" / "tydiqa.goldp.en.train.json").unlink()
    with pytest.raises(ConfigError, match="expected training examples of xquad in 'en', found none"):
        training_examples(data, "xquad", "en", is_zero_shot=True)


def test_labels_that_occur(write_data):
    data = write_data("udpos", "xnli", "xquad")
    found = {
        name: task.choices_in(task.read(data, "en", "test"))
        for name, task in TASKS.items()
        if name in ("udpos", "xnli", "xquad")
    }
    assert found == {
        "udpos": ("DET", "NOUN", "VERB"),
        "xnli": ("contradiction", "entailment", "neutral"),
        "xquad": (),
    }


def test_a_hash_of_translations_is_the_same_in_every_process():
    """The order of a set of names depends on the process and on insertions."""
    names = [(f"s{row}", f"t{row}") for row in range(40)]

    def bitext(gold):
        return Bitext(
            source_ids=tuple(source for source, _ in names),
            sources=("said",) * 40,
            target_ids=tuple(target for _, target in names),
            targets=("said",) * 40,
            gold=gold,
        )

    def digest_of(content):
        examples = ExampleSet(data=None, task="bucc2018", language="de", part="dev", is_zero_shot=True)
        return examples.hash_of(content)

    gold, other = frozenset(names), frozenset(reversed(names))
    for place in range(40):
        if list(gold) != list(other):
            break
        other = frozenset([*names[place:], *names[:place]])
    assert list(gold) != list(other)
    assert digest_of(("test", bitext(gold))) == digest_of(("test", bitext(other)))
    fewer = digest_of(("test", bitext(frozenset(names[1:]))))
    assert len({digest_of(("test", bitext(gold))), fewer, digest_of(("test", bitext(None)))}) == 3


def test_examples_are_known_by_their_content(write_data):
    first, moved = (
        find_examples(write_data("udpos", folder=folder), "udpos", "en", "test", is_zero_shot=True)
        for folder in ("a", "b")
    )
    assert first.data != moved.data and first.job_key() == moved.job_key() == ["udpos", "en", first.digest]
    assert first.read() == ("test", TASKS["udpos"].read(first.data, "en", "test"))


def test_examples_that_have_changed_are_refused(write_data):
    data = write_data("udpos")
    found = find_examples(data, "udpos", "en", "train", is_zero_shot=True)
    (data / "udpos" / "train-en.tsv").write_text("other\tDET\n")
    with pytest.raises(ConfigError, match="the set of examples of udpos in 'en' has changed during the run"):
        found.read()


def test_a_threshold_needs_translations(write_data):
    data = write_data("bucc2018")
    found = find_examples(data, "bucc2018", "de", "dev", is_zero_shot=True)
    assert found.read()[0] == "dev" and found.read()[1].gold
    (data / "bucc2018/de-en.dev.gold").unlink()
    with pytest.raises(ConfigError, match=r"expected translations of the dev set of bucc2018 in 'de'"):
        find_examples(data, "bucc2018", "de", "dev", is_zero_shot=True)
