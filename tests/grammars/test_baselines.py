"""Parentheses nest, ranks follow Zipf-Mandelbrot, and all is a function of the generator given."""

from pathlib import Path

import numpy as np
import pytest

from ecsuite.grammars.baselines import (
    text_parentheses,
    uniform_noise,
    zipf_mandelbrot,
    zipf_noise,
    zipf_parentheses,
)
from ecsuite.grammars.registry import BASELINES, GRAMMARS
from ecsuite.runtime.errors import ConfigError


def test_zipf_mandelbrot_has_the_papers_figures() -> None:
    probabilities = zipf_mandelbrot(29_990)
    assert probabilities[0] == pytest.approx(0.029565, rel=1e-4)
    assert probabilities[1] == pytest.approx(0.023275, rel=1e-4)
    assert -(probabilities * np.log2(probabilities)).sum() == pytest.approx(11.47116, abs=1e-4)
    assert probabilities[:100].sum() == pytest.approx(0.3795, abs=1e-4)


@pytest.mark.slow
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


def test_noise_has_the_expected_frequencies() -> None:
    uniform = np.bincount(uniform_noise(100_000, np.random.default_rng(0), num_types=10).messages.values)
    assert uniform / 100_000 == pytest.approx(np.full(10, 0.1), abs=0.005)
    zipf = np.bincount(zipf_noise(100_000, np.random.default_rng(0), num_types=10).messages.values)
    assert zipf / 100_000 == pytest.approx(zipf_mandelbrot(10), abs=0.005)


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_are_functions_of_their_arguments(name: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a b c b d e b f\n" * 3)
    text = {"text": tmp_path / "words.txt"} if name == "text_parentheses" else {}
    make = GRAMMARS.load(name)
    corpus = make(1000, np.random.default_rng(0), num_types=20, **text)
    assert corpus.messages.values.min() >= 0 and corpus.messages.values.max() < 20
    assert corpus.messages.offsets[0] == 0 and corpus.messages.offsets[-1] == 1000
    assert corpus.messages.lengths.min() > 0
    assert corpus.metadata["grammar"] == name
    assert corpus.eos is None and corpus.meanings is None
    again = make(1000, np.random.default_rng(0), num_types=20, **text)
    assert np.array_equal(corpus.messages.values, again.messages.values)
    assert len(make(0, np.random.default_rng(0), num_types=20, **text).messages) == 0
    assert len(make(1, np.random.default_rng(0), num_types=20, **text).messages) == 1


def test_parentheses_of_a_text_have_its_frequencies(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("the cat saw the dog and the bird")
    corpus = text_parentheses(100_000, np.random.default_rng(0), text=tmp_path / "words.txt", num_types=3)
    assert corpus.symbol_names == ("the", "cat", "saw")
    frequencies = np.bincount(corpus.messages.values) / 100_000
    assert frequencies == pytest.approx(np.array([3, 1, 1]) / 5, abs=0.01)
    assert corpus.metadata["num_types"] == 3
    with pytest.raises(ConfigError, match="give --text FILE"):
        text_parentheses(10, np.random.default_rng(0))


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_invalid_probabilities_are_rejected(probability: float) -> None:
    with pytest.raises(ConfigError, match=f"open_probability: expected 0 to 1, got {probability}"):
        zipf_parentheses(10, np.random.default_rng(0), open_probability=probability)
