"""Sentence pairs: read from a file, deduplicated, and split into training, validation and test without leaks."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ecsuite.formats.stored_text import num_columns_in_words, read_lines
from ecsuite.runtime.errors import ConfigError

HELD_OUT_SHARE = 5
"""At most one pair in `HELD_OUT_SHARE` is held out: the authors' program holds out a fifth."""
MIN_PAIRS = 20
"""Minimum number of different pairs."""


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """Pairs for training, validation and test. No training pair shares its source or target with a held-out pair."""

    train: tuple[Pair, ...]
    valid: tuple[Pair, ...]
    test: tuple[Pair, ...]
    digest: str
    """A hash of the different pairs."""
    num_left_out: int
    """Number of pairs left out of training because they share a sentence with a held-out pair."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairFile:
    """A file of pairs and how it is split: known by its different pairs, not by its path or their order."""

    path: Path
    """The file."""
    num_valid: int
    """See `Preset`."""
    num_test: int
    """See `Preset`."""
    digest: str
    """A hash of the different pairs."""

    def job_key(self) -> list[str | int]:
        """What can change a result."""
        return [self.digest, self.num_valid, self.num_test]

    def split(self) -> Split:
        """Read and split the file again.

        Raises:
            ConfigError: If it has changed since it was split first.
        """
        found = split_pairs(self.path, self.num_valid, self.num_test)
        if found.digest != self.digest:
            raise ConfigError(f"{self.path}: has changed while it was in use: run the same command again")
        return found


def read_pairs(path: Path) -> list[Pair]:
    """Read pairs, one per line: source, tab, target; the file may be compressed (`.gz`, `.xz`).

    Raises:
        ConfigError: If the file can't be read, or a line is not two sentences with a tab between.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: no such file of sentence pairs")
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 2 or not all(fields):
            found = num_columns_in_words(len(fields)) if len(fields) != 2 else "an empty sentence"
            raise ConfigError(f"{path}:{number}: expected a source, a tab and a target, found {found}")
        pairs.append(Pair(*fields))
    return pairs


def split_pairs(path: Path, num_valid: int, num_test: int) -> Split:
    """Read a file and split its different pairs by their hashes, so that the order of lines does not matter.

    In order of the hashes, the first pairs are for test, the next for validation: as many as asked for, but
    together at most a fifth of all pairs. The others are for training, without pairs that share their source or target
    with a held-out pair.

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
            f"{path}: expected training pairs, found only pairs that share a sentence with held-out ones"
        )
    return Split(
        train=tuple(train),
        valid=tuple(held_out[num_tested:]),
        test=tuple(held_out[:num_tested]),
        digest=hashlib.blake2b(b"".join(map(_digest, pairs)), digest_size=4).hexdigest(),
        num_left_out=len(pairs) - num_held_out - len(train),
    )


def _digest(pair: Pair) -> bytes:
    return hashlib.blake2b("\t".join(pair).encode(), digest_size=16).digest()
