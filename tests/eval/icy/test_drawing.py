"""Curves over seeds, and their plot."""

from types import SimpleNamespace

import pytest

from ecsuite.eval.icy.end_to_end import PANELS, EndToEnd, measured_curves
from ecsuite.runtime.errors import ConfigError


def run(shift, reason=None):
    return {"reason": reason, "curve": {name: [0.5 + shift, 0.75 + shift] for name in ("updates", *PANELS)}}


def row(*cells):
    """The fields of a row of a pair that a plot needs."""
    return SimpleNamespace(
        model="gru",
        receiver="gru",
        channel="soft",
        seeds=(1, 2),
        cells=[SimpleNamespace(name=grammar, runs=runs) for grammar, runs in cells],
    )


def test_grammars_without_runs_are_left_out():
    given = row(("concat", [run(0.0)]), ("rot", [{"reason": "not learnt"}]))
    assert {curve.name for curve in measured_curves(given)} == {"CONCAT"}


def test_nothing_to_draw(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(ConfigError, match="nothing to draw: no pair was pretrained to the target"):
        EndToEnd().draw(None, [row(("rot", [{"reason": "not learnt"}]))], tmp_path / "figure.png")


def test_a_plot_has_a_panel_for_each_measure_and_a_line_for_each_grammar(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [row(("concat", [run(0.0), run(0.1)]), ("perm", [run(0.05)]))]
    EndToEnd().draw(None, rows, tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text()
    assert all(f"<!-- {label} -->" in text for label in (*PANELS.values(), "CONCAT", "PERM"))
