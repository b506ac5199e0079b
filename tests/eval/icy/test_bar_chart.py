"""Bars of acquisition and of budget beside the paper's figures."""

from types import SimpleNamespace

from figure_texts import assert_readable, texts

from ecsuite.eval.icy import single_agents
from ecsuite.eval.icy.study import load_study, resolve


def cell(grammar, mean, half_width=0.5, num_censored=0, is_early=False):
    runs = [{}, {}] if mean is not None else []
    return SimpleNamespace(
        name=grammar,
        mean=mean,
        half_width=half_width,
        num_left_out=num_censored,
        is_early=is_early,
        runs=runs,
    )


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
