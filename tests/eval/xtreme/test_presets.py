"""Presets: their settings, and the sizes passed to XferBench's model."""

import pytest

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.xtreme.presets import FULL, MINI, NANO, PRESETS
from ecsuite.eval.xtreme.scoring.tasks import TASKS


def test_names_of_presets():
    assert PRESETS == {"mini": MINI, "full": FULL, "nano": NANO}


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_preset_has_settings_for_every_task(preset):
    assert set(preset.tuning) == set(TASKS)
    assert all(tuning.context <= max(preset.context, 128) for tuning in preset.tuning.values())
    assert set(preset.languages) <= set(LANGUAGES)
    assert preset.width % preset.num_heads == 0


def test_full_has_the_benchmarks_own_settings():
    """Settings of mBERT: Hu et al. (2020), appendix B."""
    settings = {task: (each.lr, each.epochs, each.batch, each.context) for task, each in FULL.tuning.items()}
    assert settings["xnli"] == settings["pawsx"] == (2e-5, 5, 32, 128)
    assert settings["udpos"] == settings["panx"] == (2e-5, 10, 32, 128)
    assert settings["xquad"] == settings["mlqa"] == settings["tydiqa"] == (3e-5, 3, 32, 384)
    assert FULL.scope == "all" and not FULL.is_reduced
    assert (FULL.max_train, FULL.max_test, FULL.languages) == (None, None, ())


def test_the_sizes_are_those_of_the_preset():
    sizes = FULL.sizes
    assert (sizes.num_layers, sizes.width, sizes.num_heads, sizes.context) == (6, 768, 6, 384)
    assert (sizes.vocab_size, sizes.pretrain_tokens) == (30_000, 15_000_000)
    # Symbols are numbered by occurrence: the vocabulary is that of the corpus.
    assert sizes.pretrain_vocabulary == "occurring"
