"""Contact sheets: what is on the page, where, and that nothing overlaps."""

import itertools
import sys
import xml.etree.ElementTree as ElementTree
from io import BytesIO

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.image import imread

from ecsuite.games.pictures import rounds as contact_sheet
from ecsuite.games.pictures.rounds import PER_LINE, ShownRound, draw_rounds, lay_out
from ecsuite.runtime.errors import ConfigError


def plain(number, shade=200):
    return np.full((number, 64, 64, 3), shade, dtype=np.uint8)


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def heights(figure, word):
    """Distances from the top of the page of all texts that are `word`."""
    return [text.get_position()[1] for text in figure.axes[0].texts if text.get_text() == word]


def boxes(figure):
    """Extents of all texts and pictures in pixels, frames and bars left out."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    axes = figure.axes[0]
    return [thing.get_window_extent(canvas.get_renderer()) for thing in (*axes.texts, *axes.images)]


@pytest.fixture
def two_rounds():
    rng = np.random.default_rng(0)
    return [
        ShownRound(
            objects=plain(24),
            labels=np.arange(24) % 2 == 0,
            title="round 0: color=yellow",
        ),
        ShownRound(
            objects=rng.integers(10, size=(5, 2)),
            labels=np.arange(5) < 2,
            title="round 1 " * 30,
        ),
    ]


def test_nothing_overlaps_and_all_is_on_the_page(two_rounds):
    figure = lay_out(two_rounds, "A long title, " * 20)
    extents = boxes(figure)
    assert len(extents) > 24 + 5 * 2 + 10
    for one, other in itertools.combinations(extents, 2):
        assert (min(one.x1, other.x1) - max(one.x0, other.x0) < 1) or (
            min(one.y1, other.y1) - max(one.y0, other.y0) < 1
        )
    for extent in extents:
        assert extent.x0 >= 0 and extent.y0 >= 0
        assert extent.x1 <= figure.bbox.width and extent.y1 <= figure.bbox.height


def test_targets_are_above_distractors():
    pictures = plain(6)
    pictures[:, 0, 0, 0] = np.arange(6)
    labels = np.array([False, True, False, True, True, False])
    figure = lay_out([ShownRound(objects=pictures, labels=labels)], "")
    images = [(image.get_array()[0, 0, 0], *image.get_extent()) for image in figure.axes[0].images]
    assert [number for number, *_ in images] == [1, 3, 4, 0, 2, 5]
    lowest_target = max(bottom for _, _, _, bottom, _ in images[:3])
    assert all(top > lowest_target for *_, top in images[3:])
    assert heights(figure, "targets")[0] < heights(figure, "distractors")[0]


def test_further_objects_follow_in_the_next_line():
    labels = np.ones(PER_LINE + 2, dtype=bool)
    figure = lay_out([ShownRound(objects=plain(len(labels)), labels=labels)], "")
    first, below = (figure.axes[0].images[place].get_extent() for place in (0, PER_LINE))
    assert below[:2] == first[:2] and below[3] > first[2]


def test_pixels_of_a_picture_are_sharp_squares():
    """Each is 2 x 2 pixels of the page, of its very colour, wherever the picture is."""
    pictures = np.random.default_rng(0).integers(256, size=(13, 64, 64, 3)).astype(np.uint8)
    shown = ShownRound(objects=pictures, labels=np.arange(13) < 12, title="one")
    page = np.rint(imread(BytesIO(draw_rounds([shown], title="two")))[..., :3] * 255).astype(np.uint8)
    for image, picture in zip(lay_out([shown], "two").axes[0].images, pictures, strict=True):
        left, _, _, top = (round(128 * place) for place in image.get_extent())
        assert (page[top : top + 128, left : left + 128] == picture.repeat(2, 0).repeat(2, 1)).all()


def test_values_that_all_targets_share_are_bold():
    values = np.array([[1, 2, 3], [1, 5, 3], [1, 2, 4], [0, 5, 3]])
    labels = np.array([True, True, False, False])
    figure = lay_out([ShownRound(objects=values, labels=labels)], "")
    lines = [text for text in figure.axes[0].texts if text.get_text().startswith("attribute")]
    assert [line.get_text() for line in lines[:3]] == ["attribute0=1", "attribute1=2", "attribute2=3"]
    frames = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 5]
    for line, frame in zip(lines[::3], frames, strict=True):
        assert min(frame.get_ydata()) < line.get_position()[1] < max(frame.get_ydata())
    bold = [[line.get_weight() == "bold" for line in lines[start : start + 3]] for start in (0, 3, 6, 9)]
    assert bold == [[True, False, True], [True, False, True], [True, False, False], [False, False, True]]


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


@pytest.mark.parametrize(
    ("rounds", "kind", "message"),
    [
        ([], "png", "a contact sheet needs a round with an object"),
        (
            [ShownRound(objects=plain(0), labels=np.zeros(0, dtype=bool))],
            "png",
            "a contact sheet needs a round with an object",
        ),
        (
            [ShownRound(objects=np.zeros((2, 512), dtype=np.float32), labels=np.ones(2, dtype=bool))],
            "png",
            "a contact sheet shows pictures or attribute values, but these objects are float32 of shape (512,): "
            "leave out --plot to see them as text",
        ),
        (
            [ShownRound(objects=np.zeros((1, 5), dtype=np.int64), labels=np.ones(1, dtype=bool))] * 5,
            "png",
            "a contact sheet of 5 rounds is too long to draw: show fewer",
        ),
        ([], "svgg", "unknown picture format 'svgg'; did you mean 'svg'? choices: png, svg"),
    ],
)
def test_what_cannot_be_drawn_is_said(rounds, kind, message, monkeypatch):
    monkeypatch.setattr(contact_sheet, "MAX_HEIGHT", 4.0)
    with pytest.raises(ConfigError) as error:
        draw_rounds(rounds, format=kind)
    assert str(error.value) == message


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigError) as error:
        draw_rounds([ShownRound(objects=plain(1), labels=np.array([True]))])
    assert str(error.value) == "a picture needs matplotlib: pip install -e '.[plots]' in the clone of ecsuite"
