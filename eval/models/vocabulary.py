"""Sub-word vocabularies: newly trained byte-level BPE, or the tokenizer of a published model."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tokenizers import Encoding, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from ecsuite.runtime.errors import ConfigError

LINES_AT_ONCE = 2_000
WORDS = Regex(r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+")
"""Pre-tokenisation: tokens do not cross these parts. Combining marks belong to words (for Indic scripts and Thai)."""


def train_bpe(
    lines: Iterable[str], vocab_size: int, num_bytes: float = float("inf"), *, keeps_marks: bool = False
) -> Tokenizer:
    """Train a byte-level BPE tokeniser; it has no unknown tokens.

    Args:
        lines: Lines of text.
        vocab_size: Maximum number of types.
        num_bytes: Bytes of text used for training.
        keeps_marks: Whether combining marks are parts of words, unlike in GPT-2 and XferBench.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class SubWords:
    """A tokenizer and its special symbols."""

    tokenizer: Tokenizer
    """The tokenizer, without truncation and padding."""
    size: int
    """Number of sub-words and special symbols: rows of the embedding."""
    first: tuple[int, ...]
    """Special symbols at the beginning of an input."""
    between: tuple[int, ...]
    """Special symbols between two texts."""
    last: tuple[int, ...]
    """Special symbols at the end of an input."""
    padding: int
    """Padding symbol of shorter inputs; never attended to."""
    mask: int
    """Mask symbol of masked language modelling."""
    unknown: int
    """Replaces a word for which the tokenizer returns no sub-word."""

    def words(self, sentences: Iterable[Sequence[str]]) -> list[list[list[int]]]:
        """Sub-words of each word of each sentence, encoded as within a text; at least one per word."""
        sentences = list(sentences)
        distinct = list(dict.fromkeys(word for sentence in sentences for word in sentence))
        prefix = self._word_prefix()
        encodings = self.tokenizer.encode_batch_fast(
            [prefix + word for word in distinct], add_special_tokens=False
        )
        ids = dict(zip(distinct, (encoding.ids or [self.unknown] for encoding in encodings), strict=True))
        return [[ids[word] for word in sentence] for sentence in sentences]

    def texts(self, texts: Sequence[str]) -> list[Encoding]:
        """Sub-words of texts; `offsets` are the character positions of each sub-word."""
        encodings: list[Encoding] = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return encodings

    def _word_prefix(self) -> str:
        """A space if tokens include the preceding space and the tokenizer does not add it; else empty."""
        once, twice = (self.tokenizer.encode(text, add_special_tokens=False).ids for text in ("a", "a a"))
        return "" if twice == once + once else " "


def train_subwords(lines: Iterable[str], vocab_size: int) -> SubWords:
    """Train byte-level BPE, which has no unknown symbols, and append four special symbols."""
    return subwords_of(train_bpe(lines, vocab_size, keeps_marks=True))


def subwords_of(tokenizer: Tokenizer) -> SubWords:
    """The vocabulary of a tokenizer of `train_bpe`, with four special symbols appended."""
    num_subwords = tokenizer.get_vocab_size()
    first, between, mask, padding = range(num_subwords, num_subwords + 4)
    return SubWords(
        tokenizer=tokenizer,
        size=num_subwords + 4,
        first=(first,),
        between=(between,),
        last=(between,),
        padding=padding,
        mask=mask,
        unknown=mask,
    )


def published_subwords(tokenizer: Any) -> SubWords:
    """The vocabulary of a Hugging Face tokenizer, with its own special symbols.

    Args:
        tokenizer: A fast tokenizer.

    Raises:
        ConfigError: If it is a slow tokenizer.
    """
    if not tokenizer.is_fast:
        raise ConfigError(
            f"{tokenizer.name_or_path}: expected a fast tokenizer (package tokenizers), "
            f"got {type(tokenizer).__name__}"
        )
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_truncation()
    backend.no_padding()
    encoding = backend.encode("a", "a")
    texts = encoding.sequence_ids  # 0 and 1 for sub-words of the two texts, None for special symbols
    begin, end, begin_second = texts.index(0), len(texts) - texts[::-1].index(0), texts.index(1)
    end_second = len(texts) - texts[::-1].index(1)
    padding = _first_not_none(tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    mask = _first_not_none(tokenizer.mask_token_id, padding)
    return SubWords(
        tokenizer=backend,
        size=len(tokenizer),
        first=tuple(encoding.ids[:begin]),
        between=tuple(encoding.ids[end:begin_second]),
        last=tuple(encoding.ids[end_second:]),
        padding=padding,
        mask=mask,
        unknown=_first_not_none(tokenizer.unk_token_id, mask),
    )


def _first_not_none(*symbols: int | None) -> int:
    """The first symbol that is not None."""
    return next(symbol for symbol in symbols if symbol is not None)
