"""Presets: their settings."""

import pytest

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.xtreme.presets import FULL, MINI, NANO, PRESETS
from ecsuite.eval.xtreme.scoring.tasks import TASKS


def test_names_of_presets():
    assert PRESETS == {"mini": MINI, "full": FULL, "nano": NANO}


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_preset_has_settings_for_every_kind_of_task(preset):
    assert set(preset.tuning) == {task.kind for task in TASKS.values()}
    assert all(tuning.context <= max(preset.backbone.context, 128) for tuning in preset.tuning.values())
    assert set(preset.languages) <= set(LANGUAGES)
    assert preset.backbone.width % preset.backbone.num_heads == 0


def test_full_has_the_benchmarks_own_settings():
    """Settings of mBERT: Hu et al. (2020), appendix B."""
    settings = {kind: (each.lr, each.epochs, each.batch, each.context) for kind, each in FULL.tuning.items()}
    assert settings["pairs"] == (2e-5, 5, 32, 128)
    assert settings["tagging"] == (2e-5, 10, 32, 128)
    assert settings["questions"] == (3e-5, 3, 32, 384)
    assert FULL.scope == "all" and not FULL.is_reduced
    assert (FULL.max_train, FULL.max_test, FULL.languages) == (None, None, ())


def test_full_has_xferbenchs_backbone_and_corpus():
    sizes, pretraining = FULL.backbone, FULL.pretraining
    assert (sizes.num_layers, sizes.width, sizes.num_heads, sizes.dropout) == (6, 768, 6, 0.1)
    assert (pretraining.tokens, pretraining.epochs, pretraining.num_types) == (15_000_000, 5, 30_000)


def test_an_embedding_alone_has_a_learning_rate_of_its_own():
    embedding = FULL.embedding
    assert (embedding.lr, embedding.trains_backbone) == (1e-3, False)
    assert (embedding.tokens, embedding.batch) == (FULL.text.tokens, FULL.text.batch)
