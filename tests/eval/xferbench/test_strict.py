"""Protocol `strict`: fine-tuning and test data are disjoint, and every held-out token is scored once."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.models.data import IGNORED
from ecsuite.eval.models.vocabulary import encode, train_bpe
from ecsuite.eval.xferbench.presets import DANISH, FULL, MINI, NANO
from ecsuite.eval.xferbench.protocols import TEST_SHARE, strict_source, strict_target
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


def test_more_types_than_the_whole_model_has():
    corpus = Corpus(messages=Ragged.from_rows([list(range(400))]))
    assert strict_source(corpus, NANO, 0).vocab_size == 400
    with pytest.raises(
        ValueError, match="the corpus has 400 different symbols, expected at most 300 for this preset"
    ):
        strict_source(corpus, replace(NANO, pretrain_vocabulary="whole"), 0)


def test_tuning_and_test_share_no_line_and_are_scored_once(tmp_path):
    lines = ArtificialText(1, 40_000).documents()
    made = strict_target(text_of(tmp_path, lines + lines[:100]), NANO)
    order = in_hash_order(lines)
    num_test = len(order) // TEST_SHARE
    tokenizer = train_bpe(order[num_test:], NANO.vocab_size)
    test = [token for row in encode(tokenizer, order[:num_test]) for token in row][: NANO.test_tokens + 1]
    tune = [token for row in encode(tokenizer, order[num_test:]) for token in row][: NANO.tune_tokens + 1]
    assert made.tune.symbols.shape == (250, 17)
    assert made.tune.symbols[:, :-1].flatten().tolist() == tune[:-1]
    _, targets = made.test.take(torch.arange(len(made.test)))
    assert targets[targets != IGNORED].tolist() == test[1 : 1 + (len(test) - 1) // 8 * 8]
    assert made.vocab_size == NANO.vocab_size and made.repeats == pytest.approx(4001 / len(tune), rel=1e-3)


def test_a_short_text_is_repeated_and_a_shorter_one_refused(tmp_path):
    lines = ArtificialText(1, 4_000).documents()
    made = strict_target(text_of(tmp_path, lines), NANO)
    assert made.repeats > 1 and made.tune.symbols.shape == (250, 17)
    with pytest.raises(ValueError, match="x: text too short: expected more than 16 test tokens, found 0"):
        strict_target(text_of(tmp_path, lines[:3]), NANO)


def test_a_text_whose_lines_for_fine_tuning_are_too_short(tmp_path):
    short = list("abcdefghi")
    long_lines = (f"{number} " * 40 + "end" for number in range(1000))
    tested = next(line for line in long_lines if in_hash_order([*short, line])[0] == line)
    with pytest.raises(
        ValueError, match="x: text too short: expected more than 32 fine-tuning tokens, found 18"
    ):
        strict_target(text_of(tmp_path, [*short, tested]), replace(NANO, context=32))


def test_the_order_of_lines_and_their_repetition_do_not_matter():
    lines = ArtificialText(2, 5_000).documents()
    assert in_hash_order(lines) == in_hash_order(lines[::-1] + lines)
    assert in_hash_order(lines) != sorted(lines)


@pytest.mark.parametrize("preset", [pytest.param(MINI, marks=pytest.mark.slow), NANO])
def test_embedded_texts_are_long_enough(preset):
    num_tokens = 10 * max(preset.test_tokens, preset.tune_tokens / 9)
    made = strict_target(ArtificialText(1, round(4 * num_tokens)), preset)
    assert made.repeats <= 1
    _, targets = made.test.take(torch.arange(len(made.test)))
    assert (targets != IGNORED).sum() >= preset.test_tokens - preset.context


def test_seeds_draw_other_orders():
    corpus = Corpus(messages=Ragged.from_rows(np.arange(60).reshape(20, 3).tolist()))
    first, again, other = (strict_source(corpus, NANO, seed).windows.symbols for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)
