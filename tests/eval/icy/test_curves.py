"""Curves over seeds, and their plot."""

from types import SimpleNamespace

import pytest

from ecsuite.config import ConfigError
from ecsuite.eval.icy.drawing import PANELS, curves, draw_curves


def run(shift, reason=None):
    return {"reason": reason, "curve": {name: [0.5 + shift, 0.75 + shift] for name in ("updates", *PANELS)}}


def row(*cells):
    """The fields of a `PairRow` that a plot needs."""
    return SimpleNamespace(
        sender="gru",
        receiver="gru",
        channel="soft",
        seeds=(1, 2),
        cells=[SimpleNamespace(grammar=grammar, runs=runs) for grammar, runs in cells],
    )


def test_curves_are_means_over_the_seeds():
    found = curves(row(("concat", [run(0.0), run(0.1)])))["concat"]
    assert found.keys() == PANELS.keys()
    means, half_widths = zip(*found["sender"], strict=True)
    assert means == pytest.approx((0.55, 0.8))
    assert half_widths == pytest.approx((0.6353, 0.6353), abs=1e-4)  # 12.706 times 0.05


def test_grammars_without_runs_are_left_out():
    given = row(("concat", [run(0.0)]), ("rot", [{"reason": "not learnt"}]))
    assert list(curves(given)) == ["concat"]


def test_nothing_to_draw(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(ConfigError, match="nothing to draw: no pair was pretrained to the target"):
        draw_curves(row(("rot", [{"reason": "not learnt"}])), tmp_path / "figure.png")


def test_plots_are_reproducible(tmp_path):
    pytest.importorskip("matplotlib")
    given = row(("concat", [run(0.0), run(0.1)]), ("perm", [run(0.05)]))
    for suffix, start in ((".png", b"\x89PNG\r\n\x1a\n"), (".svg", b"<?xml ")):
        files = [(tmp_path / name).with_suffix(suffix) for name in ("first", "second")]
        for file in files:
            draw_curves(given, file)
        first, second = (file.read_bytes() for file in files)
        assert first.startswith(start) and first == second
