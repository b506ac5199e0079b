"""F1 over spans of tags, as seqeval 0.0.12 counts it: the metric of XTREME's POS and NER (Hu et al. 2020, table 1).

A tag is split into a prefix, its first character, and a type, the part after its last hyphen. The benchmark also
applies it to tags without prefix such as `NOUN`. There a run of equal tags is one span, and a wrong tag inside a run
splits it; INTJ (`I`), SCONJ and SYM (`S`) accidentally begin with a prefix letter. Later versions of seqeval drop the
first character of a tag instead, so that CCONJ and SCONJ are equal.
"""

from collections.abc import Sequence

from ecsuite.eval.xtreme.scoring.task import set_scores

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
    # An `O` after each sentence, so that no span continues into the next one.
    flat_predicted, flat_gold = (
        [tag for sentence in sentences for tag in (*sentence, _OUTSIDE)] for sentences in (predicted, gold)
    )
    if "" in flat_predicted or "" in flat_gold:
        raise ValueError("expected tags, found an empty one")
    num_tags = len(flat_gold) - len(gold)
    num_equal = sum(map(str.__eq__, flat_predicted, flat_gold)) - len(gold)
    scores = set_scores(_spans(flat_predicted), _spans(flat_gold))
    return scores | {"accuracy": num_equal / num_tags * 100 if num_tags else 0.0}


def _spans(tags: Sequence[str]) -> set[tuple[int, int, str | None]]:
    """Start, end and type of each span."""
    spans: set[tuple[int, int, str | None]] = set()
    previous_kind: str | None = None
    start, previous = 0, _OUTSIDE
    for place, tag in enumerate(tags):
        before, prefix, kind = previous[0], tag[0], tag.rpartition("-")[2]
        is_new = kind != previous_kind
        if before in "ES" or (before in "BI" and prefix in "BSO") or (before not in "O." and is_new):
            spans.add((start, place, previous_kind))
        if prefix in "BS" or (before in "ESO" and prefix in "EI") or (prefix not in "O." and is_new):
            start = place
        previous, previous_kind = tag, kind
    return spans
