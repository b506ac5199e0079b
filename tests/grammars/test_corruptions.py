"""Each corruption against a direct implementation of its definition."""

import numpy as np
import pytest

from ecsuite.grammars import corruptions
from ecsuite.grammars.corruptions import (
    OPTIONS,
    add_pairs,
    permute,
    project,
    rotate,
    shuffle,
    shuffle_by_value,
)
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.registry import CORRUPTIONS, GRAMMARS
from ecsuite.grammars.words import all_meanings, concatenate, draw_messages, draw_words, stream
from ecsuite.runtime.errors import ConfigError

GEOMETRY = Geometry(num_attributes=3, num_values=5, word_length=3, vocab_size=4)
MEANINGS = all_meanings(GEOMETRY)
CONCAT = concatenate(draw_words(GEOMETRY, stream(0, "words")), MEANINGS)
WORDS = CONCAT.reshape(-1, 3, 3)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_perm_and_rot() -> None:
    order = rng().permutation(9)
    assert np.array_equal(permute(CONCAT, MEANINGS, GEOMETRY, rng()), CONCAT[:, order])
    rotated = rotate(CONCAT, MEANINGS, GEOMETRY, rng())
    assert np.array_equal(rotated, CONCAT.astype(int).cumsum(axis=1) % 4) and rotated.dtype == CONCAT.dtype
    geometry = Geometry(num_attributes=1, num_values=1, word_length=1000, vocab_size=255)
    messages = np.full((1, 1000), 254, dtype=np.uint8)
    expected = -(np.arange(1000) + 1) % 255
    assert np.array_equal(rotate(messages, MEANINGS[:1], geometry, rng())[0], expected)


@pytest.mark.parametrize("base", ["concat", "random"])
@pytest.mark.parametrize("block", [1, 20, 1024])
def test_proj_is_the_product_with_a_matrix(base: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corruptions, "MAX_BLOCK", block)
    monkeypatch.setattr(corruptions, "WORKING_SET", 1000)
    messages = CONCAT if base == "concat" else draw_messages(GEOMETRY, rng())
    matrix = rng().integers(2**32, size=(36, 36), dtype=np.uint32) / 2.0**32
    one_hot = (messages[:, :, None] == np.arange(4)).reshape(-1, 36).astype(np.float64)
    expected = (one_hot @ matrix).reshape(-1, 9, 4).argmax(axis=2)
    assert np.array_equal(project(messages, MEANINGS, GEOMETRY, rng()), expected)


def test_proj_rejects_a_matrix_that_does_not_fit() -> None:
    geometry = Geometry(num_attributes=2, vocab_size=2000)
    with pytest.raises(ConfigError) as error:
        project(np.zeros((100, 8), np.uint16), all_meanings(geometry), geometry, rng())
    assert str(error.value) == (
        "proj: messages of 8 symbols over 2000 need a matrix of 16,000 x 16,000 entries (at most 134,217,728): lower "
        "--word-length or --vocab-size"
    )


@pytest.mark.parametrize(("decides", "attribute"), [("last", 2), ("first", 0)])
def test_shufdet_has_one_order_for_each_value(decides: str, attribute: int) -> None:
    generator = rng()
    orders = [generator.permutation(3) for _ in range(5)]
    shuffled = shuffle_by_value(CONCAT, MEANINGS, GEOMETRY, rng(), decides).reshape(-1, 3, 3)
    for meaning, words, message in zip(MEANINGS, WORDS, shuffled, strict=True):
        assert np.array_equal(message, words[orders[meaning[attribute]]])


def test_shuf_has_an_order_for_each_message_and_pairsum_adds_the_next_word() -> None:
    shuffled = shuffle(CONCAT, MEANINGS, GEOMETRY, rng()).reshape(-1, 3, 3)
    orders = set()
    for words, message in zip(WORDS.tolist(), shuffled.tolist(), strict=True):
        assert sorted(words) == sorted(message)
        orders.add(tuple(words.index(word) for word in message))
    assert len(orders) == 6
    first, second, third = WORDS.astype(int).transpose(1, 0, 2)
    sums = add_pairs(CONCAT, MEANINGS, GEOMETRY, rng(), "first-word")
    assert np.array_equal(sums, np.hstack([first + second, second + third, third + first]) % 4)
    sums = add_pairs(CONCAT, MEANINGS, GEOMETRY, rng(), "program")
    assert np.array_equal(sums, np.hstack([first + second, second + third, third + first + second]) % 4)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_corruptions_do_not_modify_their_input_and_keep_its_shape(name: str) -> None:
    corruption, before = GRAMMARS.load(name), CONCAT.copy()
    options = {key: choices[0] for key, choices in OPTIONS.get(name, {}).items()}
    corrupted = corruption(CONCAT, MEANINGS, GEOMETRY, rng(), **options)
    assert np.array_equal(CONCAT, before)
    assert corrupted.shape == CONCAT.shape and corrupted.dtype == CONCAT.dtype and corrupted.max() < 4
    again = corruption(CONCAT, MEANINGS, GEOMETRY, rng(), **options)
    assert np.array_equal(corrupted, again)
