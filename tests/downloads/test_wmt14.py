"""Sentence pairs become compressed lines of two columns; no character of a sentence ends a column or a line."""

import gzip

import pytest

from ecsuite.downloads import downloads
from ecsuite.downloads.downloads import read_sources
from ecsuite.downloads.wmt14 import NUM_PAIRS, SOURCE, prepare_wmt14
from ecsuite.runtime.errors import ConfigError

PAIRS = [
    ("One.", "Un."),
    ("Two\tor\nmore\u2028?", "Deux\r\nou plus\u00a0\u202f?"),
    ("", "Trois"),
    (" 4", "4"),
    ("5", "\n"),
]


@pytest.fixture
def pairs(hub):
    hub.rows["fr-en"] = [{"translation": {"en": english, "fr": french}} for english, french in PAIRS]
    return hub


def test_pairs_in_order_each_a_line(pairs, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "ROWS_BETWEEN_REPORTS", 2)
    shown, notes = [], []
    file = prepare_wmt14(
        tmp_path / "deep" / "en-fr.tsv.gz", progress=lambda *report: shown.append(report), note=notes.append
    )
    assert gzip.decompress(file.read_bytes()).decode().split("\n") == [
        "One.\tUn.",
        "Two or more ?\tDeux  ou plus\u00a0\u202f?",
        "4\t4",
        "",
    ]
    assert pairs.asked == [("wmt/wmt14", "fr-en", SOURCE.revision)]
    entry = read_sources(file.parent)["en-fr.tsv.gz"]
    assert (entry["pairs"], entry["asked"]) == (3, NUM_PAIRS)
    assert entry["characters"] == len("One.\tUn.") + len("Two or more ?\tDeux  ou plus  ?") + len("4\t4")
    assert shown == [("2 pairs", 2, NUM_PAIRS)]
    assert notes[-1] == "en-fr.tsv.gz: expected 3,000,000 pairs, fr-en has 3: all were used"


def test_names_and_numbers_are_checked_first(pairs, tmp_path):
    for file in (tmp_path / "pairs.tsv", tmp_path):
        with pytest.raises(ConfigError, match=r"expected the name of a gzip file, such as en-fr\.tsv\.gz"):
            prepare_wmt14(file)
    with pytest.raises(ConfigError, match="expected at least one pair, got 0"):
        prepare_wmt14(tmp_path / "pairs.gz", num_pairs=0)
    assert pairs.asked == []


def test_without_a_network_there_is_another_way(pairs, tmp_path):
    pairs.faults[None] = ConnectionError("no route")
    with pytest.raises(
        ConfigError, match=r"Without a network, translate with your own pairs, .* --pairs FILE"
    ):
        prepare_wmt14(tmp_path / "pairs.gz")
