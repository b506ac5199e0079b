"""Data as the authors' program made it: by the protocols `published-2024` and `head-2024-12`.

What is different from the paper, and from `strict`:

- Symbol ids are taken as they are. In a corpus of ids, 256 is the padding, and never predicted.
- Rows are cut into blocks a thousand at a time, and what is left of each thousand is dropped. Blocks share no symbol,
  so that the first of each is never predicted. A corpus that is long enough is read in its own order.
- BPE is trained on the first 10 000 documents, whatever they are for. Tuning reads documents in the order of the text
  (`head-2024-12`: shuffled as the test is, so that it begins with all that the test has); a tenth of all is the test.
- An id that no training has seen ends each test document, and is scored. Test windows overlap by half and are scored
  whole, so most tokens count twice.

The program's last test window, shorter than the others, is left out (1 of 7 816).
"""

from collections.abc import Iterable, Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import ConfigError
from ecsuite.corpus import Corpus
from ecsuite.eval.learning.bpe import encode, train_bpe
from ecsuite.eval.learning.data import Source, Target, Windows, gather, stretches
from ecsuite.eval.xferbench.presets import Preset
from ecsuite.eval.xferbench.texts import Text

PADDING = 256
"""The id that the program pads with, and so never predicts, in a corpus of ids."""
NUM_DOCUMENTS = 100_000
"""Documents of a text that are used, from its beginning."""
NUM_BPE_DOCUMENTS = 10_000
"""Those that BPE is trained on."""
NUM_TEST_DOCUMENTS = 10_000
"""Documents for the test, at most."""
ROWS_AT_ONCE = 1_000


def source(corpus: Corpus, preset: Preset, seed: int) -> Source:
    """Blocks of a corpus: in its own order if it is long enough, otherwise again and again, shuffled each time."""
    return _source(corpus, preset, shuffled=len(corpus.messages.values) < preset.pretrain_tokens)


def source_shuffled(corpus: Corpus, preset: Preset, seed: int) -> Source:
    """Blocks of a corpus, always shuffled."""
    return _source(corpus, preset, shuffled=True)


def target(text: Text, preset: Preset) -> Target:
    """Tuning data from the beginning of a text, and a test of a tenth of its documents."""
    return _target(text, preset, shuffled=False)


def target_shuffled(text: Text, preset: Preset) -> Target:
    """Tuning data from the shuffled text, whose beginning is the test."""
    return _target(text, preset, shuffled=True)


def _source(corpus: Corpus, preset: Preset, *, shuffled: bool) -> Source:
    messages, wanted = corpus.messages, preset.pretrain_tokens
    num_rows, num_symbols = len(messages), len(messages.values)
    if messages.values.max() >= preset.vocab_size or messages.values.min() < 0:
        raise ConfigError(
            f"by this protocol symbol ids are from 0 to {preset.vocab_size - 1:,}, "
            f"the corpus has {messages.values.max()}; try --protocol strict"
        )
    lost = (num_rows // ROWS_AT_ONCE + 1) * (preset.context - 1)
    if num_symbols <= lost:
        raise ConfigError(
            f"by this protocol up to {lost} symbols of the corpus are lost at the ends of its blocks, and it has "
            f"{num_symbols}; try --protocol strict"
        )
    num_rounds = wanted // (num_symbols - lost) + 1
    orders = (
        np.random.default_rng(time).permutation(num_rows) if shuffled else np.arange(num_rows)
        for time in range(num_rounds)
    )
    order = np.concatenate(list(orders))
    pieces = (
        gather(messages, order[start : start + ROWS_AT_ONCE]) for start in range(0, len(order), ROWS_AT_ONCE)
    )
    symbols = _blocks(pieces, preset, preset.pretrain_tokens)
    return Source(
        windows=Windows(
            symbols=stretches(symbols, preset.context, preset.context),
            ignored=PADDING if corpus.symbol_names is None else None,
        ),
        vocab_size=preset.vocab_size,
        repeats=len(symbols) / num_symbols,
    )


def _target(text: Text, preset: Preset, *, shuffled: bool) -> Target:
    documents = text.documents()[:NUM_DOCUMENTS]
    tokenizer = train_bpe(documents[:NUM_BPE_DOCUMENTS], preset.vocab_size - 1)
    order = np.random.default_rng(0).permutation(len(documents))
    num_test = -(-len(documents) // 10)
    tested = [documents[place] for place in order[: min(num_test, NUM_TEST_DOCUMENTS)]]
    tuned = [documents[place] for place in order] if shuffled else documents

    rows = encode(tokenizer, tuned, end="")
    thousands = iter(lambda: list(islice(rows, ROWS_AT_ONCE)), [])
    tune = _blocks((_joined(thousand) for thousand in thousands), preset, preset.tune_tokens)
    if len(tune) < preset.tune_tokens:
        raise ConfigError(
            f"{text.name}: by this protocol tuning needs {preset.tune_tokens:,} tokens, the text has {len(tune):,}; "
            "try --protocol strict, which repeats it"
        )
    test: list[int] = []
    for row in encode(tokenizer, tested, end=""):
        test += [*row, preset.vocab_size - 1]
        if len(test) > preset.test_tokens:
            break
    if len(test) < preset.context:
        raise ConfigError(f"{text.name}: the text is too short: {len(test)} tokens for testing")
    context = preset.context
    return Target(
        vocab_size=preset.vocab_size,
        tune=Windows(symbols=stretches(tune, context, context)),
        test=Windows(symbols=stretches(np.asarray(test), context, context // 2)),
        repeats=1.0,
    )


def _blocks(thousands: Iterable[NDArray[np.integer]], preset: Preset, num_tokens: int) -> NDArray[np.integer]:
    """Whole blocks of each thousand rows, until there are so many tokens, the last block rounded up."""
    wanted = preset.num_windows(num_tokens) * preset.context
    pieces: list[NDArray[np.integer]] = []
    found = 0
    for piece in thousands:
        pieces.append(piece[: len(piece) // preset.context * preset.context])
        found += len(pieces[-1])
        if found >= wanted:
            break
    return np.concatenate(pieces)[:wanted]


def _joined(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64)
