"""Pairs: one label per pair of sentences, at the first symbol for an encoder, at the last for a decoder."""

from collections.abc import Sequence

from torch import Tensor

from ecsuite.eval.learning.vocabulary import SubWords
from ecsuite.eval.xtreme import tagging
from ecsuite.eval.xtreme.rows import IGNORED, Rows
from ecsuite.eval.xtreme.scoring.examples import TextPair
from ecsuite.eval.xtreme.tagging import LabelledRows


def prepare(
    examples: Sequence[TextPair],
    sub_words: SubWords,
    context: int,
    is_bidirectional: bool,
    labels: Sequence[str],
) -> LabelledRows:
    """Concatenate the sentences of each pair; if a row is too long, the longer sentence is cut at its end.

    The arguments are those of `tagging.prepare`, with pairs as examples.
    """
    numbers: dict[str | None, int] = {label: number for number, label in enumerate(labels)}
    max_tokens = context - len(sub_words.first) - len(sub_words.between) - len(sub_words.last)
    firsts = sub_words.texts([example.first for example in examples])
    seconds = sub_words.texts([example.second for example in examples])
    position = 0 if is_bidirectional else -1
    ids, targets = [], []
    for example, first, second in zip(examples, firsts, seconds, strict=True):
        num_first = max(max_tokens - len(second.ids), max_tokens // 2)
        first_ids = first.ids[:num_first]
        row = [
            *sub_words.first,
            *first_ids,
            *sub_words.between,
            *second.ids[: max_tokens - len(first_ids)],
            *sub_words.last,
        ]
        target = [IGNORED] * len(row)
        target[position] = numbers.get(example.label, IGNORED)
        ids.append(row)
        targets.append(target)
    return LabelledRows(
        rows=Rows(ids=ids, targets=targets, padding=sub_words.padding),
        positions=((position,),) * len(ids),
        examples=tuple(range(len(ids))),
        labels=tuple(labels),
    )


def predictions(logits: Sequence[Tensor], prepared: LabelledRows) -> list[str]:
    """The most probable label of each pair; see `tagging.predictions`."""
    return [label for (label,) in tagging.predictions(logits, prepared)]
