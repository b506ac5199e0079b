"""Training and test data of hand-made folders: no sentence is in both."""

import pytest

from ecsuite.config import ConfigError
from ecsuite.eval.xtreme import texts
from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.reading import read_examples
from ecsuite.eval.xtreme.texts import digest_of, labels_in, language_text, training_examples


def both(data, task, language, *, is_zero_shot):
    train_language = "en" if is_zero_shot else language
    name, learnt = training_examples(data, task, train_language, is_zero_shot=is_zero_shot)
    split, tested = texts.tested_examples(data, task, language, is_zero_shot=is_zero_shot)
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
    assert learnt + tested == read_examples(data, "udpos", "eu", part)
    assert len(tested) == num_tested


def test_one_example_cannot_be_divided(write_data):
    data = write_data("udpos", parts={"eu": ("test",)}, number=1)
    with pytest.raises(ConfigError) as raised:
        training_examples(data, "udpos", "eu", is_zero_shot=False)
    assert str(raised.value) == f"{data}: expected training examples of udpos in 'eu', found none"


@pytest.mark.parametrize("part", ["dev", "test"])
def test_the_english_test_set_is_not_used_for_training(write_data, part):
    data = write_data("udpos", parts={"en": (part,), "ru": ("test",)})
    with pytest.raises(ConfigError) as raised:
        training_examples(data, "udpos", "en", is_zero_shot=True)
    assert str(raised.value) == f"{data}: expected training examples of udpos in 'en', found none"
    assert len(texts.tested_examples(data, "udpos", "en", is_zero_shot=True)[1]) == 12


def test_a_test_split_without_labels_is_not_scored(write_data):
    data = write_data("udpos", parts={"en": ("train", "dev", "test")})
    file = data / "udpos" / "test-en.tsv"
    file.write_text("".join(line.partition("\t")[0] + "\n" for line in file.read_text().splitlines()))
    name, learnt, split, _ = both(data, "udpos", "en", is_zero_shot=True)
    assert (name, len(learnt), split) == ("train", 12, "dev")
    # It is no training text either, as others may score it.
    lines = language_text("en", data, None).lines
    assert set(lines) == {" ".join(one.words) for one in learnt}


def test_a_language_without_labels_is_refused(write_data):
    data = write_data("udpos", parts={"en": ("train", "test")})
    with pytest.raises(ConfigError) as raised:
        texts.tested_examples(data, "udpos", "ru", is_zero_shot=True)
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
        assert learnt == read_examples(data, "tydiqa", "en", "train")


def test_the_dev_split_that_xquad_translates_is_not_used(write_data):
    data = write_data("xquad", "tydiqa")
    (data / "squad" / "train-v1.1.json").unlink()
    assert training_examples(data, "xquad", "en", is_zero_shot=True)[0] == "train of tydiqa"
    (data / "tydiqa" / "tydiqa-goldp-v1.1-train" / "tydiqa.goldp.en.train.json").unlink()
    with pytest.raises(ConfigError, match="expected training examples of xquad in 'en', found none"):
        training_examples(data, "xquad", "en", is_zero_shot=True)


def test_texts_exclude_all_test_sets(write_data):
    """Training sentences of one task that are test sentences of another are excluded."""
    data = write_data("udpos", "panx", parts={"en": ("train", "dev", "test")})
    file = data / "panx" / "train-en.tsv"
    tested = (data / "udpos" / "test-en.tsv").read_text().split("\n\n")[0]
    words = [line.split("\t")[0] for line in tested.splitlines()]
    file.write_text("".join(f"{word}\tO\n" for word in words) + "\n" + file.read_text())
    lines = language_text("en", data, None).lines
    read = {part: read_examples(data, "udpos", "en", part) for part in ("train", "dev", "test")}
    # udpos and panx have the same sentences here.
    assert sorted(lines) == sorted(" ".join(one.words) for part in ("train", "dev") for one in read[part])
    assert " ".join(words) not in lines
    assert " ".join(words) in {" ".join(one.words) for one in read["test"]}


@pytest.mark.parametrize("is_zero_shot", [True, False])
def test_a_text_has_no_test_sentence(write_data, is_zero_shot):
    for parts in (("train", "dev", "test"), ("dev", "test"), ("train", "dev"), ("test", "train")):
        data = write_data("udpos", "panx", parts={"en": parts}, folder="-".join(parts))
        lines = set(language_text("en", data, None).lines)
        for task in ("udpos", "panx"):
            _, tested = texts.tested_examples(data, task, "en", is_zero_shot=is_zero_shot)
            assert lines and not lines & {" ".join(one.words) for one in tested}


def test_an_error_if_all_sentences_are_test_sentences(write_data):
    data = write_data("udpos", parts={"ru": ("test",)})
    with pytest.raises(ConfigError) as raised:
        language_text("ru", data, None)
    assert str(raised.value) == (
        f"{data}: expected text in 'ru' outside the test sets, found none; give --texts FOLDER with a file "
        "such as ru.txt.gz"
    )


def test_a_text_of_a_folder(tmp_path, write_data):
    data = write_data("udpos", parts={"ru": ("train", "test")})
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "ru.txt").write_text("odna stroka\nvtoraja\n\nodna stroka\n")
    text = language_text("ru", data, folder)
    assert sorted(text.lines) == ["odna stroka", "vtoraja"] and text.language == "ru"
    (folder / "ru.txt").write_text("vtoraja\nodna stroka\n")
    assert language_text("ru", data, folder) == text
    (folder / "ru.txt").write_text("vtoraja\nodna stroka.\n")
    assert language_text("ru", data, folder).digest != text.digest
    with pytest.raises(ConfigError) as raised:
        language_text("eu", data, folder)
    assert str(raised.value) == f"{folder}: no text of 'eu', such as eu.txt.gz"


def test_labels_that_occur(write_data):
    data = write_data("udpos", "xnli", "xquad")
    found = {
        task: labels_in(task, read_examples(data, task, "en", "test")) for task in ("udpos", "xnli", "xquad")
    }
    assert found == {
        "udpos": ("DET", "NOUN", "VERB"),
        "xnli": ("contradiction", "entailment", "neutral"),
        "xquad": (),
    }


def test_hashes_of_different_examples_differ(write_data):
    data = write_data("udpos")
    found = {
        digest_of(texts.tested_examples(data, "udpos", one, is_zero_shot=True)) for one in ("en", "ru", "ru")
    }
    assert len(found) == 2


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

    gold, other = frozenset(names), frozenset(reversed(names))
    for place in range(40):
        if list(gold) != list(other):
            break
        other = frozenset([*names[place:], *names[:place]])
    assert list(gold) != list(other)
    assert digest_of(("test", bitext(gold))) == digest_of(("test", bitext(other)))
    fewer = digest_of(("test", bitext(frozenset(names[1:]))))
    assert len({digest_of(("test", bitext(gold))), fewer, digest_of(("test", bitext(None)))}) == 3
