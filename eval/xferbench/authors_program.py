"""Data of the protocols `published-2024` and `head-2024-12`, as the authors' program makes them.

Differences from the paper, and from `strict`:

- Symbol ids are not renumbered. In a corpus of ids, 256 is the padding id, and never predicted.
- Rows are joined a thousand at a time and split into blocks; the incomplete last block of each thousand is dropped.
  Blocks do not overlap, so that the first symbol of each is never predicted. A corpus that is long enough is read in
  its own order.
- BPE is trained on the first 10 000 documents, whether they are for fine-tuning or test. Fine-tuning reads documents in
  the order of the text (`head-2024-12`: in the shuffled order of the test, so that its first documents are the test
  documents); a tenth of all documents is the test.
- Each test document ends with an id that does not occur in training, and that is scored. Test windows overlap by half
  and are scored whole, so that most tokens count twice.

The program's last test window, shorter than the others, is left out (1 of 7 816).
"""

from collections.abc import Iterable
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.models.data import PretrainingData, Target, Windows, gather, stretches
from ecsuite.eval.models.vocabulary import encode, train_bpe
from ecsuite.eval.xferbench.presets import Pretraining, TextSizes, WindowSize
from ecsuite.eval.xferbench.texts import Text
from ecsuite.runtime.errors import ConfigError

PADDING = 256
"""Padding id of the program in a corpus of ids; never predicted."""
NUM_DOCUMENTS = 100_000
"""Number of documents of a text that are used, from its beginning."""
NUM_BPE_DOCUMENTS = 10_000
"""Number of documents that BPE is trained on."""
NUM_TEST_DOCUMENTS = 10_000
"""Maximum number of test documents."""
ROWS_AT_ONCE = 1_000


def source(corpus: Corpus, sizes: Pretraining, _: int, *, shuffled: bool = False) -> PretrainingData:
    """Blocks of a corpus: in its own order if it is long enough, otherwise repeated, shuffled in each pass.

    Args:
        corpus: The corpus.
        sizes: Sizes of the data.
        shuffled: Whether a corpus that is long enough is shuffled, too.

    Raises:
        ConfigError: If symbol ids are above the vocabulary, or the corpus is too short.
    """
    messages = corpus.messages
    num_rows, num_symbols = len(messages), len(messages.values)
    require_fitting(corpus, sizes)
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


def require_fitting(corpus: Corpus, sizes: Pretraining) -> None:
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


def _num_lost(num_rows: int, sizes: Pretraining) -> int:
    """Most symbols of a corpus that are in incomplete blocks."""
    return (num_rows // ROWS_AT_ONCE + 1) * (sizes.context - 1)


def target(text: Text, sizes: TextSizes, *, shuffled: bool = False) -> Target:
    """Fine-tuning data from the beginning of a text, and a test of a tenth of its documents.

    Args:
        text: The text.
        sizes: Sizes of the data.
        shuffled: Whether fine-tuning reads the shuffled text, whose beginning is the test.

    Raises:
        ConfigError: If the text is too short.
    """
    documents = text.documents()[:NUM_DOCUMENTS]
    if not documents:
        raise ConfigError(f"{text.name}: text too short: expected documents, found none")
    tokenizer = train_bpe(documents[:NUM_BPE_DOCUMENTS], sizes.vocab_size - 1)
    in_test_order = [documents[place] for place in np.random.default_rng(0).permutation(len(documents))]
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
    wanted = sizes.num_windows(num_tokens) * sizes.context
    pieces: list[NDArray[np.integer]] = []
    found = 0
    for piece in thousands:
        pieces.append(piece[: len(piece) // sizes.context * sizes.context])
        found += len(pieces[-1])
        if found >= wanted:
            break
    return np.concatenate(pieces)[:wanted]
