"""Rounds of a game as a picture: titles and rounds in order, the same bytes again, and mistakes in a line."""

import sys
import xml.etree.ElementTree as ElementTree
from io import BytesIO

import numpy as np
import pytest
from matplotlib.image import imread

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.pictures import rounds as contact_sheet
from ecsuite.games.pictures.rounds import ShownRound, draw_rounds, lay_out, make_preview
from ecsuite.runtime.errors import ConfigError


def plain(number, shade=200):
    return np.full((number, 64, 64, 3), shade, dtype=np.uint8)


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def heights(figure, word):
    """Distances from the top of the page of all texts that are `word`."""
    return [text.get_position()[1] for text in figure.axes[0].texts if text.get_text() == word]


@pytest.fixture
def two_rounds():
    rng = np.random.default_rng(0)
    return [
        ShownRound(objects=plain(24), labels=np.arange(24) % 2 == 0, title="round 0: color=yellow"),
        ShownRound(objects=rng.integers(10, size=(5, 2)), labels=np.arange(5) < 2, title="round 1 " * 30),
    ]


def test_rounds_follow_one_another_under_the_title(two_rounds):
    figure = lay_out(two_rounds, "a title with $signs$ and _underscores_")
    assert texts(figure)[:2] == ["a title with $signs$ and _underscores_", "round 0: color=yellow"]
    first, second = heights(figure, "targets")
    assert heights(figure, texts(figure)[0])[0] < heights(figure, "round 0: color=yellow")[0] < first
    assert heights(figure, "distractors")[0] < second < heights(figure, "distractors")[1]


@pytest.mark.slow
def test_files_are_what_they_say_and_always_the_same(two_rounds):
    png, svg = (draw_rounds(two_rounds, title="t", format=kind) for kind in ("png", "svg"))
    assert imread(BytesIO(png)).shape[1] == round((0.625 + 10 * 1.0625 - 0.0625 + 0.25) * 128)
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(root.iter("{http://www.w3.org/2000/svg}image"))) == 24
    assert draw_rounds(two_rounds, title="t") == png
    assert draw_rounds(two_rounds, title="t", format="svg") == svg


def no_labels(objects):
    return ShownRound(objects=objects, labels=np.ones(len(objects), dtype=bool))


@pytest.mark.parametrize(
    ("rounds", "kind", "message"),
    [
        ([], "png", "a contact sheet needs a round with an object"),
        ([no_labels(plain(0))], "png", "a contact sheet needs a round with an object"),
        ([no_labels(np.zeros((2, 512), dtype=np.float32))], "png", "a contact sheet shows pictures or attribute va"),
        ([no_labels(np.zeros((1, 5), dtype=np.int64))] * 5, "png", "a contact sheet of 5 rounds is too lo"),
        ([], "svgg", "unknown picture format 'svgg'; did you mean 'svg'? choices: png, svg"),
        ([no_labels(plain(1))], None, "a picture needs matplotlib: pip install -e '.[plots]' in the"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(rounds, kind, message, monkeypatch):
    monkeypatch.setattr(contact_sheet, "MAX_HEIGHT", 4.0)
    if kind is None:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigError) as error:
        draw_rounds(rounds, format=kind or "png")
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


FEW = ("task.num_targets=2", "task.num_distractors=2", "training.batch_size=4")


def test_the_same_rounds_are_the_same_bytes_and_splits_differ(tmp_path):
    experiment = load_experiment("shape_qt", [*FEW, "world.images_per_batch=8"])
    sheets = []
    for name, split in (("a", "train"), ("b", "train"), ("c", "valid")):
        make_preview(experiment, num_rounds=1, split=split).draw(tmp_path / f"{name}.png")
        sheets.append((tmp_path / f"{name}.png").read_bytes())
    assert sheets[0] == sheets[1] != sheets[2]
