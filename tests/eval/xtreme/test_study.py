"""Data of studies: what is asked is checked before the work, and no sentence is trained and tested on."""

from dataclasses import replace

import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.xferbench.presets import MINI
from ecsuite.eval.xferbench.protocols import strict_source
from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xtreme.data import source
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError
from xtreme_data import find_examples, find_text


def refusal(ask, **others):
    with pytest.raises(ConfigError) as raised:
        ask(**others)
    return str(raised.value)


def test_tasks_without_data_are_skipped(ask, write_data):
    data = write_data("udpos", "tatoeba", folder="two")
    skipping = {"data": data, "skips_missing_tasks": True}
    study = ask(tasks=("xnli", "udpos", "tatoeba"), **skipping)
    assert study.tested == {"udpos": ("en", "de"), "tatoeba": ("de",)}
    alone = ask(tasks=("udpos", "tatoeba"), protocol="in-language", **skipping)
    assert alone.tested == {"udpos": ("de",)} and alone.languages == ("de",)
    nothing = refusal(ask, tasks=("xnli",), **skipping)
    assert nothing == f"{data}: expected labels of at least one task, found none"


def test_a_human_text_changes_the_signature_and_missing_data_are_refused(ask, tmp_path, write_data):
    human = tmp_path / "da.txt"
    human.write_text("en and\n")
    with_text = ask(human=human)
    assert with_text.bodies[-1] == "human text" and with_text.signature != ask().signature
    data = write_data("udpos", parts={"en": ("test",), "de": ("dev", "test")}, folder="poor")
    assert refusal(ask, data=data) == f"{data}: expected training examples of udpos in 'en', found none"
    (tmp_path / "de.txt").write_text("dela\n")
    assert refusal(ask, texts=tmp_path) == f"{tmp_path}: no text of 'en', such as en.txt.gz"
    assert refusal(ask, human=tmp_path / "fr.txt").startswith(f"{tmp_path / 'fr.txt'}: cannot be read: ")
    (tmp_path / "data/bucc2018/de-en.dev.gold").unlink()
    assert refusal(ask, tasks=("bucc2018",)) == (
        f"{tmp_path / 'data'}: expected translations of the dev set of bucc2018 in 'de' "
        "(de-en.dev.gold) to tune the threshold, found none"
    )


def read(data, part, task, language, *, is_zero_shot):
    return find_examples(data, task, language, part, is_zero_shot=is_zero_shot).read()


@pytest.mark.parametrize(
    ("only", "number", "num_tested"), [("dev", 12, 2), ("test", 12, 2), ("test", 15, 3), ("test", 3, 1)]
)
def test_one_split_is_divided_in_language(write_data, only, number, num_tested):
    data = write_data("udpos", parts={"eu": (only,)}, number=number)
    (name, learnt), (split, tested) = (
        read(data, part, "udpos", "eu", is_zero_shot=False) for part in ("train", "test")
    )
    assert (name, split) == (f"{only}, first 80%", f"{only}, last 20%")
    assert learnt + tested == TASKS["udpos"].read(data, "eu", only)
    assert len(tested) == num_tested


@pytest.mark.parametrize("is_zero_shot", [True, False])
@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ("train dev test", ("train", "test")),
        ("train test", ("train", "test")),
        ("dev test", ("dev", "test")),
        ("train dev", ("train", "dev")),
    ],
)
def test_no_test_example_is_in_training_or_texts(write_data, parts, names, is_zero_shot):
    data = write_data("udpos", "panx", parts={"en": parts.split()})
    found = [read(data, part, "udpos", "en", is_zero_shot=is_zero_shot) for part in ("train", "test")]
    assert tuple(name for name, _ in found) == names and [len(examples) for _, examples in found] == [12, 12]
    learnt, tested = ({one.words for one in examples} for _, examples in found)
    assert not learnt & tested
    lines = set(find_text("en", data, None).read())
    for task in ("udpos", "panx"):
        _, tested = read(data, "test", task, "en", is_zero_shot=is_zero_shot)
        assert lines and not lines & {" ".join(one.words) for one in tested}


def test_the_dev_split_that_xquad_translates_is_not_used(write_data):
    data = write_data("xquad", "tydiqa")
    (data / "squad" / "train-v1.1.json").unlink()
    assert read(data, "train", "xquad", "en", is_zero_shot=True)[0] == "train of tydiqa"
    (data / "tydiqa" / "tydiqa-goldp-v1.1-train" / "tydiqa.goldp.en.train.json").unlink()
    with pytest.raises(ConfigError, match="expected training examples of xquad in 'en', found none"):
        read(data, "train", "xquad", "en", is_zero_shot=True)


def test_a_language_without_labels_or_text_is_refused(write_data):
    data = write_data("udpos", parts={"en": ("train", "test")})
    with pytest.raises(ConfigError) as raised:
        read(data, "test", "udpos", "ru", is_zero_shot=True)
    assert str(raised.value) == (
        f"{data}: expected labels of udpos in 'ru' (test or dev), found none; exclude the language by "
        "--languages or the task by --tasks"
    )
    data = write_data("udpos", parts={"ru": ("test",)})
    with pytest.raises(ConfigError) as raised:
        find_text("ru", data, None)
    assert str(raised.value) == (
        f"{data}: expected text in 'ru' outside the test sets, found none; give --texts FOLDER with a file "
        "such as ru.txt.gz"
    )


def test_examples_and_texts_are_known_by_their_content(write_data):
    folders = [write_data("udpos", folder=folder) for folder in ("a", "b")]
    first, moved = (find_examples(data, "udpos", "en", "test", is_zero_shot=True) for data in folders)
    assert first.data != moved.data and first.job_key() == moved.job_key() == ["udpos", "en", first.digest]
    assert first.read() == ("test", TASKS["udpos"].read(first.data, "en", "test"))
    text, moved_text = (find_text("en", data, None) for data in folders)
    assert text.data != moved_text.data and text.job_key() == moved_text.job_key() == ["en", text.digest]
    (folders[0] / "udpos" / "test-en.tsv").write_text("other\tDET\n")
    with pytest.raises(ConfigError, match="the set of examples of udpos in 'en' has changed during the run"):
        first.read()


def test_a_text_becomes_subwords_and_a_corpus_is_repeated_as_xferbench_does(tiny, tiny_preset, tmp_path):
    def draw(name, corpus=None, text=None, seed=0):
        found = source(name, corpus, text, tiny, tiny_preset.pretraining, seed)
        assert found.windows.symbols.shape[1] == tiny.context + 1
        return found.windows.symbols[:, :-1].flatten().tolist()

    file = tmp_path / "da.txt"
    file.write_text("en and svømmer\nto ænder svømmer\n" * 20)
    assert len(set(draw("human text", text=TextFile("da", file)))) > 1
    corpus = Corpus([[1, 2, 3], [], [4, 5], [6, 7, 8, 9, 1, 1]])
    sizes = replace(MINI, context=tiny.context, pretrain_tokens=tiny_preset.pretraining.tokens)
    windows = strict_source(corpus, sizes, 0).windows
    expected = windows.symbols[:, :-1].flatten().tolist()
    assert draw("corpus", corpus) == expected != draw("corpus", corpus, seed=1)
    corpus = Corpus([list(range(40)) + [0] * 8])  # one message, so that only its symbols are shuffled
    shuffled = draw("shuffled corpus", corpus)
    assert sorted(shuffled[:48]) == sorted(draw("corpus", corpus)[:48])
    assert shuffled[:48] == shuffled[48:96] != draw("corpus", corpus)[:48]
