"""Scores and their traits: what is known of a score before it is computed, for users' own, too; never NaN."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import ecsuite
from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.study import metrics_of
from ecsuite.eval.metrics import METRIC_OF, METRICS, find_metric, metric_names, traits_of
from ecsuite.eval.metrics.score import Options, Score, Signature
from ecsuite.eval.metrics.traits import Metric, Traits, metric
from ecsuite.jobs.graph import Runner
from ecsuite.testing.languages import language


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
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return lambda name, corpus=None: ecsuite.score(corpus or language(), f"{file}:{name}")


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


def test_scores_of_one_metric_share_its_version():
    with pytest.raises(AssertionError):
        metric(Traits(name="a"), Traits(name="b", version=2))


def test_names_with_options_are_one_name_each():
    names = ["topsim", "topsim,correlation=pearson,given=length", "has,threshold=0.5"]
    assert metrics_of(",".join(names), "study.yaml") == tuple(metric_names(names)) == tuple(names)
    assert find_metric(names[1]).shared.version == find_metric("topsim").shared.version


def test_a_metric_is_called_with_a_corpus_and_options_or_their_fields(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    ecsuite.score(language(), f"{file}:plain")  # names the file, so that it may be imported
    for name in ("has", "topsim,correlation=pearson", f"{file}:plain", f"{file}:Speakers"):
        found = find_metric(name)
        assert isinstance(found, Metric) and found.name == name and found.version == found.traits[0].version
        corpus = replace(language(), columns={"speaker": np.repeat(["a", "b"], 32)})
        assert found(corpus, seed=3) == found(corpus, Options(seed=3)), name
    assert find_metric("topsim").own is None and find_metric("topsim,given=length").own.given == "length"
    with pytest.raises(TypeError, match="unknown"):
        find_metric("topsim")(language(), unknown=1)


def test_a_metric_reports_progress_to_the_runner_beside_its_options():
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


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_nan(value):
    with pytest.raises(ValueError, match=r"topsim: (nan|-?inf) is not a score; give None and a reason"):
        score_of_a_test(value=value)


def test_a_value_or_a_reason_and_a_finite_interval():
    with pytest.raises(
        ValueError, match="topsim: a score needs either a value or a reason, got None and None"
    ):
        score_of_a_test(value=None)
    with pytest.raises(
        ValueError, match=r"topsim: a score needs either a value or a reason, got 0\.5 and 'why'"
    ):
        score_of_a_test(reason="why")
    with pytest.raises(ValueError, match=r"topsim: the interval \(0.1, nan\) is not finite"):
        score_of_a_test(ci95=(0.1, math.nan))
    assert Signature.of("topsim", 2, dist="lev/mean", n=9) == "topsim|dist:lev/mean|n:9|v:2"
