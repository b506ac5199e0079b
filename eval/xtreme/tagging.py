"""Tagging: one label per word of a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ecsuite.eval.learning.vocabulary import SubWords
from ecsuite.eval.xtreme.rows import IGNORED, Rows
from ecsuite.eval.xtreme.scoring.examples import TaggedSentence


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledRows:
    """Examples as rows with labels at some positions; a long sentence takes several rows."""

    rows: Rows
    """Inputs with a target at one sub-word of each word, or of each pair."""
    positions: tuple[tuple[int, ...], ...]
    """For each row, the positions of its targets."""
    examples: tuple[int, ...]
    """For each row, the index of its example."""
    labels: tuple[str, ...]
    """Labels in the order of the logits."""


def prepare(
    examples: Sequence[TaggedSentence],
    sub_words: SubWords,
    context: int,
    is_bidirectional: bool,
    labels: Sequence[str],
) -> LabelledRows:
    """Cut sentences into rows of whole words.

    A word's label is predicted at its first sub-word (Hu et al. 2020); by a decoder, which has not read the rest of
    the word there, at its last. A word longer than a row is cut.

    Args:
        examples: Sentences, with or without tags; a tag that is not in `labels` is no target.
        sub_words: The vocabulary.
        context: Maximum row length in sub-words.
        is_bidirectional: Whether the backbone reads the symbols after a position.
        labels: The tags that can be predicted.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    max_tokens = context - len(sub_words.first) - len(sub_words.last)
    ids: list[list[int]] = []
    targets: list[list[int]] = []
    positions: list[list[int]] = []
    sentences_of_rows: list[int] = []
    for sentence, words in enumerate(sub_words.words(example.words for example in examples)):
        tags = examples[sentence].tags
        row: list[int] | None = None
        for number, word in enumerate(words):
            pieces = word[:max_tokens]
            if row is None or len(row) + len(pieces) > context - len(sub_words.last):
                row = list(sub_words.first)
                ids.append(row)
                targets.append([IGNORED] * len(row))
                positions.append([])
                sentences_of_rows.append(sentence)
            position = len(row) if is_bidirectional else len(row) + len(pieces) - 1
            row += pieces
            targets[-1] += [IGNORED] * len(pieces)
            targets[-1][position] = IGNORED if tags is None else numbers.get(tags[number], IGNORED)
            positions[-1].append(position)
    return LabelledRows(
        rows=Rows(
            ids=[[*row, *sub_words.last] for row in ids],
            targets=[[*row, *([IGNORED] * len(sub_words.last))] for row in targets],
            padding=sub_words.padding,
        ),
        positions=tuple(map(tuple, positions)),
        examples=tuple(sentences_of_rows),
        labels=tuple(labels),
    )


def predictions(logits: Sequence[Tensor], prepared: LabelledRows) -> list[list[str]]:
    """The most probable tag of each word, from the logits (length, labels) of each row."""
    sentences: list[list[str]] = [[] for _ in range(prepared.examples[-1] + 1)]
    for sentence, positions, row in zip(prepared.examples, prepared.positions, logits, strict=True):
        best = row[list(positions)].argmax(-1).tolist()
        sentences[sentence] += [prepared.labels[label] for label in best]
    return sentences
