"""Texts of languages: from a folder, or from tagged sentences that are in no test set."""

import pytest
from xtreme_data import find_text

from ecsuite.runtime.errors import ConfigError


def test_an_error_if_all_sentences_are_test_sentences(write_data):
    data = write_data("udpos", parts={"ru": ("test",)})
    with pytest.raises(ConfigError) as raised:
        find_text("ru", data, None)
    assert str(raised.value) == (
        f"{data}: expected text in 'ru' outside the test sets, found none; give --texts FOLDER with a file "
        "such as ru.txt.gz"
    )


def test_a_text_is_known_by_its_language_and_its_lines(write_data):
    first, moved = (find_text("en", write_data("udpos", folder=folder), None) for folder in ("a", "b"))
    assert first.data != moved.data and first.job_key() == moved.job_key() == ["en", first.digest]
