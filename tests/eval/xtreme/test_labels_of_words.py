"""Tagging: sentences as rows, and logits as tags."""

from dataclasses import replace

import pytest
import torch
from xtreme_data import FIRST, LAST, UNKNOWN, word_level

from ecsuite.eval.xtreme.rows import IGNORED, predicted_tags, tagging_rows
from ecsuite.eval.xtreme.scoring.task import TaggedSentence
from ecsuite.eval.xtreme.scoring.tasks import TASKS

LETTERS = "abcdefgh"
LABELS = ("NOUN", "VERB", "X")
NOUN, VERB, X = range(3)


@pytest.fixture
def letters():
    return word_level(LETTERS, splits=True)


def sentence(words, tags=None):
    return TaggedSentence(words=tuple(words.split()), tags=None if tags is None else tuple(tags.split()))


def perfect_logits(targets):
    """Logits of the targets, and random logits at other positions."""
    scores = torch.eye(3)[[target if target != IGNORED else X for target in targets]]
    return scores + 0.1 * torch.rand(scores.shape, generator=torch.Generator().manual_seed(0))


def test_unknown_and_withheld_tags_are_no_targets(letters):
    prepared = tagging_rows([sentence("a b", "ADV NOUN"), sentence("a b")], letters, 9, True, LABELS)
    assert prepared.rows.targets == [[IGNORED, IGNORED, NOUN, IGNORED], [IGNORED] * 4]
    assert prepared.positions == ((1, 2), (1, 2))


def test_a_word_without_subwords_is_unknown(letters):
    blank = TaggedSentence(words=("a", "\u00a0", "b"), tags=("X", "NOUN", "VERB"))
    prepared = tagging_rows([blank], letters, 9, True, LABELS)
    assert prepared.rows.ids == [[FIRST, 0, UNKNOWN, 1, LAST]]
    assert prepared.rows.targets == [[IGNORED, X, NOUN, VERB, IGNORED]]


@pytest.mark.parametrize("is_bidirectional", [True, False])
@pytest.mark.parametrize("context", [3, 4, 7, 50])
def test_perfect_logits_give_the_tags(letters, context, is_bidirectional):
    """For random sentences and any row length, with and without special symbols."""
    random = torch.Generator().manual_seed(0)

    def draw(most):
        return int(torch.randint(1, most + 1, (), generator=random))

    examples = []
    for _ in range(60):
        words = ["".join(LETTERS[draw(8) - 1] for _ in range(draw(6))) for _ in range(draw(9))]
        tags = [LABELS[draw(3) - 1] for _ in words]
        examples.append(TaggedSentence(words=tuple(words), tags=tuple(tags)))
    for sub_words in (letters, replace(letters, first=(), last=())):
        prepared = tagging_rows(examples, sub_words, context, is_bidirectional, LABELS)
        assert max(map(len, prepared.rows.ids)) <= context
        room = context - len(sub_words.first) - len(sub_words.last)
        kept = sum(min(len(word), room) for one in examples for word in one.words)
        special = len(prepared.rows) * (context - room)
        assert prepared.rows.num_tokens == kept + special
        found = predicted_tags([perfect_logits(row) for row in prepared.rows.targets], prepared)
        assert found == [list(one.tags) for one in examples]
        assert TASKS["udpos"].score("en", found, TASKS["udpos"].labels(examples))["accuracy"] == 100
