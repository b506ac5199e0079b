"""Views of a language: examples, meanings as texts, grids, and the concepts that messages are used for."""

import math

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.views.language import (
    LanguageView,
    heading,
    sparkline,
    thinned,
    tiles,
    within_their_range,
)
from ecsuite.runtime.ragged import Ragged

NAMES = ("color=red", "color=blue", "shape=star", "shape=box", "shape=disc")


def two_attributes():
    """A symbol for the colour, then one for the shape; star and box have the same one."""
    pairs = [(color, shape) for color in range(2) for shape in range(3)]
    return Corpus(
        messages=Ragged.from_rows([[color + 1, 3 + shape // 2] for color, shape in pairs]),
        concepts=Ragged.from_rows([[color, 2 + shape] for color, shape in pairs]),
        concept_names=NAMES,
        metadata={"config": {"name": "game"}, "training": {"accuracy": 0.5, "step": 9}},
    )


def test_other_corpora_have_no_grid():
    unnamed = LanguageView(Corpus([[1], [2, 3], []]))
    assert unnamed.grid is None and unnamed.meaning(0) == "" and unnamed.examples(5) == [0, 1, 2]
    assert tiles(unnamed, ()).text == "(empty)" and unnamed.most_used_messages(3) == []
    features = LanguageView(Corpus([[1], [1]], meanings=np.ones((2, 2)) / 3))
    assert features.grid is None and features.most_used_messages(3)[0].about == ()
    many = Corpus([[1]] * 26, meanings=np.stack([np.arange(26), np.zeros(26, int)], axis=1))
    assert LanguageView(many).grid is None, "26 rows are shown as a table"


def test_titles_say_what_is_known(tmp_path):
    title, lines = heading(LanguageView(two_attributes()), tmp_path / "mine")
    assert title == "mine (game)"
    assert lines == [
        "accuracy 50.0% at step 9",
        "6 messages, 4 distinct; 4 symbols; mean length 2.0 without EOS",
    ]
    odd = Corpus([[1]], metadata={"config": "?", "training": [1], "chance": None})
    assert heading(LanguageView(odd), tmp_path / "mine")[0] == "mine"
    config = {"name": "a\x1b[31m", **{part: {"kind": "\x07"} for part in ("task", "world", "channel")}}
    hostile = Corpus([[1]], metadata={"config": config, "training": {"accuracy": 0.5, "step": "\x1b]0;x"}})
    title, lines = heading(LanguageView(hostile), tmp_path / "mine\x1b")
    assert "\\x1b" in title and all(text.isprintable() for text in (title, *lines))


def test_curves_of_rewards_are_drawn_within_their_range():
    assert sparkline(within_their_range([-20.0, -14.0, -8.0, math.nan]), "abc") == "abc"
    assert within_their_range([3.0, 3.0]) == [0.0, 0.0]
    assert within_their_range([1.0, 2.0, math.inf, -math.inf]) == [0.0, 1.0, 1.0, 0.0]
    assert all(map(math.isnan, within_their_range([math.nan])))
    assert list(thinned(range(100), 3)) == [0, 50, 99] and list(thinned([7], 3)) == [7]
