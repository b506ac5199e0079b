"""How often the 95 % interval of topsim contains the mean over corpora, at sizes where pairs are drawn or counted.

    python benchmarks/topsim_coverage.py --sizes 2000,5000,50000       # ten minutes on one core

The shares have to be near 95 %; the half-width of the intervals, divided by 1.96 standard deviations of the score over
corpora, near 1. Languages: `counted`, 27 meanings and few messages of each, so that all pairs are counted with their
multiplicities; `skewed`, the same with frequencies by Zipf's law; `drawn`, in which most rows differ, so that pairs are
drawn; `weak`, the same with nine tenths of the symbols as noise.
"""

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from rows import add_json_option, collect, publish

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.statistics.contingency import Ints
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.runtime.ragged import Ragged

NUM_POSITIONS = 3
OTHER_SYMBOL = 99
"""Symbol of noise in the languages with few different rows."""


def counted(num_rows: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Meanings and messages, (num_rows, 3) each."""
    meanings = rng.integers(0, 3, (num_rows, NUM_POSITIONS))
    symbols = meanings + 3 * np.arange(NUM_POSITIONS)
    return meanings, np.where(rng.random(symbols.shape) < 0.4, OTHER_SYMBOL, symbols)


def skewed(num_rows: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """As `counted`, of 64 meanings with frequencies 1 / rank."""
    shares = 1 / np.arange(1, 65)
    drawn = rng.choice(64, num_rows, p=shares / shares.sum())
    meanings = np.stack([drawn // 16, drawn // 4 % 4, drawn % 4], 1)
    symbols = (7 * meanings + 3 * np.arange(NUM_POSITIONS)) % 11
    return meanings, np.where(rng.random(symbols.shape) < 0.3, OTHER_SYMBOL, symbols)


def drawn(num_rows: int, rng: np.random.Generator, noise: float = 0.5) -> tuple[Ints, Ints]:
    """Messages whose noise is any symbol."""
    meanings = rng.integers(0, 4, (num_rows, NUM_POSITIONS))
    symbols = meanings + 4 * np.arange(NUM_POSITIONS)
    others = rng.integers(0, 12, symbols.shape)
    return meanings, np.where(rng.random(symbols.shape) < noise, others, symbols)


def weak(num_rows: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """As `drawn`, nearly random."""
    return drawn(num_rows, rng, noise=0.9)


LANGUAGES: tuple[Callable[[int, np.random.Generator], tuple[Ints, Ints]], ...] = (
    counted,
    skewed,
    drawn,
    weak,
)


def figures(sizes: list[int], repetitions: int) -> Iterator[tuple[str, str, float]]:
    """The share of intervals that contain the mean, and their half-width by that of the spread."""
    topsim = find_metric("topsim")
    for language in LANGUAGES:
        for size in sizes:
            values, bounds = [], []
            for repetition in range(repetitions):
                meanings, symbols = language(size, np.random.default_rng([9, repetition, size]))
                lengths = np.full(size, NUM_POSITIONS)
                messages = Ragged.from_lengths(symbols.ravel().astype(np.int32), lengths)
                with few_draws():
                    [score] = topsim(Corpus(messages, meanings=meanings), Options(seed=repetition))
                assert score.value is not None and score.ci95 is not None
                values.append(float(score.value))
                bounds.append(score.ci95)
            low, high = np.array(bounds).T
            mean = np.mean(values)
            name = f"{language.__name__} {size:,}"
            yield f"{name}, covered", "share", float(np.mean((low <= mean) & (mean <= high)))
            yield f"{name}, width", "ratio", float((high - low).mean() / 2 / (1.96 * np.std(values, ddof=1)))


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="2000,5000,50000", help="numbers of messages, separated by commas")
    parser.add_argument("--repetitions", type=int, default=200, help="corpora of each language and size")
    add_json_option(parser)
    given = parser.parse_args()
    rows = collect(figures([int(size) for size in given.sizes.split(",")], given.repetitions))
    publish(rows, as_json=given.json)


if __name__ == "__main__":
    main()
