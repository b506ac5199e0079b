"""Files of data sets are atomic, deterministic and not made twice; each error is one line."""

import json
import os
from dataclasses import replace

import pytest

from ecsuite.downloads.downloads import SOURCES, DataSource, make_file, read_sources
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
    assert message.startswith(
        "huggingface.co does not have some/set xx: ValueError: BuilderConfig 'xx' not found."
    )
    assert message.endswith(" …") and len(message) < 400
