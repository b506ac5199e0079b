"""XTREME's averages of results; gains paired by seed, with Student's intervals; what failed is left out."""

import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.xtreme.result import collect, complete_part, estimate, gain, gains_over_controls
from ecsuite.eval.xtreme.scoring.tasks import EnglishVsOthers
from ecsuite.runtime.errors import DivergedError
from xtreme_data import CONTROLS, constant_results

POINTS = {"en": 60, "fr": 30, "ja": 20, "kk": 10}


def level_of(body, seed, task, language):
    """The corpus and random init with seed 0 in POS have `POINTS`; each further control has 4 less."""
    rank = CONTROLS.index(body) if body in CONTROLS else 0
    return POINTS[language] + seed + 8 * (task == "panx") - 4 * rank


def test_scores_are_means_over_languages_and_sides_means_over_seeds(make_result):
    result = make_result(level_of)
    assert result.scores("corpus").tolist() == [[30, 38], [31, 39], [32, 40]]
    assert result.language_scores("corpus", "udpos").tolist()[1] == [61, 31, 21, 11]
    assert result.sides("corpus", "udpos") == EnglishVsOthers(english=61, others=21)
    foreign = make_result(level_of, languages=("fr", "kk")).sides("corpus", "udpos")
    assert foreign == EnglishVsOthers(english=None, others=21) and foreign.gap is None
    metrics = {"en": {"exact_match": 50.0, "f1": 60.0}, "de": {"exact_match": 20.0, "f1": 40.0}}
    by_body = {"corpus": {1: {"xquad": metrics}}}
    result = make_result(level_of, tasks=("xquad",), languages=("en",), by_body=by_body)
    assert result.scores("corpus").tolist() == [[42.5]]
    assert result.sides("corpus", "xquad") == EnglishVsOthers(english=50, others=20)
    assert result.sides("corpus", "xquad").gap == 30


def test_the_order_is_that_of_the_paper(ask):
    """Whatever the order in which seeds, tasks and languages are asked for."""
    study = ask(tasks=("panx", "udpos"), languages=("ru", "de"), seeds=(4, 1))
    result = collect(study, constant_results(study))
    assert result.languages == {"udpos": ("de", "en", "ru"), "panx": ("en", "de", "ru")}
    assert result.bodies == ("corpus", *CONTROLS[:3]) and result.seeds == (1, 4)
    by_tasks = [by_task for by_seed in result.by_body.values() for by_task in by_seed.values()]
    pairs = [pair for by_task in by_tasks for pair in by_task.items()]
    assert all(tuple(by_language) == result.languages[task] for task, by_language in pairs)


HALF = 4.302652729911275 / 3**0.5
"""Half width of an interval over three seeds whose differences have a standard deviation of 1."""


def test_estimates_over_seeds():
    found = estimate(np.array([1.0, 2.0, 3.0]))
    assert found.details["by_seed"] == [1, 2, 3]
    assert found.mean == 2
    assert found.ci95 == pytest.approx((2 - HALF, 2 + HALF))
    assert found.p_value == pytest.approx(1 - 12**0.5 / 14**0.5)  # two degrees: 1 - t / sqrt(2 + t²), t = √12
    assert found.conclusion == "not significant"
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 5))
    found, theirs = estimate(first - second), stats.ttest_rel(first, second)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.ci95 == pytest.approx(tuple(theirs.confidence_interval()))
    found = estimate(np.array([30.0]))
    assert (found.mean, found.ci95, found.p_value, found.conclusion) == (30, None, None, "unknown")
    assert estimate(np.zeros(3)).ci95 == (0, 0)
    assert (estimate(np.zeros(3)).p_value, estimate(np.zeros(3)).conclusion) == (1, "not significant")
    found = estimate(np.array([0.1 + 0.2, 0.3, 0.3]) * 10)  # apart by rounding
    assert found.ci95 == (found.mean, found.mean)
    assert (found.p_value, found.conclusion) == (1, "unknown")  # no noise is seen, which proves none


def leads(by_body):
    """Levels: languages and seeds differ much, backbones by their lead, the corpus by -1, 0 or 1 per seed."""

    def level(body, seed, task, language):
        base = 10 * seed + 5 * len(task) + ord(language[0]) % 7
        return base + by_body.get(body, 0) + (seed - 1) * (body == "corpus")

    return level


def test_a_gain_is_that_of_the_same_seed_and_of_equal_tasks(make_result):
    found = gain(make_result(leads({"corpus": 5})), "corpus", "random init")
    assert found.overall.details["by_seed"] == pytest.approx([4, 5, 6])
    assert found.overall.ci95 == pytest.approx((5 - HALF, 5 + HALF)) and found.overall.conclusion == "higher"
    assert found.overall.hedges_g == pytest.approx((1 - 3 / 7) * 5 / (((10 + 1) ** 2 + 10**2) / 2) ** 0.5)
    assert found.by_language["udpos"] == pytest.approx({"en": 5, "fr": 5, "ja": 5, "kk": 5})
    languages = {"udpos": ("en",), "panx": ("en", "fr", "kk")}
    result = make_result(lambda body, _, task, __: 8 * (body == "corpus" and task == "udpos"), languages=languages)
    found = gain(result, "corpus", "random init")
    assert (found.overall.mean, found.by_task["udpos"].mean, found.by_task["panx"].mean) == (4, 8, 0)


def test_gains_over_controls_are_corrected_together(make_result):
    found = gains_over_controls(make_result(leads({"corpus": 5, "parentheses": 2})))
    assert [each.overall.baseline for each in found] == ["parentheses", "shuffled corpus", "human text"]
    p_of_3, p_of_5 = (1 - t / (2 + t * t) ** 0.5 for t in (3 * 3**0.5, 5 * 3**0.5))
    expected = [max(p_of_3, 3 * p_of_5), 3 * p_of_5, 3 * p_of_5]
    assert [each.overall.p_holm for each in found] == pytest.approx(expected)
    for each in gains_over_controls(make_result(leads({"corpus": 3}))):
        data = each.to_json()
        assert (data["overall"]["conclusion"], data["conclusion"]) == ("higher", "not significant")


def complete(ask, *failed):
    """The part that is left of three seeds if a task of some backbones and seeds failed."""
    study = ask(seeds=(0, 1, 2))
    failures = {
        (body, seed, task, "en"): "the loss is nan" if (body, seed) in failed and task == "panx" else None
        for body in study.bodies for seed in study.seeds for task in ("udpos", "panx")
    }  # fmt: skip
    return complete_part(study, failures)


def test_seeds_and_controls_that_failed_are_left_out_and_told(ask):
    found = complete(ask, ("random init", 0), ("corpus", 2), ("parentheses", 2))
    assert found.bodies == ("corpus", "random init", "parentheses", "shuffled corpus") and found.seeds == (1,)
    assert "Seed 0 is left out, as random init failed in it: the loss is nan." in found.notes
    found = complete(ask, ("parentheses", 2))
    assert found.bodies == ("corpus", "random init", "shuffled corpus") and found.seeds == (0, 1, 2)
    assert found.notes == ("parentheses is left out, as it failed in seed 2: the loss is nan.",)
    with pytest.raises(DivergedError, match=r"^corpus, seed 0: the loss is nan$"):
        complete(ask, *(("corpus", seed) for seed in range(3)))
