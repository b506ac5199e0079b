"""The four figures: what they say and show, and that any names and numbers can be read, without a warning."""

import math

import pytest

pytest.importorskip("matplotlib")
from figure_texts import assert_readable

from ecsuite.eval.views.figures.canvas import WIDTHS, as_svg, labels, save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.runtime.errors import ConfigError


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


@pytest.mark.slow
def test_thirty_rows_and_none():
    figure = intervals(Panel(points=[Point(row=f"row {place}", value=1) for place in range(30)]))
    assert_readable(figure)
    assert_readable(intervals(Panel(points=[Point(row="a", value=math.nan)])))
    assert intervals(Panel(points=[]), title="nothing").get_size_inches()[0] in WIDTHS


def test_more_lines_than_can_be_told_apart_are_thin_and_alike(no_layout):
    figure = curves([Curve(x=[1, 2], y=[place, 1], name=str(place)) for place in range(40)], x="x", y="y")
    assert len({line.get_color() for line in figure.axes[0].lines}) == 1 and not figure.legends


def test_different_names_stay_different_when_cut():
    long = "channel.kind=a_rather_long_name, size="
    assert labels([f"{long}{size}" for size in (5, 20)]) == [
        "channel.kind=a…_name, size=5",
        "channel.kind=a…name, size=20",
    ]
    middle = [f"{'x' * 30}{place}{'y' * 30}" for place in range(2)]
    assert len(set(labels(middle))) == 2 and labels(["a", "b"]) == ["a", "b"]
