"""What must not change scores of composition and of concepts, and conclusions that fit the numbers beside them."""

import json
from itertools import permutations

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRICS, find_metric, traits_of
from ecsuite.eval.metrics.computing import by_speaker
from ecsuite.eval.metrics.conclusions import conclusions, p_value
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.statistics import resampling
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.runtime.ragged import Ragged

GRID = np.array([[a, b] for a in range(4) for b in range(4)])
PLUG_IN = (
    "posdis", "bosdis", "hce", "residual_entropy", "cbm", "cbm_types", "context_independence", "word_entropy",
    "tre7", "mig", "dci", "npmi", "variation",
)  # fmt: skip
"""Shares and means over messages, which copies of all leave as they are."""
STRUCTURE = (*PLUG_IN, "topsim", "conflict_count")


def corpus_of(messages, meanings, **columns):
    """Attribute values, which are concepts, too."""
    messages, meanings = list(map(list, messages)), np.asarray(meanings)
    names = np.unique(meanings, return_inverse=True)[1].reshape(meanings.shape)
    concepts = names + (int(names.max()) + 1) * np.arange(meanings.shape[1])
    return Corpus(messages, meanings=meanings, concepts=Ragged.from_rows(concepts.tolist()), columns=columns)


def random_language(seed, repetitions=1, meanings=GRID, share=0.4):
    """A message of each meaning, of two symbols, a share of which name a value; each as often as is asked."""
    rng = np.random.default_rng([11, seed])
    is_clear, noise = rng.random(meanings.shape) < share, rng.integers(0, 8, meanings.shape)
    symbols = np.where(is_clear, np.add(meanings, [0, 4]), noise)
    rows = np.repeat(np.arange(len(meanings)), repetitions)
    return symbols[rows], meanings[rows]


def scored(name, *arguments, **columns):
    """The first score of a metric."""
    return by_speaker(find_metric(name), corpus_of(*arguments, **columns), Options())[0]


def judged(score):
    """What is concluded of a score alone, in words."""
    return conclusions([score], None)[0].word


def same(found, expected, *, names=("value", "p", "ci95")):
    """Whether two scores agree but for rounding."""
    sides = [{"value": each.value, "p": p_value(each), "ci95": each.ci95} for each in (found, expected)]
    return all(sides[0][name] == pytest.approx(sides[1][name], abs=1e-9) for name in names)


def test_every_score_of_structure_is_tried():
    """But for those of other inputs, and morphemes, which exchange whole meanings in a way of their own."""
    asked = {"compositional", "concepts"}
    there = {name for name in METRICS.parts if traits_of(find_metric(name).traits[0].name).question in asked}
    assert there - {*STRUCTURE, "efficiency", "morphemes"} == set()


@pytest.mark.sample(12)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("repetitions", [3, 10])
@pytest.mark.parametrize("name", PLUG_IN)
def test_copies_of_all_rows_change_nothing(name, repetitions, seed):
    once = scored(name, *random_language(seed))
    copied = scored(name, *random_language(seed, repetitions))
    assert same(copied, once) and judged(copied) == judged(once)
    assert copied.chance is None or copied.chance.num_meanings == 16


@pytest.mark.parametrize("repetitions", [1, 10, np.arange(1, 17)])
def test_random_holistic_languages_are_not_compositional(repetitions):
    """Each was called above chance in nine of ten, if each row was there ten times and rows were exchanged."""
    for name in ("topsim", "posdis", "bosdis", "hce", "cbm", "word_entropy"):
        scores = [scored(name, *random_language(seed, repetitions, share=0)) for seed in range(8)]
        assert sum(p_value(score) < 0.05 for score in scores) <= 2, name


def test_copies_and_noise_are_no_evidence(all_draws):
    # Messages of a meaning move together, whatever they are.
    messages, meanings = random_language(0, 20)
    rng = np.random.default_rng(0)
    messages = np.where(rng.random(messages.shape) < 0.3, rng.integers(0, 8, messages.shape), messages)
    score = scored("posdis", messages, meanings)
    assert score.chance.level < scored("posdis", messages, rng.permutation(meanings)).chance.level + 0.2
    assert score.chance.num_meanings == 16 and p_value(score) > 0.01
    for seed in range(4):
        once, copied = (scored("topsim", *random_language(seed, number)) for number in (1, 10))
        assert p_value(copied) == pytest.approx(p_value(once), abs=0.03)
        assert copied.chance.level > 0.1 > abs(once.chance.level) and judged(copied) == judged(once)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["posdis", "bosdis", "topsim", "npmi", "tre7", "variation"])
def test_unequal_frequencies_of_meanings_are_no_structure(name):
    """When exchanges moved frequencies, too, posdis was above chance in 57 % of random languages with these."""
    number = np.array([40, 10, 4, 2])[GRID[:, 0]]
    for seed in range(4):
        once, often = (scored(name, *random_language(seed, each, share=0)) for each in (1, number))
        assert p_value(often) == pytest.approx(p_value(once), abs=0.03) and judged(often) == judged(once)
        assert often.chance.num_meanings == 16
    # An attribute that hardly varies makes posdis lower, by more than the level of equal frequencies.
    regular = scored(name, *random_language(0, number, share=1))
    assert regular.chance.level >= regular.chance.bounds[0] and judged(regular)[:5] in ("above", "below")


@pytest.mark.sample(8)
@pytest.mark.parametrize("repetitions", [1, np.arange(16) % 3 + 1, 3 ** (np.arange(16) // 4)])
@pytest.mark.parametrize("name", STRUCTURE)
def test_neither_the_order_of_rows_nor_names_of_symbols_change_anything(name, repetitions):
    messages, meanings = random_language(1, repetitions)
    rng = np.random.default_rng(0)
    order, names = rng.permutation(len(messages)), rng.permutation(100)[:8]
    expected = scored(name, messages, meanings)
    assert same(scored(name, messages[order], meanings[order]), expected)
    assert same(scored(name, names[messages], meanings), expected)


@pytest.mark.parametrize("name", ["topsim", "tre7", "residual_entropy"])
def test_the_order_of_rows_has_no_say_in_what_is_drawn(name):
    """Of more than 1,000 different messages pairs are drawn, of more than 300 the objects of tre7."""
    rng = np.random.default_rng(3)
    number = 1_300 if name == "topsim" else 400
    meanings = rng.integers(0, 12, (number, 3))
    clear, noise = np.add(meanings, [0, 12, 24]), rng.integers(0, 36, (number, 3))
    messages, order = np.where(rng.random(meanings.shape) < 0.5, clear, noise), rng.permutation(number)
    first, other = (scored(name, messages[rows], meanings[rows]) for rows in (np.arange(number), order))
    assert same(other, first)


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", STRUCTURE)
def test_names_of_values_change_no_value_and_no_exact_p(name):
    """Of more than seven meanings other permutations are drawn."""
    few = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]])
    messages, meanings = random_language(3, 4, meanings=few, share=0.8)
    one, other = scored(name, messages, meanings), scored(name, messages, np.array([7, 3, 5])[meanings])
    assert one.chance.is_exact and len(one.chance.draws) <= 720 and same(other, one, names=("value", "p"))
    assert judged(other) == judged(one)


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    "name", ["posdis", "bosdis", "hce", "residual_entropy", "tre7", "topsim", "mig", "dci", "variation"]
)
def test_a_constant_attribute_changes_nothing(name):
    """For scores of words and concepts it is a concept of all messages, which has to be said."""
    messages, meanings = random_language(4, 2)
    more = np.concatenate([meanings, np.full((len(meanings), 1), 1)], axis=1)
    assert same(scored(name, messages, more), scored(name, messages, meanings))


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", STRUCTURE)
def test_speakers_of_one_language_are_no_further_evidence(name):
    """Their messages are exchanged alike, so that the p-value is that of one of them."""
    messages, meanings = random_language(5)
    one = scored(name, messages, meanings)
    every = np.concatenate([messages] * 4), np.concatenate([meanings] * 4)
    score = scored(name, *every, speaker=np.repeat(np.arange(4), 16))
    assert same(score, one, names=("value", "p"))
    assert same(scored(name, messages, meanings, speaker=np.zeros(16, int)), one)
    assert score.chance.num_meanings == 16


@pytest.mark.sample(10)
@pytest.mark.parametrize("repetitions", [1, 3])
@pytest.mark.parametrize("name", [each for each in STRUCTURE if each != "tre7"])
def test_few_meanings_have_exact_p_values(name, repetitions):
    """The share of all orders of the messages whose score is at least as far from the mean of all."""
    four = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    for seed in range(3):
        messages, meanings = random_language(seed, 1, meanings=four, share=0.6)
        rows = np.repeat(np.arange(4), repetitions)
        with few_draws():
            values = np.array([
                scored(name, messages[list(order)][rows], meanings[rows]).value for order in permutations(range(4))
            ], float)  # fmt: skip
        score = scored(name, messages[rows], meanings[rows])
        if score.value is not None and not np.isnan(values).any():
            is_as_far = np.abs(values - values.mean()) >= abs(score.value - values.mean()) - 1e-9
            assert p_value(score) == pytest.approx(is_as_far.mean()) and score.chance.is_exact


NAMES = [
    name for name in METRICS.parts if not (find_metric(name).shared.needs_agents or find_metric(name).shared.trains)
]
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
        words = [rng.integers(0, 6, rng.integers(1, 6)).tolist() for _ in range(number)]
        return [book.setdefault(tuple(row), word) for row, word in zip(meanings.tolist(), words, strict=True)]
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
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 150))])
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
