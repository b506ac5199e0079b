"""Protocols: what each promises of bodies, embeddings and languages."""

from ecsuite.eval.xtreme.protocols import PROTOCOLS
from ecsuite.eval.xtreme.result import IN_LANGUAGE


def test_what_each_does():
    rules = {
        name: (one.shares_vocabulary, one.learns_text, one.text_trains_backbone, one.is_zero_shot)
        for name, one in PROTOCOLS.items()
    }
    assert rules == {
        "adapt": (True, True, True, True),
        "monotrans": (False, True, False, True),
        "direct": (True, False, False, True),
        "in-language": (False, True, True, False),
    }
    assert all(name == one.name for name, one in PROTOCOLS.items())


def test_the_result_tells_the_one_without_transfer_by_its_name():
    assert [name for name, one in PROTOCOLS.items() if not one.is_zero_shot] == [IN_LANGUAGE]


def test_a_body_that_texts_tune_serves_all_languages_that_a_task_is_taken_to():
    """A body that every language changed on its own could not be swapped between them."""
    zero_shot = [one for one in PROTOCOLS.values() if one.is_zero_shot]
    assert all(one.shares_vocabulary for one in zero_shot if one.text_trains_backbone)
