"""Byte-level BPE: the tokens of texts."""

from collections.abc import Iterable, Iterator
from itertools import islice

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

LINES_AT_ONCE = 2_000


WORDS = Regex(r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+")
"""What no token crosses, with combining marks as parts of words, as Indic scripts and Thai need."""


def train_bpe(
    lines: Iterable[str], vocab_size: int, num_bytes: float = float("inf"), *, keeps_marks: bool = False
) -> Tokenizer:
    """Byte-level BPE, so that no text has anything unknown.

    Args:
        lines: Text.
        vocab_size: At most so many types.
        num_bytes: How much of the text it is learnt from.
        keeps_marks: Whether combining marks are parts of words; by the rules of GPT-2 and XferBench they are not.
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
    """Token ids of each line, its end included."""
    waiting = iter(lines)
    while several := [line + end for line in islice(waiting, LINES_AT_ONCE)]:
        yield from (encoding.ids for encoding in tokenizer.encode_batch_fast(several))


def first_bytes(lines: Iterable[str], num_bytes: float) -> Iterator[str]:
    """Lines until they hold so many bytes, the last one whole."""
    for line in lines:
        yield line
        num_bytes -= len(line.encode())
        if num_bytes < 0:
            return
