"""Checks of metrics and grammars: equal values for equal languages, and a message for each meaning."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRICS, find_metric
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.metrics.traits import Metric
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.formats import write_corpus
from ecsuite.games.config.experiment import override
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.making import make_corpus
from ecsuite.grammars.own_grammars import OWN
from ecsuite.grammars.words import all_meanings, stream
from ecsuite.parts.own_functions import called
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged
from ecsuite.testing import Check, bound, option_checks, require
from ecsuite.testing.games import training_resumes
from ecsuite.testing.trial import SHARED, SOCIETIES, Trial, scratch_folder

SYMBOLS, ATTRIBUTES, VALUES = 6, 2, 4
OPTIONS = Options()
SMALLEST = "xferbench,preset=nano"
"""The checked configuration of XferBench."""
NUM_SHUFFLES = 5
"""Permutations whose median must lie in the range of a chance level."""


def metric_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of a metric of a corpus. See `ecsuite.testing.checks`.

    Raises:
        ConfigError: If the metric needs the agents of a run.
    """
    if find_metric(name).shared.needs_agents:
        raise ConfigError(
            f"{name}: needs the agents of a run, so it cannot be checked on a corpus: "
            f"ecsuite score RUN --metrics {name}"
        )
    name = SMALLEST if name == "xferbench" else name
    own = option_checks(METRICS, name, lambda function: called(function, language(), OPTIONS))
    return [*bound(METRIC, lambda: find_metric(name)), *own]


def distance_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of a message distance, in topographic similarity. See `ecsuite.testing.checks`."""
    metric = find_metric(f"topsim,message_distance={name}")
    return bound(METRIC, lambda: metric)


def language(num_messages: int = 64, seed: int = 0) -> Corpus:
    """A language in which each attribute is expressed by one symbol, with some noise."""
    rng = np.random.default_rng(seed)
    meanings = rng.integers(VALUES, size=(num_messages, ATTRIBUTES))
    noise = rng.integers(1, SYMBOLS, size=meanings.shape)
    symbols = np.where(rng.random(meanings.shape) < 0.2, noise, 1 + meanings).astype(np.int32)
    return corpus_of([row.tolist() for row in symbols], meanings)


def corpus_of(messages: Sequence[Sequence[int]], meanings: Any) -> Corpus:
    """A corpus without EOS, whose concepts are the attribute values."""
    meanings = np.asarray(meanings, dtype=np.int64).reshape(len(messages), -1)
    first = np.arange(meanings.shape[1]) * VALUES
    return Corpus(
        messages=Ragged.from_rows([list(message) for message in messages]),
        meanings=meanings,
        concepts=Ragged.from_rows((meanings + first).tolist()),
        concept_names=tuple(f"attribute{a}={v}" for a in range(meanings.shape[1]) for v in range(VALUES)),
    )


def meanings_of(corpus: Corpus) -> NDArray[Any]:
    """The meanings of a corpus that has them."""
    assert corpus.meanings is not None
    return corpus.meanings


def is_deterministic(metric: Metric) -> None:
    """Two calls give equal scores."""
    require(_values(metric, language()) == _values(metric, language()), "two calls differ")


def corpus_is_unchanged(metric: Metric) -> None:
    """It does not change the corpus."""
    corpus = language()
    metric(corpus, OPTIONS)
    fresh = language()
    pairs = ((corpus.messages.values, fresh.messages.values), (meanings_of(corpus), meanings_of(fresh)))
    require(all(np.array_equal(*pair) for pair in pairs), "messages or meanings were changed")


def symbols_may_be_renamed(metric: Metric) -> None:
    """Other symbol ids do not change the values."""
    corpus = language()
    renamed = replace(
        corpus,
        messages=Ragged(values=(SYMBOLS + 3 - corpus.messages.values) * 7, offsets=corpus.messages.offsets),
    )
    _require_near(_values(metric, corpus), _values(metric, renamed), "other symbol ids")


def order_does_not_matter(metric: Metric) -> None:
    """Another order of the messages does not change the values."""
    corpus = language()
    order = np.random.default_rng(1).permutation(len(corpus.messages))
    rows = [corpus.messages[index].tolist() for index in order]
    _require_near(
        _values(metric, corpus), _values(metric, corpus_of(rows, meanings_of(corpus)[order])), "another order"
    )


def degenerate_corpora_have_reasons(metric: Metric) -> None:
    """On degenerate corpora it gives finite values, or no value with a reason."""
    for name, corpus in DEGENERATE.items():
        try:
            scores = metric(corpus, OPTIONS)
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
        for score in scores:
            require((score.value is None) == (score.reason is not None), f"{name}: no value and no reason")


def scores_are_json(metric: Metric) -> None:
    """Its scores are JSON, with a signature and a description."""
    for score in metric(language(), OPTIONS):
        json.dumps(score.to_json(), allow_nan=False)
        require(bool(score.signature) and bool(score.about), f"{score.name}: no signature or no description")


def values_are_within_bounds(metric: Metric) -> None:
    """Its values are within its bounds, if its traits declare some: `bounds=(0, 1)`."""
    bounds = {each.name: each.bounds for each in metric.traits}
    if not any(bounds.values()):
        return
    for corpus in (language(), *DEGENERATE.values()):
        for score in metric(corpus, OPTIONS):
            low, high = bounds.get(score.name) or (-math.inf, math.inf)
            is_inside = score.value is None or low <= score.value <= high
            require(is_inside, f"{score.name} is {score.value}, expected {low} to {high}")


def intervals_hold_the_value(metric: Metric) -> None:
    """The bounds of a confidence interval are in order."""
    for score in metric(language(), OPTIONS):
        if score.ci95 is not None:
            require(score.ci95[0] <= score.ci95[1], f"{score.name}: {score.ci95}")


def chance_level_agrees_with_permutations(metric: Metric) -> None:
    """Its chance level, if it has one, is the level of shuffled meanings."""
    corpus = language()
    levels: dict[bool, dict[str, tuple[float, float]]] = {}
    for score in metric(corpus, OPTIONS):
        if (chance := score.chance) is not None and chance.kind == "shuffle":
            levels.setdefault(chance.num_meanings is not None, {})[score.name] = chance.interval
    rows, meanings = (
        [corpus.messages[index].tolist() for index in range(len(corpus.messages))],
        meanings_of(corpus),
    )
    distinct, unit = np.unique(meanings, axis=0, return_inverse=True)
    # Meanings are permuted with all their messages or message by message, depending on the chance level.
    for is_whole in levels:
        rng = np.random.default_rng(2)
        shuffled = [
            corpus_of(
                rows, rng.permutation(distinct)[unit.ravel()] if is_whole else rng.permutation(meanings)
            )
            for _ in range(NUM_SHUFFLES)
        ]
        with few_draws():  # only the values are read, not chance levels
            # If the null distribution is of another value than the score, such as an estimate, compare that value.
            found = [{score.name: _compared(score) for score in metric(each, OPTIONS)} for each in shuffled]
        for name, (low, high) in levels[is_whole].items():
            middle = float(np.median([values[name] for values in found]))
            require(
                low <= middle <= high, f"{name} is {middle} with shuffled meanings, not in {low} to {high}"
            )


DEGENERATE = {
    "one message": corpus_of([[1, 2]], [[0, 1]]),
    "equal messages": corpus_of([[1, 2]] * 8, [[0, 1], [1, 0]] * 4),
    "equal meanings": corpus_of([[1, 2], [2, 1]] * 4, [[0, 1]] * 8),
    "empty messages": corpus_of([[]] * 8, [[0, 1], [1, 0]] * 4),
    "no meanings": Corpus(messages=Ragged.from_rows([[1, 2], [2], [1]])),
}

METRIC = (
    is_deterministic,
    corpus_is_unchanged,
    symbols_may_be_renamed,
    order_does_not_matter,
    degenerate_corpora_have_reasons,
    scores_are_json,
    intervals_hold_the_value,
    values_are_within_bounds,
    chance_level_agrees_with_permutations,
)


def _values(metric: Metric, corpus: Corpus) -> dict[str, Any]:
    scores: list[Score] = metric(corpus, OPTIONS)
    return {score.name: score.value for score in scores}


def _compared(score: Score) -> float:
    """The value to compare with the chance level."""
    compared = None if score.chance is None else score.chance.compared
    value = score.value if compared is None else compared
    return float("nan") if value is None else float(value)


def _require_near(first: dict[str, Any], second: dict[str, Any], what: str) -> None:
    """Fail if values differ by more than rounding."""
    for name, value in first.items():
        other = second.get(name)
        near = value == other or (
            value is not None and other is not None and bool(np.isclose(value, other, rtol=1e-9, atol=1e-12))
        )
        require(near, f"{name} is {value}, with {what} {other}")


def grammar_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of a grammar. See `ecsuite.testing.checks`."""
    geometry = Geometry(num_attributes=3, num_values=4)
    own = option_checks(
        OWN, name, lambda function: called(function, all_meanings(geometry), stream(0, "check"), geometry)
    )
    return [*bound(GRAMMAR, lambda: partial(small_language, name)), *own]


def small_language(name: str, seed: int) -> Corpus:
    """A small language of the grammar."""
    return make_corpus(name, seed=seed, num_attributes=3, num_values=4)


def a_seed_gives_the_same_language(make: Callable[[int], Corpus]) -> None:
    """Equal seeds give equal messages, independent of earlier draws."""
    np.random.seed(1)
    first = make(0)
    np.random.seed(2)
    make(1)
    again = make(0)
    require(_equal_messages(first, again), "two calls with the same seed differ")


def every_meaning_has_a_message(make: Callable[[int], Corpus]) -> None:
    """Every meaning has a message of symbols from 1."""
    corpus = make(0)
    number = len(np.unique(np.asarray(corpus.meanings), axis=0))
    require(len(corpus.messages) == number, f"{len(corpus.messages)} messages for {number} meanings")
    require(bool((corpus.messages.lengths > 0).all()), "a message is empty")
    require(bool((corpus.messages.values >= 1).all()), "a symbol is below 1")


def the_language_says_something(make: Callable[[int], Corpus]) -> None:
    """Messages of different meanings are not all equal."""
    corpus = make(0)
    distinct = {tuple(corpus.messages[index].tolist()) for index in range(len(corpus.messages))}
    require(len(distinct) > 1, "all meanings have the same message")


def the_signature_names_the_seed(make: Callable[[int], Corpus]) -> None:
    """Languages of two seeds have different signatures."""
    signatures = [make(seed).metadata["signature"] for seed in (0, 1)]
    require(signatures[0] != signatures[1], f"both are {signatures[0]}")


def agents_can_be_taught_it(make: Callable[[int], Corpus]) -> None:
    """Agents of a pair and of a society can be taught it before they play, and such runs resume to the same bytes."""
    with scratch_folder() as folder:
        write_corpus(make(0), folder / "language")
        corpus = make(0)
        sizes = [int(each) for each in np.asarray(corpus.meanings).max(0) + 1]
        world = f"{{kind: events, entities: {sizes[0]}, actions: {sizes[-1]}}}"
        if len(corpus.messages) == np.prod(sizes):
            world = f"{{kind: unequal_attributes, num_values: {sizes}}}"
        channel = (
            f"channel.vocab_size={corpus.messages.values.max()}",
            f"channel.max_len={corpus.messages.lengths.max()}",
        )
        taught = f"{{language: {folder / 'language'}, epochs: 1}}"
        trial = Trial.of("world", "attributes", ["training.num_examples=32"])  # six steps, two teach
        settings = [f"world={world}", *channel, f"sender.taught={taught}", f"receiver.taught={taught}"]
        trial = replace(trial, experiment=override(trial.experiment, settings))
        for society in ((), SOCIETIES[1], SHARED):
            training_resumes(trial.in_society(society))


GRAMMAR = (
    a_seed_gives_the_same_language,
    every_meaning_has_a_message,
    the_language_says_something,
    the_signature_names_the_seed,
    agents_can_be_taught_it,
)


def _equal_messages(first: Corpus, second: Corpus) -> bool:
    return np.array_equal(first.messages.values, second.messages.values)
