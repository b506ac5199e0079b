"""Sentence pairs become compressed lines of two columns; no character of a sentence ends a column or a line."""

import pytest

from ecsuite.downloads.wmt14 import prepare_wmt14
from ecsuite.runtime.errors import ConfigError

PAIRS = [
    ("One.", "Un."),
    ("Two\tor\nmore\u2028?", "Deux\r\nou plus\u00a0\u202f?"),
    ("", "Trois"), (" 4", "4"), ("5", "\n"),
]  # fmt: skip


@pytest.fixture
def pairs(hub):
    hub.rows["fr-en"] = [{"translation": {"en": english, "fr": french}} for english, french in PAIRS]
    return hub


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
