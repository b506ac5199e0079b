"""Answers from hand-made logits, from exhaustive search over spans, and on the benchmark's own questions."""

from dataclasses import replace

import pytest
import torch
from tokenizers import Tokenizer, processors
from xtreme_data import BETWEEN, FIRST, LAST, word_level

from ecsuite.eval.models.vocabulary import train_subwords
from ecsuite.eval.xtreme import rows
from ecsuite.eval.xtreme.rows import NO_ANSWER, predicted_answers, question_rows
from ecsuite.eval.xtreme.scoring.task import Answer, ExtractiveQuestion
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def letters():
    return word_level(LETTERS)


@pytest.fixture(scope="module")
def byte_subwords():
    return train_subwords([], 256)


def ask(context, *answers, name="1", question="q r"):
    return ExtractiveQuestion(
        id=name,
        question=question,
        context=context,
        answers=tuple(Answer(text=text, start=context.index(text)) for text in answers),
    )


def right_scores(prepared):
    """Logits of a perfect head."""
    scores = [torch.zeros(len(row), 2) for row in prepared.rows.ids]
    for score, target in zip(scores, prepared.rows.targets, strict=True):
        if tuple(target) != NO_ANSWER:
            score[target[0], 0] = score[target[1], 1] = 5
    return scores


QUESTION = [FIRST, 16, 17, BETWEEN]


@pytest.mark.parametrize(
    ("question", "context", "rows", "targets", "answers"),
    [
        (ask("a b c d", "b c"), 12, [[*QUESTION, 0, 1, 2, 3, LAST]], [(5, 6)], {"1": "b c"}),
        # Windows overlap: there is room for 7, 4 apart, so that a cut answer is complete in another.
        (ask("a b c d e f g h i j k", "g h i"), 12,
         [[*QUESTION, *range(0, 7), LAST], [*QUESTION, *range(4, 11), LAST]], [NO_ANSWER, (6, 8)], {"1": "g h i"}),
        (ask("a b", question=" ".join(LETTERS)), 30, [[FIRST, 0, 1, 2, 3, 4, BETWEEN, 0, 1, LAST]], [NO_ANSWER],
         {"1": "a"}),
        # The target is the first of several answers.
        (ask("a b c", "c", "a"), 12, [[*QUESTION, 0, 1, 2, LAST]], [(6, 6)], {"1": "c"}),
        (ExtractiveQuestion(id="1", question="q r", context="a  b", answers=(Answer(text=" ", start=1),)), 12,
         [[*QUESTION, 0, 1, LAST]], [NO_ANSWER], {"1": "a"}),
        # An answer inside a sub-word is the whole sub-word.
        (ExtractiveQuestion(id="1", question="q r", context="a bcd e", answers=(Answer(text="c", start=3),)), 12,
         [[*QUESTION, 0, 25, 4, LAST]], [(5, 5)], {"1": "bcd"}),
        (ask(""), 12, [[*QUESTION, LAST]], [NO_ANSWER], {"1": ""}),
    ],
)  # fmt: skip
def test_rows_targets_and_answers(letters, question, context, rows, targets, answers):
    prepared = question_rows([question], letters, context)
    assert (prepared.rows.ids, prepared.rows.targets) == (rows, targets)
    assert prepared.rows.padding == letters.padding
    scores = right_scores(prepared)
    assert predicted_answers(scores, prepared) == answers
    assert predicted_answers([score.bfloat16() for score in scores], prepared) == answers


def test_windows_are_those_of_transformers(letters):
    transformers = pytest.importorskip("transformers")
    backend = Tokenizer.from_str(letters.tokenizer.to_str())
    backend.post_processor = processors.BertProcessing(("c", 2), ("b", 1))
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="z")
    ours = replace(letters, first=(1,), between=(2,), last=(2,))
    for length in range(1, 60):
        text = " ".join((LETTERS * 3)[:length])
        prepared = question_rows([ask(text)], ours, 24)  # room for 19, 8 apart
        encoded = theirs(
            "q r",
            text,
            truncation="only_second",
            max_length=24,
            stride=19 - 8,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        assert prepared.rows.ids == encoded["input_ids"]
        found = [window.offsets.tolist() for window in prepared.windows]
        assert found == [[list(pair) for pair in row[4:-1]] for row in encoded["offset_mapping"]]


def test_the_best_span_is_within_the_context_and_start_is_before_end(letters):
    prepared = question_rows([ask("a b c d e")], letters, 24)
    assert prepared.rows.ids[0][:4] == [FIRST, 16, 17, BETWEEN]
    score = torch.zeros(len(prepared.rows.ids[0]), 2)
    score[[0, 2, 9]] = 99.0  # symbols and the question
    score[7, 0], score[5, 1] = 9.0, 9.0  # begins behind where it ends
    score[6, 0], score[8, 1] = 6.0, 5.0
    assert predicted_answers([score], prepared) == {"1": "d e"}  # 9 + 5
    score[5, 0] = 6.0
    assert predicted_answers([score], prepared) == {"1": "b"}  # 6 + 9


def test_answers_are_not_longer_than_allowed(letters):
    prepared = question_rows([ask("a b c d e")], letters, 24)
    score = torch.zeros(len(prepared.rows.ids[0]), 2)
    score[4, 0], score[8, 1], score[6, 1] = 3.0, 5.0, 1.0
    assert predicted_answers([score], prepared) == {"1": "a b c d e"}
    assert predicted_answers([score], prepared, longest=5) == {"1": "a b c d e"}
    assert predicted_answers([score], prepared, longest=4) == {"1": "b c d e"}
    assert predicted_answers([score], prepared, longest=1) == {"1": "e"}


def test_the_best_of_all_windows_in_any_order(letters):
    prepared = question_rows([ask("a b c d e f g h i j k"), ask("x y", name="2")], letters, 12)
    assert [window.question for window in prepared.windows] == [0, 0, 1]
    scores = [torch.zeros(len(row), 2) for row in prepared.rows.ids]
    scores[0][4], scores[1][9], scores[2][5] = 2.0, 3.0, 1.0
    assert predicted_answers(scores, prepared) == {"1": "j", "2": "y"}
    scores[0][4] = 4.0
    assert predicted_answers(scores, prepared) == {"1": "a", "2": "y"}


def test_exhaustive_search_over_spans_gives_the_same(letters):
    generator = torch.Generator().manual_seed(0)
    examples = [ask(" ".join(LETTERS[:length]), name=str(length)) for length in (1, 4, 9, 26)]
    prepared = question_rows(examples, letters, 16)
    scores = [torch.randn(len(row), 2, generator=generator) for row in prepared.rows.ids]
    best = {}
    for score, window in zip(scores, prepared.windows, strict=True):
        question = examples[window.question]
        for first, (begin, _) in enumerate(window.offsets):
            for last, (_, end) in list(enumerate(window.offsets))[first : first + 3]:
                total = float(score[window.start + first, 0] + score[window.start + last, 1])
                best[question.id] = max(
                    best.get(question.id, (-99.0, "")), (total, question.context[begin:end])
                )
    assert predicted_answers(scores, prepared, longest=3) == {name: text for name, (_, text) in best.items()}


def test_chunk_size_and_an_offset_of_logits_change_nothing(letters, monkeypatch):
    generator = torch.Generator().manual_seed(1)
    examples = [ask(" ".join(LETTERS[start:]), name=str(start)) for start in range(20)]
    prepared = question_rows(examples, letters, 16)
    scores = [torch.randn(len(row), 2, generator=generator) for row in prepared.rows.ids]
    found = predicted_answers(scores, prepared)
    assert predicted_answers([score + 7 for score in scores], prepared) == found
    monkeypatch.setattr(rows, "_CHUNK", 3)
    again = question_rows(examples, letters, 16)
    assert again.rows == prepared.rows
    assert predicted_answers(scores, again) == found


def test_no_questions(letters):
    nothing = question_rows([], letters, 12)
    assert (len(nothing.rows), predicted_answers([], nothing)) == (0, {})


def test_logits_of_each_row_are_required(letters):
    with pytest.raises(ValueError, match="shorter"):
        predicted_answers([], question_rows([ask("a")], letters, 12))


def test_a_row_without_room_is_refused(letters):
    message = "expected rows with space for a question and its context, got rows of 3 sub-words"
    with pytest.raises(ConfigError, match=message):
        question_rows([ask("a")], letters, 3)


@pytest.mark.parametrize("context", [4, 16, 64, 128])
def test_short_rows_cover_the_context(letters, context):
    text = " ".join(LETTERS * 20)
    prepared = question_rows([ask(text)], letters, context)
    assert max(map(len, prepared.rows.ids)) == context
    seen = {int(begin) for window in prepared.windows for begin in window.offsets[:, 0]}
    assert seen == set(range(0, len(text), 2))
    for row, window in zip(prepared.rows.ids, prepared.windows, strict=True):
        passage = row[window.start : window.start + len(window.offsets)]
        assert passage == [LETTERS.index(text[begin]) for begin in window.offsets[:, 0]]


@pytest.mark.parametrize(
    ("context", "answer"),
    [
        ("the Blue House stands", "Blue House"),
        ("تقع القاهرة على النيل", "القاهرة"),
        ("北京是中国的首都。", "中国"),
        ("पेरिस में है", "पेरिस"),
        ("a 😀😀 c 👩\u200d🚀 d", "😀"),
        ("a 😀😀 c 👩\u200d🚀 d", "👩\u200d🚀"),
        ("naïve cafe\u0301", "cafe\u0301"),
    ],
)
def test_answers_in_any_script(context, answer, byte_subwords):
    prepared = question_rows([ask(context, answer)], byte_subwords, 128)
    assert predicted_answers(right_scores(prepared), prepared) == {"1": answer}


REAL = [
    ("xquad", "zh"),
    ("tydiqa", "ko"),
    ("tydiqa", "en"),
    *((task, language) for task in ("xquad", "mlqa") for language in ("en", "ar", "hi")),
    ("mlqa", "zh"),
]


@pytest.mark.parametrize(
    ("task", "language"), [*REAL[:1], *(pytest.param(*each, marks=pytest.mark.slow) for each in REAL[1:])]
)
def test_real_answers_are_recovered(data, task, language, byte_subwords):
    split = {"xquad": "test", "mlqa": "dev", "tydiqa": "train"}[task]
    examples = TASKS[task].read(data, language, split)[:60]
    prepared = question_rows(examples, byte_subwords, 384)
    windows = zip(prepared.windows, prepared.rows.targets, strict=True)
    inside = [examples[number] for number in {one.question for one, target in windows if target != NO_ANSWER}]
    assert len(inside) > 0.95 * len(examples)
    found = predicted_answers(right_scores(prepared), prepared, longest=384)
    answers = {question.id: question.answers[0].text.strip() for question in inside}
    assert {name: found[name] for name in answers} == answers
    assert TASKS[task].score(language, found, TASKS[task].labels(inside))["exact_match"] >= 99
