"""Sentence pairs: read, deduplicated, split into training, validation and test without leaks, and encoded as token ids.

One byte-level BPE is learnt for both languages; the model's special ids follow its tokens.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ecsuite.eval.models import vocabulary as bpe
from ecsuite.eval.models.encoder_decoder import NUM_SPECIAL, Encoded, Specials
from ecsuite.formats.stored_text import read_lines
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import counted

HELD_OUT_SHARE = 5
"""At most one pair in `HELD_OUT_SHARE` is held out: the authors' program holds out a fifth."""
MIN_PAIRS = 20
"""Minimum number of different pairs."""


class SentencePair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """Pairs for training, validation and test. No training pair shares its source or target with a held-out pair."""

    train: tuple[SentencePair, ...]
    valid: tuple[SentencePair, ...]
    test: tuple[SentencePair, ...]
    digest: str
    """A hash of the distinct pairs."""
    num_left_out: int
    """Number of pairs left out of training because they share a sentence with a held-out pair."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairFile:
    """A file of pairs with the sizes of its split, identified by its distinct pairs, not by path or order."""

    path: Path
    """The file."""
    num_valid: int
    """Maximum number of validation pairs."""
    num_test: int
    """Maximum number of test pairs."""
    digest: str
    """A hash of the different pairs."""

    def job_key(self) -> list[str | int]:
        """Digest of the pairs, and sizes of the split."""
        return [self.digest, self.num_valid, self.num_test]

    def split(self) -> Split:
        """Read and split the file again.

        Raises:
            ConfigError: If its pairs have changed since the digest was computed.
        """
        split = split_pairs(self.path, self.num_valid, self.num_test)
        if split.digest != self.digest:
            raise ConfigError(f"{self.path}: has changed during the run: run the same command again")
        return split


def read_pairs(path: Path) -> list[SentencePair]:
    """Read pairs, one per line: source, tab, target; the file may be compressed (`.gz`, `.xz`).

    Raises:
        ConfigError: If the file can't be read, or a line is not two sentences separated by a tab.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: no such file of sentence pairs")
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 2 or not all(fields):
            problem = counted(len(fields), "column") if len(fields) != 2 else "an empty sentence"
            raise ConfigError(f"{path}:{number}: expected a source, a tab and a target, found {problem}")
        pairs.append(SentencePair(*fields))
    return pairs


def split_pairs(path: Path, num_valid: int, num_test: int) -> Split:
    """Read a file and split its different pairs by their hashes, so that the order of lines does not matter.

    In order of the hashes, the first pairs are for test, the next for validation: the requested numbers, but
    together at most a fifth of all pairs. All other pairs are for training, except pairs that share their source or
    target with a held-out pair.

    Args:
        path: The file.
        num_valid: Maximum number of validation pairs.
        num_test: Maximum number of test pairs.

    Raises:
        ConfigError: If the file can't be read, or has too few different pairs.
    """
    pairs = sorted(set(read_pairs(path)), key=_digest)
    if len(pairs) < MIN_PAIRS:
        raise ConfigError(f"{path}: expected at least {MIN_PAIRS} different pairs, found {len(pairs)}")
    num_held_out = min(num_test + num_valid, len(pairs) // HELD_OUT_SHARE)
    num_tested = -(-num_held_out * num_test // (num_test + num_valid))
    held_out = pairs[:num_held_out]
    sources, targets = {pair.source for pair in held_out}, {pair.target for pair in held_out}
    train = [
        pair for pair in pairs[num_held_out:] if pair.source not in sources and pair.target not in targets
    ]
    if not train:
        raise ConfigError(
            f"{path}: expected training pairs, found only pairs that share a sentence with held-out pairs"
        )
    return Split(
        train=tuple(train),
        valid=tuple(held_out[num_tested:]),
        test=tuple(held_out[:num_tested]),
        digest=hashlib.blake2b(b"".join(map(_digest, pairs)), digest_size=4).hexdigest(),
        num_left_out=len(pairs) - num_held_out - len(train),
    )


def _digest(pair: SentencePair) -> bytes:
    return hashlib.blake2b("\t".join(pair).encode(), digest_size=16).digest()


NUM_BPE_PAIRS = 100_000
"""Number of pairs that BPE is trained on, as in the authors' program."""


def learn(pairs: Sequence[SentencePair], vocab_size: int) -> Tokenizer:
    """Train BPE on both sides of the pairs; `vocab_size` includes the special tokens."""
    return bpe.train_bpe(map(" ".join, pairs[:NUM_BPE_PAIRS]), vocab_size - NUM_SPECIAL)


def encode(tokenizer: Tokenizer, sentences: Iterable[str], end: int) -> Iterator[NDArray[np.int64]]:
    """Token ids of each sentence, followed by the end token."""
    for tokens in bpe.encode(tokenizer, sentences, end=""):
        yield np.array([*tokens, end], dtype=np.int64)


def decode(tokenizer: Tokenizer, tokens: NDArray[np.int64], end: int) -> tuple[str, bool]:
    """The sentence before the first `end`, on one line, and whether there is an end."""
    ends = np.flatnonzero(tokens == end)
    content = tokens[: ends[0]] if len(ends) else tokens
    text = tokenizer.decode(content[content < tokenizer.get_vocab_size()].tolist())
    return " ".join(text.split()), len(ends) > 0


def training_pairs(
    tokenizer: Tokenizer, pairs: Sequence[SentencePair], *, longest: int, num_tokens: int, special: Specials
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
        raise ConfigError(f"expected pairs of at most {longest} tokens, found only longer pairs")
    return encoded, num_too_long


def require_short_pairs(pairs: Sequence[SentencePair], *, longest: int, vocab_size: int) -> None:
    """Raise the error of `training_pairs` early if all pairs are too long.

    Raises:
        ConfigError: If all pairs are longer than `longest` tokens.
    """
    # Most pairs are so short that BPE is not needed: a byte is at most one token, and there are two further tokens, the
    # space before the first word and the end.
    if not any(max(len(side.encode()) for side in pair) + 2 <= longest for pair in pairs):
        tokenizer, special = learn(pairs, vocab_size), Specials.of(vocab_size)
        training_pairs(tokenizer, pairs, longest=longest, num_tokens=1, special=special)


def held_out_pairs(
    tokenizer: Tokenizer, pairs: Sequence[SentencePair], *, longest: int, special: Specials
) -> Encoded:
    """Held-out pairs; sentences longer than `longest` tokens are truncated."""

    def encoded(sentences: Iterable[str]) -> list[NDArray[np.int64]]:
        rows = encode(tokenizer, sentences, special.end)
        return [row if len(row) <= longest else np.append(row[: longest - 1], special.end) for row in rows]

    return Encoded(
        sources=encoded(pair.source for pair in pairs), targets=encoded(pair.target for pair in pairs)
    )
