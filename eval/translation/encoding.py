"""Sentence pairs as token ids: one byte-level BPE for both languages, with the model's special ids after its tokens."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ecsuite.eval.models.encoder_decoder import NUM_SPECIAL, Encoded, Specials
from ecsuite.eval.models.vocabulary import encode as encode_lines
from ecsuite.eval.models.vocabulary import train_bpe
from ecsuite.eval.translation.pairs import Pair
from ecsuite.runtime.errors import ConfigError

NUM_BPE_PAIRS = 100_000
"""Number of pairs that BPE is trained on, as in the authors' program."""


def learn(pairs: Sequence[Pair], vocab_size: int) -> Tokenizer:
    """Train BPE on both sides of the pairs; `vocab_size` includes the special tokens."""
    return train_bpe(map(" ".join, pairs[:NUM_BPE_PAIRS]), vocab_size - NUM_SPECIAL)


def encode(tokenizer: Tokenizer, sentences: Iterable[str], end: int) -> Iterator[NDArray[np.int64]]:
    """Token ids of each sentence, followed by the end token."""
    for tokens in encode_lines(tokenizer, sentences, end=""):
        yield np.array([*tokens, end], dtype=np.int64)


def decode(tokenizer: Tokenizer, tokens: NDArray[np.int64], end: int) -> tuple[str, bool]:
    """The sentence before the first `end`, on one line, and whether there is an end."""
    ends = np.flatnonzero(tokens == end)
    content = tokens[: ends[0]] if len(ends) else tokens
    text = tokenizer.decode(content[content < tokenizer.get_vocab_size()].tolist())
    return " ".join(text.split()), len(ends) > 0


def training_pairs(
    tokenizer: Tokenizer, pairs: Sequence[Pair], *, longest: int, num_tokens: int, special: Specials
) -> tuple[Encoded, int]:
    """Pairs that are short enough, up to `num_tokens` source tokens, and the number of skipped longer pairs.

    Raises:
        ConfigError: If all pairs are longer than `longest` tokens.
    """
    encoded = Encoded(sources=[], targets=[])
    num_seen = num_too_long = 0
    sources = encode(tokenizer, (pair.source for pair in pairs), special.end)
    targets = encode(tokenizer, (pair.target for pair in pairs), special.end)
    for source, target in zip(sources, targets, strict=True):
        if num_seen >= num_tokens:
            break
        if max(len(source), len(target)) > longest:
            num_too_long += 1
            continue
        encoded.sources.append(source)
        encoded.targets.append(target)
        num_seen += len(source)
    if not encoded.sources:
        raise ConfigError(f"expected pairs of at most {longest} tokens, found only longer ones")
    return encoded, num_too_long


def require_short_pairs(pairs: Sequence[Pair], *, longest: int, vocab_size: int) -> None:
    """Check that there is a pair to learn from; mostly one is so short that no tokens are needed to see that.

    Raises:
        ConfigError: As of `training_pairs`.
    """
    # A byte is at most a token; beside these there are a space before the first word, and the end.
    if not any(max(len(side.encode()) for side in pair) + 2 <= longest for pair in pairs):
        tokenizer, special = learn(pairs, vocab_size), Specials.of(vocab_size)
        training_pairs(tokenizer, pairs, longest=longest, num_tokens=1, special=special)


def held_out_pairs(
    tokenizer: Tokenizer, pairs: Sequence[Pair], *, longest: int, special: Specials
) -> Encoded:
    """Held-out pairs; sentences longer than `longest` tokens are truncated."""

    def encoded(sentences: Iterable[str]) -> list[NDArray[np.int64]]:
        rows = encode(tokenizer, sentences, special.end)
        return [row if len(row) <= longest else np.append(row[: longest - 1], special.end) for row in rows]

    return Encoded(
        sources=encoded(pair.source for pair in pairs), targets=encoded(pair.target for pair in pairs)
    )
