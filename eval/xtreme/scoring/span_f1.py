"""F1 over spans of tags, as seqeval 0.0.12 counts it: the metric of XTREME's POS and NER (Hu et al. 2020, table 1).

A tag is split into a prefix, its first character, and a type, the part after its last hyphen. The benchmark also
applies it to tags without prefix such as `NOUN`. There a run of equal tags is one span, and a wrong tag inside a run
splits it; INTJ (`I`), SCONJ and SYM (`S`) accidentally begin with a prefix letter. Later versions of seqeval drop the
first character of a tag instead, so that CCONJ and SCONJ are equal.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

_OUTSIDE = "O"


def span_scores(predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> dict[str, float]:
    """Precision, recall and F1 of the spans of all sentences, and tag accuracy.

    Args:
        predicted: The predicted tags of each sentence; no tag is empty.
        gold: The correct tags, of the same lengths.

    Returns:
        `f1`, `precision`, `recall` and `accuracy`, 0 to 100; 0 if a denominator is 0.

    Raises:
        ValueError: If the sentences differ in number or in length, or a tag is empty.
    """
    if list(map(len, predicted)) != list(map(len, gold)):
        raise ValueError("expected as many predicted tags as there are gold tags in every sentence")
    tags = sorted({_OUTSIDE, *chain.from_iterable(predicted), *chain.from_iterable(gold)})
    if "" in tags:
        raise ValueError("expected tags, found an empty one")
    numbers = {tag: number for number, tag in enumerate(tags)}
    predicted_tags, gold_tags = _flat(predicted, numbers), _flat(gold, numbers)
    predicted_starts, predicted_types = _spans(predicted_tags, tags)
    gold_starts, gold_types = _spans(gold_tags, tags)
    # Spans have different ends, so they are compared by end position.
    is_right = (predicted_starts >= 0) & (predicted_starts == gold_starts) & (predicted_types == gold_types)
    num_right = int(is_right.sum())
    precision = _share(num_right, int((predicted_starts >= 0).sum()))
    recall = _share(num_right, int((gold_starts >= 0).sum()))
    f1 = 2 * precision * recall / (precision + recall) if num_right else 0.0
    num_tags = len(gold_tags) - len(gold)
    num_equal = int((predicted_tags == gold_tags).sum()) - len(gold)
    return {
        "f1": f1 * 100,
        "precision": precision * 100,
        "recall": recall * 100,
        "accuracy": _share(num_equal, num_tags) * 100,
    }


def _flat(sentences: Sequence[Sequence[str]], numbers: Mapping[str, int]) -> NDArray[np.int64]:
    """Indices of all tags, with an `O` after each sentence, so that no span continues into the next one."""
    return np.array([numbers[tag] for sentence in sentences for tag in (*sentence, _OUTSIDE)], dtype=np.int64)


def _spans(flat: NDArray[np.int64], tags: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The spans of a sequence of tags, indexed by the position after their end.

    Returns:
        For each position, the start of the span that ends just before it, -1 if there is none; and its type.
    """
    prefixes = np.array([tag[0] for tag in tags])
    kinds = {kind: number for number, kind in enumerate(sorted({tag.split("-")[-1] for tag in tags}))}
    types = np.array([kinds[tag.split("-")[-1]] for tag in tags])[flat]

    previous = np.concatenate(([tags.index(_OUTSIDE)], flat[:-1]))  # the tag before each tag
    previous_type = np.concatenate(([-1], types[:-1]))
    is_new_type = previous_type != types

    def current_in(letters: str) -> NDArray[np.bool_]:
        return np.isin(prefixes, list(letters))[flat]

    def previous_in(letters: str) -> NDArray[np.bool_]:
        return np.isin(prefixes, list(letters))[previous]

    ends = previous_in("ES") | (previous_in("BI") & current_in("BSO")) | (~previous_in("O.") & is_new_type)
    starts = current_in("BS") | (previous_in("ESO") & current_in("EI")) | (~current_in("O.") & is_new_type)
    last_start = np.maximum.accumulate(np.where(starts, np.arange(len(flat)), 0))
    last_start_before = np.concatenate(([0], last_start[:-1]))
    return np.where(ends, last_start_before, -1), previous_type


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
