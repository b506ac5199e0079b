"""Units of permutations of a corpus: whole meanings or phrases; and orders of rows by content."""

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import concept_rows, phrase_labels
from ecsuite.eval.counts.counting import (
    concept_sets,
    feature_bits,
    flat,
    meaning_labels,
    message_labels,
    narrow_attributes,
    narrow_content,
    numbered_by_use,
    row_labels,
    row_of,
)
from ecsuite.eval.statistics.cache import cached_per_corpus
from ecsuite.eval.statistics.contingency import Ints, first_rows, num_labels
from ecsuite.eval.statistics.resampling import Exchange, Labels, single_rows
from ecsuite.runtime.ragged import Ragged

_FACTOR = 0x9E3779B97F4A7C15
"""An odd number near 2^64 divided by the golden ratio."""
_BLOCK = 1 << 16
"""Rows in a block, so that intermediate results fit the cache."""


@cached_per_corpus
def of_meanings(corpus: Corpus) -> Exchange | None:
    """Units by whole meaning: attribute vectors or features, otherwise sets of concepts; None without meanings."""
    labels = meaning_labels(corpus)
    if labels is None:
        return None
    first = first_rows(labels, num_labels(labels))
    if corpus.meanings is None:
        sets = concept_sets(corpus)
        assert sets is not None
        return _sorted(corpus, labels, sets.take(first))
    columns = narrow_attributes(corpus)
    vectors = feature_bits(flat(corpus.meanings)[first]) if columns is None else columns[:, first].T
    return _sorted(corpus, labels, Ragged.from_table(vectors))


@cached_per_corpus
def of_phrases(corpus: Corpus) -> Exchange | None:
    """Units by phrase: concepts in any order, otherwise attribute vectors; for scores of words and concepts.

    If phrases differ by a single concept, exchanging them only renames concepts, which changes no score. Then single
    messages are exchanged, as the name of a concept is the name of a meaning.
    """
    kind, rows = concept_rows(corpus)
    if rows is None:
        return None
    labels, whole = phrase_labels(corpus), corpus.concepts if kind == "concepts" else None
    if whole is not None and len(rows.values) < len(whole.values):
        # Repeated concepts count in concept best matching.
        rows = Ragged(whole.values[np.lexsort((whole.values, row_of(whole)))], whole.offsets)
        labels = row_labels(rows)
    assert labels is not None
    phrases = rows.take(first_rows(labels, num_labels(labels)))
    differs = np.bincount(phrases.values) != len(phrases)
    if np.bincount(row_of(phrases), differs[phrases.values]).max(initial=0) <= 1:
        return single_rows(len(labels), message_labels(corpus), labels)
    return _sorted(corpus, labels, phrases)


def of_concepts(corpus: Corpus) -> Exchange:
    """Units by sequence of concepts."""
    assert corpus.concepts is not None
    labels = row_labels(corpus.concepts)
    return _sorted(corpus, labels, corpus.concepts.take(first_rows(labels, num_labels(labels))))


def _sorted(corpus: Corpus, labels: Labels, meanings: Ragged) -> Exchange:
    """Units in the order of their content, so that draws do not depend on the order of rows."""
    rank = np.empty(len(meanings), labels.dtype)
    rank[np.argsort(content_keys(meanings), kind="stable")] = np.arange(len(meanings))
    of_row = rank[labels]

    def keys() -> NDArray[np.uint64]:
        """Keys of messages that do not depend on names of symbols."""
        content = corpus.content()
        numbers = 1 + numbered_by_use(content, of_row.astype(np.int64))
        return content_keys(Ragged(numbers.astype(np.int32), content.offsets))

    return Exchange(of_row, lambda: message_labels(corpus), keys=keys)


def content_keys(rows: Ragged) -> NDArray[np.uint64]:
    """Sort key for each row that depends only on its values, (num_rows,).

    Trailing zeros have no effect, so that a constant attribute there changes nothing.
    """
    longest = int(rows.lengths.max(initial=0))
    factors = np.random.default_rng(1).integers(1, 1 << 63, longest, dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    keys = np.zeros(len(rows), np.uint64)
    begin = 0
    for block in rows.blocks():
        lengths = block.lengths
        place = np.arange(len(block.values)) - np.repeat(block.offsets[:-1], lengths)
        terms = block.values.astype(np.int64).view(np.uint64) * factors[place]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])  # modulo 2^64
        keys[begin : begin + len(block)] = sums[block.offsets[1:]] - sums[block.offsets[:-1]]
        begin += len(block)
    for some in _blocks(keys):
        _mixed(keys[some])
    return keys


def sorted_rows(corpus: Corpus, exchange: Exchange) -> Ints:
    """Rows in an order by content and meaning, so that draws do not depend on their order in the corpus."""
    keys = content_keys(narrow_content(corpus))
    bits = np.uint64(max(1, len(keys) - 1).bit_length())
    mask = (np.uint64(1) << bits) - np.uint64(1)
    # Sorting keys with the row in the low bits takes a tenth of the time of an argsort.
    joined = np.arange(len(keys), dtype=np.uint64)
    for block in _blocks(keys):  # limits memory
        keys[block] *= np.uint64(_FACTOR)
        keys[block] += exchange.of_row[block].astype(np.uint64)
        joined[block] |= _mixed(keys[block]) & ~mask
    joined.sort()
    groups = []
    for block in _blocks(joined):  # rows with equal high bits, but different keys
        own = joined[block.start : block.stop + 1]
        ties = own[np.flatnonzero((own[1:] ^ own[:-1]) <= mask)[:, None] + [0, 1]]
        first, second = keys[ties & mask].T
        high = ties[first != second, 0] & ~mask
        groups += [np.searchsorted(joined, [each, each + mask + np.uint64(1)]) for each in high]
    joined &= mask
    for begin, end in groups:
        rows = joined[begin:end]
        rows[:] = rows[np.argsort(keys[rows], kind="stable")]
    return joined.view(np.int64)


def _blocks(keys: NDArray[np.uint64]) -> list[slice]:
    return [slice(start, start + _BLOCK) for start in range(0, len(keys), _BLOCK)]


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix keys in place, so that high bits depend on all bits (the final steps of 64-bit MurmurHash3)."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        keys ^= keys >> np.uint64(33)
        keys *= np.uint64(factor)
    keys ^= keys >> np.uint64(33)
    return keys
