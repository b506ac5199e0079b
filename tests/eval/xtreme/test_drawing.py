"""The picture has two panels per task, one colour per backbone, and labels that do not overlap."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from ecsuite.eval.reports.canvas import COLOURS
from ecsuite.eval.xtreme import drawing
from ecsuite.eval.xtreme.drawing import arrange, draw
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError


def level(body, seed, task, language):
    return 30 + seed + 5 * (body == "corpus") + ord(language[0]) % 9


@pytest.fixture
def figure(monkeypatch):
    """Draws a result and returns the figure."""

    def figure(result):
        kept = []
        monkeypatch.setattr(drawing, "save", lambda figure, *paths: kept.append(figure))
        draw(result)
        return kept[0]

    return figure


def test_languages_are_grouped_with_large_groups_first():
    arranged = arrange(("ja", "fr", "en", "de", "es"), "family")
    assert [name for name, _, _ in arranged.groups] == ["IE: Germanic (2)", "IE: Romance (2)", "Japonic (1)"]
    assert arranged.order == (3, 2, 4, 1, 0)
    assert np.diff(arranged.positions) == pytest.approx([0.17, 0.27, 0.17, 0.27])
    assert [(first, last) for _, first, last in arranged.groups] == [
        (arranged.positions[0], arranged.positions[1]),
        (arranged.positions[2], arranged.positions[3]),
        (arranged.positions[4], arranged.positions[4]),
    ]
    scripts = arrange(("ja", "fr", "en", "de", "es"), "script")
    assert [name for name, _, _ in scripts.groups] == ["Latin (4)", "Japanese (1)"]


def test_an_unknown_language_has_a_group():
    assert [name for name, _, _ in arrange(("en", "xx"), "family").groups] == [
        "IE: Germanic (1)",
        "unknown (1)",
    ]


def test_two_panels_per_task(figure, make_result):
    drawn = figure(make_result(level))
    titles = [axes.get_title(loc="left") for axes in drawn.axes]
    assert titles == ["POS by family", "POS by script", "NER by family", "NER by script"]
    assert [axes.get_ylabel() for axes in drawn.axes] == ["F1", "", "F1", ""]
    family, script, *_ = drawn.axes
    assert [label.get_text() for label in family.get_xticklabels()] == ["en", "fr", "ja", "kk"]
    assert [label.get_text() for label in script.get_xticklabels()] == ["en", "fr", "kk", "ja"]
    assert [text.get_text() for text in script.texts] == ["Latin (2)", "Cyrillic (1)", "Japanese (1)"]


def test_colours_and_means_of_backbones(figure, make_result):
    result = make_result(level)
    drawn = figure(result)
    lines = {line.get_label(): line for line in drawn.axes[1].lines}
    assert list(lines) == list(result.bodies)
    assert [to_hex(line.get_color()).upper() for line in lines.values()] == list(COLOURS[:5])
    expected = [36 + ord(code[0]) % 9 for code in ("en", "fr", "kk", "ja")]
    assert lines["corpus"].get_ydata().tolist() == expected
    assert lines["random init"].get_ydata().tolist() == [score - 5 for score in expected]
    assert max(lines.values(), key=lambda line: line.get_zorder()) is lines["corpus"]
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.texts] == [*result.bodies, "baseline", "chance"]


def test_chance_and_the_baseline_are_lines(figure, make_result):
    drawn = figure(make_result(level))
    heights = {
        each.get_label(): [segment[0][1] for segment in each.get_segments()]
        for each in drawn.axes[0].collections
        if each.get_label() in ("baseline", "chance")
    }
    assert heights == {"baseline": [70, 20, 20, 20], "chance": [5, 4, 4, 4]}


def test_a_missing_baseline_is_not_drawn(figure, make_result):
    drawn = figure(make_result(level, baselines={}))
    (legend,) = drawn.legends
    assert "baseline" not in [text.get_text() for text in legend.texts]


@pytest.mark.parametrize(
    ("tasks", "languages"),
    [
        (("udpos",), ("en", "fr")),
        (("tydiqa", "mlqa"), None),
        pytest.param(tuple(TASKS), ("en", "fr"), marks=pytest.mark.slow),
        pytest.param(tuple(TASKS), None, marks=pytest.mark.slow),
    ],
)
def test_labels_do_not_overlap_and_are_inside(figure, make_result, tasks, languages):
    drawn = figure(make_result(level, seeds=(0,), tasks=tasks, languages=languages))
    renderer = FigureCanvasAgg(drawn).get_renderer()
    drawn.draw_without_rendering()
    texts = [
        text
        for axes in drawn.axes
        for text in (*axes.texts, *axes.get_xticklabels(), axes._left_title)
        if text.get_text()
    ]
    texts += drawn.legends[0].texts
    boxes = np.array([text.get_window_extent(renderer).extents for text in texts])  # x0, y0, x1, y1
    low, high = (
        np.maximum(boxes[:, None, :2], boxes[None, :, :2]),
        np.minimum(boxes[:, None, 2:], boxes[None, :, 2:]),
    )
    overlaps = (low < high).all(2)
    np.fill_diagonal(overlaps, False)
    assert not overlaps.any()
    assert boxes[:, :2].min() >= 0
    assert boxes[:, 2].max() <= drawn.bbox.width and boxes[:, 3].max() <= drawn.bbox.height


def test_the_same_result_gives_the_same_file(make_result, tmp_path):
    for name in ("a", "b"):
        draw(make_result(level, tasks=("udpos",)), tmp_path / f"{name}.svg", tmp_path / f"{name}.png")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_another_suffix_is_refused(make_result, tmp_path):
    with pytest.raises(ConfigError, match=r"expected the name of a picture, ending in \.svg or \.png"):
        draw(make_result(level), tmp_path / "a.gif")
