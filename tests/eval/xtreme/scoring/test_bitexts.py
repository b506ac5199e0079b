"""Tatoeba's sorted English sentences with their original rows, and BUCC's named sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsuite.eval.xtreme.scoring.bitexts import partner, read_bucc, read_tatoeba
from ecsuite.runtime.errors import ConfigError


def store(folder, **texts):
    for name, text in texts.items():
        (folder / f"xx-en.{name}").write_text(text, encoding="utf-8")
    return folder / "xx-en.xx"


def test_english_is_sorted_and_gold_is_the_original_row(tmp_path):
    bitext = read_tatoeba(
        store(tmp_path, xx="ro\nja\nno \nja\n", en="go\nYes\n No\nYes\n"), "en", is_sorted=False
    )
    assert bitext.sources == ("No", "Yes", "Yes", "go")
    assert bitext.targets == ("ro", "ja", "no", "ja")
    assert bitext.source_ids == bitext.target_ids == ("0", "1", "2", "3")
    assert bitext.gold == {("0", "2"), ("1", "1"), ("2", "3"), ("3", "0")}  # equal ones keep their order


def test_xtremes_files_are_sorted_and_have_no_gold(tmp_path):
    bitext = read_tatoeba(store(tmp_path, xx="b\na\n", en="A\nB\n"), "en", is_sorted=True)
    assert (bitext.sources, bitext.targets, bitext.gold) == (("A", "B"), ("b", "a"), None)


@given(rows=st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=8))
def test_gold_maps_each_sentence_to_its_translation(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("tatoeba")
    lines = "".join(f"{row}\n" for row in rows)
    bitext = read_tatoeba(store(folder, xx=lines.upper(), en=lines), "en", is_sorted=False)
    target_of = dict(bitext.gold)
    translations = [bitext.targets[int(target_of[name])] for name in bitext.source_ids]
    assert translations == [source.upper() for source in bitext.sources]
    assert sorted(target_of.values()) == sorted(bitext.target_ids)


def test_partners_may_be_compressed(tmp_path):
    path = tmp_path / "tatoeba.kaz-eng.kaz.xz"
    other = tmp_path / "tatoeba.kaz-eng.eng.gz"
    assert partner(path, "eng") is None
    other.write_bytes(b"")
    assert partner(path, "eng") == other


def test_named_sentences_and_their_gold(tmp_path):
    path = store(tmp_path, xx="xx-1\tun\nxx-2\tdeux\n", en="en-7\ttwo\nen-8\tten\n", gold="xx-2\ten-7\n")
    bitext = read_bucc(path)
    assert (bitext.source_ids, bitext.sources) == (("xx-1", "xx-2"), ("un", "deux"))
    assert (bitext.target_ids, bitext.targets) == (("en-7", "en-8"), ("two", "ten"))
    assert bitext.gold == {("xx-2", "en-7")}
    (tmp_path / "xx-en.gold").unlink()
    assert read_bucc(path).gold is None


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"xx": "a\n"}, "xx-en.xx: expected a file .en of the same name in its folder, found none"),
        ({"xx": "a\nb\n", "en": "a\n"}, "xx-en.xx: expected 1 lines as in xx-en.en, found 2"),
        ({"xx": "", "en": ""}, "xx-en.xx: expected sentences, found none"),
    ],
)
def test_errors_in_tatoeba_files(tmp_path, texts, message):
    with pytest.raises(ConfigError) as error:
        read_tatoeba(store(tmp_path, **texts), "en", is_sorted=False)
    assert str(error.value) == f"{tmp_path}/{message}"


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
