"""Tokens of sentences: one byte-level BPE for both languages, and special ids that no symbol can have."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ecsuite.eval.learning import bpe
from ecsuite.eval.translation.pairs import Pair

NUM_SPECIAL = 5
NUM_BPE_PAIRS = 100_000
"""BPE is learnt from so many pairs, as in the authors' program."""


def learn(pairs: Sequence[Pair], vocab_size: int) -> Tokenizer:
    """BPE over both sides of the pairs, of `vocab_size` types with the special ones."""
    return bpe.train_bpe(
        [f"{source} {target}" for source, target in pairs[:NUM_BPE_PAIRS]], vocab_size - NUM_SPECIAL
    )


def encode(tokenizer: Tokenizer, sentences: Sequence[str], end: int) -> list[NDArray[np.int64]]:
    """Token ids of each sentence and the id that ends it."""
    return [np.array([*tokens, end], dtype=np.int64) for tokens in bpe.encode(tokenizer, sentences, end="")]


def decode(tokenizer: Tokenizer, tokens: NDArray[np.int64], end: int) -> tuple[str, bool]:
    """The sentence before the first `end`, in one line, and whether there is an end."""
    ends = np.flatnonzero(tokens == end)
    said = tokens[: ends[0]] if len(ends) else tokens
    text = tokenizer.decode(said[said < tokenizer.get_vocab_size()].tolist())
    return " ".join(text.split()), len(ends) > 0
