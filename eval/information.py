"""Adjusted mutual information: how much a whole message tells of the whole meaning, beyond chance."""

from functools import partial

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.counting import attribute_codes, concept_sets, row_labels
from ecsuite.eval.score import Options, Score, signature

VERSION = 1


def ami(corpus: Corpus, options: Options) -> list[Score]:
    """Adjusted mutual information of messages M and meanings L.

    AMI = (I(M, L) - E I(M, L)) / (max(H(M), H(L)) - E I(M, L)): Carmeli et al. (2024), equation 3, after
    Vinh et al. (2009). E I is the mean over all pairings of the same messages with the same meanings; 0 is
    chance, 1 is one message a meaning. The messages are compared whole, without EOS, and so are the
    meanings: all attribute values together or, in a corpus without them, the set of concepts.

    Undefined where chance is all there can be: if the messages, or the meanings, are all equal or all
    different, then every pairing has the same mutual information. So it needs meanings that recur.
    """
    attributes, concepts = attribute_codes(corpus), concept_sets(corpus)
    kind = "attributes" if attributes is not None else "concepts" if concepts is not None else "none"
    score = partial(
        Score,
        name="ami",
        about="what messages tell beyond chance",
        signature=signature("ami", VERSION, normaliser="max", label=kind, eos="strip"),
    )
    if attributes is not None:
        num_rows, width = attributes.shape
        rows = Ragged.from_lengths(attributes.astype(np.int32).ravel(), np.full(num_rows, width))
    elif concepts is not None:
        rows = concepts
    else:
        return [score(value=None, reason="the corpus has no attribute values and names no concepts")]

    message, meaning = row_labels(corpus.content()), row_labels(rows)
    for label, what in ((message, "message"), (meaning, "meaning")):
        num_distinct = len(np.unique(label))
        if num_distinct <= 1:
            return [score(value=None, reason=f"there is only one {what}: every pairing says as much")]
        if num_distinct == len(label):
            return [score(value=None, reason=f"no {what} recurs: every pairing says as much")]
    return [score(value=float(adjusted_mutual_info_score(meaning, message, average_method="max")))]
