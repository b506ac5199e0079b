"""Sentence pairs become compressed lines of two columns; no character of a sentence ends a column or a line."""

import gzip
import sys
from types import SimpleNamespace

import pytest

from ecsuite.config import ConfigError
from ecsuite.downloads import downloads
from ecsuite.downloads.downloads import read_sources
from ecsuite.downloads.wmt14 import NUM_PAIRS, SOURCE, prepare_wmt14

PAIRS = [
    ("One.", "Un."),
    ("Two\tor\nmore\u2028?", "Deux\r\nou plus\u00a0\u202f?"),
    ("", "Trois"),
    (" 4", "4"),
    ("5", "\n"),
]


@pytest.fixture
def asked(monkeypatch):
    asked = []

    def load_dataset(path, name, **options):
        asked.append((path, name, options))
        return [{"translation": {"en": english, "fr": french}} for english, french in PAIRS]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return asked


def test_pairs_in_order_each_a_line(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "ROWS_BETWEEN_REPORTS", 2)
    shown = []
    file = prepare_wmt14(tmp_path / "deep" / "en-fr.tsv.gz", num_pairs=3, progress=lambda *x: shown.append(x))
    assert gzip.decompress(file.read_bytes()).decode().split("\n") == [
        "One.\tUn.",
        "Two or more ?\tDeux  ou plus\u00a0\u202f?",
        "4\t4",
        "",
    ]
    options = {"revision": SOURCE.revision, "split": "train", "streaming": True}
    assert asked == [("wmt/wmt14", "fr-en", options)]
    entry = read_sources(file.parent)["en-fr.tsv.gz"]
    assert (entry["pairs"], entry["asked"]) == (3, 3)
    assert entry["characters"] == len("One.\tUn.") + len("Two or more ?\tDeux  ou plus  ?") + len("4\t4")
    assert shown == [("2 pairs", 2, 3)]


def test_a_whole_file_is_not_made_again(asked, tmp_path):
    notes = []
    for _ in range(2):
        prepare_wmt14(tmp_path / "pairs.gz", num_pairs=2, note=notes.append)
    assert len(asked) == 1
    assert notes[-1] == "pairs.gz: already complete"


def test_as_many_pairs_as_there_are(asked, tmp_path):
    notes = []
    prepare_wmt14(tmp_path / "pairs.gz", note=notes.append)
    assert NUM_PAIRS == 3_000_000
    assert notes[-1] == "pairs.gz: expected 3,000,000 pairs, fr-en has 3: all were used"


def test_names_and_numbers_are_checked_first(asked, tmp_path):
    for file in (tmp_path / "pairs.tsv", tmp_path):
        with pytest.raises(ConfigError, match=r"expected the name of a gzip file, such as en-fr\.tsv\.gz"):
            prepare_wmt14(file)
    with pytest.raises(ConfigError, match="expected at least one pair, got 0"):
        prepare_wmt14(tmp_path / "pairs.gz", num_pairs=0)
    assert asked == []


def test_no_network(monkeypatch, tmp_path):
    def load_dataset(*_, **__):
        raise ConnectionError("no route")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    with pytest.raises(ConfigError) as caught:
        prepare_wmt14(tmp_path / "pairs.gz")
    assert str(caught.value) == (
        "wmt/wmt14 fr-en: huggingface.co cannot be reached (ConnectionError: no route). Without a network, translate"
        " with your own pairs, `source<TAB>target` per line: --pairs FILE"
    )
