"""Random corpora of every kind, few and many, with speakers: what is concluded fits the numbers beside it."""

import json

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRICS, find_metric
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.statistics import resampling
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.runtime.ragged import Ragged

TRAITS = {name: find_metric(name).shared for name in METRICS.parts}
NAMES = [name for name, traits in TRAITS.items() if not (traits.needs_agents or traits.trains)]
SIZES = (1, 2, 3, 5, 9, 10, 11, 20, 40, 120)


def random_messages(how, rng, meanings, num_values):
    """Messages that are independent of meanings, recur, name whole meanings, have parts, or are degenerate."""
    number, width = meanings.shape
    if how == "independent":
        return [rng.integers(0, 6, rng.integers(0, 7)).tolist() for _ in range(number)]
    if how == "Zipfian":
        book = [rng.integers(0, 6, rng.integers(1, 6)).tolist() for _ in range(20)]
        return [book[place] for place in np.minimum(rng.zipf(1.5, number), 20) - 1]
    if how == "holistic":
        book = {}
        return [
            book.setdefault(tuple(row), rng.integers(0, 6, rng.integers(1, 6)).tolist())
            for row in meanings.tolist()
        ]
    if how == "noisy":
        symbols = meanings + num_values * np.arange(width)
        noise = rng.integers(0, width * num_values, symbols.shape)
        return np.where(rng.random(symbols.shape) < 0.4, noise, symbols).tolist()
    return [[1, 2] if how == "equal" else []] * number


def random_corpus(seed):
    """A corpus of a kind that the seed draws."""
    rng = np.random.default_rng([5, seed])
    number, width, num_values = int(rng.choice(SIZES)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    meanings = rng.integers(0, num_values, (number, width))
    how = str(rng.choice(["independent", "Zipfian", "holistic", "noisy", "equal", "empty"]))
    messages = random_messages(how, rng, meanings, num_values)
    known = {}
    if rng.random() < 0.5:
        known["concepts"] = Ragged.from_rows((meanings + num_values * np.arange(width)).tolist())
    if rng.random() < 0.8 or not known:
        known["meanings"] = meanings
    speakers = {
        "equal": np.arange(number) % 3,
        "unequal": (rng.random(number) < 0.15).astype(int),
        "many": rng.integers(0, max(1, number // 4) + 1, number),
    }
    kind = str(rng.choice(["none", *speakers]))
    return Corpus(messages, **known, columns={} if kind == "none" else {"speaker": speakers[kind]})


def contradictions(score: Score, relation: str | None):
    """What a conclusion says against the numbers that are shown beside it."""
    chance, value = score.chance, score.value
    if value is not None and score.ci95 is not None and not _is_within(value, score.ci95):
        yield "the interval does not contain the value"
    if chance is None or value is None:
        return
    compared = chance.level + chance.distance(value)
    if not chance.low <= chance.level <= chance.high:
        yield "the chance level is outside its range"
    p_value, _ = chance.p_value(value)
    if p_value is not None and not 0 <= p_value <= 1:
        yield f"p is {p_value}"
    if relation in ("above", "below"):
        if (compared > chance.level) != (relation == "above"):
            yield "on the other side of the chance level"
        if chance.draws and _is_within(compared, (chance.low, chance.high)):
            yield "in the range of chance"
        if score.ci95 is not None and _is_within(value - chance.distance(value), score.ci95):
            yield "its interval contains the chance level"
    width = chance.high - chance.low
    if relation == "equal" and len(chance.defined) >= 20 and not width:
        return
    if relation == "equal" and chance.draws and abs(compared - chance.level) > 3 * max(width, 1e-9):
        yield "far from chance, and said to be as by chance"


def _is_within(value, bounds):
    return bounds[0] - 1e-9 <= value <= bounds[1] + 1e-9


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 150))]
)
def test_no_conclusion_contradicts_its_numbers(seed, monkeypatch):
    monkeypatch.setattr(resampling, "NUM_SUBSAMPLES", 20)
    corpus, found = random_corpus(seed), []
    for name in NAMES:
        card = score_corpus(corpus, [name], Options(seed=seed))
        json.dumps(card.to_json(is_kept=True), allow_nan=False)
        assert str(card) and card.full()
        for score, conclusion in zip(card.scores, card.conclusions, strict=True):
            kept = json.loads(json.dumps(score.to_json(is_kept=True)))
            assert Score.of_json(kept, "scores.json").to_json() == score.to_json()
            found += [f"{score.name}: {each}" for each in contradictions(score, conclusion.relation)]
    assert found == []
