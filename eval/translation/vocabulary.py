"""Tokens of sentences: one byte-level BPE for both languages, and ids of special tokens."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ecsuite.eval.learning import bpe
from ecsuite.eval.learning.bart import NUM_SPECIAL
from ecsuite.eval.translation.pairs import Pair

NUM_BPE_PAIRS = 100_000
"""Number of pairs that BPE is trained on, as in the authors' program."""


def learn(pairs: Sequence[Pair], vocab_size: int) -> Tokenizer:
    """Train BPE on both sides of the pairs; `vocab_size` includes the special tokens."""
    return bpe.train_bpe(
        [f"{source} {target}" for source, target in pairs[:NUM_BPE_PAIRS]], vocab_size - NUM_SPECIAL
    )


def encode(tokenizer: Tokenizer, sentences: Sequence[str], end: int) -> list[NDArray[np.int64]]:
    """Token ids of each sentence, followed by the end token."""
    return [np.array([*tokens, end], dtype=np.int64) for tokens in bpe.encode(tokenizer, sentences, end="")]


def decode(tokenizer: Tokenizer, tokens: NDArray[np.int64], end: int) -> tuple[str, bool]:
    """The sentence before the first `end`, on one line, and whether there is an end."""
    ends = np.flatnonzero(tokens == end)
    content = tokens[: ends[0]] if len(ends) else tokens
    text = tokenizer.decode(content[content < tokenizer.get_vocab_size()].tolist())
    return " ".join(text.split()), len(ends) > 0
