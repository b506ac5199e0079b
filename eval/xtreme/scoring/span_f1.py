"""F1 over spans of tags, as seqeval 0.0.12 counts it: the metric of XTREME's POS and NER (Hu et al. 2020, table 1).

A tag is split into a prefix, its first character, and a type, what follows its last hyphen. The benchmark also gives
bare tags such as `NOUN` to it. Their prefixes mean nothing, so a run of one tag becomes one span, and a tag wrong in
the middle of a run breaks the run; only INTJ (`I`), SCONJ and SYM (`S`) happen to begin as a prefix does. Later
versions of seqeval drop a tag's first character instead, so that CCONJ and SCONJ are the same to them.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

_OUTSIDE = "O"


def span_scores(predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> dict[str, float]:
    """Precision, recall and F1 of the spans of all sentences together, and the share of right tags.

    Args:
        predicted: The tags of each sentence, none of them empty.
        gold: As many tags for as many sentences.

    Returns:
        `f1`, `precision`, `recall` and `accuracy`, 0 to 100; 0 where there is nothing to divide by.

    Raises:
        ValueError: If the sentences differ in number or in length, or a tag is empty.
    """
    if list(map(len, predicted)) != list(map(len, gold)):
        raise ValueError("expected as many predicted tags as there are gold tags in every sentence")
    tags = sorted({_OUTSIDE, *chain.from_iterable(predicted), *chain.from_iterable(gold)})
    if "" in tags:
        raise ValueError("a tag is empty")
    numbers = {tag: number for number, tag in enumerate(tags)}
    predicted_tags, gold_tags = _flat(predicted, numbers), _flat(gold, numbers)
    predicted_starts, predicted_types = _spans(predicted_tags, tags)
    gold_starts, gold_types = _spans(gold_tags, tags)
    # No two spans of a side have the same end, so spans are compared end by end.
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
    """The numbers of all tags, an `O` after each sentence, so that no span goes on into the next one."""
    return np.array([numbers[tag] for sentence in sentences for tag in (*sentence, _OUTSIDE)], dtype=np.int64)


def _spans(flat: NDArray[np.int64], tags: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The spans of a row of tags, by the tags after their ends.

    Returns:
        For each position where the span begins that ended just before it, -1 where none did; and its type.
    """
    prefixes = np.array([tag[0] for tag in tags])
    kinds = {kind: number for number, kind in enumerate(sorted({tag.split("-")[-1] for tag in tags}))}
    types = np.array([kinds[tag.split("-")[-1]] for tag in tags])[flat]

    before = np.concatenate(([tags.index(_OUTSIDE)], flat[:-1]))  # the tag before each tag
    type_before = np.concatenate(([-1], types[:-1]))
    is_new_type = type_before != types

    def now(letters: str) -> NDArray[np.bool_]:
        return np.isin(prefixes, list(letters))[flat]

    def then(letters: str) -> NDArray[np.bool_]:
        return np.isin(prefixes, list(letters))[before]

    ends = then("ES") | (then("BI") & now("BSO")) | (~then("O.") & is_new_type)
    starts = now("BS") | (then("ESO") & now("EI")) | (~now("O.") & is_new_type)
    last_start = np.maximum.accumulate(np.where(starts, np.arange(len(flat)), 0))
    last_start_before = np.concatenate(([0], last_start[:-1]))
    return np.where(ends, last_start_before, -1), type_before


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
