"""Error rates, measured: how often a random language differs from chance, and how often intervals cover.

    python benchmarks/error_rates.py                          # an hour on one core
    python benchmarks/error_rates.py --repetitions 100 --scores topsim,ami --parts chance
    python benchmarks/error_rates.py --parts copies --out benchmarks/results/error_rates.json    # half an hour

**False positives**: messages that are independent of their meanings; the share of corpora with p < .05 (two-sided,
`Chance.p_value`) by score, and the share of corpora with any score above or below chance after Holm's
correction. **Coverage**: a grammar with noise in half of the symbols; the share of 95 % intervals that contain the
mean score of corpora of this size, and the score of the language (100,000 messages). Scores that depend on the number
of messages cover the former only.

**Copies**: corpora in which each meaning has 1, 3, 10 or unequally many messages, a tenth of whose symbols are noise:
false positives of holistic languages, which give each of 16 meanings random symbols; coverage of languages of which
half of the symbols name an attribute, for 40 meanings of 256, where other corpora have other meanings.

**Meetings and time**: 8 or 12 speakers, or evaluations, with unrelated words for 64 meanings, and such that share
words; the share of intervals that contain the expected difference, or drift.

Each share has Wilson's 95 % interval. It is `off` if that lies outside 3 to 7 % of false positives, 92 to 98 % of
coverage. There are 1,000 repetitions, and 200 of what takes over half a second a corpus.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from rows import Row, add_json_option, as_document, publish
from scipy.stats import binomtest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import DEFAULT_METRICS, find_metric
from ecsuite.eval.metrics.computing import by_speaker
from ecsuite.eval.metrics.conclusions import conclusions, p_value
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.run_metrics.representations import read_attributes
from ecsuite.eval.statistics import resampling
from ecsuite.eval.statistics.correlation import explained, relation
from ecsuite.eval.statistics.estimates import crossed_mean, difference_of_estimates
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.runtime.ragged import Ragged

NUM_MESSAGES, NUM_ATTRIBUTES, NUM_VALUES, NUM_SPEAKERS = 200, 3, 4, 4
REPETITIONS, OF_SLOW, SLOW = 1000, 200, 0.5
NUM_LARGE = 100_000
"""Messages of the corpus that stands for the language."""
FALSE_POSITIVES, COVERAGE = (0.03, 0.07), (0.92, 0.98)
"""Ranges that the Wilson interval of a share must overlap."""
ALSO = ("morphemes", "attribute_information", "language_similarity", "mig", "dci", "variation", "npmi")
"""Scores that are asked for by name, and quick."""
NOT_MEASURED = ("ease_of_learning", "xferbench", "generalisation", "rsa", "noise_objects")
"""They train models for minutes, or ask agents that were trained."""
FIXED = "conflict_count"
"""It is defined if messages have one symbol per attribute."""
PARTS = (
    "any",
    "chance",
    "speakers",
    "coverage",
    "differences",
    "agents",
    "meetings",
    "correlations",
    "copies",
)
COPIES = ("1", "3", "10", "unequal")
"""Messages of each meaning; unequal: 1 to 10, on average 3."""
OF_COPIES = ("topsim", "posdis", "bosdis", "cbm", "hce", "word_entropy")
"""Scores of corpora with copies."""
NUM_COPIED = 200
"""Repetitions of these."""

Draw = Callable[[int], dict[str, bool | None]]
"""One repetition: by name whether it happened, None where it is not defined."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """How often something happened."""

    name: str
    hits: int
    number: int
    bounds: tuple[float, float] | None
    """Required range; None: the share is only reported."""

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval (Wilson 1927, Journal of the American Statistical Association 22)."""
        found = binomtest(self.hits, self.number).proportion_ci(method="wilson")
        return found.low, found.high

    @property
    def is_off(self) -> bool:
        """Whether the interval does not overlap the bounds."""
        low, high = self.interval
        return self.bounds is not None and not (low <= self.bounds[1] and high >= self.bounds[0])


def random_corpus(rng: np.random.Generator, num_speakers: int = 1, is_short: bool = True) -> Corpus:
    """Random messages of 1 to 6 symbols, or with one symbol per attribute."""
    meanings = rng.integers(0, NUM_VALUES, (NUM_MESSAGES, NUM_ATTRIBUTES))
    symbols = rng.integers(0, 8, (NUM_MESSAGES, 6))
    lengths = rng.integers(1, 7, NUM_MESSAGES) if is_short else np.full(NUM_MESSAGES, NUM_ATTRIBUTES)
    speakers = {"speaker": rng.integers(0, num_speakers, NUM_MESSAGES)} if num_speakers > 1 else {}
    return corpus_of(symbols, lengths, meanings, speakers)


def noisy_corpus(rng: np.random.Generator, num_messages: int = NUM_MESSAGES, is_short: bool = True) -> Corpus:
    """A language with a synonym, shared symbols and noise in half of the symbols; a fifth of the messages is short."""
    meanings = rng.integers(0, NUM_VALUES, (num_messages, NUM_ATTRIBUTES))
    symbols = meanings + np.array([0, 0, NUM_VALUES])
    symbols[:, 2] += NUM_VALUES * (rng.random(num_messages) < 0.3)
    symbols = np.where(
        rng.random(symbols.shape) < 0.5, rng.integers(0, 3 * NUM_VALUES, symbols.shape), symbols
    )
    lengths = np.where(rng.random(num_messages) < 0.2 * is_short, 2, 3)
    return corpus_of(symbols, lengths, meanings, {})


def corpus_of(symbols: np.ndarray, lengths: np.ndarray, meanings: np.ndarray, columns: dict) -> Corpus:
    """A corpus whose concepts are the attribute values."""
    is_said = np.arange(symbols.shape[1]) < lengths[:, None]
    concepts = (meanings + NUM_VALUES * np.arange(NUM_ATTRIBUTES)).astype(np.int32)
    width = np.full(len(meanings), NUM_ATTRIBUTES)
    return Corpus(
        Ragged.from_lengths(symbols[is_said].astype(np.int32), lengths),
        meanings=meanings,
        concepts=Ragged.from_lengths(concepts.ravel(), width),
        columns=columns,
    )


def copied_corpus(rng: np.random.Generator, copies: str, share: float, num_meanings: int) -> Corpus:
    """Some of the 4^2 or 4^4 meanings, each with equally many messages; a share of the symbols names values.

    The others are drawn once for each meaning, and a tenth of all symbols again for each message.
    """
    width = 2 if num_meanings == 16 else 4
    whole = rng.choice(4**width, num_meanings, replace=False)
    meanings = whole[:, None] // 4 ** np.arange(width) % 4
    names = meanings + 4 * np.arange(width)
    symbols = np.where(rng.random(names.shape) < share, names, rng.integers(0, 4 * width, names.shape))
    numbers = np.minimum(rng.geometric(0.3, num_meanings), 10) if copies == "unequal" else int(copies)
    rows = np.repeat(np.arange(num_meanings), numbers)
    said = symbols[rows]
    said = np.where(rng.random(said.shape) < 0.1, rng.integers(0, 4 * width, said.shape), said)
    return Corpus(
        Ragged.from_rows(said.tolist()),
        meanings=meanings[rows],
        concepts=Ragged.from_rows((meanings + 4 * np.arange(width))[rows].tolist()),
    )


def scored(name: str, corpus: Corpus, seed: int) -> list[Score]:
    """The scores of a metric."""
    return by_speaker(find_metric(name), corpus, Options(seed=seed))


def differs(metrics: Sequence[str], num_speakers: int, seed: int) -> dict[str, bool | None]:
    """Whether scores of a random language differ from chance, each for itself."""
    is_short = list(metrics) != [FIXED]  # it is defined for messages of one length only
    corpus = random_corpus(np.random.default_rng([1, num_speakers, seed]), num_speakers, is_short)
    scores = [score for name in metrics for score in scored(name, corpus, seed)]
    found: dict[str, bool | None] = {}
    for score in scores:
        if score.chance is not None:
            p = p_value(score)
            found[score.name] = None if p is None else p < 0.05
    return found


def any_differs(metrics: Sequence[str], seed: int) -> dict[str, bool | None]:
    """Whether any score of a random language is said to differ from chance."""
    corpus = random_corpus(np.random.default_rng([8, seed]))
    scores = [score for name in metrics for score in scored(name, corpus, seed)]
    relations = [each.relation for each in conclusions(scores, NUM_MESSAGES)]
    return {"after Holm's correction": any(each in ("above", "below") for each in relations)}


def equal_languages_differ(name: str, seed: int) -> dict[str, bool | None]:
    """Whether two corpora of one language differ by their intervals, as `ecsuite compare` has it."""
    both = [
        scored(name, noisy_corpus(np.random.default_rng([2, seed, place]), is_short=name != FIXED), seed)
        for place in (0, 1)
    ]
    found: dict[str, bool | None] = {}
    for one, other in zip(*both, strict=True):
        if (
            one.ci95 is not None
            and other.ci95 is not None
            and one.value is not None
            and other.value is not None
        ):
            p = difference_of_estimates(one.value, one.ci95, other.value, other.ci95).p_value
            found[one.name] = p is not None and p < 0.05
    return found


def vectors_differ(seed: int) -> dict[str, bool | None]:
    """Whether attributes are read from vectors that are independent of them."""
    rng = np.random.default_rng([3, seed])
    found = read_attributes(rng.normal(size=(100, 8)), rng.integers(0, 3, (100, 2)), seed)
    assert found.chance is not None
    p, _ = found.chance.p_value(found.value)
    assert found.half_width is not None
    covers = abs(found.value - 1 / 3) <= found.half_width
    return {"transfer: false positives": p is not None and p < 0.05, "transfer: coverage of 1/3": covers}


def agents_are_covered(number: int, share: float, seed: int) -> dict[str, bool | None]:
    """Whether the interval of strangers of a society contains the mean of all agents."""
    rng = np.random.default_rng([4, number, seed])
    senders, receivers = rng.normal(0, 0.05, (2, number))
    values = 0.7 + senders[:, None] + receivers + rng.normal(0, 0.01 + 0.05 * (1 - share), (number, number))
    sides = list(range(number)), list(range(number, 2 * number))
    found = crossed_mean(values, ~np.eye(number, dtype=bool), *sides)
    low, high = found.interval(0.0, 1.0) or (found.mean, found.mean)
    return {f"cross_play, {number} x {number}": low <= 0.7 <= high}


@lru_cache(maxsize=1)
def unlike() -> float:
    """The mean edit distance of two words of three of eight symbols, divided by three."""
    words = list(product(range(8), repeat=3))
    return float(process.cdist(words, words, scorer=Levenshtein.normalized_distance, dtype=np.float64).mean())


def meetings_and_time(number: int, seed: int) -> dict[str, bool | None]:
    """Whether unrelated speakers and evaluations differ from chance, and intervals hold the true share of changes.

    Words have three of eight symbols. Speakers of two groups keep each word of their group with probability .7, and
    from one evaluation to the next each word is drawn anew with probability .3.
    """
    rng = np.random.default_rng([11, number, seed])
    random, own = rng.integers(0, 8, (2, number, 64, 3))
    near = np.where(rng.random((number, 64, 1)) < 0.7, random[:2].repeat(number // 2, 0), own)
    changed = [random[0]]
    for new in rng.integers(0, 8, (number - 1, 64, 3)):
        changed.append(np.where(rng.random((64, 1)) < 0.3, new, changed[-1]))
    listener = np.arange(number) // (number // 2) * (number // 2)
    found: dict[str, bool | None] = {}
    for name, column, languages, truth in (
        ("pseudo_dyads", {"listener": listener}, (random, near), 0.49 * unlike()),
        ("drift", {"step": np.arange(number)}, (random, np.array(changed)), 0.3 * unlike()),
    ):
        for is_true, rows in zip((False, True), languages, strict=True):
            columns = {key: values.repeat(64) for key, values in column.items()}
            columns |= {"speaker": np.arange(number).repeat(64)} if name == "pseudo_dyads" else {}
            corpus = Corpus(
                rows.reshape(-1, 3).tolist(),
                meanings=np.tile(np.arange(64), number)[:, None],
                columns=columns,
            )
            score = scored(name, corpus, seed)[0]
            assert score.ci95 is not None
            low, high = score.ci95
            key = f"{'coverage' if is_true else 'false positives'} of {name}, {number}"
            found[key] = low <= truth <= high if is_true else (p_value(score) or 1) < 0.05
    return found


def variables_are_related(number: int, seed: int) -> dict[str, bool | None]:
    """Whether independent variables correlate, or explain each other."""
    values = np.random.default_rng([5, number, seed]).normal(size=(3, number))
    plain, share = relation(values[0], values[1], values[2:]), explained(values[0], values[1:])
    return {
        f"rho given another, {number} sources": plain.p_value is not None and plain.p_value < 0.05,
        f"explained by two, {number} sources": share.p_value is not None and share.p_value < 0.05,
    }


def repeated(draw: Draw, repetitions: int) -> dict[str, list[bool]]:
    """Outcomes of each repetition, by name."""
    found: dict[str, list[bool]] = {}
    began = time.perf_counter()
    seed = 0
    while seed < repetitions:
        for name, happened in draw(seed).items():
            if happened is not None:
                found.setdefault(name, []).append(happened)
        seed += 1
        if seed == 2 and (time.perf_counter() - began) / 2 > SLOW:
            repetitions = min(repetitions, OF_SLOW)
    return found


def shares(part: str, draw: Draw, repetitions: int) -> Iterator[Share]:
    """How often each thing of a repetition happened."""
    for name, happened in repeated(draw, repetitions).items():
        whole = f"{part}: {name}"
        bounds = COVERAGE if "coverage" in whole else FALSE_POSITIVES
        yield Share(name=whole, hits=sum(happened), number=len(happened), bounds=bounds)


def covered(name: str, repetitions: int) -> Iterator[Share]:
    """How often the intervals of a metric contain the mean at this size, and the score of the language."""
    is_short = name != FIXED
    intervals: dict[str, list[tuple[float, float, float]]] = {}

    def draw(seed: int) -> dict[str, bool | None]:
        for score in scored(name, noisy_corpus(np.random.default_rng([6, seed]), is_short=is_short), seed):
            if score.ci95 is not None and score.value is not None:
                intervals.setdefault(score.name, []).append((score.value, *score.ci95))
        return {}

    repeated(draw, repetitions)
    with few_draws():
        large = noisy_corpus(np.random.default_rng(7), NUM_LARGE, is_short)
        truth = {score.name: score.value for score in scored(name, large, 0)}
    for of, found in intervals.items():
        values, low, high = np.array(found).T
        for what, level, bounds in (
            ("mean at this size", values.mean(), COVERAGE),
            ("language", truth.get(of), None),
        ):
            if level is not None:
                hits = int(((low <= level) & (level <= high)).sum())
                yield Share(name=f"coverage of the {what}: {of}", hits=hits, number=len(found), bounds=bounds)


def of_copies(metrics: Sequence[str], repetitions: int) -> Iterator[Share]:
    """False positives and coverage of corpora with copies."""
    for copies in COPIES:
        for name in metrics:
            with resampled(num_permutations=resampling.NUM_PERMUTATIONS, num_subsamples=1):
                hits = 0
                for seed in range(repetitions):
                    corpus = copied_corpus(np.random.default_rng([9, seed]), copies, 0.0, 16)
                    p = p_value(scored(name, corpus, seed)[0])
                    hits += p is not None and p < 0.05
            of = f"{name}, {copies} of each"
            yield Share(name=f"false positives: {of}", hits=hits, number=repetitions, bounds=FALSE_POSITIVES)
            found = []
            with resampled(num_permutations=1, num_subsamples=resampling.NUM_SUBSAMPLES):
                for seed in range(repetitions):
                    corpus = copied_corpus(np.random.default_rng([10, seed]), copies, 0.5, 40)
                    score = scored(name, corpus, seed)[0]
                    if score.ci95 is not None:
                        found.append((score.value, *score.ci95))
            values, low, high = np.array(found).T
            hits = int(((low <= values.mean()) & (values.mean() <= high)).sum())
            yield Share(name=f"coverage: {of}", hits=hits, number=len(found), bounds=COVERAGE)


@contextmanager
def resampled(num_permutations: int, num_subsamples: int) -> Iterator[None]:
    """Draw meanwhile so many, as only one kind is looked at."""
    numbers = {"NUM_PERMUTATIONS": num_permutations, "NUM_SUBSAMPLES": num_subsamples, "MIN_DRAWS": 1}
    before = {key: getattr(resampling, key) for key in numbers}
    for key, number in numbers.items():
        setattr(resampling, key, number)
    try:
        yield
    finally:
        for key, number in before.items():
            setattr(resampling, key, number)


def measured(parts: Sequence[str], metrics: Sequence[str], repetitions: int) -> Iterator[Share]:
    """All shares that are asked for."""
    rates = partial(shares, repetitions=repetitions)
    alone = [name for name in metrics if name != "language_similarity"]
    if "chance" in parts:
        for name in alone:
            yield from rates("false positives", partial(differs, [name], 1))
    if "any" in parts:
        yield from shares("any score differs", partial(any_differs, alone), min(repetitions, OF_SLOW))
    if "speakers" in parts:
        for name in metrics:
            yield from rates(
                f"false positives, {NUM_SPEAKERS} speakers", partial(differs, [name], NUM_SPEAKERS)
            )
    if "coverage" in parts:
        for name in alone:
            yield from covered(name, repetitions)
    if "differences" in parts:
        for name in alone:
            yield from rates("two corpora of a language differ", partial(equal_languages_differ, name))
    if "agents" in parts:
        yield from rates("agents", vectors_differ)
        for number in (3, 8):
            yield from rates("agents, coverage", partial(agents_are_covered, number, 0.5))
    if "meetings" in parts:
        for number in (8, 12):  # fewer speakers have too few partitions for a small p-value
            yield from rates("meetings and time", partial(meetings_and_time, number))
    if "copies" in parts:
        names = [name for name in OF_COPIES if name in metrics]
        yield from of_copies(names, min(repetitions, NUM_COPIED))
    if "correlations" in parts:
        for number in (8, 20):
            yield from rates("false positives", partial(variables_are_related, number))


def main() -> None:
    """Print the shares as they are measured."""
    warnings.simplefilter("ignore")
    usual = [name for name in DEFAULT_METRICS if name != "elcc"]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS), help="parts, with commas")
    parser.add_argument("--scores", default=",".join([*usual, *ALSO]), help="names of metrics, with commas")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--out", type=Path, help="file for the rows, as JSON")
    add_json_option(parser)
    arguments = parser.parse_args()
    found = []
    for share in measured(arguments.parts.split(","), arguments.scores.split(","), arguments.repetitions):
        found.append(share)
        if not arguments.json:
            low, high = share.interval
            text = f"{share.hits / share.number:6.1%} [{low:.1%}, {high:.1%}] of {share.number}"
            print(f"{share.name:70} {text}{'  off' if share.is_off else ''}", flush=True)
    rows = [Row(name=each.name, unit="%", values=(100 * each.hits / each.number,)) for each in found]
    if arguments.out is not None:
        arguments.out.write_text(as_document(rows) + "\n")
    if arguments.json:
        publish(rows, as_json=True)
    else:
        print(f"not measured (they train, or ask trained agents): {', '.join(NOT_MEASURED)}")


if __name__ == "__main__":
    main()
