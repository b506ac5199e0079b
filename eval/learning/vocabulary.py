"""Sub-words: what a body reads of a text, be they learnt here or those of a published model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Encoding, Tokenizer

from ecsuite.config import ConfigError
from ecsuite.eval.learning.bpe import train_bpe


@dataclass(frozen=True, kw_only=True, slots=True)
class SubWords:
    """A tokenizer and the symbols that hold inputs together."""

    tokenizer: Tokenizer
    """Neither cuts nor pads."""
    size: int
    """Rows of the embedding: sub-words and special symbols."""
    first: tuple[int, ...]
    """What an input begins with."""
    between: tuple[int, ...]
    """What separates two texts."""
    last: tuple[int, ...]
    """What an input ends with."""
    padding: int
    """Fills up shorter inputs; never attended to."""
    mask: int
    """Hides a sub-word from an encoder that learns to guess it."""
    unknown: int
    """Stands for a word of which the tokenizer leaves nothing."""

    def words(self, sentences: Iterable[Sequence[str]]) -> list[list[list[int]]]:
        """Sub-words of each word of each sentence, as they are amid a text, at least one a word."""
        sentences = list(sentences)
        distinct = list(dict.fromkeys(word for sentence in sentences for word in sentence))
        before = self._before_words()
        encodings = self.tokenizer.encode_batch_fast(
            [before + word for word in distinct], add_special_tokens=False
        )
        ids = dict(zip(distinct, (encoding.ids or [self.unknown] for encoding in encodings), strict=True))
        return [[ids[word] for word in sentence] for sentence in sentences]

    def texts(self, texts: Sequence[str]) -> list[Encoding]:
        """Sub-words of texts, with the characters that each stands for as `offsets`."""
        encodings: list[Encoding] = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return encodings

    def _before_words(self) -> str:
        """A space, if the tokenizer takes it for a part of the word that follows and does not add it itself."""
        alone, twice = (self.tokenizer.encode(text, add_special_tokens=False).ids for text in ("a", "a a"))
        return "" if twice == alone + alone else " "


def learn_subwords(lines: Iterable[str], vocab_size: int) -> SubWords:
    """Byte-level BPE, so that no text has anything unknown, and four special symbols after it."""
    return own_subwords(train_bpe(lines, vocab_size, keeps_marks=True))


def own_subwords(tokenizer: Tokenizer) -> SubWords:
    """The sub-words of a tokenizer that was learnt here."""
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
    """The sub-words of a Hugging Face tokenizer, with its own special symbols.

    Args:
        tokenizer: A fast one.

    Raises:
        ConfigError: If it is a slow one.
    """
    if not tokenizer.is_fast:
        raise ConfigError(
            f"{tokenizer.name_or_path}: expected a tokenizer of the package tokenizers (a fast one), "
            f"got {type(tokenizer).__name__}"
        )
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_truncation()
    backend.no_padding()
    both = backend.encode("a", "a")
    texts = both.sequence_ids  # 0 and 1 for sub-words of the two texts, None for special symbols
    begin, end, begin_second = texts.index(0), len(texts) - texts[::-1].index(0), texts.index(1)
    end_second = len(texts) - texts[::-1].index(1)
    padding = _first_known(tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    mask = _first_known(tokenizer.mask_token_id, padding)
    return SubWords(
        tokenizer=backend,
        size=len(tokenizer),
        first=tuple(both.ids[:begin]),
        between=tuple(both.ids[end:begin_second]),
        last=tuple(both.ids[end_second:]),
        padding=padding,
        mask=mask,
        unknown=_first_known(tokenizer.unk_token_id, mask),
    )


def _first_known(*symbols: int | None) -> int:
    """Not all tokenizers have all special symbols."""
    return next(symbol for symbol in symbols if symbol is not None)
