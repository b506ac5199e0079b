"""Bars of acquisition and of budget beside the paper's figures, and curves of pairs over seeds."""

from types import SimpleNamespace

import pytest

from ecsuite.eval.icy import single_agents
from ecsuite.eval.icy.end_to_end import PANELS, EndToEnd, measured_curves
from ecsuite.eval.icy.study import load_study, resolve
from ecsuite.runtime.errors import ConfigError
from figure_texts import assert_readable, texts


def cell(grammar, mean, half_width=0.5, num_censored=0, is_early=False):
    runs = [{}, {}] if mean is not None else []
    return SimpleNamespace(name=grammar, mean=mean, half_width=half_width, num_left_out=num_censored,
                           is_early=is_early, runs=runs)  # fmt: skip


def drawn(monkeypatch, rows, **settings):
    caught = []
    monkeypatch.setattr(single_agents, "save", lambda figure, *paths: caught.append(figure))
    study = resolve(load_study(None, {"models": ("gru", "lstm"), "seeds": (1, 2), **settings}))
    single_agents.Ratios().draw(study, rows, "bars.svg")
    return caught[0]


def test_bars_of_ratios(monkeypatch):
    cells = [cell("perm", 1.2), cell("rot", 9.0, None, 1), cell("hol", 20.0, None, 2), cell("proj", None)]
    published = {"perm": (1.0, 0.1), "hol": (20.0, 0.0)}
    rows = [
        SimpleNamespace(model=model, role="sender", seeds=(1, 2), cells=cells, published=published)
        for model in ("gru", "lstm")
    ]
    figure = drawn(monkeypatch, rows)
    shown, _ = texts(figure)
    assert {"PERM", "HOL", "gru", "lstm", "CONCAT", "the paper's"} <= set(shown)
    assert [shown.count(text) for text in (">20", "≥", "none")] == [2, 2, 2]
    assert_readable(figure)


def run(shift, reason=None):
    return {"reason": reason, "curve": {name: [0.5 + shift, 0.75 + shift] for name in ("updates", *PANELS)}}


def row(*cells):
    """The fields of a row of a pair that a plot needs."""
    named = [SimpleNamespace(name=grammar, runs=runs) for grammar, runs in cells]
    return SimpleNamespace(model="gru", receiver="gru", channel="soft", seeds=(1, 2), cells=named)


def test_curves_are_means_over_seeds_with_bounds_and_without_grammars_that_have_no_runs():
    given = row(("concat", [run(0.0), run(0.25)]), ("rot", [{"reason": "not learnt"}]))
    found = {curve.panel: curve for curve in measured_curves(given)}
    assert list(found) == list(PANELS) and {curve.name for curve in found.values()} == {"CONCAT"}
    sender = found["sender"]
    assert sender.x == [0.5, 0.75] and sender.y == pytest.approx((0.625, 0.875))
    assert (sender.low, sender.high) == ((0, 0), (1, 1))  # within the possible accuracies
    assert sender.bounds == found["end_to_end"].bounds == [None, "lower"]
    assert found["loss"].bounds == [None, None]  # a loss of 1 is no end


def test_a_plot_has_a_panel_for_each_measure_and_a_line_for_each_grammar(tmp_path):
    with pytest.raises(ConfigError, match="nothing to draw: no pair was pretrained to the target"):
        EndToEnd().draw(None, [row(("rot", [{"reason": "not learnt"}]))], tmp_path / "figure.png")
    rows = [row(("concat", [run(0.0), run(0.1)]), ("perm", [run(0.05)]))]
    EndToEnd().draw(None, rows, tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text()
    assert all(f"<!-- {label} -->" in text for label in (*PANELS.values(), "CONCAT", "PERM"))
