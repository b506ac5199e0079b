"""Texts of languages: from a folder, or from tagged sentences that are in no test set."""

import pytest
from xtreme_data import find_examples, find_text

from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError


def test_texts_exclude_all_test_sets(write_data):
    """Training sentences of one task that are test sentences of another are excluded."""
    data = write_data("udpos", "panx", parts={"en": ("train", "dev", "test")})
    file = data / "panx" / "train-en.tsv"
    tested = (data / "udpos" / "test-en.tsv").read_text().split("\n\n")[0]
    words = [line.split("\t")[0] for line in tested.splitlines()]
    file.write_text("".join(f"{word}\tO\n" for word in words) + "\n" + file.read_text())
    lines = find_text("en", data, None).read()
    read = {part: TASKS["udpos"].read(data, "en", part) for part in ("train", "dev", "test")}
    # udpos and panx have the same sentences here.
    assert sorted(lines) == sorted(" ".join(one.words) for part in ("train", "dev") for one in read[part])
    assert " ".join(words) not in lines
    assert " ".join(words) in {" ".join(one.words) for one in read["test"]}


@pytest.mark.parametrize("is_zero_shot", [True, False])
def test_a_text_has_no_test_sentence(write_data, is_zero_shot):
    for parts in (("train", "dev", "test"), ("dev", "test"), ("train", "dev"), ("test", "train")):
        data = write_data("udpos", "panx", parts={"en": parts}, folder="-".join(parts))
        lines = set(find_text("en", data, None).read())
        for task in ("udpos", "panx"):
            _, tested = find_examples(data, task, "en", "test", is_zero_shot=is_zero_shot).read()
            assert lines and not lines & {" ".join(one.words) for one in tested}


def test_an_error_if_all_sentences_are_test_sentences(write_data):
    data = write_data("udpos", parts={"ru": ("test",)})
    with pytest.raises(ConfigError) as raised:
        find_text("ru", data, None)
    assert str(raised.value) == (
        f"{data}: expected text in 'ru' outside the test sets, found none; give --texts FOLDER with a file "
        "such as ru.txt.gz"
    )


def test_a_text_of_a_folder(tmp_path, write_data):
    data = write_data("udpos", parts={"ru": ("train", "test")})
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "ru.txt").write_text("odna stroka\nvtoraja\n\nodna stroka\n")
    text = find_text("ru", data, folder)
    assert sorted(text.read()) == ["odna stroka", "vtoraja"] and text.language == "ru"
    (folder / "ru.txt").write_text("vtoraja\nodna stroka\n")
    assert find_text("ru", data, folder) == text
    (folder / "ru.txt").write_text("vtoraja\nodna stroka.\n")
    assert find_text("ru", data, folder).digest != text.digest
    with pytest.raises(ConfigError, match="text in 'ru' has changed during the run"):
        text.read()
    with pytest.raises(ConfigError) as raised:
        find_text("eu", data, folder)
    assert str(raised.value) == f"{folder}: no text of 'eu', such as eu.txt.gz"


def test_a_text_is_known_by_its_language_and_its_lines(write_data):
    first, moved = (find_text("en", write_data("udpos", folder=folder), None) for folder in ("a", "b"))
    assert first.data != moved.data and first.job_key() == moved.job_key() == ["en", first.digest]
