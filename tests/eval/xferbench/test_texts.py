"""Folders of texts are read, or rejected with a one-line error."""

import gzip
import json
from pathlib import Path

import pytest

from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.xferbench.presets import DANISH, FULL, NANO
from ecsuite.eval.xferbench.texts import (
    NUM_BEGINNING_BYTES,
    ArtificialText,
    TextFile,
    choose_texts,
    fingerprint,
    preset_folder,
    read_texts,
)
from ecsuite.runtime.errors import ConfigError


def test_plain_and_packed_files_are_read_by_name(tmp_path):
    (tmp_path / "da.txt.gz").write_bytes(gzip.compress(b"en linje\n\n  en til \r\n"))
    (tmp_path / "ab.txt").write_bytes(b"\xef\xbb\xbfone line\n")
    (tmp_path / "ru.jsonl").write_text('"one\\ntwo"\n\n{"text": " three ", "title": "x"}\n"  "\n')
    (tmp_path / "fi.jsonl.gz").write_bytes(gzip.compress(json.dumps("ä").encode()))
    (tmp_path / "SOURCES.md").write_text("not a text")
    assert {name: text.documents() for name, text in read_texts(tmp_path).items()} == {
        "ab": ["one line"],
        "da": ["en linje", "en til"],
        "fi": ["ä"],
        "ru": ["one\ntwo", "three"],
    }


NO_DOCUMENT = ":2: expected a JSON string, or an object with a string as"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (None, ": no such folder of target texts"),
        ({}, ": expected target texts such as da.txt or da.txt.gz, found none"),
        ({"da.txt": b"a", "da.txt.gz": b""}, ": expected one file named da, got several"),
        ({"da.txt": b"fine\nnot \xff fine\n"}, "/da.txt:2: not UTF-8: byte 0xff"),
        ({"da.txt.gz": gzip.compress(b"text " * 1000)[:-20]}, "/da.txt.gz: cannot be read: "),
        *(
            ({"da.jsonl": b'"fine"\n' + line}, f"/da.jsonl{NO_DOCUMENT}")
            for line in (b"[1, 2]", b'{"title": "x"}', b"3")
        ),
        ({"da.jsonl": b'"fine"\nno json'}, "/da.jsonl:2: not JSON: Expecting value at column 1"),
        ({"da.jsonl": b"[" * 100_000}, "/da.jsonl:1: not JSON: nesting that is too deep"),
    ],
)
def test_what_cannot_be_read(tmp_path, files, message):
    folder = tmp_path / "texts"
    if files is not None:
        folder.mkdir()
    for name, content in (files or {}).items():
        (folder / name).write_bytes(content)
    with pytest.raises(ConfigError) as error:
        read_texts(folder)["da"].documents()
    assert str(error.value).startswith(f"{folder}{message}")


def test_what_cannot_be_read_has_no_key(tmp_path):
    (tmp_path / "da.txt.gz").write_bytes(b"not packed")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_texts(tmp_path)["da"].job_key()


def test_a_preset_takes_its_languages_and_names_what_is_missing(tmp_path):
    for name in ("da", "fr"):
        (tmp_path / f"{name}.txt").write_text("a")
    assert [text.name for text in choose_texts(tmp_path, NANO)] == ["da", "fr"]
    assert [text.name for text in choose_texts(tmp_path, DANISH)] == ["da"]
    with pytest.raises(ValueError, match=r"preset full needs eu\.txt, \.txt\.gz, \.jsonl or \.jsonl\.gz"):
        choose_texts(tmp_path, FULL)
    for name in XFERBENCH_TARGETS:
        (tmp_path / f"{name}.txt").write_text("a")
    assert tuple(text.name for text in choose_texts(tmp_path, FULL)) == XFERBENCH_TARGETS
    with pytest.raises(
        ConfigError, match=r"^preset danish needs texts of da: run `ecsuite data wikipedia` once"
    ):
        choose_texts(None, DANISH)


def test_presets_of_human_languages_find_what_was_downloaded(tmp_path, monkeypatch):
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    assert preset_folder(None, DANISH) is None
    (tmp_path / "wikipedia").mkdir()
    assert preset_folder(None, DANISH) is None  # a download that came to nothing leaves an empty folder
    (tmp_path / "wikipedia" / "da.jsonl.gz").touch()
    assert preset_folder(None, DANISH) == tmp_path / "wikipedia"
    assert preset_folder(None, NANO) is None
    assert preset_folder(tmp_path, DANISH) == tmp_path


def test_texts_are_known_by_name_and_content(tmp_path):
    files = {"a.txt": b"x\n", "c.txt": b"y\n", "d.txt.gz": gzip.compress(b"x\n")}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    same, *others = (TextFile("a", tmp_path / name) for name in files)
    assert [text.job_key() == same.job_key() for text in others] == [False, True]
    assert [fingerprint([text]) == fingerprint([same]) for text in others] == [False, True]
    assert fingerprint([same, TextFile("c", tmp_path / "c.txt")]).startswith("a+c#")


def test_the_same_bytes_in_a_text_and_in_json_lines_are_two_texts(tmp_path):
    content = b'\n"one line"\n{"text": "another"}\n'
    texts = []
    for name in ("a.txt", "a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(content)
        texts.append(TextFile("a", tmp_path / name))
    plain, lines, same = texts
    assert plain.documents() != lines.documents() == same.documents()
    assert plain.job_key() != lines.job_key() == same.job_key()
    assert fingerprint([plain]) != fingerprint([lines]) == fingerprint([same])


def test_a_text_that_changes_while_it_is_in_use_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "da.txt"
    file.write_text("one\ntwo\n")
    monkeypatch.chdir(tmp_path)
    text = TextFile("da", Path("da.txt")).identified()
    assert text.job_key() == TextFile("da", file).job_key()
    monkeypatch.chdir("/")  # workers may be elsewhere
    assert text.documents() == ["one", "two"]
    file.write_text("one\nthree\n")
    with pytest.raises(ConfigError, match=r"da\.txt: has changed during the run: run the same command again"):
        text.documents()


@pytest.mark.parametrize("content", [b"", b" \n\n", b"\n" * NUM_BEGINNING_BYTES])
def test_a_text_without_documents_is_told_before_the_work(tmp_path, content):
    (tmp_path / "da.txt").write_bytes(content)
    with pytest.raises(ConfigError, match=r"da\.txt: expected text, found none$"):
        TextFile("da", tmp_path / "da.txt").identified()
    (tmp_path / "da.txt").write_bytes(content + b"text")
    assert TextFile("da", tmp_path / "da.txt").identified().documents() == ["text"]


def test_embedded_texts_are_long_enough():
    texts = choose_texts(None, NANO)
    assert [text.name for text in texts] == ["artificial-1", "artificial-2"]
    for text in texts:
        assert isinstance(text, ArtificialText)
        assert sum(len(line.encode()) for line in text.documents()) >= text.num_bytes
