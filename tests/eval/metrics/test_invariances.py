"""What must not change scores of composition and of concepts: copies, orders, names, what is constant, who speaks.

Their p-values ask whether messages fit the structure of meanings better than exchanged ones do, so that neither copies
nor speakers of the same language are further evidence.
"""

from itertools import permutations

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRICS, find_metric, traits_of
from ecsuite.eval.metrics.computing import by_speaker
from ecsuite.eval.metrics.conclusions import conclusions, p_value
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.statistics.resampling import few_draws
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
    symbols = np.where(
        rng.random(meanings.shape) < share, np.add(meanings, [0, 4]), rng.integers(0, 8, meanings.shape)
    )
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
    pairs = {
        "value": (found.value, expected.value),
        "p": (p_value(found), p_value(expected)),
        "ci95": (found.ci95, expected.ci95),
    }
    return all(pairs[name][0] == pytest.approx(pairs[name][1], abs=1e-9) for name in names)


def test_every_score_of_structure_is_tried():
    """But for those of other inputs, and morphemes, which exchange whole meanings in a way of their own."""
    asked = ("compositional", "concepts")
    there = {name for name in METRICS.parts if traits_of(scored_name(name)).question in asked}
    assert there - {*STRUCTURE, "efficiency", "morphemes"} == set()


def scored_name(name):
    """The name of the first score of a metric."""
    return find_metric(name).traits[0].name


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


@pytest.mark.sample(8)
@pytest.mark.parametrize("repetitions", [1, np.arange(16) % 3 + 1])
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
    messages = np.where(
        rng.random(meanings.shape) < 0.5, np.add(meanings, [0, 12, 24]), rng.integers(0, 36, (number, 3))
    )
    order = rng.permutation(number)
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
    assert score.chance.num_meanings == 4 * 16


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
