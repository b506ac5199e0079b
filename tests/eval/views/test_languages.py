"""Views of a language: examples, grids, concepts that messages are used for, speakers, and its page."""

import json
import math
from itertools import product

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.views import language as views
from ecsuite.eval.views.figures import language_page
from ecsuite.eval.views.figures.language_page import LanguagePage, draw_language
from ecsuite.eval.views.figures.tiles import shape_and_colour
from ecsuite.runtime.ragged import Ragged
from figure_texts import assert_readable

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
    unnamed = views.LanguageView(Corpus([[1], [2, 3], []]))
    assert unnamed.grid is None and unnamed.meaning(0) == "" and unnamed.examples(5) == [0, 1, 2]
    assert views.tiles(unnamed, ()).text == "(empty)" and unnamed.most_used_messages(3) == []
    features = views.LanguageView(Corpus([[1], [1]], meanings=np.ones((2, 2)) / 3))
    assert features.grid is None and features.most_used_messages(3)[0].about == ()
    many = Corpus([[1]] * 26, meanings=np.stack([np.arange(26), np.zeros(26, int)], axis=1))
    assert views.LanguageView(many).grid is None, "26 rows are shown as a table"
    meanings = list(product(range(3), repeat=3))
    messages = [[9 * who + value for value in meaning] for who in range(2) for meaning in meanings]
    spoken_by = [speaker for speaker in ("ann", "bob") for _ in meanings]
    language = views.LanguageView(Corpus(messages, meanings=meanings * 2, columns={"speaker": spoken_by}))
    assert set(views.example_table(language).to_frame()["speaker"]) == {"ann", "bob"}
    drawn = LanguagePage(language).columns()[-1]
    assert drawn.heading == "speaker" and set(drawn.texts) == {"ann", "bob"}


def test_titles_say_what_is_known(tmp_path):
    title, lines = views.heading(views.LanguageView(two_attributes()), tmp_path / "mine")
    assert title == "mine (game)"
    assert lines == ["accuracy 50.0% at step 9", "6 messages, 4 distinct; 4 symbols; mean length 2.0 without EOS"]
    odd = Corpus([[1]], metadata={"config": "?", "training": [1], "chance": None})
    assert views.heading(views.LanguageView(odd), tmp_path / "mine")[0] == "mine"
    config = {"name": "a\x1b[31m", **{part: {"kind": "\x07"} for part in ("task", "world", "channel")}}
    hostile = Corpus([[1]], metadata={"config": config, "training": {"accuracy": 0.5, "step": "\x1b]0;x"}})
    title, lines = views.heading(views.LanguageView(hostile), tmp_path / "mine\x1b")
    assert "\\x1b" in title and all(text.isprintable() for text in (title, *lines))


def test_curves_and_objects():
    assert views.sparkline(views.within_their_range([-20.0, -14.0, -8.0, math.nan]), "abc") == "abc"
    assert views.within_their_range([3.0, 3.0]) == [0.0, 0.0]
    assert views.within_their_range([1.0, 2.0, math.inf, -math.inf]) == [0.0, 1.0, 1.0, 0.0]
    assert all(map(math.isnan, views.within_their_range([math.nan])))
    assert list(views.thinned(range(100), 3)) == [0, 50, 99] and list(views.thinned([7], 3)) == [7]
    assert shape_and_colour(["color=red", "shape=star"])[0] == "star"
    assert shape_and_colour(["colour=#ff0000", "shape=box"]) == (None, "#ff0000")
    assert shape_and_colour(["shape=circle", "size=big"]) == ("circle", "white")
    assert shape_and_colour([])[0] is None


def shapes():
    pairs = [(color, shape) for color in range(2) for shape in range(3)]
    return Corpus(
        messages=Ragged.from_rows([[color + 1, 3 + shape] for color, shape in pairs] * 2),
        concepts=Ragged.from_rows([[color, 2 + shape] for color, shape in pairs] * 2),
        concept_names=("color=red", "color=blue", "shape=star", "shape=circle", "shape=ellipse"),
    )


RNG = np.random.default_rng(0)
CORPORA = {
    "shapes": shapes(),
    "long": Corpus(
        [RNG.integers(1, 400, length).tolist() for length in RNG.integers(0, 40, 12)],
        meanings=RNG.integers(0, 9, (12, 8)),
    ),
    "words": Corpus.from_strings(["$x_ extraordinarily two", "數 b"] * 5),
    "one": Corpus([[1]]),
    "empty": Corpus([[], []]),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CORPORA)
def test_texts_do_not_overlap(monkeypatch, tmp_path, name):
    caught = []
    monkeypatch.setattr(language_page, "save", lambda figure, *paths: caught.append(figure))
    lines = [{"step": step, "train": {"accuracy": 0.3}, "valid": {"accuracy": step / 9}} for step in range(1, 9)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    draw_language(views.LanguageView(CORPORA[name]), "A title " * 3, ["measures", "sizes"], tmp_path, "page.svg")
    assert_readable(caught[0])
