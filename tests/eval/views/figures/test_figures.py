"""The four figures, the chart of colours, and the efficiency plane: what they show, the same bytes each time."""

import json
import math

import numpy as np
import pytest
from matplotlib.text import Text

from ecsuite.eval.metrics import information_bound as bounds
from ecsuite.eval.metrics.information_bound import bound_of
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.figures.canvas import WIDTHS, as_svg, labels, save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.eval.views.figures.efficiency_plane import draw_plane
from ecsuite.eval.views.figures.heat_map import NO_WORD, colour_chart
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.eval.views.html.galleries import plane_galleries
from ecsuite.runtime.errors import ConfigError
from ecsuite.spaces.space import Space
from figure_texts import assert_readable


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


def test_many_lines_and_long_names(no_layout):
    figure = curves([Curve(x=[1, 2], y=[place, 1], name=str(place)) for place in range(40)], x="x", y="y")
    assert len({line.get_color() for line in figure.axes[0].lines}) == 1 and not figure.legends
    long = "channel.kind=a_rather_long_name, size="
    cut = ["channel.kind=a…_name, size=5", "channel.kind=a…name, size=20"]
    assert labels([f"{long}{size}" for size in (5, 20)]) == cut
    middle = [f"{'x' * 30}{place}{'y' * 30}" for place in range(2)]
    assert len(set(labels(middle))) == 2 and labels(["a", "b"]) == ["a", "b"]


def test_a_chip_has_the_mean_colour_of_its_word():
    chart = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]])
    colours = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]], float)
    figure = colour_chart(chart, colours, np.array([0, 0, 1, -1, 1]), np.array([3, 1, 1, 1, 1.0]))
    [axes] = figure.axes
    picture = axes.images[0].get_array()
    assert np.allclose(picture[0, 0], [0.75, 0.25, 0]) and np.allclose(picture[0, 1], picture[0, 0])
    assert np.allclose(picture[0, 2], [0, 0, 0.5]) and np.allclose(picture[1, 1], picture[0, 2])
    assert np.allclose(picture[1, 0], NO_WORD) and np.allclose(picture[1, 2], 1)
    across, upright = axes.collections
    assert len(across.get_segments()) == 3  # below all three of the first row
    assert len(upright.get_segments()) == 3


TOY = Space(name="toy", beliefs=np.eye(2), need=np.array([0.5, 0.5]), vectors=np.arange(2)[:, None])


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """The bound of the space, which is kept in a folder."""
    monkeypatch.setattr(bounds, "NUM_BETAS", 30)
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    return bound_of(TOY)


def source(name, complexity, accuracy, digest=TOY.digest, **more):
    signature = f"x|space:toy|need:space|digest:{digest}|v:1"
    values = {"complexity,space=toy": complexity, "semantic_accuracy,space=toy": accuracy}
    records = [Score(name=score, value=value, signature=signature) for score, value in values.items()]
    return Source(name=name, file=more.pop("file"), records=tuple(records), **more)


def test_languages_are_named_by_who_speaks(toy, tmp_path):
    kinds = {"grammar": {"grammar": {"name": "concat"}}, "people": {"iso639_3": "deu"}, "other": {}}
    for name, said in kinds.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "metadata.json").write_text(json.dumps(said))
    figure = draw_plane([source(name, 0.5, 0.4, file=tmp_path / name, folder=tmp_path / name) for name in kinds])
    names = {text.get_text() for text in figure.findobj(Text)}
    assert {"corpus", "grammar", "languages of people"} <= names


def log(folder, steps, every=None):
    """The log and the config of a run whose language is told from step to step."""
    folder.mkdir()
    places = [
        {"step": step, "valid": {}, "metrics": {"complexity,space=toy": x, "semantic_accuracy,space=toy": x / 2}}
        for step, x in steps.items()
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in places))
    (folder / "config.yaml").write_text(f"name: mine\ngenerations: {{every: {json.dumps(every)}}}\n")
    return {"file": folder / "scores.json", "folder": folder, "game": "mine"}


def test_a_run_has_arrows_of_training_or_of_generations(toy, tmp_path):
    trained = source("a", 1.0, 0.5, **log(tmp_path / "a", {1: 0.2, 2: 0.6, 3: 1.0}))
    born = source("b", 1.0, 0.5, **log(tmp_path / "b", {1: 0.9, 2: 0.2, 3: 0.8, 4: 0.4, 6: 0.5}, every=2))
    [axes] = draw_plane([trained]).axes
    assert [note.xy for note in axes.texts if note.arrow_patch] == [(0.6, 0.3), (1.0, 0.5)]
    [axes] = draw_plane([born]).axes
    assert [note.xy[0] for note in axes.texts if note.arrow_patch] == [0.4, 0.5]
    once = source("c", 1.0, 0.5, **log(tmp_path / "c", {1: 0.2}))
    [axes] = draw_plane([once]).axes
    assert not [note for note in axes.texts if note.arrow_patch]


def test_the_report_has_a_plane_of_each_space_whose_bound_is_kept(toy, tmp_path):
    here, other = source("a", 1.0, 0.9, file=tmp_path), source("b", 1.0, 0.9, "ff", file=tmp_path)
    [gallery] = plane_galleries([here, other, Source(name="c", file=tmp_path)])
    [figure] = gallery.figures
    assert figure.name == f"toy, need space, {TOY.digest}" and "Sources with the bound: 1." in figure.svg
    assert plane_galleries([other]) == []


def test_what_is_on_no_plane(tmp_path, monkeypatch):
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    one, other = source("a", 1.0, 0.9, file=tmp_path), source("b", 1.0, 0.9, "ff", file=tmp_path)
    with pytest.raises(ConfigError, match="not stored on this machine"):
        draw_plane([one])
    with pytest.raises(ConfigError, match="a and b have different spaces"):
        draw_plane([one, other])
    with pytest.raises(ConfigError, match="c has no complexity: score it with --metrics efficiency"):
        draw_plane([Source(name="c", file=tmp_path)])
