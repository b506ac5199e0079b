"""Parentheses nest, ranks follow Zipf-Mandelbrot, and all is a function of the generator given."""

import numpy as np
import pytest

from ecsuite.grammars.baselines import (
    BASELINES,
    MESSAGE_LENGTH,
    uniform_noise,
    zipf_mandelbrot,
    zipf_noise,
    zipf_parentheses,
)


def test_zipf_mandelbrot_has_the_papers_figures() -> None:
    probabilities = zipf_mandelbrot(29_990)
    assert probabilities[0] == pytest.approx(0.029565, rel=1e-4)
    assert probabilities[1] == pytest.approx(0.023275, rel=1e-4)
    assert -(probabilities * np.log2(probabilities)).sum() == pytest.approx(11.47116, abs=1e-4)
    assert probabilities[:100].sum() == pytest.approx(0.3795, abs=1e-4)


def test_parentheses_close_the_innermost_pair() -> None:
    stream = zipf_parentheses(20_000, np.random.default_rng(0), num_types=10_000_000).messages.values.tolist()
    stack: list[int] = []
    depths = []
    for symbol in stream:  # with so many types a symbol on top of the stack hardly ever opens a pair again
        if stack and stack[-1] == symbol:
            stack.pop()
        else:
            assert symbol not in stack or stream.count(symbol) > 2
            stack.append(symbol)
        depths.append(len(stack))
    assert np.mean(depths) == pytest.approx(2.5, abs=0.3)
    assert len(stack) < 30


def test_half_of_parentheses_open() -> None:
    stream = zipf_parentheses(50_000, np.random.default_rng(1), num_types=500).messages.values
    counts = np.bincount(stream, minlength=500) / len(stream)
    assert counts[:50] == pytest.approx(zipf_mandelbrot(500)[:50], rel=0.25)


def test_noise_has_the_frequencies_it_should() -> None:
    uniform = np.bincount(uniform_noise(100_000, np.random.default_rng(0), num_types=10).messages.values)
    assert uniform / 100_000 == pytest.approx(np.full(10, 0.1), abs=0.005)
    zipf = np.bincount(zipf_noise(100_000, np.random.default_rng(0), num_types=10).messages.values)
    assert zipf / 100_000 == pytest.approx(zipf_mandelbrot(10), abs=0.005)


@pytest.mark.parametrize("name", BASELINES)
def test_streams_are_cut_into_messages(name: str) -> None:
    corpus = BASELINES[name](1000, np.random.default_rng(0), num_types=20)
    assert corpus.messages.lengths.tolist() == [MESSAGE_LENGTH, MESSAGE_LENGTH, MESSAGE_LENGTH, 232]
    assert corpus.messages.values.max() < 20
    assert corpus.metadata["grammar"] == name
    again = BASELINES[name](1000, np.random.default_rng(0), num_types=20)
    assert np.array_equal(corpus.messages.values, again.messages.values)
    assert len(BASELINES[name](0, np.random.default_rng(0), num_types=20).messages) == 0
    assert BASELINES[name](512, np.random.default_rng(0), num_types=20).messages.lengths.tolist() == [
        256,
        256,
    ]
