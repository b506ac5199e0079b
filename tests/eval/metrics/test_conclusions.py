"""Conclusions: what differs from chance, what does not, and what cannot be told."""

import numpy as np
import pytest
from languages import corpus_of, grid
from scipy.stats import norm

from ecsuite.eval.metrics import DEFAULT_METRICS, METRIC_OF, find_metric, metric_names, traits_of
from ecsuite.eval.metrics.conclusions import conclusions, p_value, place_of
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.metrics.traits import QUESTIONS
from ecsuite.eval.statistics.chance import Chance

NORMAL = norm.ppf(np.arange(1, 101) / 101)
"""100 draws as of a normal distribution."""


def chance(level=0.1, half_width=0.1, **more):
    return Chance.from_permutations(level + half_width / 1.96 * NORMAL, seed=0, bounds=(-1, 1), **more)


def score(value=0.5, name="topsim", **more):
    more = {"chance": chance()} | more
    return Score(name=name, value=value, about="a figure", signature=f"{name}|v:1", **more)


def word(*scores, num_messages=500):
    return conclusions(scores, num_messages)[0].word


def test_words():
    assert word(score()) == "above chance" and word(score(-0.5)) == "below chance"
    assert word(score(0.15)) == "as by chance"
    assert word(score(0.15), num_messages=16) == "can't tell: 16 messages"
    assert word(score(), num_messages=16) == "above chance"
    assert word(score(0.1), num_messages=16) == "as by chance"  # equal by construction
    assert word(score(-0.5, "word_entropy")) == "below chance (good)"
    assert word(score(0.5, "word_entropy")) == "above chance (bad)"
    assert word(score(0.15), num_messages=199) == "can't tell: 199 messages"
    assert word(score(0.15, "ami"), num_messages=4000) == "can't tell: 4,000 messages"
    assert word(score(0.15, "ami"), num_messages=5000) == "as by chance"
    assert word(score(chance=chance(0.0, 0.0))) == "can't tell: no spread"
    assert word(score(), score(0.1)) == "above chance"
    assert word(score(0.9, chance=chance(compared=0.1))) == "as by chance"  # another value was compared


def of_agents(value, half_width, name="generalisation", level=0.25):
    ci95 = None if half_width is None else (value - half_width, value + half_width)
    error = None if half_width is None else half_width / 2
    known = Chance(kind="constant", level=level, error=error, freedom=60)
    return Score(name=name, value=value, about="a figure", signature=f"{name}|v:1", ci95=ci95, chance=known)


@pytest.mark.parametrize("num_messages", [16, 5000, None])
def test_scores_of_agents_do_not_depend_on_the_size_of_the_corpus(num_messages):
    assert word(of_agents(0.9, 0.1), num_messages=num_messages) == "above chance"
    assert word(of_agents(0.1, 0.05, "cross_play"), num_messages=num_messages) == "below chance"
    assert word(of_agents(0.3, 0.06), num_messages=num_messages) == "as by chance"
    assert word(of_agents(0.5, 0.4), num_messages=num_messages) == "can't tell: wide interval"
    assert word(of_agents(0.5, None), num_messages=num_messages) == "can't tell: one value"
    assert word(of_agents(1.0, 0.0), num_messages=num_messages) == "above chance"


def test_words_of_scores_of_agents_and_of_morphemes():
    def none(p_value):
        return Chance(kind="theory", level=0.0, p_of_theory=p_value)

    assert word(score(0.5, "morphemes", chance=none(1e-5))) == "above chance"
    assert word(score(0.0, "morphemes", chance=none(1.0))) == "as by chance"
    assert word(score(0.0, "morphemes", chance=none(1.0)), num_messages=16) == "can't tell: 16 messages"
    assert word(of_agents(0.5, 0.1, "morphemes", level=0.0)) == "above chance"  # of several speakers


def test_what_is_no_difference():
    # As of two speakers whose languages are far apart: the mean of others may be as by chance.
    assert word(score(0.5, ci95=(0.05, 0.95))) == "can't tell: wide interval"
    assert word(score(0.5, ci95=(0.15, 0.85))) == "above chance"
    compared = chance(compared=0.3)  # 0.2 above chance, so chance is 0.3 in the units of the score
    assert word(score(0.5, ci95=(0.25, 0.75), chance=compared)) == "can't tell: wide interval"
    # Three of a hundred reach it, all on one side: p is 0.04, and more than a fortieth of the draws are as high.
    skewed = Chance.from_permutations([1.0] * 3 + [-0.2, -0.1, 0.0, 0.1] * 24 + [0.0], seed=0, bounds=(-1, 1))
    assert skewed.p_value(1.0) == (4 / 101, "ranks") and skewed.high == 1.0
    assert word(score(1.0, chance=skewed)) == "can't tell: in the range of shuffles"
    # Three of a hundred have one: these say nothing of the others.
    known = Chance.from_permutations([*[np.nan] * 97, 0.1, 0.11, 0.12], seed=0, bounds=(-1, 1))
    assert word(score(-0.6, "zla_messages", chance=known)) == "can't tell: 3 of 100 shuffles"


def test_all_scores_of_a_table_are_corrected_together():
    """A score that is above chance alone, at p = .02, is not among ten others."""
    single = score(0.22)
    assert p_value(single) == pytest.approx(2 / 101, abs=2e-3) and word(single) == "above chance"
    assert word(single, *[score(0.1) for _ in range(10)]) == "as by chance"


def test_scores_of_metrics_by_name_have_questions():
    every = list(DEFAULT_METRICS)
    assert metric_names(None) == metric_names(["all"]) == every
    assert metric_names(["+xferbench"]) == metric_names(["all", "xferbench"]) == [*every, "xferbench"]
    assert metric_names(["cbm", "topsim", "cbm"]) == ["cbm", "topsim"]
    corpus = corpus_of(grid(4, 4).tolist() * 3, grid(4, 4).tolist() * 3)
    found = {each.name: name for name in metric_names(None) for each in find_metric(name)(corpus, Options())}
    assert found.items() <= METRIC_OF.items() and set(found.values()) == set(DEFAULT_METRICS)
    assert {traits_of(name).question for name in METRIC_OF} == set(QUESTIONS)


ANCHORS = {"text": 4.9, "nothing": 5.1, "noise": 5.2}


@pytest.mark.parametrize(
    ("value", "passes", "expected"),
    [
        (5.0, "1", "between text and nothing"),
        (4.8, "1", "better than text"),
        (5.3, "1.02", "worse than noise"),
        (4.8, "1.1", "too small to be placed (read 1.1 times)"),
        (5.3, "109.43", "too small to be placed (read 109 times)"),
    ],
)
def test_where_a_score_of_xferbench_lies(value, passes, expected):
    """Uniform noise of 12,500 symbols was better than French text."""
    found = Score(
        name="xferbench", value=value, about="transfer", signature=f"xferbench|passes:{passes}|v:1",
        details={"reference": ANCHORS},
    )  # fmt: skip
    assert place_of(found) == word(found) == expected
    known = {"question": "transfer", "direction": "lower", "conclusion": expected}
    assert conclusions([found], 500)[0].to_json() == known | {"p_holm": None, "adjusted": None}


@pytest.mark.parametrize(
    ("name", "value", "levels", "expected"),
    [
        # (value - chance) / (best - chance), towards 1 for topsim and towards 0 for residual entropy
        ("topsim", 0.6, (0.1, 0.3), 0.5),
        ("residual_entropy", 0.6, (0.7, 0.9), 0.25),
        ("residual_entropy", 0.9, (0.7, 0.9), -0.125),
        ("topsim", 1.0, (1.0, 1.0), None),
        ("topsim", 1.0, None, None),
        ("topsim", None, (0.1, 0.3), None),
        ("has", 1.0, (1.0, 1.0), None),
    ],
)
def test_a_score_is_adjusted_for_chance_if_it_has_a_best_value(name, value, levels, expected):
    level = levels and Chance.from_permutations(levels, seed=0, bounds=(-1, 1))
    found = score(value, name, chance=level, reason="few" if value is None else None)
    assert conclusions([found], 500)[0].adjusted == (None if expected is None else pytest.approx(expected))
