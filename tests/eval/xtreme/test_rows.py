"""Examples of tagging, pairs and questions as rows, and logits as labels and answers."""

from dataclasses import replace

import pytest
import torch
from tokenizers import Tokenizer, processors

from ecsuite.eval.xtreme.rows import (
    IGNORED,
    NO_ANSWER,
    pair_rows,
    predicted_answers,
    predicted_labels,
    predicted_tags,
    question_rows,
    tagging_rows,
)
from ecsuite.eval.xtreme.scoring.task import Answer, ExtractiveQuestion, TaggedSentence, TextPair
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError
from xtreme_data import BETWEEN, FIRST, LAST, UNKNOWN, word_level

LABELS = ("no", "yes")
DIGITS = replace(word_level("0123456789"), between=(BETWEEN, BETWEEN))
"""Digits as words, and two symbols between sentences."""


def pair(first, second, label=None):
    return TextPair(first=first, second=second, label=label)


def test_withheld_labels_unknown_words_and_rows_without_room():
    prepared = pair_rows([pair("1", "2", "perhaps"), pair("1", "2")], DIGITS, 9, True, LABELS)
    assert prepared.rows.targets == [[IGNORED] * 6] * 2
    prepared = tagging_rows([sentence("a b", "ADV NOUN"), sentence("a b")], SPLIT, 9, True, TAGS)
    assert prepared.rows.targets == [[IGNORED, IGNORED, NOUN, IGNORED], [IGNORED] * 4]
    assert prepared.positions == ((1, 2), (1, 2))
    blank = TaggedSentence(words=("a", "\u00a0", "b"), tags=("X", "NOUN", "VERB"))
    prepared = tagging_rows([blank], SPLIT, 9, True, TAGS)
    assert prepared.rows.ids == [[FIRST, 0, UNKNOWN, 1, LAST]]
    assert prepared.rows.targets == [[IGNORED, X, NOUN, VERB, IGNORED]]
    message = "expected rows with space for a question and its context, got rows of 3 sub-words"
    with pytest.raises(ConfigError, match=message):
        question_rows([ask("a")], WORDS, 3)


@pytest.mark.parametrize("is_bidirectional", [True, False])
@pytest.mark.parametrize("context", [6, 9, 40])
def test_perfect_logits_give_the_labels(context, is_bidirectional):
    random = torch.Generator().manual_seed(0)

    def text():
        return " ".join(map(str, torch.randint(10, (int(torch.randint(12, (), generator=random)),)).tolist()))

    labels = ("contradiction", "entailment", "neutral")
    examples = [pair(text(), text(), labels[place % 3]) for place in range(40)]
    prepared = pair_rows(examples, DIGITS, context, is_bidirectional, labels)
    scores = [
        torch.eye(3)[[target if target != IGNORED else place % 3 for place, target in enumerate(row)]]
        for row in prepared.rows.targets
    ]
    found = predicted_labels(scores, prepared)
    assert found == [one.label for one in examples]
    assert TASKS["xnli"].score("en", found, TASKS["xnli"].labels(examples)) == {"accuracy": 100}


SHORT = "abcdefgh"
SPLIT = word_level(SHORT, splits=True)
TAGS = ("NOUN", "VERB", "X")
NOUN, VERB, X = range(3)


def sentence(words, tags=None):
    return TaggedSentence(words=tuple(words.split()), tags=None if tags is None else tuple(tags.split()))


def perfect_logits(targets):
    """Logits of the targets, and random logits at other positions."""
    scores = torch.eye(3)[[target if target != IGNORED else X for target in targets]]
    return scores + 0.1 * torch.rand(scores.shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("is_bidirectional", [True, False])
@pytest.mark.parametrize("context", [3, 4, 7, 50])
def test_perfect_logits_give_the_tags(context, is_bidirectional):
    """For random sentences and any row length, with and without special symbols."""
    random = torch.Generator().manual_seed(0)

    def draw(most):
        return int(torch.randint(1, most + 1, (), generator=random))

    examples = []
    for _ in range(60):
        words = ["".join(SHORT[draw(8) - 1] for _ in range(draw(6))) for _ in range(draw(9))]
        tags = [TAGS[draw(3) - 1] for _ in words]
        examples.append(TaggedSentence(words=tuple(words), tags=tuple(tags)))
    for sub_words in (SPLIT, replace(SPLIT, first=(), last=())):
        prepared = tagging_rows(examples, sub_words, context, is_bidirectional, TAGS)
        assert max(map(len, prepared.rows.ids)) <= context
        room = context - len(sub_words.first) - len(sub_words.last)
        kept = sum(min(len(word), room) for one in examples for word in one.words)
        special = len(prepared.rows) * (context - room)
        assert prepared.rows.num_tokens == kept + special
        found = predicted_tags([perfect_logits(row) for row in prepared.rows.targets], prepared)
        assert found == [list(one.tags) for one in examples]
        assert TASKS["udpos"].score("en", found, TASKS["udpos"].labels(examples))["accuracy"] == 100


LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = word_level(LETTERS)


def ask(context, *answers, name="1", question="q r"):
    given = tuple(Answer(text=text, start=context.index(text)) for text in answers)
    return ExtractiveQuestion(id=name, question=question, context=context, answers=given)


def right_scores(prepared):
    """Logits of a perfect head."""
    scores = [torch.zeros(len(row), 2) for row in prepared.rows.ids]
    for score, target in zip(scores, prepared.rows.targets, strict=True):
        if tuple(target) != NO_ANSWER:
            score[target[0], 0] = score[target[1], 1] = 5
    return scores


QUESTION = [FIRST, 16, 17, BETWEEN]


@pytest.mark.parametrize(
    ("question", "rows", "targets", "answer"),
    [
        (ask("a b c d", "b c"), [[*QUESTION, 0, 1, 2, 3, LAST]], [(5, 6)], "b c"),
        # Windows overlap: there is room for 7, 4 apart, so that a cut answer is complete in another.
        (ask("a b c d e f g h i j k", "g h i"),
         [[*QUESTION, *range(0, 7), LAST], [*QUESTION, *range(4, 11), LAST]], [NO_ANSWER, (6, 8)], "g h i"),
        (ask("a b c", "c", "a"), [[*QUESTION, 0, 1, 2, LAST]], [(6, 6)], "c"),  # the first of several answers
        # An answer inside a sub-word is the whole sub-word.
        (ExtractiveQuestion(id="1", question="q r", context="a bcd e", answers=(Answer(text="c", start=3),)),
         [[*QUESTION, 0, 25, 4, LAST]], [(5, 5)], "bcd"),
        (ask(""), [[*QUESTION, LAST]], [NO_ANSWER], ""),
    ],
)  # fmt: skip
def test_rows_targets_and_answers(question, rows, targets, answer):
    prepared = question_rows([question], WORDS, 12)
    assert (prepared.rows.ids, prepared.rows.targets) == (rows, targets)
    assert predicted_answers(right_scores(prepared), prepared) == {"1": answer}


def test_windows_are_those_of_transformers():
    transformers = pytest.importorskip("transformers")
    backend = Tokenizer.from_str(WORDS.tokenizer.to_str())
    backend.post_processor = processors.BertProcessing(("c", 2), ("b", 1))
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="z")
    ours = replace(WORDS, first=(1,), between=(2,), last=(2,))
    how = {"truncation": "only_second", "max_length": 24, "stride": 19 - 8, "return_overflowing_tokens": True}
    for length in range(1, 60):
        text = " ".join((LETTERS * 3)[:length])
        prepared = question_rows([ask(text)], ours, 24)  # room for 19, 8 apart
        encoded = theirs("q r", text, **how, return_offsets_mapping=True)
        assert prepared.rows.ids == encoded["input_ids"]
        found = [window.offsets.tolist() for window in prepared.windows]
        assert found == [[list(pair) for pair in row[4:-1]] for row in encoded["offset_mapping"]]


def test_exhaustive_search_over_spans_gives_the_same():
    examples = [ask(" ".join(LETTERS[:length]), name=str(length)) for length in (1, 4, 9, 26)]
    prepared = question_rows(examples, WORDS, 16)
    generator = torch.Generator().manual_seed(0)
    scores = [torch.randn(len(row), 2, generator=generator) for row in prepared.rows.ids]
    best = {}
    for score, window in zip(scores, prepared.windows, strict=True):
        question = examples[window.question]
        for first, (begin, _) in enumerate(window.offsets):
            for last, (_, end) in list(enumerate(window.offsets))[first : first + 3]:
                total = float(score[window.start + first, 0] + score[window.start + last, 1])
                found = (total, question.context[begin:end])
                best[question.id] = max(best.get(question.id, found), found)
    assert predicted_answers(scores, prepared, longest=3) == {name: text for name, (_, text) in best.items()}
