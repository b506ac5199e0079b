"""What is asked is checked before the work, and its signature holds all that can change a score."""

import pytest

from ecsuite.corpus import Corpus
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged


def refusal(ask, **others):
    with pytest.raises(ConfigError) as raised:
        ask(**others)
    return str(raised.value)


def test_missing_data_are_refused(ask, tmp_path):
    nowhere = tmp_path / "nowhere"
    assert refusal(ask, data=nowhere) == (
        f"{nowhere}: expected a folder of tasks; run `ecsuite data xtreme` or give --data FOLDER"
    )
    assert refusal(ask, tasks=("xnli",)) == (
        f"{tmp_path / 'data'}: expected labels of xnli in one of de, found none; choose others by --languages "
        "or exclude the task by --tasks"
    )
    assert refusal(ask, languages=("kk", "ta")) == (
        f"{tmp_path / 'data'}: expected labels of udpos in one of kk, ta, found none; choose others by --languages "
        "or exclude the task by --tasks"
    )


def test_missing_training_data_are_refused(ask, tmp_path, write_data):
    data = write_data("udpos", parts={"en": ("test",), "de": ("dev", "test")}, folder="poor")
    assert refusal(ask, data=data) == f"{data}: expected training examples of udpos in 'en', found none"
    (tmp_path / "de.txt").write_text("dela\n")
    assert refusal(ask, texts=tmp_path) == f"{tmp_path}: no text of 'en', such as en.txt.gz"
    assert refusal(ask, human=tmp_path / "fr.txt").startswith(f"{tmp_path / 'fr.txt'}: cannot be read: ")


def test_bucc_without_a_threshold_is_refused(ask, tmp_path):
    (tmp_path / "data/bucc2018/de-en.dev.gold").unlink()
    assert refusal(ask, tasks=("bucc2018",)) == (
        f"{tmp_path / 'data'}: expected translations of the dev set of bucc2018 in 'de' "
        "(de-en.dev.gold) to tune the threshold, found none"
    )


@pytest.mark.parametrize("rows", [[], [[], []]])
def test_a_corpus_without_symbols_is_refused(ask, rows):
    empty = Corpus(messages=Ragged.from_rows(rows))
    assert refusal(ask, corpus=empty) == "the corpus has no symbols to learn from"


@pytest.mark.parametrize("task", ["tatoeba", "bucc2018"])
def test_retrieval_in_one_language_is_refused(ask, task):
    assert refusal(ask, tasks=(task,), protocol="in-language") == (
        f"{task} compares two languages, but protocol in-language uses one language at a time"
    )


def test_tasks_without_data_are_skipped(ask, write_data):
    data = write_data("udpos", "tatoeba", folder="two")
    skipping = {"data": data, "skips_missing_tasks": True}
    study = ask(tasks=("xnli", "udpos", "tatoeba"), **skipping)
    assert study.tested == {"udpos": ("en", "de"), "tatoeba": ("de",)}
    alone = ask(tasks=("udpos", "tatoeba"), protocol="in-language", **skipping)
    assert alone.tested == {"udpos": ("de",)} and alone.languages == ("de",)
    nothing = refusal(ask, tasks=("xnli",), **skipping)
    assert nothing == f"{data}: expected labels of at least one task, found none"


def test_the_signature_holds_what_can_change_a_score(ask):
    name, *fields, version = ask().signature.split("|")
    assert (name, version) == ("xtreme-transfer", "v:1")
    values = dict(field.split(":") for field in fields)
    content = values.pop("data")
    assert len(content) == 8 and int(content, 16) >= 0
    assert values == {
        "preset": "nano",
        "protocol": "adapt",
        "body": "decoder",
        "tasks": "udpos",
        "languages": "en+de",
        "scope": "head",
        "seeds": "0",
        "precision": "fp32",
    }


@pytest.mark.parametrize(
    ("file", "old", "new", "task"),
    [
        ("udpos/test-de.tsv", "\tDET", "\tADJ", "udpos"),
        ("udpos/train-en.tsv", "enla", "enlo", "udpos"),
        ("bucc2018/de-en.dev.gold", "s0\tt0\n", "", "bucc2018"),
    ],
)
def test_changed_data_change_the_signature(ask, tmp_path, file, old, new, task):
    before, path = ask(tasks=(task,)).signature, tmp_path / "data" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert ask(tasks=(task,)).signature != before


def test_a_human_text_changes_the_signature(ask, tmp_path):
    human = tmp_path / "da.txt"
    human.write_text("en and\n")
    with_text = ask(human=human)
    assert with_text.bodies[-1] == "human text" and with_text.signature != ask().signature
