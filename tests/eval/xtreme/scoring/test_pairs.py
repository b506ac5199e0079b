"""Pairs: XTREME's columns with and without labels, quoting by csv, and files with named columns."""

import pytest


@pytest.fixture
def stored(tmp_path):
    def store(text):
        path = tmp_path / "dev-xx.tsv"
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return store


def plain(pairs):
    return [(pair.first, pair.second, pair.label) for pair in pairs]
