"""Sizes follow from the geometry, words differ where required, meanings are in order, random streams independent."""

import numpy as np
import pytest

from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.words import (
    all_meanings,
    concatenate,
    draw_messages,
    draw_words,
    has_distinct_words,
    stream,
)
from ecsuite.runtime.errors import ConfigError


def num_distinct(rows: np.ndarray) -> int:
    return len(np.unique(rows.reshape(-1, rows.shape[-1]), axis=0))


def test_meanings_are_in_order_and_messages_join_their_words() -> None:
    meanings = all_meanings(Geometry(num_attributes=3, num_values=2))
    assert meanings.tolist() == [[i >> 2, i >> 1 & 1, i & 1] for i in range(8)]
    assert all_meanings(Geometry(num_attributes=1, num_values=3)).tolist() == [[0], [1], [2]]
    assert all_meanings(Geometry(num_attributes=2, num_values=1)).tolist() == [[0, 0]]
    geometry = Geometry(num_attributes=3, num_values=4, word_length=2)
    words, meanings = draw_words(geometry, stream(0, "words")), all_meanings(geometry)
    messages = concatenate(words, meanings)
    for meaning, message in zip(meanings, messages, strict=True):
        assert message.tolist() == [s for a, value in enumerate(meaning) for s in words[a, value]]


@pytest.mark.parametrize("size", [{"word_length": 2}, {"word_length": 1, "vocab_size": 10}])
def test_words_of_an_attribute_differ_where_there_are_fewer(size: dict[str, int]) -> None:
    geometry = Geometry(**size)
    assert not has_distinct_words(geometry)
    words = draw_words(geometry, stream(0, "words"))
    assert all(num_distinct(of_attribute) == 10 for of_attribute in words)


@pytest.mark.parametrize(
    ("draw", "size", "message"),
    [
        (draw_words, {"word_length": 1}, "10 values need 10 different words, but words of 1 symbols over 4 make only "
         "4: raise --word-length to 2 or --vocab-size to 10"),
        (draw_words, {"num_values": 1000, "num_attributes": 1}, "1000 values need 1000 different words, but words of "
         "4 symbols over 4 make only 256: raise --word-length to 5 or --vocab-size to 6"),
        (draw_words, {"vocab_size": 1}, "10 values need 10 different words, but words of 4 symbols over 1 make only "
         "1: raise --vocab-size to 2"),
        (draw_messages, {"word_length": 1}, "100,000 meanings need 100,000 different messages, but messages of 5 "
         "symbols over 4 make only 1,024: raise --word-length or --vocab-size"),
        (draw_words, {"num_values": 0}, "--num-values: expected 1 to 1,073,741,824, got 0"),
        (draw_words, {"word_length": -1}, "--word-length: expected 1 to 10,000, got -1"),
        (draw_words, {"num_attributes": 10**9}, "--num-attributes: expected 1 to 30, got 1,000,000,000"),
        (draw_words, {"vocab_size": 2**31}, "--vocab-size: expected 1 to 2,147,483,647, got 2,147,483,648"),
        (draw_words, {"num_attributes": 10}, "10^10 meanings in messages of 40 symbols do not fit in memory (at most "
         "1,073,741,824 symbols in total): lower --num-attributes or --num-values"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit_name_the_remedy(draw, size, message) -> None:
    with pytest.raises(ConfigError) as error:
        draw(Geometry(**size), stream(0, "words"))
    assert str(error.value) == message


def test_random_messages_differ_where_there_are_few() -> None:
    """4^6 = 4096 messages for 1000 meanings; independent draws would repeat some hundred."""
    messages = draw_messages(Geometry(num_attributes=3, word_length=2), stream(0, "messages"))
    assert messages.shape == (1000, 6) and num_distinct(messages) == 1000
    every = draw_messages(Geometry(num_attributes=1, num_values=16, word_length=2), stream(0, "messages"))
    assert num_distinct(every) == 16


def test_streams_depend_on_seed_and_purpose() -> None:
    draws = {
        tuple(stream(seed, purpose).random(3)) for seed in (0, 1, 2**70) for purpose in ("words", "perm1")
    }
    assert len(draws) == 6 and stream(1, "words").random() == stream(1, "words").random()
    with pytest.raises(ConfigError, match="--seed: expected at least 0, got -1"):
        stream(-1, "words")


def test_all_words_differ_where_there_are_enough() -> None:
    geometry = Geometry()
    assert (geometry.message_length, geometry.num_meanings) == (20, 100_000) and str(geometry) == "5x10|w4|V4"
    geometry = Geometry()
    assert has_distinct_words(geometry)
    words = draw_words(geometry, stream(123, "words"))
    assert words.shape == (5, 10, 4) and words.dtype == np.uint8 and num_distinct(words) == 50
    assert set(np.unique(words)) == {0, 1, 2, 3}
    words = draw_words(Geometry(word_length=40, vocab_size=1000), stream(0, "words"))
    assert words.dtype == np.uint16 and num_distinct(words) == 50 and words.max() < 1000
    assert draw_words(Geometry(vocab_size=2**16), stream(0, "words")).dtype == np.int32
