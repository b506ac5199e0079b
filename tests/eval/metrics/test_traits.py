"""Scores, their traits, for users' own, too, and conclusions: what differs from chance and what can't be told."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import ecsuite
from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.study import metrics_of
from ecsuite.eval.metrics import DEFAULT_METRICS, METRIC_OF, METRICS, find_metric, metric_names, traits_of
from ecsuite.eval.metrics.conclusions import conclusions, p_value, place_of
from ecsuite.eval.metrics.score import Options, Score, Signature
from ecsuite.eval.metrics.traits import QUESTIONS, Metric, Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.jobs.graph import Runner
from ecsuite.testing.languages import language
from languages import corpus_of, grid


def test_every_score_is_described_in_the_registry():
    named = {each.name: name for name in METRICS.parts for each in METRICS.load(name).traits}
    assert named == METRIC_OF
    for name in METRIC_OF:
        traits = traits_of(name)
        assert traits.about and traits.version >= 1
        if traits.question != "sizes":
            assert traits.high, f"{name}: what is a high value?"
    assert traits_of("has").title == "Harris's articulation scheme"
    assert traits_of("cbm").title == "concept best matching"
    assert traits_of("mine,base=2") == Traits(name="mine,base=2")


def test_traits_of_every_score_are_read_without_heavy_imports():
    script = (
        "import sys; from ecsuite.eval.metrics import METRIC_OF, traits_of; [traits_of(name) for name in METRIC_OF];"
        "print(sorted({'torch', 'scipy.stats', 'sklearn', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("name", ["topsim", "posdis", "ami", "conflict_count", "has", "elcc", "tre7"])
def test_the_size_is_in_signatures_where_it_changes_the_value(name):
    small, large = (find_metric(name)(language(number), Options()) for number in (60, 400))
    for few, many in zip(small, large, strict=True):
        depends = traits_of(few).depends_on_size is not None
        assert (few.signature != many.signature) == depends, few.name
        assert ("|n:60|" in few.signature) == depends
        drawn = traits_of(few).most_messages
        assert (f"|n:{drawn or 400}|" in many.signature) == depends


OWN = """
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.metrics.traits import Metric, Traits, metric
@metric(Traits(about="symbols of all messages", question="natural", direction="lower", depends_on_size="a count"))
def total(corpus):
    return len(corpus.messages.values)
@metric(Traits(direction="higher", bounds=(0, 1)), Traits(name="second", question="concepts"))
def several(corpus, options):
    return [Score(name=name, value=1, about=name, signature=name) for name in ("several", "second", "third")]
@metric(Traits(question="shared", needs=("speakers",)))
class Speakers:
    def __call__(self, corpus):
        return len(set(corpus.columns["speaker"].tolist()))
def plain(corpus):
    "how many there are"
    return len(corpus.messages)
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    return lambda name, corpus=None: ecsuite.score(corpus or language(), f"{tmp_path}/own.py:{name}")


def test_users_own_metrics_have_traits(own):
    card = own("total")
    (score,), (conclusion,) = card.scores, card.conclusions
    assert (score.name, score.value, score.about) == ("total", 128, "symbols of all messages")
    assert score.signature.startswith("total|n:64|code:")
    assert (conclusion.question, conclusion.direction) == ("natural", "lower")
    first, second, third = own("several").scores
    assert [traits_of(each).question for each in (first, second, third)] == ["other", "concepts", "other"]
    assert traits_of(third).direction == traits_of(first).direction == "higher"
    corpus = Corpus([[1], [2], [3]], columns={"speaker": ["a", "b", "b"]})
    (score,) = own("Speakers", corpus).scores
    assert score.value == 2 and traits_of(score).question == "shared"
    (score,) = own("plain").scores
    assert (score.about, score.signature.partition("|code:")[0]) == ("how many there are", "plain")
    assert (traits_of(score).question, traits_of(score).direction) == ("other", None)


def test_names_with_options_are_one_name_and_scores_of_a_metric_share_its_version():
    names = ["topsim", "topsim,correlation=pearson,given=length", "has,threshold=0.5"]
    assert metrics_of(",".join(names), "study.yaml") == tuple(metric_names(names)) == tuple(names)
    assert find_metric(names[1]).shared.version == find_metric("topsim").shared.version
    with pytest.raises(AssertionError):
        metric(Traits(name="a"), Traits(name="b", version=2))


def test_a_metric_is_called_with_a_corpus_and_options_or_their_fields(own, tmp_path):
    own("plain")  # names the file, so that it may be imported
    corpus = replace(language(), columns={"speaker": np.repeat(["a", "b"], 32)})
    for name in ("has", "topsim,correlation=pearson", f"{tmp_path}/own.py:plain", f"{tmp_path}/own.py:Speakers"):
        found = find_metric(name)
        assert isinstance(found, Metric) and found.name == name and found.version == found.traits[0].version
        assert found(corpus, seed=3) == found(corpus, Options(seed=3)), name
    assert find_metric("topsim").own is None and find_metric("topsim,given=length").own.given == "length"
    with pytest.raises(TypeError, match="unknown"):
        find_metric("topsim")(language(), unknown=1)
    seen = []
    find_metric("tre7")(language(), runner=Runner(progress=lambda *step: seen.append(step[0])))
    assert "tre7" in seen and not hasattr(Options(), "runner")


def score_of_a_test(**changes):
    return Score(**{"name": "topsim", "value": 0.5, "about": "a test", "signature": "topsim|v:1"} | changes)


def test_json_in_reading_order():
    assert score_of_a_test(ci95=(0.4, 0.6), details={"num_pairs": 3}).to_json() == {
        "name": "topsim", "value": 0.5, "ci95": [0.4, 0.6], "chance": None, "about": "a test", "reason": None,
        "details": {"num_pairs": 3}, "signature": "topsim|v:1",
    }  # fmt: skip
    assert Signature.of("topsim", 2, message_distance="edit/mean", n=9) == "topsim|message_distance:edit/mean|n:9|v:2"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({"value": value}, r"(nan|-?inf) is not a score; give None and a reason")
          for value in (math.nan, math.inf, -math.inf)),
        ({"value": None}, "a score needs either a value or a reason, got None and None"),
        ({"reason": "why"}, r"a score needs either a value or a reason, got 0\.5 and 'why'"),
        ({"ci95": (0.1, math.nan)}, r"the interval \(0.1, nan\) is not finite"),
    ],
)  # fmt: skip
def test_a_score_has_a_value_or_a_reason_and_finite_numbers(changes, message):
    with pytest.raises(ValueError, match=f"topsim: {message}"):
        score_of_a_test(**changes)


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
    bounds = (0, 1) if name == "residual_entropy" else (-1, 1)
    level = levels and Chance.from_permutations(levels, seed=0, bounds=bounds)
    found = score(value, name, chance=level, reason="few" if value is None else None)
    assert conclusions([found], 500)[0].adjusted == (None if expected is None else pytest.approx(expected))
