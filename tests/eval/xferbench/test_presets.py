"""Presets: the paper's learning rates with the paper's sizes, and the cost of the small preset."""

import pytest

from ecsuite.eval.xferbench.presets import DANISH, FULL, PRESETS


def test_the_papers_presets_train_and_tune_at_the_papers_rate():
    assert [(preset.lr, preset.tune_lr) for preset in (FULL, DANISH)] == [(1e-4, 1e-4)] * 2
    assert {name for name, preset in PRESETS.items() if not preset.is_reduced} == {"full", "danish"}


@pytest.mark.parametrize("name", ["mini", "mini-3m"])
def test_references_stand_in_the_published_order(name):
    reference = PRESETS[name].reference
    assert list(reference) == ["French text", "Zipfian parentheses", "nothing", "uniform noise"]
    assert list(reference.values()) == sorted(reference.values()) and min(reference.values()) > 4
