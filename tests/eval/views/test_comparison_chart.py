"""The picture of a comparison: scores of several sources, told apart by colour and marker."""

from figure_texts import assert_readable, texts

from ecsuite.eval.results.comparison import ComparedScore
from ecsuite.eval.results.samples import Sample
from ecsuite.eval.views import comparison


def result(name, score, ci95=None):
    return Sample(name=name, by_target=({"score": score},), seeds=(0,), signature="s", ci95=ci95)


def drawn(monkeypatch, samples):
    caught = []
    scores = [
        ComparedScore(
            name=name,
            direction=None,
            samples={each.name: each for each in of_score},
            baseline=None,
            differences=(),
        )
        for name, of_score in samples.items()
    ]
    monkeypatch.setattr(comparison, "save", lambda figure, *paths: caught.append(figure))
    comparison.draw_comparison(scores, "a.svg")
    assert_readable(caught[0])
    return caught[0]


def test_several_scores_of_two_sources(monkeypatch):
    scores = {
        "topsim": [result("first", 0.2, (0.1, 0.3)), result("second", 0.4)],
        "tre7": [result("first", 7.0), result("second", 8.0)],
    }
    figure = drawn(monkeypatch, scores)
    shown, _ = texts(figure)
    assert figure.get_suptitle() == "second and first\nin other units, not drawn: tre7"
    assert {"topsim ↑", "first", "second"} <= set(shown)
    colours = {line.get_color() for line in figure.axes[0].lines}
    markers = {line.get_marker() for line in figure.axes[0].lines} - {"None"}
    assert len(colours) == 2 and len(markers) == 2


def test_one_score_of_many_sources_in_any_unit(monkeypatch):
    figure = drawn(monkeypatch, {"xferbench": [result(f"source {index}", 5 + index) for index in range(7)]})
    shown, _ = texts(figure)
    assert figure.get_suptitle() == "7 sources compared" and {"xferbench ↓", "source 6"} <= set(shown)
