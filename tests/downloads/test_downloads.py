import gzip
import json
import os
from dataclasses import replace

import pytest

from ecsuite.downloads.downloads import SOURCES, DataSource, make_file, read_sources
from ecsuite.downloads.wmt14 import prepare_wmt14
from ecsuite.runtime.errors import ConfigError

SOURCE = DataSource(
    dataset="some/set", config="20231101.da", revision="1a", unit="articles", offline_advice="Ask a friend"
)


@pytest.fixture
def make(hub, tmp_path):
    """Makes `da.gz` of three rows; notes and reported numbers are in `make.notes` and `make.counts`."""

    def make(num_rows=3, **others):
        make.notes, make.counts = [], []
        make_file(
            tmp_path / "da.gz", replace(SOURCE, **others), lambda row: row["text"], num_rows=num_rows,
            as_line=json.dumps, progress=make.counts.append, note=make.notes.append,
        )  # fmt: skip
        return tmp_path / "da.gz"

    return make


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_fewer_rows_than_asked_are_told(hub, make):
    path = make(1000)
    assert make.notes[1] == "da.gz: expected 1,000 articles, 20231101.da has 3: all were used"
    assert read_sources(path.parent)["da.gz"]["articles"] == 3
    make(1000)
    assert len(hub.asked) == 1


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError("reset by peer")])
def test_an_interrupted_download_keeps_the_old_file(hub, make, tmp_path, fault):
    before, record = make(1).read_bytes(), read_sources(tmp_path)
    hub.faults[2] = fault
    with pytest.raises((KeyboardInterrupt, ConfigError)):
        make()
    assert ((tmp_path / "da.gz").read_bytes(), read_sources(tmp_path)) == (before, record)
    assert names(tmp_path) == ["da.gz", SOURCES]


def test_a_file_of_the_users_is_not_overwritten(hub, make, tmp_path):
    (tmp_path / "da.gz").write_bytes(b"mine")
    with pytest.raises(ConfigError, match=r"da\.gz: exists, and sources\.json does not have it, so it is"):
        make()
    assert (tmp_path / "da.gz").read_bytes() == b"mine" and not hub.asked


def test_bytes_depend_on_the_rows_alone_and_no_more_are_read(hub, make):
    assert make(2).read_bytes()[3:8] == bytes(5)  # the head of a gzip file may hold a name and a time
    assert hub.num_read == 2


def test_what_a_killed_process_left_is_removed(make, tmp_path):
    for name in ("..da.gz.new.123.tmp", f".{SOURCES}.123.tmp"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    make()
    assert names(tmp_path) == ["da.gz", SOURCES]


def test_a_config_that_the_hub_lacks(make):
    with pytest.raises(ConfigError) as caught:
        make(config="xx")
    message = str(caught.value)
    assert message.startswith("huggingface.co does not have some/set xx: ValueError: BuilderConfig 'xx' not found.")
    assert message.endswith(" …") and len(message) < 400


def test_pairs_of_sentences(hub, tmp_path):
    pairs = [
        ("One.", "Un."),
        ("Two\tor\nmore\u2028?", "Deux\r\nou plus\u00a0\u202f?"),
        ("", "Trois"), (" 4", "4"), ("5", "\n"),
    ]  # fmt: skip
    hub.rows["fr-en"] = [{"translation": {"en": english, "fr": french}} for english, french in pairs]
    for file in (tmp_path / "pairs.tsv", tmp_path):
        with pytest.raises(ConfigError, match=r"expected the name of a gzip file, such as en-fr\.tsv\.gz"):
            prepare_wmt14(file)
    with pytest.raises(ConfigError, match="expected at least one pair, got 0"):
        prepare_wmt14(tmp_path / "pairs.gz", num_pairs=0)
    assert hub.asked == []
    prepare_wmt14(tmp_path / "pairs.gz")
    lines = gzip.decompress((tmp_path / "pairs.gz").read_bytes()).decode().split("\n")
    assert lines == [
        "One.\tUn.",
        "Two or more ?\tDeux  ou plus\u00a0\u202f?",
        "4\t4",
        "",
    ]  # no sign ends a column or a line
    hub.faults[None] = ConnectionError("no route")
    with pytest.raises(ConfigError, match=r"Without a network, translate with your own pairs, .* --pairs"):
        prepare_wmt14(tmp_path / "other.gz")
