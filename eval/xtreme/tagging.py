"""Tagging: a label for each word of a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ecsuite.eval.learning.vocabulary import SubWords
from ecsuite.eval.xtreme.rows import IGNORED, Rows
from ecsuite.eval.xtreme.scoring.examples import TaggedSentence


@dataclass(frozen=True, kw_only=True, slots=True)
class Tagged:
    """Sentences as rows; a long one is several."""

    rows: Rows
    """With a target at one sub-word of each word."""
    places: tuple[tuple[int, ...], ...]
    """Of each row, the places of its words."""
    owners: tuple[int, ...]
    """Of each row, its sentence."""
    labels: tuple[str, ...]
    """By their numbers."""


def prepare(
    examples: Sequence[TaggedSentence],
    sub_words: SubWords,
    context: int,
    is_bidirectional: bool,
    labels: Sequence[str],
) -> Tagged:
    """Cut sentences into rows of whole words.

    A word's label is said at its first sub-word (Hu et al. 2020) or, by a body that has not read the rest of the word
    there, at its last. A word that fills more than a row is cut.

    Args:
        examples: Sentences, with or without tags; a tag that is not in `labels` is not learnt.
        sub_words: How to read them.
        context: Longest row.
        is_bidirectional: Whether the backbone reads the symbols after a position.
        labels: The tags that can be said.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    room = context - len(sub_words.first) - len(sub_words.last)
    ids: list[list[int]] = []
    targets: list[list[int]] = []
    places: list[list[int]] = []
    owners: list[int] = []
    for owner, words in enumerate(sub_words.words(example.words for example in examples)):
        tags = examples[owner].tags
        row: list[int] | None = None
        for number, word in enumerate(words):
            pieces = word[:room]
            if row is None or len(row) + len(pieces) > context - len(sub_words.last):
                row = list(sub_words.first)
                ids.append(row)
                targets.append([IGNORED] * len(row))
                places.append([])
                owners.append(owner)
            place = len(row) if is_bidirectional else len(row) + len(pieces) - 1
            row += pieces
            targets[-1] += [IGNORED] * len(pieces)
            targets[-1][place] = IGNORED if tags is None else numbers.get(tags[number], IGNORED)
            places[-1].append(place)
    return Tagged(
        rows=Rows(
            ids=[[*row, *sub_words.last] for row in ids],
            targets=[[*row, *([IGNORED] * len(sub_words.last))] for row in targets],
            padding=sub_words.padding,
        ),
        places=tuple(map(tuple, places)),
        owners=tuple(owners),
        labels=tuple(labels),
    )


def predictions(scores: Sequence[Tensor], prepared: Tagged) -> list[list[str]]:
    """The likeliest tag of each word.

    Args:
        scores: Of each row, (length, labels).
        prepared: The rows.
    """
    sentences: list[list[str]] = [[] for _ in range(prepared.owners[-1] + 1)]
    for owner, places, row in zip(prepared.owners, prepared.places, scores, strict=True):
        best = row[list(places)].argmax(-1).tolist()
        sentences[owner] += [prepared.labels[label] for label in best]
    return sentences
