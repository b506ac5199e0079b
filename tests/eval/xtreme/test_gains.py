"""Gains are paired by seed, with Student's intervals; a single seed has none."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.xtreme.result import estimate, gain, gains_over_controls, gains_over_reference

HALF = 4.302652729911275 / 3**0.5
"""Half width of an interval over three seeds whose differences have a standard deviation of 1."""


def leads(by_body, spread=1.0):
    """Score levels: languages and seeds differ much, backbones by their lead and by -1, 0 or 1 per seed."""

    def level(body, seed, task, language):
        base = 10 * seed + 5 * len(task) + ord(language[0]) % 7
        return base + by_body.get(body, 0) + (spread * (seed - 1) if body == "corpus" else 0)

    return level


def test_an_interval_against_a_manual_computation():
    found = estimate(np.array([1.0, 2.0, 3.0]))
    assert found.details["by_seed"] == [1, 2, 3]
    assert found.mean == 2
    assert found.ci95 == pytest.approx((2 - HALF, 2 + HALF))
    assert found.p_value == pytest.approx(
        1 - 12**0.5 / 14**0.5
    )  # two degrees: 1 - t / sqrt(2 + t^2), and t = sqrt(12)
    assert found.conclusion == "not significant"


@pytest.mark.parametrize(
    ("differences", "conclusion"),
    [([4.0, 5.0, 6.0], "higher"), ([-4.0, -5.0, -6.0], "lower"), ([-1.0, 1.0], "not significant")],
)
def test_conclusions(differences, conclusion):
    assert estimate(np.array(differences)).conclusion == conclusion


def test_it_is_the_paired_test_of_scipy():
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 5))
    found, theirs = estimate(first - second), stats.ttest_rel(first, second)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.ci95 == pytest.approx(tuple(theirs.confidence_interval()))


def test_one_seed_has_no_interval():
    found = estimate(np.array([30.0]))
    assert (found.mean, found.ci95, found.p_value, found.conclusion) == (30, None, None, "unknown")


def test_equal_scores_give_an_interval_of_width_0():
    assert estimate(np.zeros(3)).ci95 == (0, 0)
    assert (estimate(np.zeros(3)).p_value, estimate(np.zeros(3)).conclusion) == (1, "not significant")
    found = estimate(np.array([0.1 + 0.2, 0.3, 0.3]) * 10)  # apart by rounding
    assert found.ci95 == (found.mean, found.mean)
    assert (found.p_value, found.conclusion) == (
        1,
        "unknown",
    )  # no noise is seen, which does not mean that there is none


def test_a_gain_is_that_of_the_same_seed(make_result):
    found = gain(make_result(leads({"corpus": 5})), "corpus", "random init")
    assert found.overall.details["by_seed"] == pytest.approx([4, 5, 6])
    assert found.overall.ci95 == pytest.approx((5 - HALF, 5 + HALF))
    assert found.overall.conclusion == "higher"
    assert found.overall.hedges_g == pytest.approx((1 - 3 / 7) * 5 / (((10 + 1) ** 2 + 10**2) / 2) ** 0.5)
    assert found.by_task["panx"].details["by_seed"] == pytest.approx([4, 5, 6])
    assert found.by_language["udpos"] == pytest.approx({"en": 5, "fr": 5, "ja": 5, "kk": 5})
    back = gain(make_result(leads({"corpus": 5})), "random init", "corpus")
    assert back.overall.mean == pytest.approx(-5) and back.overall.conclusion == "lower"


def test_tasks_have_equal_weights(make_result):
    result = make_result(
        lambda body, _, task, __: 8 * (body == "corpus" and task == "udpos"),
        languages={"udpos": ("en",), "panx": ("en", "fr", "kk")},
    )
    found = gain(result, "corpus", "random init")
    assert (found.overall.mean, found.by_task["udpos"].mean, found.by_task["panx"].mean) == (4, 8, 0)


def test_gains_in_english_and_in_other_languages(make_result):
    def sides(**options):
        def level(body, seed, task, language):
            return (body == "corpus") * (6 if language == "en" else 3 if task == "panx" else 1)

        found = gain(make_result(level, **options), "corpus", "random init")
        return found.english and found.english.mean, found.others and found.others.mean

    assert sides() == (6, 2)
    assert sides(protocol="in-language") == sides(languages=("en",)) == (None, None)


def test_every_backbone_over_random_init(make_result):
    result = make_result(leads({"corpus": 5, "parentheses": 2, "human text": -1}))
    found = {each.overall.source: each.overall for each in gains_over_reference(result)}
    assert list(found) == ["corpus", "parentheses", "shuffled corpus", "human text"]
    assert {each.baseline for each in found.values()} == {"random init"}
    assert [round(each.mean) for each in found.values()] == [5, 2, 0, -1]
    assert [each.conclusion for each in found.values()] == [
        "higher",
        "unknown",
        "not significant",
        "unknown",
    ]
    assert all(each.p_holm is None for each in found.values())


def test_the_corpus_over_further_controls(make_result):
    found = gains_over_controls(make_result(leads({"corpus": 5, "parentheses": 2})))
    assert [each.overall.baseline for each in found] == ["parentheses", "shuffled corpus", "human text"]
    assert [round(each.overall.mean) for each in found] == [3, 5, 5]
    p_of_3, p_of_5 = (1 - t / (2 + t * t) ** 0.5 for t in (3 * 3**0.5, 5 * 3**0.5))
    assert [each.overall.p_holm for each in found] == pytest.approx(
        [max(p_of_3, 3 * p_of_5), 3 * p_of_5, 3 * p_of_5]
    )


def test_the_correction_can_remove_a_gain(make_result):
    result = make_result(leads({"corpus": 3}))
    (alone,) = gains_over_controls(make_result(leads({"corpus": 3}), bodies=("corpus", "parentheses")))
    assert (alone.overall.p_holm, alone.overall.conclusion) == (alone.overall.p_value, "higher")
    for each in gains_over_controls(result):
        data = each.to_json()
        assert (data["overall"]["conclusion"], data["conclusion"]) == ("higher", "not significant")
        assert each.overall.p_holm == pytest.approx(3 * alone.overall.p_value)


def test_backbones_with_one_seed(make_result):
    result = make_result(leads({"corpus": 3}), seeds=(4,))
    found = (*gains_over_reference(result), *gains_over_controls(result))
    assert {each.overall.conclusion for each in found} == {"unknown"}
    assert {each.overall.p_holm for each in found} == {None}


def test_without_random_init_there_are_no_gains(make_result):
    result = make_result(leads({}), bodies=("corpus",))
    assert gains_over_reference(result) == () == gains_over_controls(result)


def test_json(make_result):
    found = gains_over_controls(make_result(leads({"corpus": 5})))[0]
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["conclusion"] == "higher" and data["over"] == "parentheses"
    assert data["overall"]["ci95"] == pytest.approx([5 - HALF, 5 + HALF])
    assert data["by_task"]["panx"]["by_seed"] == pytest.approx([4, 5, 6])
    overall = replace(found.overall, p_holm=0.05)
    assert replace(found, overall=overall).to_json()["conclusion"] == "not significant"
