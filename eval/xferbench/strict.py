"""Data of the protocol `strict`: as the paper describes; where it gives no detail, without leaks.

Messages include EOS. A text is split by document, one per line, in the order of the lines' hashes: fine-tuning and test
never share a line, the order of the file does not matter, and the data are the same for every source. The end of a line
is a token like any other. BPE is trained on fine-tuning lines only. Every held-out token is scored once, with at least
half a window of context (except at the beginning of the text).
"""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.models.data import PretrainingData, Target, Windows, dense, repeat, stretches
from ecsuite.eval.models.vocabulary import encode, train_bpe
from ecsuite.eval.xferbench.presets import Pretraining, TextSizes
from ecsuite.eval.xferbench.texts import Text
from ecsuite.runtime.errors import ConfigError

TEST_SHARE = 10
"""One line in `TEST_SHARE` is for testing."""


def source(corpus: Corpus, sizes: Pretraining, seed: int) -> PretrainingData:
    """Messages in random order, repeated until there are enough.

    Raises:
        ConfigError: If the corpus has more types than the model.
    """
    length = sizes.num_windows(sizes.pretrain_tokens) * sizes.context + 1
    symbols, num_types = dense(repeat(corpus.messages, length, np.random.default_rng(seed)))
    if sizes.pretrain_vocabulary == "whole":
        _require_types(num_types, sizes)
        num_types = sizes.vocab_size
    return PretrainingData(
        windows=Windows(symbols=stretches(symbols, sizes.context + 1, sizes.context)),
        vocab_size=num_types,
        repeats=length / len(corpus.messages.values),
    )


def require_fitting(corpus: Corpus, sizes: Pretraining) -> None:
    """Check that the model has all symbols of a corpus of which no symbol is left out.

    Raises:
        ConfigError: If the corpus has more types than the model.
    """
    if sizes.pretrain_vocabulary == "whole" and len(corpus.messages.values) <= sizes.pretrain_tokens:
        _require_types(len(np.unique(corpus.messages.values)), sizes)


def _require_types(num_types: int, sizes: Pretraining) -> None:
    if num_types > sizes.vocab_size:
        raise ConfigError(
            f"the corpus has {num_types:,} different symbols, expected at most {sizes.vocab_size:,} for this preset"
        )


def target(text: Text, sizes: TextSizes) -> Target:
    """Split the lines, train BPE on those for fine-tuning, and tokenise both parts.

    Raises:
        ConfigError: If the text is too short to be tested on.
    """
    lines = shuffled(text.documents())
    num_test = len(lines) // TEST_SHARE
    test_lines, tune_lines = lines[:num_test], lines[num_test:]
    tokenizer = train_bpe(tune_lines, sizes.vocab_size, sizes.bpe_bytes)
    context = sizes.context
    length = sizes.num_windows(sizes.tune_tokens) * context + 1
    tune = _first(encode(tokenizer, tune_lines), length)
    test = _first(encode(tokenizer, test_lines), sizes.test_tokens + 1)
    for tokens, use in ((test, "test"), (tune, "fine-tuning")):
        if len(tokens) <= context:
            raise ConfigError(
                f"{text.name}: text too short: expected more than {context} {use} tokens, found {len(tokens)}"
            )
    return Target(
        vocab_size=tokenizer.get_vocab_size(),
        tune=Windows(symbols=stretches(np.resize(tune, length), context + 1, context)),
        test=Windows(symbols=stretches(test, context + 1, context // 2), num_context=context // 2),
        repeats=length / len(tune),
    )


def shuffled(lines: Iterable[str]) -> list[str]:
    """The different lines in the order of their hashes: a pseudorandom order that is always the same."""
    return sorted(set(lines), key=lambda line: hashlib.blake2b(line.encode(), digest_size=16).digest())


def _first(rows: Iterable[Sequence[int]], length: int) -> NDArray[np.int64]:
    """The first `length` tokens of rows, or as many as there are."""
    tokens: list[int] = []
    for row in rows:
        tokens += row
        if len(tokens) >= length:
            break
    return np.asarray(tokens[:length], dtype=np.int64)
