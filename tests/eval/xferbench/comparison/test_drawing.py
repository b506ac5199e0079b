"""The figure has a row per source, published scores only if comparable, and labels that do not overlap."""

from itertools import pairwise

import numpy as np
import pytest
from compared_sources import FULL, paper_results, source
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.xferbench.comparison import drawing
from ecsuite.eval.xferbench.comparison.anchors import SOURCES
from ecsuite.eval.xferbench.comparison.comparison import compare
from ecsuite.eval.xferbench.comparison.drawing import draw_comparison, spread
from ecsuite.runtime.errors import ConfigError

PAPER = compare(paper_results())


def of_level(name, level, signature=FULL):
    rows = [[level + place + 0.01 * seed * place for place in range(10)] for seed in range(2)]
    return source(name, *rows, targets=XFERBENCH_TARGETS, signature=signature)


@pytest.fixture
def figure(monkeypatch):
    """Draws a comparison, and returns its figure instead of writing a file."""

    def figure(comparison):
        kept = []
        monkeypatch.setattr(drawing, "save", lambda figure, *paths: kept.append(figure))
        drawing.draw_comparison(comparison)
        return kept[0]

    return figure


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_labels_move_as_little_as_need_be():
    assert spread([1, 5, 9], 2, 0, 10).tolist() == [1, 5, 9]
    assert spread([5, 5, 5], 2, 0, 10).tolist() == [3, 5, 7]
    assert spread([1, 1], 4, 0, 10).tolist() == [0, 4]
    assert spread([9.5, 10], 4, 0, 10).tolist() == [6, 10]


def test_labels_keep_apart_and_within_bounds():
    places = np.sort(np.random.default_rng(0).uniform(0, 10, 12))
    found = spread(places, 0.8, 0, 10)
    assert np.diff(found).min() >= 0.8 - 1e-9
    assert found[0] >= 0 and found[-1] <= 10 + 1e-9


def test_published_scores_are_drawn_where_they_hold(figure):
    drawn = figure(compare([of_level("words", 2.0), of_level("nothing", 2.1)]))
    scores, differences = drawn.axes
    assert {" no pretrain 6.072", " random 6.145"} <= set(texts(scores))
    assert len(texts(scores)) == len(SOURCES)
    boxes = [text.get_window_extent(FigureCanvasAgg(drawn).get_renderer()) for text in scores.texts]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
    assert all(0 <= box.y0 and box.y1 <= drawn.bbox.height for box in boxes)
    assert texts(differences) == [" baseline"]


def test_they_are_not_drawn_elsewhere(figure):
    other = FULL.replace("published-2024", "strict")
    scores, _ = figure(compare([of_level("words", 2.0, other), of_level("nothing", 2.1, other)])).axes
    assert texts(scores) == []


def test_rows_are_named_the_best_above(figure):
    drawn = figure(PAPER)
    scores, differences = drawn.axes
    names = [label.get_text() for label in scores.get_yticklabels()]
    assert (names[0], names[-1], len(names)) == ("Chinese", "Random", 17)
    assert scores.get_ylim()[0] > scores.get_ylim()[1]
    renderer = FigureCanvasAgg(drawn).get_renderer()
    boxes = [label.get_window_extent(renderer) for label in scores.get_yticklabels()]
    assert min(box.x0 for box in boxes) >= 0
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))
    for axes in (scores, differences):
        legend = axes.get_legend().get_window_extent(renderer)
        assert legend.y0 >= 0 and legend.x1 <= drawn.bbox.width


def test_without_a_baseline_there_is_one_panel(figure):
    assert len(figure(compare([of_level("words", 2.0), of_level("more", 2.1)])).axes) == 1


def test_one_source_and_few_languages(figure):
    [axes] = figure(compare([source("words", [4.0])])).axes
    assert [label.get_text() for label in axes.get_legend().get_texts()] == ["score"]


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_files_come_out_equal(tmp_path, suffix):
    comparison = compare(paper_results()[-3:])
    first, second = tmp_path / f"1.{suffix}", tmp_path / f"2.{suffix}"
    for file in (first, second):
        draw_comparison(comparison, file)
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 5000


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"expected the name of a picture, ending in \.svg or \.png$"):
        draw_comparison(compare(paper_results()[-2:]), tmp_path / "a.pdf")
