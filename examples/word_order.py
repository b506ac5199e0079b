"""A metric: whether attributes have separate positions in messages."""

import numpy as np
from sklearn.metrics import mutual_info_score


def word_order(corpus):
    """Share of attributes whose most informative position is no other attribute's."""
    if corpus.meanings is None or len(corpus.messages) < 2:
        return None
    meanings = np.asarray(corpus.meanings).reshape(len(corpus.messages), -1)
    content = corpus.content()
    longest = int(content.lengths.max(initial=0))
    if longest == 0:
        return None
    symbols = np.full((len(content), longest), -1)
    for index in range(len(content)):
        symbols[index, : len(content[index])] = content[index]
    best = [
        int(np.argmax([mutual_info_score(column, symbols[:, place]) for place in range(longest)]))
        for column in meanings.T
    ]
    return len(set(best)) / len(best)
