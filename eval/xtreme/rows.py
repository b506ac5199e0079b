"""Rows: examples as inputs of a backbone and targets of a head, and predictions from the logits of rows.

Labels: one per word of a sentence, or one per pair of sentences, predicted at one sub-word each. A word's label is
predicted at its first sub-word (Hu et al. 2020), the label of a pair at the first symbol; a decoder, which has not read
the rest there, predicts at the last one.

Questions: predict the span of a context that answers a question (Devlin et al. 2019, section 4.2). A row is a question
and a window of the context. Windows overlap, so that an answer cut by one window is complete in another. The head
predicts start and end of the answer; both are position 0 if the window does not contain it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from ecsuite.eval.models.training import bucketed
from ecsuite.eval.models.vocabulary import SubWords
from ecsuite.eval.xtreme.scoring.task import Answer, ExtractiveQuestion, TaggedSentence, TextPair
from ecsuite.runtime.devices import sent
from ecsuite.runtime.errors import ConfigError

IGNORED = -100
"""Target of a position without a label."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRows:
    """Inputs as rows of sub-words, with targets."""

    ids: Sequence[Sequence[int]]
    """Sub-words of each row, with special symbols."""
    targets: Sequence[Sequence[int]]
    """For labels, one per sub-word or `IGNORED`; for spans, the positions of the first and the last sub-word."""
    padding: int
    """Padding symbol of shorter rows."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def num_tokens(self) -> int:
        """Total number of sub-words."""
        return sum(map(len, self.ids))

    def take(
        self, index: Sequence[int], device: torch.device, most: int = 0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """A batch of rows, padded to at most `most` so that there are few different shapes; see `bucketed`.

        Returns:
            Sub-words (rows, longest) and mask without padding (rows, longest) on the device, and targets (rows, longest
            or 2), on the CPU unless the device is CUDA.
        """
        lengths = torch.tensor([len(self.ids[row]) for row in index])
        longest = bucketed(int(lengths.max()), most, device)
        ids = _pad([self.ids[row] for row in index], self.padding, longest)
        mask = torch.arange(longest) < lengths[:, None]
        widths = {len(self.targets[row]) - len(self.ids[row]) for row in index}
        targets = _pad([self.targets[row] for row in index], IGNORED, longest if widths == {0} else 0)
        targets = sent(targets, device) if device.type == "cuda" else targets
        return sent(ids, device), sent(mask, device), targets

    def batches(self, batch: int, order: Iterable[int] | None = None) -> list[list[int]]:
        """Batches of `batch` rows of similar length; rows of equal length stay in the given order."""
        by_length = sorted(order or range(len(self)), key=lambda row: len(self.ids[row]))
        return [by_length[start : start + batch] for start in range(0, len(by_length), batch)]

    def shuffled(self, batch: int, generator: torch.Generator) -> list[list[int]]:
        """Batches as above, in random order; rows of equal length are in random order, too."""
        batches = self.batches(batch, torch.randperm(len(self), generator=generator).tolist())
        return [batches[position] for position in torch.randperm(len(batches), generator=generator).tolist()]


def _pad(rows: Sequence[Sequence[int]], padding: int, least: int = 0) -> Tensor:
    """Rows of different lengths as one tensor, padded to the longest row and to at least `least`."""
    longest = max(least, *map(len, rows))
    return torch.tensor([[*row, *([padding] * (longest - len(row)))] for row in rows])


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledRows:
    """Examples as rows with labels at some positions; a long sentence takes several rows."""

    rows: TokenRows
    """Inputs with a target at one sub-word of each word, or of each pair."""
    positions: tuple[tuple[int, ...], ...]
    """For each row, the positions of its targets."""
    examples: tuple[int, ...]
    """For each row, the index of its example."""
    labels: tuple[str, ...]
    """Labels in the order of the logits."""


def tagging_rows(
    examples: Sequence[TaggedSentence],
    sub_words: SubWords,
    context: int,
    is_bidirectional: bool,
    labels: Sequence[str],
) -> LabelledRows:
    """Cut sentences into rows of whole words; a word longer than a row is cut.

    Args:
        examples: Sentences, with or without tags; a tag that is not in `labels` is no target.
        sub_words: The vocabulary.
        context: Maximum row length in sub-words.
        is_bidirectional: Whether the backbone reads the symbols after a position.
        labels: The tags that can be predicted.
    """
    ids: list[list[int]] = []
    row_labels: list[list[str | None]] = []
    positions: list[list[int]] = []
    sentences_of_rows: list[int] = []
    most = context - len(sub_words.last)
    for sentence, words in enumerate(sub_words.words(example.words for example in examples)):
        tags = examples[sentence].tags or (None,) * len(words)
        is_new = True
        for word, tag in zip(words, tags, strict=True):
            pieces = word[: most - len(sub_words.first)]
            if is_new or len(ids[-1]) + len(pieces) > most:
                ids.append(list(sub_words.first))
                row_labels.append([])
                positions.append([])
                sentences_of_rows.append(sentence)
            is_new = False
            positions[-1].append(len(ids[-1]) + (0 if is_bidirectional else len(pieces) - 1))
            row_labels[-1].append(tag)
            ids[-1] += pieces
    rows = [[*row, *sub_words.last] for row in ids]
    return _labelled(rows, positions, row_labels, sentences_of_rows, labels, sub_words.padding)


def pair_rows(
    examples: Sequence[TextPair],
    sub_words: SubWords,
    context: int,
    is_bidirectional: bool,
    labels: Sequence[str],
) -> LabelledRows:
    """Concatenate the sentences of each pair; if a row is too long, the longer sentence is cut at its end.

    For the arguments see `tagging_rows`; examples are pairs.
    """
    max_tokens = context - len(sub_words.first) - len(sub_words.between) - len(sub_words.last)
    firsts = sub_words.texts([example.first for example in examples])
    seconds = sub_words.texts([example.second for example in examples])
    ids = []
    for first, second in zip(firsts, seconds, strict=True):
        first_ids = first.ids[: max(max_tokens - len(second.ids), max_tokens // 2)]
        second_ids = second.ids[: max_tokens - len(first_ids)]
        ids.append([*sub_words.first, *first_ids, *sub_words.between, *second_ids, *sub_words.last])
    positions = [[0 if is_bidirectional else -1]] * len(ids)
    row_labels = [[example.label] for example in examples]
    return _labelled(ids, positions, row_labels, range(len(ids)), labels, sub_words.padding)


def _labelled(
    ids: list[list[int]],
    positions: list[list[int]],
    row_labels: Sequence[Sequence[str | None]],
    examples: Sequence[int],
    labels: Sequence[str],
    padding: int,
) -> LabelledRows:
    """Rows with their labels as targets at `positions`; labels that cannot be predicted are ignored."""
    numbers = {label: number for number, label in enumerate(labels)}
    targets = [[IGNORED] * len(row) for row in ids]
    for target, columns, of_row in zip(targets, positions, row_labels, strict=True):
        for column, label in zip(columns, of_row, strict=True):
            target[column] = IGNORED if label is None else numbers.get(label, IGNORED)
    return LabelledRows(
        rows=TokenRows(ids=ids, targets=targets, padding=padding),
        positions=tuple(map(tuple, positions)),
        examples=tuple(examples),
        labels=tuple(labels),
    )


def predicted_tags(logits: Sequence[Tensor], prepared: LabelledRows) -> list[list[str]]:
    """The most probable tag of each word, from the logits (length, labels) of each row."""
    sentences: list[list[str]] = [[] for _ in range(prepared.examples[-1] + 1)]
    for sentence, positions, row in zip(prepared.examples, prepared.positions, logits, strict=True):
        best = row[list(positions)].argmax(-1).tolist()
        sentences[sentence] += [prepared.labels[label] for label in best]
    return sentences


def predicted_labels(logits: Sequence[Tensor], prepared: LabelledRows) -> list[str]:
    """The most probable label of each pair; see `predicted_tags`."""
    return [label for (label,) in predicted_tags(logits, prepared)]


MAX_ANSWER_LENGTH = 30
"""Maximum number of sub-words of a predicted answer."""
QUESTION_DIVISOR = 6
"""Row length per question length: questions are cut to the benchmark's 64 of 384 sub-words."""
STRIDE_DIVISOR = 3
"""Row length per stride of windows: the benchmark's 128 of 384."""
NO_ANSWER = (0, 0)
"""Target of a window that does not contain the answer."""

_CHUNK = 512
"""Number of texts or windows per batch, to limit memory."""


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

    rows: TokenRows
    """One row per window; the rows of a question are consecutive."""
    windows: Sequence[Window]
    """The window of each row."""
    questions: Sequence[ExtractiveQuestion]
    """The questions with their contexts."""


def question_rows(
    examples: Sequence[ExtractiveQuestion],
    sub_words: SubWords,
    context: int,
    is_bidirectional: bool = True,
    labels: Sequence[str] = (),
) -> Prepared:
    """Build rows: first symbols, question, separator, a window of the context, last symbols.

    Targets are the positions of the first and last sub-word of the first answer, and `NO_ANSWER` if the window does not
    contain all of it or answers are withheld.

    For the arguments see `tagging_rows`; examples are questions. Rows are equal for encoders and decoders, and labels
    are not used.

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
                f"expected rows with space for a question and its context, got rows of {context} sub-words"
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
        rows=TokenRows(ids=ids, targets=targets, padding=sub_words.padding),
        windows=windows,
        questions=examples,
    )


def predicted_answers(
    logits: Sequence[Tensor], prepared: Prepared, longest: int = MAX_ANSWER_LENGTH
) -> dict[str, str]:
    """The best answer to each question.

    That is the span with the highest sum of start logit and end logit over all windows, without normalisation, as in
    BERT's program; in a tie the first span.

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
    """First and last sub-word of the first answer in a context; last < first without answers."""
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
