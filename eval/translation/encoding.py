"""Sentence pairs as token ids for the model."""

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ecsuite.config import ConfigError
from ecsuite.eval.learning.bart import Specials
from ecsuite.eval.learning.encoder_decoder import Encoded
from ecsuite.eval.translation.pairs import Pair, Split
from ecsuite.eval.translation.presets import Preset, Tuning
from ecsuite.eval.translation.vocabulary import encode

PAIRS_AT_ONCE = 5_000


def training_pairs(
    tokenizer: Tokenizer, split: Split, sizes: Preset, tuning: Tuning, special: Specials
) -> tuple[Encoded, int]:
    """Pairs that are short enough, up to the tokens of an epoch, and the number of skipped pairs that are too long."""
    sources: list[NDArray[np.int64]] = []
    targets: list[NDArray[np.int64]] = []
    num_tokens = num_too_long = 0
    for begin in range(0, len(split.train), PAIRS_AT_ONCE):
        several = split.train[begin : begin + PAIRS_AT_ONCE]
        for source, target in zip(
            encode(tokenizer, [pair.source for pair in several], special.end),
            encode(tokenizer, [pair.target for pair in several], special.end),
            strict=True,
        ):
            if num_tokens >= tuning.tokens:
                break
            if max(len(source), len(target)) > sizes.longest:
                num_too_long += 1
                continue
            sources.append(source)
            targets.append(target)
            num_tokens += len(source)
    if not sources:
        raise ConfigError(
            f"{split.name}: expected pairs of at most {sizes.longest} tokens, found only longer ones"
        )
    return Encoded(sources=sources, targets=targets), num_too_long


def held_out_pairs(
    tokenizer: Tokenizer, pairs: tuple[Pair, ...], sizes: Preset, special: Specials
) -> Encoded:
    """Held-out pairs; sentences longer than `sizes.longest` are truncated."""
    sides = []
    for sentences in ([pair.source for pair in pairs], [pair.target for pair in pairs]):
        rows = encode(tokenizer, sentences, special.end)
        sides.append(
            [
                row if len(row) <= sizes.longest else np.append(row[: sizes.longest - 1], special.end)
                for row in rows
            ]
        )
    return Encoded(sources=sides[0], targets=sides[1])
