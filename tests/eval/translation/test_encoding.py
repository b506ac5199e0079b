"""Training pairs are short enough; held-out pairs are truncated."""

import numpy as np

from ecsuite.eval.models.encoder_decoder import Specials
from ecsuite.eval.translation.pairs import SentencePair, held_out_pairs, learn, training_pairs

SPECIAL = Specials.of(300)
LONG = SentencePair("abcdefghij", "x")  # ten letters that are no word of BPE's, and the end
SHORT = SentencePair("abcd", "xy")
TOKENIZER = learn([SHORT], 300)


def test_long_pairs_are_not_tuned_on():
    long_target = SentencePair("x", "abcdefghij")
    encoded, num_too_long = training_pairs(
        TOKENIZER, [SHORT, LONG, long_target], longest=10, num_tokens=100, special=SPECIAL
    )
    assert num_too_long == 2
    assert [len(row) for row in encoded.sources] == [5]
    assert [len(row) for row in encoded.targets] == [3]


def test_no_more_pairs_than_an_epoch_reads():
    pairs = [SHORT] * 10
    encoded, _ = training_pairs(TOKENIZER, pairs, longest=10, num_tokens=11, special=SPECIAL)
    assert len(encoded.sources) == 3  # of five tokens each


def test_held_out_pairs_are_cut_and_still_end():
    encoded = held_out_pairs(TOKENIZER, (LONG, SHORT), longest=10, special=SPECIAL)
    assert [len(row) for row in encoded.sources] == [10, 5]
    assert all(row[-1] == SPECIAL.end for row in (*encoded.sources, *encoded.targets))
    whole = held_out_pairs(TOKENIZER, (LONG,), longest=32, special=SPECIAL)
    np.testing.assert_array_equal(encoded.sources[0][:-1], whole.sources[0][:9])
