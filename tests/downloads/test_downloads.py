"""Files of data sets are atomic, deterministic and not made twice; each error is one line."""

import gzip
import json
import os
import socket
import sys
import threading
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from ecsuite.downloads import downloads
from ecsuite.downloads.downloads import SOURCES, DataSource, make_file, only_download, read_sources
from ecsuite.files.data_folder import data_folder
from ecsuite.runtime.errors import ConfigError

SOURCE = DataSource(
    dataset="some/set",
    config="20231101.da",
    revision="1a",
    unit="articles",
    offline_advice="Ask a friend",
)


@pytest.fixture
def make(hub, tmp_path):
    """Makes `da.gz` of three rows; notes and reported numbers are in `make.notes` and `make.counts`."""

    def make(num_rows=3, **others):
        make.notes, make.counts = [], []
        make_file(
            tmp_path / "da.gz",
            replace(SOURCE, **others),
            lambda row: row["text"],
            num_rows=num_rows,
            as_line=json.dumps,
            progress=make.counts.append,
            note=make.notes.append,
        )
        return tmp_path / "da.gz"

    return make


def lines(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_rows_are_lines_and_the_record_says_what_they_are(hub, make, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "ROWS_BETWEEN_REPORTS", 2)
    path = make()
    assert lines(path) == [row["text"] for row in hub.rows[SOURCE.config]]
    assert hub.asked == [("some/set", "20231101.da", "1a")]
    assert make.notes == ["da.gz: downloading some/set 20231101.da from huggingface.co"]
    assert make.counts == [2]
    assert json.loads((tmp_path / SOURCES).read_text()) == {
        "da.gz": {
            "dataset": "some/set",
            "config": "20231101.da",
            "revision": "1a",
            "asked": 3,
            "articles": 3,
            "characters": 26 + 0 + 11,
            "sha256": sha256(path.read_bytes()).hexdigest(),
        }
    }
    assert names(tmp_path) == ["da.gz", SOURCES]


def test_bytes_depend_on_the_rows_alone_and_no_more_are_read(hub, make):
    """The head of a gzip file may hold a name and a time."""
    assert make(2).read_bytes()[3:8] == bytes(5)
    assert hub.num_read == 2


def test_fewer_rows_than_asked_are_told(hub, make):
    path = make(1000)
    assert make.notes[1] == "da.gz: expected 1,000 articles, 20231101.da has 3: all were used"
    assert read_sources(path.parent)["da.gz"]["articles"] == 3
    make(1000)
    assert len(hub.asked) == 1


def test_what_is_whole_needs_neither_network_nor_library(make, monkeypatch):
    before = make().read_bytes()
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert make().read_bytes() == before
    assert make.notes == ["da.gz: already complete"]


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda path, make: path.write_bytes(path.read_bytes()[:-1]),
         f"is damaged: its checksum differs from {SOURCES}"),
        (lambda path, make: (path.parent / SOURCES).write_text('{"da.gz": {"asked": 3}}'),
         "is of another data set"),
        (lambda path, make: make(1), "has 1 articles, expected 3"),
        (lambda path, make: make(None), "has all articles, expected 3"),
        (lambda path, make: make(revision="2b"), "is some/set 20231101.da at revision 2b"),
    ],
    ids=["damaged", "another record", "fewer rows", "all rows", "another revision"],
)  # fmt: skip
def test_another_file_is_made_again(hub, make, change, note):
    path = make()
    good = path.read_bytes()
    change(path, make)
    hub.asked.clear()
    make()
    assert make.notes[0] == f"da.gz: {note}; downloading it again"
    assert path.read_bytes() == good and len(hub.asked) == 1
    assert read_sources(path.parent)["da.gz"]["revision"] == "1a"


def test_a_file_of_the_users_is_not_overwritten(hub, make, tmp_path):
    (tmp_path / "da.gz").write_bytes(b"mine")
    with pytest.raises(
        ConfigError, match=r"da\.gz: exists, and sources\.json does not have it, so it is not"
    ):
        make()
    assert (tmp_path / "da.gz").read_bytes() == b"mine" and not hub.asked


def test_a_second_process_waits_and_takes_the_file_of_the_first(hub, make, tmp_path):
    """It says for whom it waits."""
    notes, going = [], threading.Event()

    def second():
        with only_download(tmp_path, lambda text: (notes.append(text), going.set())):
            notes.append("its turn")

    with only_download(tmp_path, notes.append):
        other = threading.Thread(target=second)
        other.start()
        assert going.wait(60)
        assert notes == [
            f"{tmp_path}: process {os.getpid()} on {socket.gethostname()}, {notes[0].partition(', ')[2]}"
        ]
        assert notes[0].endswith(", is downloading into it: waiting for its end")
    other.join(60)
    assert notes[1:] == ["its turn"]
    assert names(tmp_path) == []


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError("reset by peer")])
def test_an_interrupted_download_keeps_the_old_file(hub, make, tmp_path, fault):
    before, record = make(1).read_bytes(), read_sources(tmp_path)
    hub.faults[2] = fault
    with pytest.raises((KeyboardInterrupt, ConfigError)):
        make()
    assert ((tmp_path / "da.gz").read_bytes(), read_sources(tmp_path)) == (before, record)
    assert names(tmp_path) == ["da.gz", SOURCES]


def test_what_a_killed_process_left_is_removed(make, tmp_path):
    for name in ("..da.gz.new.123.tmp", f".{SOURCES}.123.tmp"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    make()
    assert names(tmp_path) == ["da.gz", SOURCES]


@pytest.mark.parametrize(
    ("place", "fault", "message"),
    [
        (2, RuntimeError("peer closed\nconnection"),
         "some/set 20231101.da: connection to huggingface.co lost after 2 articles (RuntimeError: peer closed"
         " connection); run the same command again. Ask a friend"),
        (1, TimeoutError(),
         "some/set 20231101.da: connection to huggingface.co lost after 1 articles (TimeoutError); run the same"
         " command again. Ask a friend"),
        (None, ConnectionError("no route"),
         "some/set 20231101.da: the connection to the hub failed (ConnectionError): run the same command again to go"
         " on. Ask a friend"),
        (None, RuntimeError("no JSON"),
         "some/set 20231101.da: the hub's answer was not understood (RuntimeError): run the same command again to go"
         " on. Ask a friend"),
        (None, FileNotFoundError("gone"), "huggingface.co does not have some/set 20231101.da: FileNotFoundError: gone"),
    ],
)  # fmt: skip
def test_errors_of_the_hub_are_one_line(hub, make, tmp_path, place, fault, message):
    hub.faults[place] = fault
    with pytest.raises(ConfigError) as caught:
        make()
    assert str(caught.value) == message
    assert names(tmp_path) == []


def test_a_config_that_the_hub_lacks(make):
    with pytest.raises(ConfigError) as caught:
        make(config="xx")
    message = str(caught.value)
    assert message.startswith(
        "huggingface.co does not have some/set xx: ValueError: BuilderConfig 'xx' not found."
    )
    assert message.endswith(" …") and len(message) < 400


def test_a_data_set_without_rows(hub, make, tmp_path):
    hub.rows["xx"] = []
    with pytest.raises(ConfigError, match=r"^some/set xx: expected articles, found none$"):
        make(config="xx")
    assert names(tmp_path) == []


def test_the_library_is_missing(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    wanted = r"^downloading needs the library `datasets` of Hugging Face: pip install -e '\.\[data\]' in the "
    wanted += "clone of ecsuite$"
    with pytest.raises(ConfigError, match=wanted):
        make()


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"da.gz": 1}', "\xff", "[" * 9999, '{"da.gz": {"asked": "3"}}']
)
def test_a_foreign_record_is_not_overwritten(make, tmp_path, content):
    record = tmp_path / SOURCES
    record.write_bytes(content.encode("latin-1"))
    wanted = r"sources\.json: expected a record of downloads; move the file, or choose another folder"
    with pytest.raises(ConfigError, match=wanted):
        make()
    assert record.read_bytes() == content.encode("latin-1")


def test_where_data_are_kept(monkeypatch):
    monkeypatch.setenv("ECSUITE_DATA", "~/data")
    assert data_folder("wmt14") == Path.home() / "data" / "wmt14"
    for unset in (lambda: monkeypatch.setenv("ECSUITE_DATA", ""), lambda: monkeypatch.delenv("ECSUITE_DATA")):
        unset()
        assert data_folder("wikipedia") == Path.home() / ".cache" / "ecsuite" / "wikipedia"
