"""Adjusted mutual information: how much a whole message tells of the whole meaning, beyond chance."""

from functools import partial

import numpy as np
from scipy.special import gammaln

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.counting import Ints, attribute_codes, concept_sets, entropy, row_labels
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
        signature=signature("ami", VERSION, normaliser="max", meaning=kind, eos="strip"),
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
    return [score(value=adjusted_mutual_information(message, meaning))]


def adjusted_mutual_information(first: Ints, second: Ints) -> float:
    """AMI of two labellings, normalised by the larger entropy.

    Args:
        first: Labels 0, 1, …, shape (num_rows,); neither all equal nor all different.
        second: The other labels, likewise.
    """
    first_sizes, second_sizes = np.bincount(first), np.bincount(second)
    joint_sizes = np.unique(first * len(second_sizes) + second, return_counts=True)[1]
    information = entropy(first_sizes) + entropy(second_sizes) - entropy(joint_sizes)
    chance = expected_mutual_information(first_sizes, second_sizes)
    return float((information - chance) / (max(entropy(first_sizes), entropy(second_sizes)) - chance))


def expected_mutual_information(first_sizes: Ints, second_sizes: Ints) -> float:
    """Mean mutual information in bits over all pairings of two labellings: Vinh et al. (2010), equation 24a.

    Two classes of sizes a and b share k of n rows with hypergeometric probability. The sum runs over sizes
    rather than classes: n rows have at most sqrt(2 n) different class sizes, however many classes.

    Args:
        first_sizes: Rows in each class of one labelling, shape (num_classes,).
        second_sizes: Rows in each class of the other.
    """
    num_rows = int(first_sizes.sum())
    log_factorial = gammaln(np.arange(num_rows + 1) + 1.0)
    sizes, repeats = np.unique(second_sizes[second_sizes > 0], return_counts=True)
    total = 0.0
    for size, repeat in zip(*np.unique(first_sizes[first_sizes > 0], return_counts=True), strict=True):
        lowest = np.maximum(1, size + sizes - num_rows)
        num_overlaps = np.minimum(size, sizes) - lowest + 1
        start = np.cumsum(num_overlaps) - num_overlaps
        other = np.repeat(sizes, num_overlaps)
        shared = np.arange(num_overlaps.sum()) - np.repeat(start - lowest, num_overlaps)
        log_probability = (
            log_factorial[size]
            + log_factorial[other]
            + log_factorial[num_rows - size]
            + log_factorial[num_rows - other]
            - log_factorial[num_rows]
            - log_factorial[shared]
            - log_factorial[size - shared]
            - log_factorial[other - shared]
            - log_factorial[num_rows - size - other + shared]
        )
        information = shared / num_rows * np.log2(num_rows * shared / (float(size) * other))
        total += float(repeat * (np.repeat(repeats, num_overlaps) @ (information * np.exp(log_probability))))
    return total
