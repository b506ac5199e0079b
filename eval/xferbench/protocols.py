"""Training and test data of the protocols: `strict` follows the paper, two other protocols the authors' program.

`strict`: messages include EOS. A text is split by document, one per line, in the order of the lines' hashes:
fine-tuning and test never share a line, the order of the file does not matter, and the data are the same for every
source. The end of a line is a token like any other. BPE is trained on fine-tuning lines only. Every held-out token is
scored once, with at least half a window of context (except at the beginning of the text).

`published-2024` and `head-2024-12` differ from the paper, and from `strict`:

- Symbol ids are not renumbered. In a corpus of ids, 256 is the padding id, and never predicted.
- Rows are joined a thousand at a time and split into blocks; the incomplete last block of each thousand is dropped.
  Blocks do not overlap, so that the first symbol of each block is never predicted. A corpus that is long enough is read
  in its original order.
- BPE is trained on the first 10 000 documents, for fine-tuning and for test. Fine-tuning reads documents in
  the order of the text (`head-2024-12`: in the shuffled order of the test, so that its first documents are the test
  documents); a tenth of all documents is the test.
- Each test document ends with an id that is not in the training data but is scored. Test windows overlap by half
  and are scored whole, so that most tokens count twice.

The program's last test window, which is shorter, is left out (1 of 7 816).
"""

from collections.abc import Iterable, Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.models.data import PretrainingData, Target, Windows, dense, gather, repeat, stretches
from ecsuite.eval.models.vocabulary import encode, train_bpe
from ecsuite.eval.xferbench.presets import TextSizes, WindowSize, XferBenchPretraining
from ecsuite.eval.xferbench.texts import Text, in_hash_order
from ecsuite.runtime.errors import ConfigError

TEST_SHARE = 10
"""One line in `TEST_SHARE` is for testing."""


def strict_source(corpus: Corpus, sizes: XferBenchPretraining, seed: int) -> PretrainingData:
    """Concatenate messages in random order, repeated up to the required size.

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


def require_strict(corpus: Corpus, sizes: XferBenchPretraining) -> None:
    """Check that the vocabulary of the model is large enough for a corpus.

    Raises:
        ConfigError: If the corpus has more types than the model.
    """
    if sizes.pretrain_vocabulary == "whole" and len(corpus.messages.values) <= sizes.pretrain_tokens:
        _require_types(len(np.unique(corpus.messages.values)), sizes)


def _require_types(num_types: int, sizes: XferBenchPretraining) -> None:
    if num_types > sizes.vocab_size:
        raise ConfigError(
            f"the corpus has {num_types:,} different symbols, expected at most {sizes.vocab_size:,} for this preset"
        )


def strict_target(text: Text, sizes: TextSizes) -> Target:
    """Split the lines into fine-tuning and test, train BPE on the former, and tokenise both.

    Raises:
        ConfigError: If the text is too short for a test.
    """
    lines = in_hash_order(text.documents())
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


def _first(rows: Iterable[Sequence[int]], length: int) -> NDArray[np.int64]:
    """The first `length` tokens of rows, or all tokens if there are fewer."""
    tokens: list[int] = []
    for row in rows:
        tokens += row
        if len(tokens) >= length:
            break
    return np.asarray(tokens[:length], dtype=np.int64)


PADDING = 256
"""Padding id of the program in a corpus of ids; never predicted."""
NUM_DOCUMENTS = 100_000
"""Number of documents used from the beginning of a text."""
NUM_BPE_DOCUMENTS = 10_000
"""Number of documents that BPE is trained on."""
NUM_TEST_DOCUMENTS = 10_000
"""Maximum number of test documents."""
ROWS_AT_ONCE = 1_000


def program_source(
    corpus: Corpus, sizes: XferBenchPretraining, _: int, *, shuffled: bool = False
) -> PretrainingData:
    """Blocks of a corpus: in its original order if it is long enough, otherwise repeated, with shuffled passes.

    Args:
        corpus: The corpus.
        sizes: Sizes of the data.
        shuffled: Whether a corpus that is long enough is shuffled, too.

    Raises:
        ConfigError: If symbol ids are above the vocabulary, or the corpus is too short.
    """
    messages = corpus.messages
    num_rows, num_symbols = len(messages), len(messages.values)
    require_program(corpus, sizes)
    lost = _num_lost(num_rows, sizes)
    num_rounds = sizes.pretrain_tokens // (num_symbols - lost) + 1
    in_order = not shuffled and num_symbols >= sizes.pretrain_tokens
    order = np.concatenate(
        [
            np.arange(num_rows) if in_order else np.random.default_rng(number).permutation(num_rows)
            for number in range(num_rounds)
        ]
    )
    pieces = (
        gather(messages, order[start : start + ROWS_AT_ONCE]) for start in range(0, len(order), ROWS_AT_ONCE)
    )
    symbols = _blocks(pieces, sizes, sizes.pretrain_tokens)
    return PretrainingData(
        windows=Windows(
            symbols=stretches(symbols, sizes.context, sizes.context),
            ignored=PADDING if corpus.symbol_names is None else None,
        ),
        vocab_size=sizes.vocab_size,
        repeats=len(symbols) / num_symbols,
    )


def require_program(corpus: Corpus, sizes: XferBenchPretraining) -> None:
    """Check that pretraining can read a corpus.

    Raises:
        ConfigError: If symbol ids are above the vocabulary, or the corpus is too short.
    """
    messages = corpus.messages
    num_rows, num_symbols = len(messages), len(messages.values)
    if messages.values.max() >= sizes.vocab_size or messages.values.min() < 0:
        raise ConfigError(
            f"this protocol expects symbol ids from 0 to {sizes.vocab_size - 1:,}, "
            f"found {messages.values.max()}; try protocol=strict"
        )
    lost = _num_lost(num_rows, sizes)
    if num_symbols <= lost:
        raise ConfigError(
            f"this protocol drops up to {lost} symbols in incomplete blocks: expected a corpus of more symbols, "
            f"found {num_symbols}; try protocol=strict"
        )


def _num_lost(num_rows: int, sizes: XferBenchPretraining) -> int:
    """Maximum number of symbols of a corpus in incomplete blocks."""
    return (num_rows // ROWS_AT_ONCE + 1) * (sizes.context - 1)


def program_target(text: Text, sizes: TextSizes, *, shuffled: bool = False) -> Target:
    """Fine-tuning data from the beginning of a text, and a tenth of its documents as test data.

    Args:
        text: The text.
        sizes: Sizes of the data.
        shuffled: Whether fine-tuning reads the shuffled text, whose beginning is the test set.

    Raises:
        ConfigError: If the text is too short.
    """
    documents = text.documents()[:NUM_DOCUMENTS]
    if not documents:
        raise ConfigError(f"{text.name}: text too short: expected documents, found none")
    tokenizer = train_bpe(documents[:NUM_BPE_DOCUMENTS], sizes.vocab_size - 1)
    in_test_order = [documents[position] for position in np.random.default_rng(0).permutation(len(documents))]
    tested = in_test_order[: min(-(-len(documents) // 10), NUM_TEST_DOCUMENTS)]

    rows = encode(tokenizer, in_test_order if shuffled else documents, end="")
    thousands = iter(lambda: list(islice(rows, ROWS_AT_ONCE)), [])
    joined = (np.fromiter(chain.from_iterable(thousand), dtype=np.int64) for thousand in thousands)
    tune = _blocks(joined, sizes, sizes.tune_tokens)
    if len(tune) < sizes.tune_tokens:
        raise ConfigError(
            f"{text.name}: this protocol expects {sizes.tune_tokens:,} tokens for fine-tuning, found {len(tune):,}; "
            "try protocol=strict, which repeats the text"
        )
    test: list[int] = []
    for row in encode(tokenizer, tested, end=""):
        test += [*row, sizes.vocab_size - 1]
        if len(test) > sizes.test_tokens:
            break
    if len(test) < sizes.context:
        raise ConfigError(
            f"{text.name}: text too short: expected {sizes.context} test tokens, found {len(test)}"
        )
    context = sizes.context
    return Target(
        vocab_size=sizes.vocab_size,
        tune=Windows(symbols=stretches(tune, context, context)),
        test=Windows(symbols=stretches(np.asarray(test), context, context // 2)),
        repeats=1.0,
    )


def _blocks(
    thousands: Iterable[NDArray[np.integer]], sizes: WindowSize, num_tokens: int
) -> NDArray[np.integer]:
    """Whole blocks of each thousand rows, up to `num_tokens` tokens, rounded up to a whole block."""
    num_needed = sizes.num_windows(num_tokens) * sizes.context
    pieces: list[NDArray[np.integer]] = []
    num_found = 0
    for piece in thousands:
        pieces.append(piece[: len(piece) // sizes.context * sizes.context])
        num_found += len(pieces[-1])
        if num_found >= num_needed:
            break
    return np.concatenate(pieces)[:num_needed]
