"""From a sender to a corpus: one message a meaning, whatever the batches; noise is a function of its purpose."""

import numpy as np
import pytest

from ecsuite.games.channels.channels import words_to_symbols


def rows_of(messages):
    return [message.tolist() for message in messages]


@pytest.mark.parametrize(
    ("num_levels", "values", "ids"),
    [
        (2, [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]], [1, 2, 5, 8]),
        (3, [[0, 0], [0.5, 0], [0, 0.5], [1, 1]], [1, 2, 4, 9]),
        (11, [[0.3, 0.7]], [1 + 3 + 77]),
        (2, [[0.49, 0.51, 0.5]], [3]),  # rounded as the channel rounds, half to even
    ],
)
def test_words_by_hand(num_levels, values, ids):
    messages, names = words_to_symbols(np.array(values, dtype=np.float32)[None], num_levels)
    assert rows_of(messages) == [ids] and names is None


def test_the_largest_id_fits():
    """2^30 words are the most that ids of two levels number: all values at the highest level are the last of them."""
    messages, names = words_to_symbols(np.ones((1, 1, 30), dtype=np.float32), 2)
    assert rows_of(messages) == [[2**30]] and names is None
    assert words_to_symbols(np.ones((1, 1, 31), dtype=np.float32), 2)[1] == ("", "1" * 31)
