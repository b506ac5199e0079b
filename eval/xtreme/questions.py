"""Questions: which stretch of a context answers them (Devlin et al. 2019, section 4.2).

A row is a question and a window of the context; windows overlap, so that an answer that one cuts in two is whole in
another. The head says where an answer begins and where it ends; of a window without it, that both are the first place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from ecsuite.config import ConfigError
from ecsuite.eval.learning.vocabulary import SubWords
from ecsuite.eval.xtreme.rows import Rows
from ecsuite.eval.xtreme.scoring.examples import Question

LONGEST_ANSWER = 30
"""Sub-words of a predicted answer, at most."""
QUESTIONS_IN_ROW = 6
"""A question is cut to this part of a row: the benchmark's 64 of 384 sub-words."""
STRIDES_IN_ROW = 3
"""A window begins this part of a row after the one before: the benchmark's 128 of 384."""
ABSENT = (0, 0)
"""The target of a window that does not hold the answer."""

_AT_ONCE = 512
"""Texts, or windows, that are in memory in full."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A context, or a question, in sub-words."""

    ids: list[int]
    """The sub-words."""
    offsets: NDArray[np.int32]
    """The characters of each, shape (num_subwords, 2): the first, and the one after the last."""

    def places(self, begin: int, end: int) -> tuple[int, int]:
        """The first and the last sub-word of characters from `begin` to before `end`; the last first if none is."""
        first = int(np.searchsorted(self.offsets[:, 1], begin, side="right"))
        last = int(np.searchsorted(self.offsets[:, 0], end, side="left")) - 1
        return first, last


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Where in a row a part of a context is."""

    question: int
    """Which question the row asks."""
    start: int
    """Sub-words of the row before that part."""
    offsets: NDArray[np.int32]
    """The characters of the context that each of its sub-words stands for, shape (num_subwords, 2)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """Rows, and what turns scores of their places into answers."""

    rows: Rows
    """A row a window, those of a question side by side."""
    windows: Sequence[Window]
    """For each row."""
    questions: Sequence[Question]
    """What is asked."""


def prepare(
    examples: Sequence[Question],
    sub_words: SubWords,
    context: int,
    is_bidirectional: bool = True,
    labels: Sequence[str] = (),
) -> Prepared:
    """Lay questions out in rows: first symbols, the question, those between, a window of its context, last symbols.

    Targets are the places of the first answer's first and last sub-word, and `ABSENT` where a window does not hold
    all of it or answers are held back.

    Args:
        examples: The questions.
        sub_words: What rows are made of.
        context: The longest row, in sub-words.
        is_bidirectional: Not used: rows are the same for encoders and decoders.
        labels: There are none.

    Raises:
        ConfigError: If a row has no room for a context.
    """
    passages = _passages(
        [text for example in examples for text in (example.context, example.question)], sub_words
    )
    stride = max(1, context // STRIDES_IN_ROW)
    ids, targets, windows = [], [], []
    for number, example in enumerate(examples):
        asked = passages[example.question].ids[: context // QUESTIONS_IN_ROW]
        before = [*sub_words.first, *asked, *sub_words.between]
        room = context - len(before) - len(sub_words.last)
        if room < 1:
            raise ConfigError(f"a row of {context} sub-words has no room for a context beside a question")
        passage = passages[example.context]
        first, last = _answer(example, passage)
        # No window begins where the one before has come to the end.
        for begin in range(0, max(1, len(passage.ids) - room + min(stride, room)), min(stride, room)):
            end = begin + room
            ids.append([*before, *passage.ids[begin:end], *sub_words.last])
            shift = len(before) - begin
            targets.append((first + shift, last + shift) if begin <= first <= last < end else ABSENT)
            windows.append(Window(question=number, start=len(before), offsets=passage.offsets[begin:end]))
    return Prepared(
        rows=Rows(ids=ids, targets=targets, padding=sub_words.padding), windows=windows, questions=examples
    )


def predictions(
    scores: Sequence[Tensor], prepared: Prepared, longest: int = LONGEST_ANSWER
) -> dict[str, str]:
    """The best answer to each question.

    That is the stretch with the highest sum of the score of beginning at its first place and of ending at its last,
    over all windows and as they are, as in BERT's program; the first of equals.

    Args:
        scores: For each row, scores of its places, shape (length, 2): of beginning there, and of ending there.
        prepared: The rows.
        longest: Sub-words of an answer, at most.

    Returns:
        By the question's id, characters of its context without space around them; nothing if it has no sub-words.
    """
    found = [(-float("inf"), "") for _ in prepared.questions]
    answerable = [
        (window, score[window.start : window.start + len(window.offsets)].float())
        for window, score in zip(prepared.windows, scores, strict=True)
        if len(window.offsets)
    ]
    for start in range(0, len(answerable), _AT_ONCE):
        several = answerable[start : start + _AT_ONCE]
        best = _best_stretches([score for _, score in several], longest)
        for (window, _), (score, first, last) in zip(several, best, strict=True):
            if score > found[window.question][0]:
                begin, end = window.offsets[first, 0], window.offsets[last, 1]
                answer = prepared.questions[window.question].context[begin:end].strip()
                found[window.question] = score, answer
    return {question.id: answer for question, (_, answer) in zip(prepared.questions, found, strict=True)}


def _passages(texts: Iterable[str], sub_words: SubWords) -> dict[str, Passage]:
    """Texts in sub-words, each once: several questions share a context."""
    distinct = list(dict.fromkeys(texts))
    passages = {}
    for start in range(0, len(distinct), _AT_ONCE):
        several = distinct[start : start + _AT_ONCE]
        for text, encoding in zip(several, sub_words.texts(several), strict=True):
            offsets = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
            passages[text] = Passage(ids=encoding.ids, offsets=offsets)
    return passages


def _answer(question: Question, passage: Passage) -> tuple[int, int]:
    """The first and the last sub-word of the first answer; the last first if there is none."""
    if not question.answers:
        return 0, -1
    answer = question.answers[0]
    return passage.places(answer.start, answer.start + len(answer.text))


def _best_stretches(scores: Sequence[Tensor], longest: int) -> list[tuple[float, int, int]]:
    """The highest score of each window, and the places in it where that stretch begins and ends."""
    padded = pad_sequence(list(scores), batch_first=True, padding_value=-torch.inf)  # (windows, longest, 2)
    begins, ends = padded.unbind(2)
    # The best end for each beginning is among as many places as an answer may have.
    ends = functional.pad(ends, (0, longest - 1), value=-torch.inf).unfold(1, longest, 1)
    end, num_more = ends.max(2)
    best, first = (begins + end).max(1)
    last = first + num_more.gather(1, first[:, None])[:, 0]
    return list(zip(best.tolist(), first.tolist(), last.tolist(), strict=True))
