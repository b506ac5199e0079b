"""Efficiency: how near a language is to the best trade-off of complexity and accuracy that its meanings allow."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.efficiency.bound import Bound, Fit, fit
from ecsuite.eval.efficiency.information import complexity
from ecsuite.eval.efficiency.kept_bounds import bound_of
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import of_draws
from ecsuite.eval.statistics.counting import Floats, Ints, flat, row_labels
from ecsuite.eval.statistics.distributions import student_quantile
from ecsuite.eval.statistics.resampling import MIN_ROWS, half_sample, jackknife_interval
from ecsuite.spaces.kinds import SpaceOptions
from ecsuite.spaces.space import Space

NUM_PERMUTATIONS = 100
"""Permutations of the meanings, where a space has no turns."""
NUM_SUBSAMPLES = 100
"""Half-samples of the messages, where a corpus has fewer than three speakers."""
FEW_SPEAKERS = 3
"""From so many speakers on, the interval is that of drawing speakers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EfficiencyOptions(SpaceOptions):
    """The space of meanings that efficiency is about."""


EFFICIENCY_LOSS = Traits(
    name="efficiency_loss",
    about="bits above the best trade-off",
    title="deviation from the information-bottleneck bound",
    high="0 if no language is as accurate with less complexity",
    question="concepts",
    direction="lower",
    chance="shuffled meanings",
    needs=("meanings",),
    depends_on_size="shares of few answers make a language look more complex than it is",
    by_name_only=True,
    draws=True,
    pools_speakers=True,
    options=EfficiencyOptions,
    details={
        "beta": "trade-off of the nearest optimal language",
        "accuracy_of_meanings": "bits that the meanings themselves tell of referents",
        "words": "different messages",
        "meanings": "meanings that are named, of all of the space",
    },
)
COMPLEXITY = replace(
    EFFICIENCY_LOSS,
    name="complexity",
    about="bits that messages tell of meanings",
    title="complexity I(M; W)",
    high="the entropy of the meanings if each has its own message; neither is better",
    direction=None,
    details={},
)
MEANING_ACCURACY = replace(
    EFFICIENCY_LOSS,
    name="semantic_accuracy",
    about="bits that messages tell of referents",
    title="accuracy I(W; U)",
    high="at most that of the meanings themselves; more costs complexity, so neither is better",
    direction=None,
    details={},
)
OPTIMAL_DISTANCE = replace(
    EFFICIENCY_LOSS,
    name="optimal_distance",
    about="distance from the nearest optimal language",
    title="generalised normalised information distance",
    high="0 if the language is that of the bound, 1 if both have nothing in common",
    bounds=(0.0, 1.0),
    details={},
)
SCORES = (EFFICIENCY_LOSS, COMPLEXITY, MEANING_ACCURACY, OPTIMAL_DISTANCE)


@metric(*SCORES)
def efficiency(corpus: Corpus, options: Options, own: EfficiencyOptions = EfficiencyOptions()) -> list[Score]:
    """The language of a corpus beside the information-bottleneck bound: Zaslavsky et al. (2018), PNAS 115.

    Whole messages, without EOS, are words w; shares of the messages about each meaning are q(w|m), of all speakers
    together. `complexity` is I(M; W), `semantic_accuracy` I(W; U), both in bits, for the need p(m) and the beliefs
    p(u|m) of the space (`spaces.kinds`). `efficiency_loss` is epsilon, the least excess of I(M; W) - beta I(W; U) over
    that of optimal languages, divided by beta; `optimal_distance` is gNID to the optimal language of that beta. 0: no
    language is as accurate with less complexity. See `eval.efficiency.bound` for the bound and its precision.

    A meaning that no message is about counts as said by the words of all others, in their shares; `meanings` in the
    details says how many are named, of how many.

    Chance: meanings permuted over the encoder's rows, which keeps complexity for a uniform need; of colours, hues
    turned by 4 to 16 columns both ways, as Regier et al. (2007) turn them. Interval: delete-one jackknife over
    speakers where there are three or more, else half-samples of the messages.

    Undefined without meanings; refused if the space lacks one of them, or has more than 1,000.
    """
    vectors = None if corpus.meanings is None else flat(corpus.meanings)
    settings: dict[str, Any] = {"space": own.space, "need": own.need, "eos": "strip"}
    if vectors is None:
        return _undefined(settings, corpus.why_no_meanings)
    space = own.make(vectors)
    words = row_labels(corpus.content())
    language = _Language(space.find(vectors), words, len(space))
    counts = language.counts(np.arange(len(words)))
    space = own.needed(space, counts)
    bound = bound_of(space, lambda done, total: options.progress("efficiency: the bound", done, total))
    settings["digest"] = space.digest
    scores = [unscored(traits, **settings) for traits in SCORES]
    whole = fit(space, bound, shares(counts))
    most = complexity(space, np.eye(len(space))), float(bound.accuracy.max())
    limits = [(0.0, each) for each in (most[0], most[0], most[1], 1.0)]
    intervals = _intervals(corpus, language, space, bound, _figures(whole), limits, options.seed)
    chance = _chance(space, bound, shares(counts), options.seed)
    details = {
        "beta": whole.beta,
        "accuracy_of_meanings": most[1],
        "words": int(words.max(initial=-1)) + 1,
        "meanings": [int(counts.any(1).sum()), len(space)],
    }
    return [
        score(
            value=value,
            ci95=interval,
            chance=of_draws(draws, seed=options.seed, bounds=limit),
            details=details if traits is EFFICIENCY_LOSS else {},
        )
        for score, traits, value, interval, limit, draws in zip(
            scores, SCORES, _figures(whole), intervals, limits, chance.T, strict=True
        )
    ]


class _Language:
    """How often each meaning is said by each word, of some of the messages.

    Args:
        meanings: The meaning of each message, (num_messages,).
        words: Its word, from 0, (num_messages,).
        num_meanings: Of the space.
    """

    def __init__(self, meanings: Ints, words: Ints, num_meanings: int) -> None:
        self.num_words = int(words.max(initial=-1)) + 1
        self.num_meanings = num_meanings
        self.codes = meanings * self.num_words + words

    def counts(self, rows: Ints) -> Floats:
        """Of the messages of these rows, (num_meanings, num_words)."""
        counts = np.bincount(self.codes[rows], minlength=self.num_meanings * self.num_words)
        return counts.reshape(self.num_meanings, self.num_words).astype(np.float64)


def _figures(fitted: Fit) -> list[float]:
    return [fitted.loss, fitted.complexity, fitted.accuracy, fitted.distance]


def shares(counts: Floats) -> Floats:
    """q(w|m) of counts, both (num_meanings, num_words); a meaning without messages is said as all others are."""
    used = counts[:, counts.any(0)]
    of_meaning = used.sum(1, keepdims=True)
    of_all = used.sum(0) / used.sum()
    filled: Floats = np.where(of_meaning > 0, used / np.maximum(of_meaning, 1), of_all)
    return filled


def _intervals(
    corpus: Corpus,
    language: _Language,
    space: Space,
    bound: Bound,
    values: list[float],
    limits: list[tuple[float, float]],
    seed: int,
) -> list[tuple[float, float] | None]:
    """The 95 % interval of each figure."""
    number = len(language.codes)
    speakers = corpus.columns.get(SPEAKER)
    kinds = np.unique(speakers) if speakers is not None else np.zeros(0)

    def of_rows(rows: Ints) -> list[float]:
        return _figures(fit(space, bound, shares(language.counts(rows))))

    if len(kinds) >= FEW_SPEAKERS:
        parts = np.array([of_rows(np.flatnonzero(speakers != each)) for each in kinds])
        centred = parts - parts.mean(0)
        errors = np.sqrt((len(kinds) - 1) / len(kinds) * (centred**2).sum(0))
        widths = student_quantile(0.975, len(kinds) - 1) * errors
        return [
            (max(low, value - width), min(high, value + width))
            for (low, high), value, width in zip(limits, values, widths.tolist(), strict=True)
        ]
    if number < MIN_ROWS:
        return [None] * len(SCORES)
    rng = np.random.default_rng([seed, number])
    parts = np.array([of_rows(half_sample(number, rng)) for _ in range(NUM_SUBSAMPLES)])
    return [
        jackknife_interval(value, parts[:, place], number, limit)
        for place, (limit, value) in enumerate(zip(limits, values, strict=True))
    ]


def _chance(space: Space, bound: Bound, encoder: Floats, seed: int) -> Floats:
    """Figures of the language with its words on other meanings, (num_draws, num_figures)."""
    rng = np.random.default_rng(seed)
    orders = space.turns or [rng.permutation(len(space)) for _ in range(NUM_PERMUTATIONS)]
    return np.array([_figures(fit(space, bound, encoder[order])) for order in orders])


def _undefined(settings: dict[str, Any], reason: str) -> list[Score]:
    return [unscored(traits, **settings)(value=None, reason=reason) for traits in SCORES]
