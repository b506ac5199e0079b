"""Protocol `strict`: fine-tuning and test data are disjoint, and every held-out token is scored once."""

from dataclasses import replace

import pytest
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.xferbench.presets import DANISH, FULL, NANO
from ecsuite.eval.xferbench.protocols import strict_source, strict_target
from ecsuite.eval.xferbench.texts import ArtificialText, TextFile, in_hash_order
from ecsuite.runtime.ragged import Ragged


def text_of(folder, lines):
    (folder / "x.txt").write_text("\n".join(lines), encoding="utf-8")
    return TextFile("x", folder / "x.txt")


def test_the_papers_numbers_of_windows():
    for preset in (FULL, DANISH):
        assert preset.num_windows(preset.pretrain_tokens) == 58_594
        assert preset.num_windows(preset.tune_tokens) == 7_813
        assert -(-58_594 // preset.batch) * preset.pretrain_epochs == 9_160
        assert -(-7_813 // preset.batch) * preset.tune_epochs == 2_450


def test_a_corpus_is_repeated_to_whole_windows():
    corpus = Corpus(messages=Ragged.from_rows([[5, 7, 5], [9]]))
    made = strict_source(corpus, NANO, 0)
    assert made.windows.symbols.shape == (250, NANO.context + 1)
    assert made.vocab_size == 3 and made.windows.symbols.max() == 2
    assert made.repeats == (250 * 16 + 1) / 4
    whole = strict_source(corpus, replace(NANO, pretrain_vocabulary="whole"), 0)
    assert whole.vocab_size == NANO.vocab_size and torch.equal(whole.windows.symbols, made.windows.symbols)


def test_a_short_text_is_repeated_and_a_shorter_one_refused(tmp_path):
    lines = ArtificialText(1, 4_000).documents()
    made = strict_target(text_of(tmp_path, lines), NANO)
    assert made.repeats > 1 and made.tune.symbols.shape == (250, 17)
    with pytest.raises(ValueError, match="x: text too short: expected more than 16 test tokens, found 0"):
        strict_target(text_of(tmp_path, lines[:3]), NANO)


def test_the_order_of_lines_and_their_repetition_do_not_matter():
    lines = ArtificialText(2, 5_000).documents()
    assert in_hash_order(lines) == in_hash_order(lines[::-1] + lines)
    assert in_hash_order(lines) != sorted(lines)
