"""Efficiency: distance of a language from the best trade-off of complexity and accuracy for its meanings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.counts.counting import flat, row_labels
from ecsuite.eval.metrics.information_bound import Fit, InformationBound, bound_of, complexity, fit
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import SENDER, Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.estimates import NO_SPREAD, student_quantile
from ecsuite.eval.statistics.resampling import MIN_ROWS, half_sample, jackknife_interval, num_draws
from ecsuite.jobs.graph import Runner
from ecsuite.spaces.kinds import SpaceOptions
from ecsuite.spaces.space import Space

NUM_PERMUTATIONS = 100
"""Permutations of the meanings, for a space without turns."""
FEW_MEANINGS = 6
"""Meanings up to which all permutations are enumerated: seven would take seconds."""
NUM_SUBSAMPLES = 100
"""Half-samples of the messages, for a corpus with fewer than three speakers."""
MOST_UNEQUAL = {"complexity": 1.1}
"""Maximum ratio of the numbers of messages about two meanings for a chance level with unequal needs; other scores: 2.
Of 800 random languages of 108 messages about 9 meanings that follow needs of 1 to 2, p was below .05 in 13 %
(complexity), 5.0 %, 5.9 % and 4.3 % (the others); with needs of 1 to 1.1, in 5.6 % (complexity) and 4.9 to 5.5 %."""
NO_CHANCE = "no chance level: meanings with higher need have more messages, so they can't be exchanged"
"""Note for a language whose meanings can't be exchanged."""
EXACT = "exact"
"""Value in a signature for exact probabilities of all messages."""
FEW_SPEAKERS = 3
"""Number of speakers from which on the interval is over speakers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EfficiencyOptions(SpaceOptions):
    """The space of meanings of the metric `efficiency`."""


CORRECTED = "with less bias from small counts, estimated from fewer speakers or messages (jackknife)"
"""Description of the detail `corrected`."""


EFFICIENCY_LOSS = Traits(
    name="efficiency_loss",
    version=3,
    about="bits above the best trade-off",
    title="deviation from the information-bottleneck bound",
    high="0 if no simpler language has the same accuracy",
    question="concepts",
    direction="lower",
    chance="shuffled meanings",
    needs=("meanings",),
    depends_on_size="with few messages, a language seems more complex than it is",
    asks_agents=True,
    by_name_only=True,
    draws=True,
    pools_speakers=True,
    options=EfficiencyOptions,
    details={
        "beta": "trade-off of the nearest optimal language",
        "accuracy_of_meanings": "bits of information of the meanings themselves about referents",
        "words": "different messages",
        "meanings": "number of named meanings, and of all meanings of the space",
        "shares": "source of the message probabilities",
        "corrected": CORRECTED,
    },
)
COMPLEXITY = replace(
    EFFICIENCY_LOSS,
    name="complexity",
    about="bits of information about meanings",
    title="complexity I(M; W)",
    high="the entropy of the meanings if each has its own message; neither is better",
    direction=None,
    details={"corrected": CORRECTED},
)
MEANING_ACCURACY = replace(
    EFFICIENCY_LOSS,
    name="semantic_accuracy",
    about="bits of information about referents",
    title="accuracy I(W; U)",
    high="at most the accuracy of the meanings themselves; more costs complexity, so neither is better",
    direction=None,
    details={"corrected": CORRECTED},
)
OPTIMAL_DISTANCE = replace(
    EFFICIENCY_LOSS,
    name="optimal_distance",
    about="distance from the nearest optimal language",
    title="generalised normalised information distance",
    high="0 if the language is optimal, 1 if it has nothing in common with the nearest optimal language",
    bounds=(0.0, 1.0),
    details={},
)
SCORES = (EFFICIENCY_LOSS, COMPLEXITY, MEANING_ACCURACY, OPTIMAL_DISTANCE)


@metric(*SCORES)
def efficiency(
    corpus: Corpus, options: Options, own: EfficiencyOptions = EfficiencyOptions(), *, runner: Runner
) -> list[Score]:
    """Compare the language of a corpus with the information-bottleneck bound: Zaslavsky et al. (2018), PNAS 115.

    Whole messages, without EOS, are words w; shares of the messages about each meaning are q(w|m), for all speakers
    together. For a run they are its senders' own probabilities: exact if there are
    few messages, otherwise of drawn messages; `shares` in the details says which. `complexity` is I(M; W),
    `semantic_accuracy` I(W; U), both in bits, for the need p(m) and the beliefs p(u|m) of the space.
    `efficiency_loss` is epsilon, the least excess of I(M; W) - beta I(W; U) over optimal languages, divided by beta;
    `optimal_distance` is gNID to the optimal language of that beta. 0: no simpler language has the same accuracy. The
    bound and its precision: docs/efficiency.md.

    A meaning without messages counts as expressed by the words of all others, in their shares; `meanings` in the
    details has the numbers of named meanings and of all meanings.

    Chance: meanings permuted over the encoder's rows, which preserves complexity for a uniform need, with all
        permutations of up to six meanings; for colours, hues turned by 4 to 16 columns both ways, as in Regier et al.
        (2007). There is no chance level if even a language without structure has different rows for frequent meanings:
        these have more messages, which are spread over more words. That holds if the need comes from this language,
        `corpus` (unless all meanings have equally many messages) or `capacity`; or if the need is unequal and some
        meaning has more than twice as many messages as another (`complexity`: 1.1 times).
    Interval: delete-one jackknife over speakers if there are three or more, otherwise half-samples of the messages;
        exact probabilities of fewer speakers have none. `corrected` in the details is an estimate with less bias, from
        fewer speakers or messages.

    Undefined without meanings. Raises an error if the space lacks one of the meanings, or has more than 1,000.
    """
    vectors = None if corpus.meanings is None else flat(corpus.meanings)
    settings: dict[str, Any] = {"space": own.space, "need": own.need, "eos": "strip"}
    if vectors is None:
        return _undefined(settings, corpus.why_no_meanings)
    space = own.make(vectors)
    language = _language(corpus, vectors, space, options)
    if language.source:
        settings[SENDER] = language.source
    counts = language.counts(np.arange(len(language.codes)))
    space = own.needed(space, counts)
    bound = bound_of(space, lambda done, total: runner.progress("efficiency: the bound", done, total))
    settings["digest"] = space.digest
    scores = [unscored(traits, **settings) for traits in SCORES]
    whole = fit(space, bound, shares(counts))
    most = complexity(space, np.eye(len(space))), float(bound.accuracy.max())
    nearest = min(0.0, _figures(whole)[-1])  # gNID of soft languages may lie below 0
    limits = [(0.0, most[0]), (0.0, most[0]), (0.0, most[1]), (nearest, 1.0)]
    intervals, corrected = _resampled(language, space, bound, _figures(whole), limits, options.seed)
    unequal = _inequality(space, counts, own, is_counted=not language.source)
    is_fair = [unequal <= MOST_UNEQUAL.get(traits.name, 2) for traits in SCORES]
    chance = _chance(space, bound, shares(counts), options.seed) if any(is_fair) else None
    details = {
        "beta": whole.beta,
        "accuracy_of_meanings": most[1],
        "words": language.num_words,
        "meanings": [int(counts.any(1).sum()), len(space)],
        "shares": language.about,
    } | ({} if chance is not None else {"note": NO_CHANCE})
    return [
        score(
            value=value,
            ci95=interval,
            chance=Chance.from_permutations(
                chance[:, place],
                seed=options.seed,
                bounds=limit,
                num_meanings=len(space),
                num_pairings=None
                if space.turns
                else math.factorial(len(space))
                if len(space) <= 18
                else None,
            )
            if chance is not None and is_fair[place]
            else None,
            details=(details if traits is EFFICIENCY_LOSS else {})
            | ({} if less_biased is None else {"corrected": less_biased}),
        )
        for place, (score, traits, value, interval, less_biased, limit) in enumerate(
            zip(scores, SCORES, _figures(whole), intervals, corrected, limits, strict=True)
        )
    ]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Language:
    """Counts of words for meanings, message by message."""

    codes: Ints
    """Meaning times `num_words` plus word, of each message, (num_messages,)."""
    num_meanings: int
    num_words: int
    speakers: Any = None
    """Speaker of each message, (num_messages,); None: unknown."""
    weights: Floats | None = None
    """Weight of each message, (num_messages,); None: 1."""
    source: str = ""
    """Value in a signature for the sender's probabilities; empty: counts of a corpus."""
    about: str = "of counts of the corpus"
    """Description of `source`."""

    @property
    def is_exact(self) -> bool:
        """Whether nothing was drawn."""
        return self.source == EXACT

    def counts(self, rows: Ints) -> Floats:
        """Counts of the messages of these rows, (num_meanings, num_words)."""
        weights = None if self.weights is None else self.weights[rows]
        cells = self.num_meanings * self.num_words
        counts = np.bincount(self.codes[rows], weights, minlength=cells)
        table = counts.reshape(self.num_meanings, self.num_words).astype(np.float64)
        return _unique_as_one(table) if self.source else table


def _language(corpus: Corpus, vectors: Any, space: Space, options: Options) -> _Language:
    """Messages of the senders of a run, or of a corpus."""
    if options.run is None or not options.run.has_agents:
        words = row_labels(corpus.content())
        number = int(words.max(initial=-1)) + 1
        codes = space.find(vectors) * number + words
        speakers = _numbers_of_speakers(corpus) if SPEAKER in corpus.columns else None
        return _Language(codes=codes, num_meanings=len(space), num_words=number, speakers=speakers)
    from ecsuite.eval.metrics.agent_answers import said_by

    said = said_by(options.run.players, options.run.experiment)
    number = int(said.words.max()) + 1
    drawn = said.num_drawn
    return _Language(
        codes=space.find(flat(said.meanings)) * number + said.words,
        num_meanings=len(space),
        num_words=number,
        speakers=said.speakers,
        weights=said.weights,
        source=EXACT if drawn is None else str(drawn),
        about="of the sender's own probabilities, exact"
        if drawn is None
        else f"of {drawn:,} messages per meaning, sampled from the sender",
    )


def _numbers_of_speakers(corpus: Corpus) -> Ints:
    """Index of the speaker of each message, (num_messages,); -1 if unknown."""
    numbers = np.full(len(corpus.messages), -1)
    for number, speaker in enumerate(corpus.values_of(SPEAKER)):
        numbers[corpus.has(SPEAKER, speaker)] = number
    return numbers


def _unique_as_one(table: Floats) -> Floats:
    """Merge the words that express one meaning only into one word for it: equal information, less memory.

    Args:
        table: (num_meanings, num_words).
    """
    is_alone = (table > 0).sum(0) <= 1
    return np.concatenate([table[:, ~is_alone], np.diag(table[:, is_alone].sum(1))], axis=1)


def _figures(fitted: Fit) -> list[float]:
    return [fitted.loss, fitted.complexity, fitted.accuracy, fitted.distance]


def shares(counts: Floats) -> Floats:
    """Encoder q(w|m) from counts, both (num_meanings, num_words); a meaning without messages gets the mean of all."""
    used = counts[:, counts.any(0)]
    of_meaning = used.sum(1, keepdims=True)
    of_all = used.sum(0) / used.sum()
    filled: Floats = np.where(of_meaning > 0, used / np.maximum(of_meaning, 1), of_all)
    return filled


def _resampled(
    language: _Language,
    space: Space,
    bound: InformationBound,
    values: list[float],
    limits: list[tuple[float, float]],
    seed: int,
) -> tuple[Sequence[tuple[float, float] | None], Sequence[float | None]]:
    """The 95 % interval of each figure, and an estimate with less bias.

    The bias is proportional to 1 / number of speakers or messages, so the figures without one speaker, or with half of
    the messages, estimate it (Quenouille 1956).
    """
    number, speakers = len(language.codes), language.speakers
    known = np.zeros(0, np.int64) if speakers is None else speakers[speakers >= 0]  # -1: unknown
    kinds = np.unique(known)

    def of_rows(rows: Ints) -> list[float]:
        return _figures(fit(space, bound, shares(language.counts(rows))))

    def within(estimates: Floats) -> list[float | None]:
        """Estimates clipped to the limits; None for gNID, as other counts have another nearest optimum."""
        pairs = zip(estimates[:-1].tolist(), limits[:-1], strict=True)
        return [*(min(high, max(low, estimate)) for estimate, (low, high) in pairs), None]

    num_samples = num_draws(NUM_SUBSAMPLES, 1)
    nothing = [None] * len(SCORES)
    if num_samples == 1:  # scores without intervals
        return nothing, nothing
    if len(kinds) >= FEW_SPEAKERS:
        parts = np.array([of_rows(np.flatnonzero(speakers != each)) for each in kinds])
        centred = parts - parts.mean(0)
        errors = np.sqrt((len(kinds) - 1) / len(kinds) * (centred**2).sum(0))
        widths = student_quantile(0.975, len(kinds) - 1) * errors
        intervals = [
            (max(low, value - width), min(high, value + width))
            for (low, high), value, width in zip(limits, values, widths.tolist(), strict=True)
        ]
        return intervals, within(np.array(values) + (len(kinds) - 1) * (np.array(values) - parts.mean(0)))
    if number < MIN_ROWS or language.is_exact:
        return nothing, nothing
    rng = np.random.default_rng([seed, number])
    parts = np.array([of_rows(half_sample(number, rng)) for _ in range(num_samples)])
    spans = [
        jackknife_interval(value, parts[:, place], number, limit)
        for place, (limit, value) in enumerate(zip(limits, values, strict=True))
    ]
    return spans, within(2 * np.array(values) - parts.mean(0))


def _inequality(space: Space, counts: Floats, own: EfficiencyOptions, *, is_counted: bool) -> float:
    """Inequality of the numbers of messages per meaning, which decides whether rows can be exchanged.

    The ratio of the most to the fewest messages about a meaning if needs are unequal; 1 if needs are equal, or without
    counted messages; infinite if needs follow from the messages.

    With need=corpus, p was below .05 in 14 % of 2,000 random languages of 100 messages about 9 meanings, and in 59 % if
    meanings recur by a power law; with unequal needs of a space, in 54 % if messages follow them, and in 4.8 to 4.9 %
    if not. With equal needs it was in 4.6 %, and in 7.1 % for 30 messages that recur by a power law.
    """
    if np.ptp(space.need) < NO_SPREAD:
        return 1.0
    of_meaning = counts.sum(1)
    if own.need == "capacity" or (own.need == "corpus" and np.ptp(of_meaning) > 0):
        return math.inf
    named = of_meaning[of_meaning > 0]
    return float(named.max() / named.min()) if is_counted else 1.0


def _chance(space: Space, bound: InformationBound, encoder: Floats, seed: int) -> Floats:
    """Figures of the language with its words permuted over meanings, (num_draws, num_figures)."""
    rng = np.random.default_rng(seed)
    number = num_draws(NUM_PERMUTATIONS, 1)
    orders = list(space.turns[:number])
    if not orders and number > 1 and len(space) <= FEW_MEANINGS:
        orders = [np.array(order) for order in permutations(range(len(space)))]
    orders = orders or [rng.permutation(len(space)) for _ in range(number)]
    return np.array([_figures(fit(space, bound, encoder[order])) for order in orders])


def _undefined(settings: dict[str, Any], reason: str) -> list[Score]:
    return [unscored(traits, **settings)(value=None, reason=reason) for traits in SCORES]
