"""Byte-level BPE tokenisation of texts."""

from collections.abc import Iterable, Iterator
from itertools import islice

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

LINES_AT_ONCE = 2_000


WORDS = Regex(r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+")
"""Pre-tokenisation: tokens do not cross these parts. Combining marks belong to words (for Indic scripts and Thai)."""


def train_bpe(
    lines: Iterable[str], vocab_size: int, num_bytes: float = float("inf"), *, keeps_marks: bool = False
) -> Tokenizer:
    """Train a byte-level BPE tokeniser, which has no unknown tokens.

    Args:
        lines: Lines of text.
        vocab_size: Maximum number of types.
        num_bytes: Bytes of text used for training.
        keeps_marks: Treat combining marks as parts of words; GPT-2 and XferBench do not.
    """
    tokenizer = Tokenizer(models.BPE())
    by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not keeps_marks)
    words = pre_tokenizers.Split(WORDS, "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, by_bytes]) if keeps_marks else by_bytes
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(first_bytes(lines, num_bytes), trainer)
    return tokenizer


def encode(tokenizer: Tokenizer, lines: Iterable[str], end: str = "\n") -> Iterator[list[int]]:
    """Token ids of each line, including its end."""
    remaining = iter(lines)
    while several := [line + end for line in islice(remaining, LINES_AT_ONCE)]:
        yield from (encoding.ids for encoding in tokenizer.encode_batch_fast(several))


def first_bytes(lines: Iterable[str], num_bytes: float) -> Iterator[str]:
    """Lines up to `num_bytes` bytes; the last line is complete."""
    for line in lines:
        yield line
        num_bytes -= len(line.encode())
        if num_bytes < 0:
            return
