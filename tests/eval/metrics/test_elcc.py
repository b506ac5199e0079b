"""ELCC's thirteen measures: computed values, identities of the published corpora, degenerate corpora."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from languages import scores_of

from ecsuite.eval.metrics.word_statistics import elcc


def measure(rows, **known):
    return {score.name: score.value for score in scores_of(elcc, rows, **known)}


def test_known_values():
    """Tokens 1 1 2 0 | 1 0: frequencies 3 1 2 of 6; bigrams 11 12 20 10, all different. In the collection's order."""
    expected = {
        "Token Count": 6,
        "Line Count": 2,
        "Tokens per Line": 3.0,
        "Tokens per Line SD": 1.0,
        "Unique Tokens": 3,
        "Unique Lines": 2,
        "1-gram Entropy": 1.4591479170272448,
        "1-gram Normalized Entropy": 1.4591479170272448 / np.log2(3),
        "2-gram Entropy": 2.0,
        "2-gram Conditional Entropy": 2.0 - 1.4591479170272448,
        "Entropy per Line": 1.4591479170272448 * 3,
        "EoS Token Present": True,
        "EoS Padding": False,
    }
    found = measure([[1, 1, 2, 0], [], [1, 0]])
    assert found == pytest.approx(expected) and list(found) == list(expected)


def test_bigrams_stay_within_lines():
    assert measure([[1, 2]] * 4)["2-gram Entropy"] == 0


@pytest.mark.parametrize("after", [[0, 0], [3, 0], [3]], ids=["padding", "symbols and EOS", "a symbol"])
def test_nothing_after_the_first_eos_is_counted(after):
    """Only whether there is padding is asked of what stands there."""
    rows = [[1, 1, 2, 0], [1, 0, *after], [0, 0], []]
    found, ended = (measure(each, eos=0) for each in (rows, [[1, 1, 2, 0], [1, 0], [0], []]))
    assert found == ended and found["Token Count"] == 7 and found["EoS Token Present"]
    assert measure(rows)["Token Count"] == 8 + len(after)  # where no EOS is known, all are symbols


def test_padding_is_told_and_not_counted():
    padded = [[1, 0, 0], [2, 2, 0]]
    assert measure(padded, eos=0) == measure([[1, 0], [2, 2, 0]], eos=0) | {"EoS Padding": True}
    assert measure(padded)["Token Count"] == 6  # as the collection counts it


@pytest.mark.parametrize(
    ("rows", "present", "padding", "why"),
    [
        ([[1, 0], [2, 2, 0]], True, False, "lines of different lengths"),
        ([[1, 0, 0], [2, 2, 0]], True, True, "one line ends early and is filled"),
        ([[1, 0], [2, 0]], True, False, "equal lengths, nothing filled"),
        ([[1, 0], [2, 3]], False, False, "another last symbol"),
        ([[0, 1, 0], [2, 2, 0]], False, False, "something follows the first EOS"),
        ([[5]], True, False, "one symbol is its own end"),
    ],
)
def test_eos(rows, present, padding, why):
    values = measure(rows)
    assert (values["EoS Token Present"], values["EoS Padding"]) == (present, padding), why


@pytest.mark.parametrize("rows", [[], [[]], [[], []]])
def test_empty_messages(rows):
    scores = {score.name: score for score in scores_of(elcc, rows)}
    for name in ("Token Count", "Line Count", "Unique Tokens", "Unique Lines"):
        assert scores.pop(name).value == 0
    assert {score.value for score in scores.values()} == {None}
    assert {score.reason for score in scores.values()} == {"every message is empty"}


def test_reasons_for_single_symbols():
    reasons = {s.name: s.reason for s in scores_of(elcc, [[7], [7]])}
    assert reasons["1-gram Normalized Entropy"] == "there is only one distinct symbol"
    assert reasons["2-gram Conditional Entropy"] == reasons["2-gram Entropy"] == "no message has two symbols"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=6), min_size=1, max_size=12))
def test_identities_that_hold_in_all_published_corpora(rows):
    values = measure(rows)
    assert values["Tokens per Line"] == pytest.approx(values["Token Count"] / values["Line Count"])
    if values["Unique Tokens"] > 1:
        normalized = values["1-gram Entropy"] / np.log2(values["Unique Tokens"])
        assert values["1-gram Normalized Entropy"] == pytest.approx(normalized)
    conditional = values["2-gram Entropy"] - values["1-gram Entropy"]
    assert values["2-gram Conditional Entropy"] == pytest.approx(conditional)
    per_line = values["1-gram Entropy"] * values["Token Count"] / values["Line Count"]
    assert values["Entropy per Line"] == pytest.approx(per_line)
