"""Labels: one per word of a sentence, or one per pair of sentences, predicted at one sub-word each.

A word's label is predicted at its first sub-word (Hu et al. 2020), that of a pair at the first symbol; by a decoder,
which has not read the rest there, at the last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ecsuite.eval.models.vocabulary import SubWords
from ecsuite.eval.xtreme.rows import IGNORED, Rows
from ecsuite.eval.xtreme.scoring.examples import TaggedSentence, TextPair


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
    wanted: list[list[str | None]] = []
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
                wanted.append([])
                positions.append([])
                sentences_of_rows.append(sentence)
            is_new = False
            positions[-1].append(len(ids[-1]) + (0 if is_bidirectional else len(pieces) - 1))
            wanted[-1].append(tag)
            ids[-1] += pieces
    rows = [[*row, *sub_words.last] for row in ids]
    return _labelled(rows, positions, wanted, sentences_of_rows, labels, sub_words.padding)


def pair_rows(
    examples: Sequence[TextPair],
    sub_words: SubWords,
    context: int,
    is_bidirectional: bool,
    labels: Sequence[str],
) -> LabelledRows:
    """Concatenate the sentences of each pair; if a row is too long, the longer sentence is cut at its end.

    The arguments are those of `tagging_rows`, with pairs as examples.
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
    wanted = [[example.label] for example in examples]
    return _labelled(ids, positions, wanted, range(len(ids)), labels, sub_words.padding)


def _labelled(
    ids: list[list[int]],
    positions: list[list[int]],
    wanted: Sequence[Sequence[str | None]],
    examples: Sequence[int],
    labels: Sequence[str],
    padding: int,
) -> LabelledRows:
    """Rows with the wanted labels at the positions, where they can be predicted."""
    numbers = {label: number for number, label in enumerate(labels)}
    targets = [[IGNORED] * len(row) for row in ids]
    for target, places, of_row in zip(targets, positions, wanted, strict=True):
        for place, label in zip(places, of_row, strict=True):
            target[place] = IGNORED if label is None else numbers.get(label, IGNORED)
    return LabelledRows(
        rows=Rows(ids=ids, targets=targets, padding=padding),
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
