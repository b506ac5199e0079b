"""Sentences belong to their language, and have the expected lengths."""

import numpy as np
import pytest

from ecsuite.grammars.sentences import bag_of_words, dyck, regular, shuffle_dyck
from ecsuite.runtime.errors import ConfigError


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_dyck_sentences_nest_and_end_with_their_first_bracket() -> None:
    corpus = dyck(20_000, rng(), num_types=40, open_probability=0.4)
    for index in range(len(corpus.messages) - 1):  # the last one may be cut
        stack: list[int] = []
        for step, symbol in enumerate(corpus.messages[index].tolist()):
            assert stack or step == 0
            if symbol < 20:
                stack.append(symbol)
            else:
                assert stack.pop() == symbol - 20
        assert not stack


@pytest.mark.slow
def test_shuffle_dyck_sentences_balance_each_kind() -> None:
    corpus = shuffle_dyck(20_000, rng(), num_types=40, open_probability=0.4)
    has_crossed = False
    for index in range(len(corpus.messages) - 1):
        symbols = corpus.messages[index]
        steps = np.where(symbols < 20, 1, -1)
        for kind in range(20):
            assert np.all(np.cumsum(steps * (symbols % 20 == kind)) >= 0)
        depth = np.cumsum(steps)
        assert depth[-1] == 0 and np.all(depth[:-1] > 0)
        last_opened = symbols[np.flatnonzero(symbols < 20)]
        has_crossed |= len(symbols) == 4 and symbols[1] < 20 and symbols[2] == last_opened[0] + 20
    assert has_crossed


@pytest.mark.parametrize("family", [dyck, shuffle_dyck])
def test_brackets_have_the_lengths_of_a_random_walk(family) -> None:
    """A sentence is as long as a walk with steps up by p takes to come back: 2 (1 - p) / (1 - 2 p) on average."""
    lengths = family(200_000, rng(), open_probability=0.3).messages.lengths
    assert lengths.mean() == pytest.approx(2 * 0.7 / 0.4, rel=0.02)
    assert (family(100_000, rng()).messages.lengths == 2).mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("family", [dyck, shuffle_dyck])
def test_brackets_need_two_symbols(family) -> None:
    assert family(4, rng(), num_types=2, open_probability=0).messages.values.tolist() == [0, 1, 0, 1]
    assert family(4, rng(), num_types=3, open_probability=0).metadata["num_types"] == 2
    with pytest.raises(
        ConfigError,
        match="brackets: expected at least 2 symbols, got 1: raise --vocab-size",
    ):
        family(4, rng(), num_types=1)
    with pytest.raises(ConfigError, match=r"open_probability: expected 0 to 1, got 1\.5"):
        family(4, rng(), open_probability=1.5)


def test_regular_sentences_are_runs_of_ten_symbols() -> None:
    corpus = regular(50_000, rng(), num_types=1_000_000)  # so many that neighbours are hardly ever alike
    runs = [1 + int((np.diff(corpus.messages[i]) != 0).sum()) for i in range(len(corpus.messages) - 1)]
    assert np.mean(np.array(runs) == 10) > 0.97
    assert corpus.messages.lengths.mean() == pytest.approx(10 / 0.6, rel=0.02)


def test_regular_takes_options() -> None:
    once = regular(1000, rng(), runs=4, repeat_probability=0)
    assert once.messages.lengths.tolist() == [4] * 250
    with pytest.raises(ConfigError, match="runs: expected 1 to 1,073,741,824, got 0"):
        regular(10, rng(), runs=0)
    with pytest.raises(ConfigError, match="repeat_probability: expected at least 0 and below 1, got 1"):
        regular(10, rng(), repeat_probability=1)


@pytest.mark.parametrize("stop", [0.05, 0.1, 0.2])
def test_mean_length_of_bags_is_the_inverse_of_the_stop_probability(stop: float) -> None:
    lengths = bag_of_words(200_000, rng(), stop_probability=stop).messages.lengths
    assert lengths.mean() == pytest.approx(1 / stop, rel=0.02)
    assert (lengths == 1).mean() == pytest.approx(stop, abs=0.01)
