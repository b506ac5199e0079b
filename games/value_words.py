"""Words of values as symbols of a corpus."""

import numpy as np
from numpy.typing import NDArray

from ecsuite.runtime.ragged import Ragged


def words_to_symbols(words: NDArray[np.float32], num_levels: int) -> tuple[Ragged, tuple[str, ...] | None]:
    """Map words of values to symbol ids: 1 + the number whose digits are the levels, least significant digit first.

    Args:
        words: Values from 0 to 1, (num_messages, max_len, word_size).
        num_levels: Levels of a value.

    Returns:
        The messages and None. Where such ids need more than 31 bits: ids from 1 in lexicographic order of the digits,
        and the digits as symbol names, with an empty name for id 0.
    """
    levels = np.rint(words * (num_levels - 1)).astype(np.int64)
    num_messages, max_len, word_size = words.shape
    names = None
    if num_levels**word_size < 2**31:
        ids = 1 + levels @ num_levels ** np.arange(word_size)
    else:
        kinds, kind_ids = np.unique(levels.reshape(-1, word_size), axis=0, return_inverse=True)
        ids = 1 + kind_ids
        names = ("", *(("" if num_levels <= 10 else ".").join(map(str, kind)) for kind in kinds.tolist()))
    flat = ids.reshape(-1).astype(np.int32)
    return Ragged.from_lengths(flat, np.full(num_messages, max_len)), names
