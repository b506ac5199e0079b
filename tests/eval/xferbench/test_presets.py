"""Presets: the paper's learning rates with the paper's sizes, and the cost of the small preset."""

from dataclasses import replace

import pytest

from ecsuite.eval.xferbench.presets import DANISH, FULL, MINI, PRESETS


def test_the_papers_presets_train_and_tune_at_the_papers_rate():
    assert [(preset.lr, preset.tune_lr) for preset in (FULL, DANISH)] == [(1e-4, 1e-4)] * 2
    assert {name for name, preset in PRESETS.items() if not preset.is_reduced} == {"full", "danish"}


def test_mini_reads_so_little_that_a_score_takes_half_a_minute():
    tuned = MINI.tune_tokens * MINI.tune_epochs * MINI.num_embedded
    assert MINI.pretrain_tokens * MINI.pretrain_epochs + tuned == 1_100_000
    assert (MINI.num_layers, MINI.width) == (2, 64)


@pytest.mark.parametrize("name", ["mini", "mini-3m"])
def test_references_stand_in_the_published_order(name):
    reference = PRESETS[name].reference
    assert list(reference) == ["French text", "Zipfian parentheses", "nothing", "uniform noise"]
    assert list(reference.values()) == sorted(reference.values()) and min(reference.values()) > 4


def test_mini_of_three_minutes_is_mini_with_more_pretraining():
    own = {name: getattr(PRESETS["mini-3m"], name) for name in ("name", "about", "reference")}
    assert PRESETS["mini-3m"] == replace(MINI, pretrain_epochs=4, **own)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_heads_share_the_width(preset):
    assert preset.width % preset.num_heads == 0
