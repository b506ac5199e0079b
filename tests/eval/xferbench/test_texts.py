"""Folders of texts are read, or rejected with a one-line error."""

import gzip

import pytest

from ecsuite.eval.xferbench.texts import TextFile, fingerprint, read_texts
from ecsuite.runtime.errors import ConfigError

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


def test_texts_are_known_by_name_and_content(tmp_path):
    files = {"a.txt": b"x\n", "c.txt": b"y\n", "d.txt.gz": gzip.compress(b"x\n")}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    same, *others = (TextFile("a", tmp_path / name) for name in files)
    assert [text.job_key() == same.job_key() for text in others] == [False, True]
    assert [fingerprint([text]) == fingerprint([same]) for text in others] == [False, True]
    assert fingerprint([same, TextFile("c", tmp_path / "c.txt")]).startswith("a+c#")
    content = b'\n"one line"\n{"text": "another"}\n'
    texts = []
    for name in ("a.txt", "a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(content)
        texts.append(TextFile("a", tmp_path / name))
    plain, lines, same = texts
    assert plain.documents() != lines.documents() == same.documents()
    assert plain.job_key() != lines.job_key() == same.job_key()
    assert fingerprint([plain]) != fingerprint([lines]) == fingerprint([same])
