"""The page about a language: its parts, no overlapping texts, and symbols of one colour."""

import json

import numpy as np
import pytest
from figure_texts import assert_readable

from ecsuite.corpus import Corpus
from ecsuite.eval.views.figures import language_page
from ecsuite.eval.views.figures.language_page import draw_language
from ecsuite.eval.views.figures.tiles import shape_and_colour
from ecsuite.eval.views.language import LanguageView
from ecsuite.runtime.ragged import Ragged


def shapes(names=("color=red", "color=blue", "shape=star", "shape=circle", "shape=ellipse")):
    pairs = [(color, shape) for color in range(2) for shape in range(3)]
    return Corpus(
        messages=Ragged.from_rows([[color + 1, 3 + shape] for color, shape in pairs] * 2),
        concepts=Ragged.from_rows([[color, 2 + shape] for color, shape in pairs] * 2),
        concept_names=names,
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


@pytest.fixture
def figures(monkeypatch):
    caught = []
    monkeypatch.setattr(language_page, "save", lambda figure, *paths: caught.append(figure))
    return caught


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CORPORA)
def test_texts_do_not_overlap(figures, name, run):
    draw_language(LanguageView(CORPORA[name]), "A title " * 3, ["measures", "sizes"], run, "page.svg")
    assert_readable(figures[0])


@pytest.fixture
def run(tmp_path):
    lines = [
        {"step": step, "train": {"accuracy": 0.3}, "valid": {"accuracy": step / 9}} for step in range(1, 9)
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_objects_are_drawn_where_their_shape_is_known():
    assert shape_and_colour(["color=red", "shape=star"])[0] == "star"
    assert shape_and_colour(["colour=#ff0000", "shape=box"]) == (None, "#ff0000")
    assert (
        shape_and_colour(["shape=circle", "size=big"]) == ("circle", "white")
        and shape_and_colour([])[0] is None
    )
