"""Pairs: one label for two sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ecsuite.eval.learning.vocabulary import SubWords
from ecsuite.eval.xtreme.rows import IGNORED, Rows
from ecsuite.eval.xtreme.scoring.examples import TextPair


@dataclass(frozen=True, kw_only=True, slots=True)
class Paired:
    """Pairs as rows, one each."""

    rows: Rows
    """With one target: at the first symbol or, for a body that has read nothing there, at the last."""
    place: int
    """Where that is: 0 or -1."""
    labels: tuple[str, ...]
    """By their numbers."""


def prepare(
    examples: Sequence[TextPair],
    sub_words: SubWords,
    context: int,
    is_bidirectional: bool,
    labels: Sequence[str],
) -> Paired:
    """Put pairs side by side; of what is too long, the longer sentence is cut at its end.

    Args:
        examples: Pairs, with or without labels; a label that is not in `labels` is not learnt.
        sub_words: How to read them.
        context: Longest row.
        is_bidirectional: Whether the backbone reads the symbols after a position.
        labels: What can be said.
    """
    numbers: dict[str | None, int] = {label: number for number, label in enumerate(labels)}
    room = context - len(sub_words.first) - len(sub_words.between) - len(sub_words.last)
    firsts = sub_words.texts([example.first for example in examples])
    seconds = sub_words.texts([example.second for example in examples])
    place = 0 if is_bidirectional else -1
    ids, targets = [], []
    for example, first, second in zip(examples, firsts, seconds, strict=True):
        here = max(room - len(second.ids), room // 2)
        left = first.ids[:here]
        row = [
            *sub_words.first,
            *left,
            *sub_words.between,
            *second.ids[: room - len(left)],
            *sub_words.last,
        ]
        target = [IGNORED] * len(row)
        target[place] = numbers.get(example.label, IGNORED)
        ids.append(row)
        targets.append(target)
    rows = Rows(ids=ids, targets=targets, padding=sub_words.padding)
    return Paired(rows=rows, place=place, labels=tuple(labels))


def predictions(scores: Sequence[Tensor], prepared: Paired) -> list[str]:
    """The likeliest label of each pair.

    Args:
        scores: Of each row, (length, labels).
        prepared: The rows.
    """
    return [prepared.labels[int(row[prepared.place].argmax())] for row in scores]
