"""Questions: predict the span of a context that answers a question (Devlin et al. 2019, section 4.2).

A row is a question and a window of the context. Windows overlap, so that an answer cut by one window is complete in
another. The head predicts start and end of the answer; both are position 0 if the window does not contain it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from ecsuite.eval.models.vocabulary import SubWords
from ecsuite.eval.xtreme.rows import Rows
from ecsuite.eval.xtreme.scoring.examples import Answer, Question
from ecsuite.runtime.errors import ConfigError

MAX_ANSWER_LENGTH = 30
"""Maximum number of sub-words of a predicted answer."""
QUESTION_DIVISOR = 6
"""A question is cut to the row length over this: the benchmark's 64 of 384 sub-words."""
STRIDE_DIVISOR = 3
"""The stride of windows is the row length over this: the benchmark's 128 of 384."""
NO_ANSWER = (0, 0)
"""Target of a window that does not contain the answer."""

_CHUNK = 512
"""Texts, or windows, that are processed together, to limit memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The part of a context in a row, and its position there."""

    question: int
    """Index of the question."""
    start: int
    """Number of sub-words of the row before the context."""
    offsets: NDArray[np.int32]
    """Character span in the context of each sub-word of the window, end exclusive, shape (num_subwords, 2)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """Rows, with the windows and questions needed to turn logits into answers."""

    rows: Rows
    """One row per window; those of a question are consecutive."""
    windows: Sequence[Window]
    """The window of each row."""
    questions: Sequence[Question]
    """The questions with their contexts."""


def question_rows(
    examples: Sequence[Question],
    sub_words: SubWords,
    context: int,
    is_bidirectional: bool = True,
    labels: Sequence[str] = (),
) -> Prepared:
    """Build rows: first symbols, question, separator, a window of the context, last symbols.

    Targets are the positions of the first and last sub-word of the first answer, and `NO_ANSWER` if the window does not
    contain all of it or answers are withheld.

    The arguments are those of `tagging_rows`, with questions as examples; rows are the same for encoders and
    decoders, and there are no labels.

    Raises:
        ConfigError: If a row has no space for a context.
    """
    passages = _passages(
        [text for example in examples for text in (example.context, example.question)], sub_words
    )
    stride = max(1, context // STRIDE_DIVISOR)
    ids, targets, windows = [], [], []
    for number, example in enumerate(examples):
        question_ids = passages[example.question][0][: context // QUESTION_DIVISOR]
        before = [*sub_words.first, *question_ids, *sub_words.between]
        max_tokens = context - len(before) - len(sub_words.last)
        if max_tokens < 1:
            raise ConfigError(
                f"expected room for a question and its context in a row, got rows of {context} sub-words"
            )
        context_ids, offsets = passages[example.context]
        first, last = _positions(offsets, example.answers)
        step = min(stride, max_tokens)
        # The last window is the first one that reaches the end of the context.
        for begin in range(0, max(1, len(context_ids) - max_tokens + step), step):
            end = begin + max_tokens
            ids.append([*before, *context_ids[begin:end], *sub_words.last])
            shift = len(before) - begin
            targets.append((first + shift, last + shift) if begin <= first <= last < end else NO_ANSWER)
            windows.append(Window(question=number, start=len(before), offsets=offsets[begin:end]))
    return Prepared(
        rows=Rows(ids=ids, targets=targets, padding=sub_words.padding), windows=windows, questions=examples
    )


def predicted_answers(
    logits: Sequence[Tensor], prepared: Prepared, longest: int = MAX_ANSWER_LENGTH
) -> dict[str, str]:
    """The best answer to each question.

    That is the span with the highest sum of start logit and end logit over all windows, without normalisation, as in
    BERT's program; the first of equals.

    Args:
        logits: Start and end logits of each row, shape (length, 2).
        prepared: The rows.
        longest: Maximum number of sub-words of an answer.

    Returns:
        Answers by question id, stripped of spaces; empty if the context has no sub-words.
    """
    best_answers = [(-float("inf"), "") for _ in prepared.questions]
    answerable = [
        (window, score[window.start : window.start + len(window.offsets)].float())
        for window, score in zip(prepared.windows, logits, strict=True)
        if len(window.offsets)
    ]
    for start in range(0, len(answerable), _CHUNK):
        chunk = answerable[start : start + _CHUNK]
        best = _best_spans([score for _, score in chunk], longest)
        for (window, _), (score, first, last) in zip(chunk, best, strict=True):
            if score > best_answers[window.question][0]:
                begin, end = window.offsets[first, 0], window.offsets[last, 1]
                answer = prepared.questions[window.question].context[begin:end].strip()
                best_answers[window.question] = score, answer
    return {
        question.id: answer for question, (_, answer) in zip(prepared.questions, best_answers, strict=True)
    }


def _passages(texts: Iterable[str], sub_words: SubWords) -> dict[str, tuple[list[int], NDArray[np.int32]]]:
    """Sub-words of texts and their character spans, each text encoded once, as several questions share a context."""
    distinct = list(dict.fromkeys(texts))
    passages = {}
    for start in range(0, len(distinct), _CHUNK):
        chunk = distinct[start : start + _CHUNK]
        for text, encoding in zip(chunk, sub_words.texts(chunk), strict=True):
            passages[text] = encoding.ids, np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
    return passages


def _positions(offsets: NDArray[np.int32], answers: Sequence[Answer]) -> tuple[int, int]:
    """First and last sub-word of the first answer in a context; last < first if there are no answers."""
    if not answers:
        return 0, -1
    begin, end = answers[0].start, answers[0].start + len(answers[0].text)
    first = int(np.searchsorted(offsets[:, 1], begin, side="right"))
    return first, int(np.searchsorted(offsets[:, 0], end, side="left")) - 1


def _best_spans(logits: Sequence[Tensor], longest: int) -> list[tuple[float, int, int]]:
    """The highest score of each window, with the first and last position of that span."""
    padded = pad_sequence(list(logits), batch_first=True, padding_value=-torch.inf)  # (windows, longest, 2)
    begins, ends = padded.unbind(2)
    # The best end of each start is among the next `longest` positions.
    ends = functional.pad(ends, (0, longest - 1), value=-torch.inf).unfold(1, longest, 1)
    end, num_more = ends.max(2)
    best, first = (begins + end).max(1)
    last = first + num_more.gather(1, first[:, None])[:, 0]
    return list(zip(best.tolist(), first.tolist(), last.tolist(), strict=True))
