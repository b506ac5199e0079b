"""Byte-level BPE: the tokens of texts."""

from collections.abc import Iterable, Iterator
from itertools import islice

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

LINES_AT_ONCE = 2_000


def train_bpe(lines: Iterable[str], vocab_size: int, num_bytes: float = float("inf")) -> Tokenizer:
    """Byte-level BPE of at most `vocab_size` types, learnt from the first `num_bytes` bytes of `lines`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
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
