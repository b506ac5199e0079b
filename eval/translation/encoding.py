"""Sentence pairs as token ids for the model."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ecsuite.config import ConfigError
from ecsuite.eval.learning.bart import Specials
from ecsuite.eval.learning.encoder_decoder import Encoded
from ecsuite.eval.translation.pairs import Pair
from ecsuite.eval.translation.vocabulary import encode

PAIRS_AT_ONCE = 5_000


def training_pairs(
    tokenizer: Tokenizer, pairs: Sequence[Pair], *, longest: int, num_tokens: int, special: Specials
) -> tuple[Encoded, int]:
    """Pairs that are short enough, up to `num_tokens` source tokens, and the number of skipped longer pairs.

    Raises:
        ConfigError: If all pairs are longer than `longest` tokens.
    """
    sources: list[NDArray[np.int64]] = []
    targets: list[NDArray[np.int64]] = []
    num_seen = num_too_long = 0
    for begin in range(0, len(pairs), PAIRS_AT_ONCE):
        several = pairs[begin : begin + PAIRS_AT_ONCE]
        for source, target in zip(
            encode(tokenizer, [pair.source for pair in several], special.end),
            encode(tokenizer, [pair.target for pair in several], special.end),
            strict=True,
        ):
            if num_seen >= num_tokens:
                break
            if max(len(source), len(target)) > longest:
                num_too_long += 1
                continue
            sources.append(source)
            targets.append(target)
            num_seen += len(source)
    if not sources:
        raise ConfigError(f"expected pairs of at most {longest} tokens, found only longer ones")
    return Encoded(sources=sources, targets=targets), num_too_long


def held_out_pairs(
    tokenizer: Tokenizer, pairs: Sequence[Pair], *, longest: int, special: Specials
) -> Encoded:
    """Held-out pairs; sentences longer than `longest` tokens are truncated."""
    sides = []
    for sentences in ([pair.source for pair in pairs], [pair.target for pair in pairs]):
        rows = encode(tokenizer, sentences, special.end)
        sides.append(
            [row if len(row) <= longest else np.append(row[: longest - 1], special.end) for row in rows]
        )
    return Encoded(sources=sides[0], targets=sides[1])
