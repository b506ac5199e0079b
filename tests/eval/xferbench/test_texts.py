"""Folders of texts are read, or rejected with a one-line error."""

import gzip
import json
import pickle
from pathlib import Path

import pytest

from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.xferbench.presets import DANISH, FULL, NANO
from ecsuite.eval.xferbench.texts import (
    ArtificialText,
    TextFile,
    choose_texts,
    fingerprint,
    preset_folder,
    read_texts,
)


def test_plain_and_packed_files_are_read_by_name(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("line", ["[1, 2]", '{"title": "x"}', "not json", "3", "[" * 100_000])
def test_json_lines_that_are_no_documents(tmp_path: Path, line: str) -> None:
    (tmp_path / "da.jsonl").write_text(f'"fine"\n{line}\n')
    with pytest.raises(ValueError, match=r"da\.jsonl:2: expected a JSON string, or an object with a string"):
        read_texts(tmp_path)["da"].documents()


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere: no such folder of target texts"):
        read_texts(tmp_path / "nowhere")


def test_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected target texts such as da\.txt or da\.txt\.gz, found none"):
        read_texts(tmp_path)


def test_two_files_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "da.txt").write_text("a")
    (tmp_path / "da.txt.gz").write_bytes(gzip.compress(b"a"))
    with pytest.raises(ValueError, match=r"two files named da: expected one"):
        read_texts(tmp_path)


def test_bad_utf8_says_where(tmp_path: Path) -> None:
    (tmp_path / "da.txt").write_bytes(b"fine\nnot \xff fine\n")
    with pytest.raises(ValueError, match=r"da\.txt:2: not UTF-8: byte 0xff"):
        read_texts(tmp_path)["da"].documents()


def test_damaged_gzip(tmp_path: Path) -> None:
    (tmp_path / "da.txt.gz").write_bytes(gzip.compress(b"text " * 1000)[:-20])
    text = read_texts(tmp_path)["da"]
    with pytest.raises(ValueError, match=r"da\.txt\.gz: cannot be read: "):
        text.documents()
    with pytest.raises(ValueError, match=r"da\.txt\.gz: cannot be read: "):
        assert text.job_key()


def test_a_preset_takes_its_languages_and_names_what_is_missing(tmp_path: Path) -> None:
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
        ValueError, match=r"preset danish needs texts of da: run `ecsuite data wikipedia` once"
    ):
        choose_texts(None, DANISH)


def test_presets_of_human_languages_find_what_was_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    assert preset_folder(None, DANISH) is None
    (tmp_path / "wikipedia").mkdir()
    assert preset_folder(None, DANISH) is None  # a download that came to nothing leaves an empty folder
    (tmp_path / "wikipedia" / "da.jsonl.gz").touch()
    assert preset_folder(None, DANISH) == tmp_path / "wikipedia"
    assert preset_folder(None, NANO) is None
    assert preset_folder(tmp_path, DANISH) == tmp_path


def test_fingerprints_follow_names_and_content(tmp_path: Path) -> None:
    for name, content in (("a", "x\n"), ("b", "x\n"), ("c", "y\n")):
        (tmp_path / f"{name}.txt").write_text(content)
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(b"x\n"))
    texts = read_texts(tmp_path)
    assert fingerprint([texts["a"], texts["c"]]).startswith("a+c#")
    renamed = [
        TextFile("a", tmp_path / f"{name}.txt{end}") for name, end in (("b", ""), ("c", ""), ("d", ".gz"))
    ]
    same = [fingerprint([text]) == fingerprint([texts["a"]]) for text in renamed]
    assert same == [True, False, True]


def test_texts_travel_to_other_processes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    text = read_texts(tmp_path)["a"]
    assert text.job_key() == pickle.loads(pickle.dumps(text)).job_key()


def test_embedded_texts_are_long_enough() -> None:
    texts = choose_texts(None, NANO)
    assert [text.name for text in texts] == ["artificial-1", "artificial-2"]
    for text in texts:
        assert isinstance(text, ArtificialText)
        assert sum(len(line.encode()) for line in text.documents()) >= text.num_bytes
