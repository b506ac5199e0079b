"""Baselines: parentheses nest, ranks follow Zipf-Mandelbrot, sentences belong to their language."""

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import write_corpus
from ecsuite.grammars import baselines
from ecsuite.grammars.frequencies import unigrams
from ecsuite.grammars.nesting import close_any, close_innermost, depths
from ecsuite.grammars.registry import BASELINES, GRAMMARS
from ecsuite.grammars.sentences import bag_of_words, dyck, regular, shuffle_dyck
from ecsuite.runtime.errors import ConfigError, CorpusError
from ecsuite.runtime.ragged import Ragged


def test_frequencies_of_noise_and_zipf_mandelbrot() -> None:
    probabilities = baselines.zipf_mandelbrot(29_990)
    assert probabilities[0] == pytest.approx(0.029565, rel=1e-4)
    assert probabilities[1] == pytest.approx(0.023275, rel=1e-4)
    assert -(probabilities * np.log2(probabilities)).sum() == pytest.approx(11.47116, abs=1e-4)
    assert probabilities[:100].sum() == pytest.approx(0.3795, abs=1e-4)
    uniform = np.bincount(baselines.uniform_noise(100_000, rng(), num_types=10).messages.values)
    assert uniform / 100_000 == pytest.approx(np.full(10, 0.1), abs=0.005)
    zipf = np.bincount(baselines.zipf_noise(100_000, rng(), num_types=10).messages.values)
    assert zipf / 100_000 == pytest.approx(baselines.zipf_mandelbrot(10), abs=0.005)


@pytest.mark.slow
def test_parentheses_close_the_innermost_pair() -> None:
    stream = baselines.zipf_parentheses(20_000, rng(), num_types=10_000_000).messages.values.tolist()
    stack: list[int] = []
    depths = []
    for symbol in stream:  # with so many types a symbol on top of the stack hardly ever opens a pair again
        if stack and stack[-1] == symbol:
            stack.pop()
        else:
            assert symbol not in stack or stream.count(symbol) > 2
            stack.append(symbol)
        depths.append(len(stack))
    assert np.mean(depths) == pytest.approx(2.5, abs=0.3) and len(stack) < 30


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_are_functions_of_their_arguments(name: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a b c b d e b f\n" * 3)
    text = {"text": tmp_path / "words.txt"} if name == "text_parentheses" else {}
    make = GRAMMARS.load(name)
    corpus = make(1000, rng(), num_types=20, **text)
    assert corpus.messages.values.min() >= 0 and corpus.messages.values.max() < 20
    assert corpus.messages.offsets[0] == 0 and corpus.messages.offsets[-1] == 1000
    assert corpus.messages.lengths.min() > 0 and corpus.metadata["grammar"] == name
    assert corpus.eos is None and corpus.meanings is None
    again = make(1000, rng(), num_types=20, **text)
    assert np.array_equal(corpus.messages.values, again.messages.values)
    assert len(make(0, rng(), num_types=20, **text).messages) == 0
    assert len(make(1, rng(), num_types=20, **text).messages) == 1


def test_frequencies_of_texts_and_corpora(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("the cat saw the dog and the bird")
    corpus = baselines.text_parentheses(100_000, rng(), text=tmp_path / "words.txt", num_types=3)
    assert corpus.symbol_names == ("the", "cat", "saw")
    frequencies = np.bincount(corpus.messages.values) / 100_000
    assert frequencies == pytest.approx(np.array([3, 1, 1]) / 5, abs=0.01)
    assert corpus.metadata["num_types"] == 3
    with pytest.raises(ConfigError, match="give --text FILE"):
        baselines.text_parentheses(10, np.random.default_rng(0))
    path = tmp_path / "text.txt"
    path.write_text("\ufeffb a c\n\n a  ä\tc a", encoding="utf-8")
    words, probabilities = unigrams(path, 10)
    assert words == ("a", "c", "b", "ä") and probabilities == pytest.approx(np.array([3, 2, 1, 1]) / 7)
    words, probabilities = unigrams(path, 2)
    assert words == ("a", "c") and probabilities == pytest.approx(np.array([3, 2]) / 5)
    write_corpus(Corpus(messages=Ragged.from_rows([[7, 3, 3, 0], [900_000, 3, 0]]), eos=0), tmp_path)
    words, probabilities = unigrams(tmp_path, 10)
    assert words == ("3", "7", "900000")  # EOS is no symbol
    assert probabilities == pytest.approx(np.array([3, 1, 1]) / 5)
    assert unigrams(tmp_path / "corpus.jsonl", 10)[0] == words
    (tmp_path / "said.jsonl").write_text('"da bu da"\n"bu da"\n"ki"\n')
    assert unigrams(tmp_path / "said.jsonl", 2)[0] == ("da", "bu")
    said = b"da bu da\nbu da ki\n"
    (tmp_path / "text.txt").write_bytes(said)
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(said))
    plain, packed = (unigrams(tmp_path / name, 10) for name in ("text.txt", "text.txt.gz"))
    assert plain[0] == packed[0] == ("da", "bu", "ki") and (plain[1] == packed[1]).all()


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b" \n", r"a\.txt: expected words, found none"),
        ("a.txt", b"\xff\xfe", r"a\.txt:1: not UTF-8: byte 0xff"),
        ("none.txt", None, r"none\.txt: cannot be read: No such file or directory"),
        ("a.gz", b"no gzip", r"a\.gz: cannot be read: "),
        ("a.gz", gzip.compress(b"da " * 999)[:-9], r"a\.gz: cannot be read: "),
    ],
)
def test_texts_that_cannot_be_read(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        unigrams(tmp_path / name, 10)


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
    with pytest.raises(ConfigError, match="brackets: expected at least 2 symbols, got 1: raise --vocab-size"):
        family(4, rng(), num_types=1)
    for make, probability in (
        (family, 1.5),
        (baselines.zipf_parentheses, -0.1),
        (baselines.zipf_parentheses, math.nan),
    ):
        with pytest.raises(ConfigError, match=f"open_probability: expected 0 to 1, got {probability}"):
            make(4, rng(), open_probability=probability)


def test_regular_sentences_are_runs_of_ten_symbols() -> None:
    corpus = regular(50_000, rng(), num_types=1_000_000)  # so many that neighbours are hardly ever alike
    runs = [1 + int((np.diff(corpus.messages[i]) != 0).sum()) for i in range(len(corpus.messages) - 1)]
    assert np.mean(np.array(runs) == 10) > 0.97
    assert corpus.messages.lengths.mean() == pytest.approx(10 / 0.6, rel=0.02)
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


PROBABILITIES = [0.0, 0.3, 0.5, 0.6, 1.0]


def decisions(probability: float, num_steps: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random(num_steps) < probability, rng.integers(1000, size=num_steps)


@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("num_steps", [0, 1, 2, 3000])
def test_the_innermost_is_closed_as_by_a_stack(probability: float, num_steps: int) -> None:
    opens, opened = decisions(probability, num_steps)
    stack: list[int] = []
    expected, expected_depths = [], [0]
    for wants, symbol in zip(opens, opened, strict=True):
        if wants or not stack:
            stack.append(symbol)
            expected.append(symbol)
        else:
            expected.append(stack.pop())
        expected_depths.append(len(stack))
    depth = depths(opens)
    assert depth.tolist() == expected_depths and close_innermost(depth, opened).tolist() == expected


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_any_open_bracket_may_be_closed(probability: float) -> None:
    opens, opened = decisions(probability)
    depth = depths(opens)
    stream = close_any(depth, opened, np.random.default_rng(0))
    still_open: list[int] = []
    for before, after, symbol, kind in zip(depth[:-1], depth[1:], stream, opened, strict=True):
        if after > before:
            assert symbol == kind
            still_open.append(symbol)
        else:
            still_open.remove(symbol)


def test_all_open_brackets_are_closed_with_equal_probability() -> None:
    """Three are opened and one is closed, again and again from the start."""
    closed = [
        close_any(np.array([0, 1, 2, 3, 2]), np.array([0, 1, 2, 9]), np.random.default_rng(seed))[-1]
        for seed in range(3000)
    ]
    assert np.bincount(closed) / 3000 == pytest.approx(np.full(3, 1 / 3), abs=0.03)
