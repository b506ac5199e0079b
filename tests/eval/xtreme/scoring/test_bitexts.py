"""Tatoeba's sorted English sentences with their original rows, and BUCC's named sentences."""

import pytest

from ecsuite.eval.xtreme.scoring.bitexts import read_bucc
from ecsuite.runtime.errors import ConfigError


def store(folder, **texts):
    for name, text in texts.items():
        (folder / f"xx-en.{name}").write_text(text, encoding="utf-8")
    return folder / "xx-en.xx"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"xx": "1\ta\n"}, "xx-en.xx: expected a file .en of the same name in its folder, found none"),
        ({"xx": "1\ta\n2 b\n"}, "xx-en.xx:2: expected a name, a tab and a sentence, found 1 column"),
        ({"xx": "1\ta\n1\tb\n"}, "xx-en.xx:2: expected unique names, found '1' again"),
        ({"xx": "1\ta\n", "en": ""}, "xx-en.en: expected sentences, found none"),
        ({"xx": "1\ta\n", "en": "7\tb\n", "gold": "1\t8\n"}, "xx-en.gold:1: expected a sentence name, found '8'"),
        ({"xx": "1\ta\n", "en": "7\tb\n", "gold": "1\t7\n2\t7\n"}, "xx-en.gold:2: expected a sentence name, found '2'"),
        ({"xx": "1\ta\n", "en": "7\tb\n", "gold": "1 7\n"},
         "xx-en.gold:1: expected the names of two sentences, found 1 column"),
    ],
)  # fmt: skip
def test_errors_in_bucc_files(tmp_path, texts, message):
    with pytest.raises(ConfigError) as error:
        read_bucc(store(tmp_path, **texts))
    assert str(error.value) == f"{tmp_path}/{message}"
