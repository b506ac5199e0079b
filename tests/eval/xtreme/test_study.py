"""What is asked is checked before the work, and its signature holds all that can change a score."""

import pytest

from ecsuite.runtime.errors import ConfigError


def refusal(ask, **others):
    with pytest.raises(ConfigError) as raised:
        ask(**others)
    return str(raised.value)


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


def test_tasks_without_data_are_skipped(ask, write_data):
    data = write_data("udpos", "tatoeba", folder="two")
    skipping = {"data": data, "skips_missing_tasks": True}
    study = ask(tasks=("xnli", "udpos", "tatoeba"), **skipping)
    assert study.tested == {"udpos": ("en", "de"), "tatoeba": ("de",)}
    alone = ask(tasks=("udpos", "tatoeba"), protocol="in-language", **skipping)
    assert alone.tested == {"udpos": ("de",)} and alone.languages == ("de",)
    nothing = refusal(ask, tasks=("xnli",), **skipping)
    assert nothing == f"{data}: expected labels of at least one task, found none"


def test_a_human_text_changes_the_signature(ask, tmp_path):
    human = tmp_path / "da.txt"
    human.write_text("en and\n")
    with_text = ask(human=human)
    assert with_text.bodies[-1] == "human text" and with_text.signature != ask().signature
