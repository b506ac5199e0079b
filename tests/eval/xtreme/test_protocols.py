"""Protocols: settings of backbones, embeddings and languages."""

from ecsuite.eval.xtreme.presets import PROTOCOLS
from ecsuite.eval.xtreme.result import IN_LANGUAGE


def test_the_protocol_without_transfer_has_the_name_that_results_use():
    assert [name for name, one in PROTOCOLS.items() if not one.is_zero_shot] == [IN_LANGUAGE]


def test_a_backbone_trained_on_text_has_one_vocabulary_in_zero_shot_protocols():
    """A backbone that is trained separately per language cannot be shared by several languages."""
    zero_shot = [one for one in PROTOCOLS.values() if one.is_zero_shot]
    assert all(one.shares_vocabulary for one in zero_shot if one.text_trains_backbone)
