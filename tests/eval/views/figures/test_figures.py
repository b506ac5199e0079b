"""The four figures: what they say and show, and that any names and numbers can be read, without a warning."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from figure_texts import assert_readable, texts
from matplotlib.collections import FillBetweenPolyCollection, LineCollection

from ecsuite.eval.views.figures.bars import Bar, bars
from ecsuite.eval.views.figures.canvas import FONT_SIZE, WIDTHS, as_svg, label, labels, save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.eval.views.figures.heat_map import heat_map
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.runtime.errors import ConfigError

ODD = ("$a_b$", "_hidden", "數 word", "a very long name " * 4, "</svg><script>", "")
"""Names that are formulas, left out, without a glyph, too long, or markup to those who do not take care."""


def words(figure):
    return set(texts(figure)[0])


def series_of(axes):
    """Lines with marks, without those that are drawn for the legend."""
    return [line for line in axes.lines if len(line.get_xdata()) and line.get_marker() != "None"]


FIGURES = {
    "heat map": lambda names: heat_map(
        np.arange(36.0).reshape(6, 6) - 9, names, names, names=names[:2], title=names[3]
    ),
    "intervals": lambda names: intervals(
        Panel(points=[Point(row=name, value=at - 2, low=-3, high=at, text=name[:9]) for at, name in enumerate(names)]),
        Panel(points=[Point(row=names[0], value=None, series=name) for name in names]),
        title=names[3],
    ),
    "bars": lambda names: bars(
        [Bar(group=one, series=name, value=at - 3, text=name[:6]) for one in names for at, name in enumerate(names)]
    ),
    "curves": lambda names: curves(
        [Curve(x=[1, 2], y=[place, None], name=name, panel=names[place // 2]) for place, name in enumerate(names)],
        x=names[3][:20], y=names[0], heading=names[0], title=names[3],
    ),
}  # fmt: skip
"""Each figure with these names wherever it has some."""


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", FIGURES)
def test_any_names_can_be_read_and_fit_a_paper(kind):
    figure = FIGURES[kind](ODD)
    assert_readable(figure)
    shown = " ".join(texts(figure)[0])
    assert "$a_b$" in shown and "? word" in shown and "_hidden" in shown
    assert figure.get_size_inches()[0] in WIDTHS
    assert (
        min(text.get_fontsize() for text in figure.findobj(lambda each: hasattr(each, "get_fontsize")))
        >= FONT_SIZE
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", FIGURES)
def test_as_part_of_a_page_texts_are_texts_and_nothing_is_a_style_or_markup_of_names(kind):
    text = as_svg(FIGURES[kind](ODD), "a <title>", "what & how")
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and [each.text for each in root][:2] == ["a <title>", "what & how"]
    assert (
        "style=" not in text and "<style" not in text and "<script" not in text and ' id="figure' not in text
    )
    assert 'fill="var(--ink)"' in text
    assert "$a_b$" in {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}


def test_title_and_notes_are_a_caption_and_not_in_the_figure(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    point = Point(row="a", value=1.0)
    figure = intervals(Panel(points=[point]), title="scores of p$\\frac_1$", notes=["95 % intervals"])
    assert_readable(figure)
    assert not [text for text in texts(figure)[0] if "frac" in text or "95 %" in text]
    save(figure, tmp_path / "a.svg", tmp_path / "a.pdf")
    assert capsys.readouterr().err == f"{tmp_path / 'a.svg'}: scores of p$\\frac_1$. 95 % intervals\n"
    assert "frac_1$\n95 % intervals</dc:title>" in (tmp_path / "a.svg").read_text()


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        figure = curves([Curve(x=[1, 2], y=[1, 2], low=[0, 1], high=[2, 3])], x="x", y="y")
        save(figure, *(tmp_path / f"{name}.{suffix}" for suffix in ("svg", "pdf", "png")))
        (tmp_path / f"{name}.txt").write_text(as_svg(figure, "t", "d"))
    for suffix in ("svg", "pdf", "png", "txt"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    with pytest.raises(ConfigError, match=r"ending in \.svg, \.pdf, \.png"):
        save(figure, tmp_path / "c.svg", tmp_path / "c.eps")
    assert not (tmp_path / "c.svg").exists() and "<dc:date>" not in (tmp_path / "a.svg").read_text()


def test_a_heat_map_has_its_numbers_readable_on_their_colours():
    figure = heat_map([[0.1, None], [math.inf, 1.0]], ["a", "b"], ["x", "y"], names=("rows", "columns"))
    assert {"0.1", "1", "-", "rows", "columns", "a", "x"} <= words(figure)
    written = {text.get_text(): text.get_color() for text in figure.axes[0].texts}
    assert written["0.1"] == "white" and written["1"] == "black"


@pytest.mark.parametrize("values", [[[None]], [[1.0, 1.0]], [[-2.0], [-1.0]]])
def test_small_and_empty_heat_maps(values):
    assert_readable(heat_map(values, ["row"] * len(values), ["column"] * len(values[0])))


def test_many_cells_have_no_numbers_but_a_scale(no_layout):
    figure = heat_map(
        np.random.default_rng(0).random((60, 12)),
        range(60),
        range(12),
        scale="rank",
        ends=("lowest", "highest"),
    )
    assert {"59", "11", "rank", "lowest", "highest"} <= words(figure) and not figure.axes[0].texts


def test_intervals_have_rows_by_heading_and_series_within_a_row():
    points = [
        Point(
            row="topsim", group="Is it?", value=0.5, low=0.4, high=0.6, series="score", direction="higher", text="above"
        ),
        Point(row="topsim", group="Is it?", value=0.1, low=0.0, high=0.2, series="chance"),
        Point(row="other", group="Is it?", value=0.2, series="score", is_faint=True, single=(0.1, 0.2, 0.3)),
    ]  # fmt: skip
    figure = intervals(Panel(points=points, axis="value", lines={"zero": 0}), title="mine")
    assert_readable(figure)
    assert {"topsim ↑", "other", "Is it?", "score", "chance", "one seed", "zero", "above", "value"} <= words(
        figure
    )
    marks = series_of(figure.axes[0])
    assert [line.get_xdata()[0] for line in marks if len(line.get_xdata()) == 1] == [0.5, 0.1, 0.2]
    assert len({line.get_marker() for line in marks}) == 3
    heights = [line.get_ydata()[0] for line in marks]
    assert heights[0] < heights[1] < heights[2]


@pytest.mark.slow
def test_thirty_rows_and_none():
    figure = intervals(Panel(points=[Point(row=f"row {place}", value=1) for place in range(30)]))
    assert_readable(figure)
    assert_readable(intervals(Panel(points=[Point(row="a", value=math.nan)])))
    assert intervals(Panel(points=[]), title="nothing").get_size_inches()[0] in WIDTHS


def test_bars_say_what_is_missing_and_have_a_paper_s_value_beside():
    given = [
        Bar(
            group="PERM",
            series="gru",
            value=2.0,
            low=1.5,
            high=2.5,
            reference=1.8,
            reference_low=1.7,
            reference_high=1.9,
        ),
        Bar(group="PERM", series="lstm", value=None),
        Bar(group="HOL", series="gru", value=20, text=">20", reference=20, is_lower_bound=True),
        Bar(group="HOL", series="lstm", value=-3.0),
    ]
    figure = bars(given, reference_name="the paper's", lines={"CONCAT": 1}, title="bars")
    assert_readable(figure)
    assert {"PERM", "HOL", "gru", "lstm", "none", ">20", "the paper's", "CONCAT"} <= words(figure)
    heights = [round(patch.get_height(), 3) for patch in figure.axes[0].patches]
    assert heights == [2.0, 20, -3.0]
    hatches = {patch.get_facecolor(): patch.get_hatch() for patch in figure.axes[0].patches}
    assert len(hatches) == len(set(hatches.values())) == 2


def test_bars_of_several_units_have_panels(no_layout):
    given = [Bar(group="a", series=unit, value=1, panel=unit) for unit in ("share", "nats")]
    assert [axes.get_ylabel() for axes in bars(given).axes] == ["share", "nats"]


def test_curves_have_a_band_and_a_look_for_each_name_and_kind():
    lines = [
        Curve(x=[1, 2, 3], y=[1, 2, 3], low=[0, 1, None], high=[2, 3, 4], name=name, kind=kind)
        for name in ("one", "two") for kind in ("valid", "train")
    ]  # fmt: skip
    figure = curves(lines, x="step", y="accuracy", levels={"chance 0.25": 0.25}, limits=(0, None))
    assert_readable(figure)
    assert {"one", "two", "valid", "train", "chance 0.25", "step", "accuracy", "1", "2", "3"} <= words(figure)
    drawn = series_of(figure.axes[0])
    assert len(drawn) == 4 and len({line.get_color() for line in drawn}) == 2
    assert [line.get_linestyle() for line in drawn] == ["-", "--"] * 2
    assert len(figure.axes[0].collections) == 4


def test_a_single_point_has_a_whisker_and_a_gap_stays_one(no_layout):
    figure = curves([Curve(x=[0.1], y=[0.5], low=[0.4], high=[0.6])], x="noise", y="accuracy")
    assert any(isinstance(each, LineCollection) for each in figure.axes[0].collections)
    figure = curves([Curve(x=[1, 2, 3], y=[1, None, math.inf])], x="x", y="y")
    assert np.isnan(figure.axes[0].lines[0].get_ydata()[1:]).all()


def test_a_logarithmic_axis_has_plain_numbers():
    figure = curves(
        [Curve(x=[0.001, 0.1, 1000], y=[1, 2, 3], name="a")], x="rate", y="y", is_logarithmic=True
    )
    assert_readable(figure)
    assert figure.axes[0].get_xscale() == "log" and "0.001" in words(figure) and "1,000" in words(figure)


def test_more_lines_than_can_be_told_apart_are_thin_and_alike(no_layout):
    figure = curves([Curve(x=[1, 2], y=[place, 1], name=str(place)) for place in range(40)], x="x", y="y")
    assert len({line.get_color() for line in figure.axes[0].lines}) == 1 and not figure.legends


def test_panels_have_an_axis_in_common():
    lines = [Curve(x=[1, 2], y=[1, 2], panel=f"panel {place}") for place in range(5)]
    figure = curves(lines, x="x", y="y")
    assert_readable(figure)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"panel {place}" for place in range(5)]
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "x", "x", "x"]
    assert not any(isinstance(each, FillBetweenPolyCollection) for each in figure.axes[0].collections)


def test_different_names_stay_different_when_cut():
    long = "channel.kind=a_rather_long_name, size="
    assert labels([f"{long}{size}" for size in (5, 20)]) == [
        "channel.kind=a…_name, size=5",
        "channel.kind=a…name, size=20",
    ]
    middle = [f"{'x' * 30}{place}{'y' * 30}" for place in range(2)]
    assert len(set(labels(middle))) == 2 and labels(["a", "b"]) == ["a", "b"]


def test_names_are_cut():
    assert label("x" * 28) == "x" * 28 and label("x" * 29) == "x" * 27 + "…" and label("") == "(empty)"
    assert re.fullmatch(r"two lines", label("two\n  lines"))
