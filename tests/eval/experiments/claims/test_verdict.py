"""Verdicts by rule, on runs with known answers; how often the rules err, and how often intervals cover."""

from functools import partial

import numpy as np
import pytest

from ecsuite.eval.experiments.claims.arms import claim_run
from ecsuite.eval.experiments.claims.claim import read_claim
from ecsuite.eval.experiments.claims.verdict import apply_criterion, effect_answer, judge, null_answer
from ecsuite.eval.statistics.estimates import Difference, paired_difference

SEEDS = list(range(101, 111))
NOISE = np.array([-3, -2, -1, -1, 0, 0, 1, 1, 2, 3]) / 10


def claim_of(criterion, **changes):
    tree = {
        "name": "mine", "about": "", "claim": "", "effect": "", "published": {}, "ours": {}, "differences": [],
        "source": {"work": "li2019", "place": "1", "read": "paper"},
        "study": {"sweep": {"base": "disc_tiny"}}, "pilots": {"seeds": [], "runs": 0},
        "criterion": {"statistic": {"measure": "topsim"}, **criterion}, **changes,
    }  # fmt: skip
    return read_claim(tree, "mine")


def runs_of(**figures):
    """Runs of arms: by figure, the values of each arm, one a seed."""
    first = next(iter(figures.values()))
    return [
        claim_run("mine", settings={"arm": arm, **(dict([arm]) if isinstance(arm, tuple) else {})}, seed=seed,
                  values={name.replace("_", " "): each[arm][place] for name, each in figures.items()}, status="done")
        for arm in first for place, seed in enumerate(SEEDS)
    ]  # fmt: skip


ARMS = {"arm": {"arm": "b"}, "baseline": {"arm": "a"}}
EFFECT = {"kind": "effect", **ARMS, "published": 1, "published_from": "t"}
NULL = {"kind": "null", **ARMS, "margin": 1, "margin_from": "t"}
ORDER = {"kind": "order", "order": [{"arm": "b"}, {"arm": "a"}]}


def arms(difference, noise=NOISE):
    return {"a": list(np.zeros(10)), "b": list(difference + noise)}


@pytest.mark.parametrize(
    ("difference", "published", "answer"),
    [
        (1, 1.0, "holds"), (0.6, 1.0, "holds"), (3, 1.0, "holds"), (-1, -1.0, "holds"),
        (0.2, 1.0, "does not hold"), (-1, 1.0, "does not hold"), (0, 1.0, "does not hold"),
        (0.45, 1.0, "can't tell"),  # clearly there, not clearly less than half
        (0.05, 0.3, "can't tell"),  # 0 and half are both in the interval
    ],
)  # fmt: skip
def test_an_effect(difference, published, answer):
    verdict, judged = judge(claim_of({**EFFECT, "published": published}), runs_of(topsim=arms(difference)))
    assert (verdict, judged.answer) == (answer, answer)
    assert judged.compared[0].difference.mean == pytest.approx(difference)


@pytest.mark.parametrize(
    ("criterion", "censored", "difference", "answer"),
    [
        (EFFECT, {"b": 8}, 1, "holds"),  # the true effect is at least as large
        (EFFECT, {"b": 8}, 0.2, "can't tell"),  # and might be larger than half
        (EFFECT, {"a": 8}, 0.2, "does not hold"),
        (EFFECT, {"a": 8}, 1, "can't tell"),
        (EFFECT, {"a": 1, "b": 1}, 1, "can't tell"),
        ({**EFFECT, "published": -1}, {"a": 2}, -1, "holds"),
        ({**EFFECT, "published": -1}, {"b": 2}, -1, "can't tell"),
        (NULL, {}, 0.2, "holds"),
        (NULL, {"b": 1}, 0.2, "can't tell"),
        (NULL, {"b": 8}, 2, "does not hold"),
        (NULL, {"a": 8}, 2, "can't tell"),
        (NULL, {"a": 8}, -2, "does not hold"),
        (ORDER, {"b": 3}, 1, "holds"),
        (ORDER, {"a": 3}, 1, "can't tell"),
        (ORDER, {"a": 3}, -1, "does not hold"),
        (ORDER, {"b": 3}, -1, "can't tell"),
    ],
)
def test_runs_that_were_capped_bound_the_effect(criterion, censored, difference, answer):
    """`censored`: in how many runs of an arm the time is that of a stop, and the true one longer."""
    reached = {arm: [place >= censored.get(arm, 0) for place in range(10)] for arm in "ab"}
    claim = claim_of({**criterion, "statistic": {"measure": "ratio"}})
    verdict, result = judge(claim, runs_of(ratio=arms(difference), reached=reached))
    assert verdict == answer and (answer != "can't tell" or result.reason.startswith("some values are censored"))


def test_accuracies_of_1_and_0_bound_the_effect():
    """Two arms without a mistake are no evidence that they are equal, nor two that are never right."""
    claim = claim_of({**NULL, "statistic": {"measure": "seen objects accuracy"}})
    for level, verdict in ((0.9, "holds"), (1, "can't tell"), (0, "can't tell")):
        runs = runs_of(**{"seen objects accuracy": {arm: [level] * 10 for arm in "ab"}})
        assert judge(claim, runs)[0] == verdict
    above = runs_of(accuracy={"a": list(0.3 + NOISE / 10), "b": [1] * 10})
    verdict, result = judge(claim_of({**EFFECT, "published": 0.5, "statistic": {"measure": "accuracy"}}), above)
    assert (verdict, result.compared[0].difference.bound) == ("holds", "lower")


def test_missing_values_failed_runs_and_the_papers_rule():
    alone = claim_of({**EFFECT, "baseline": 0})
    two_missing, three_missing = ({"b": [*[None] * number, *(1 + NOISE[number:])]} for number in (2, 3))
    assert judge(alone, runs_of(topsim=two_missing))[0] == "holds"
    verdict, judged = judge(alone, runs_of(topsim=three_missing))
    assert (verdict, judged.reason) == ("can't tell", "3 of 10 seeds have no value")
    runs = runs_of(topsim=arms(1), accuracy={"a": [1] * 10, "b": [1] * 5 + [0.5] * 5})
    failed = [claim_run("mine", settings=run.settings, seed=run.seed, values={}, status="failed", failure="x")
              for run in runs]  # fmt: skip
    claim = claim_of(EFFECT, success={"measure": "accuracy", "at_least": 0.99, "about": "section 2"})
    assert judge(claim, [*runs[:17], *failed[17:]])[0] == "can't tell"
    success = apply_criterion(claim, claim.criterion, runs, "success")
    assert (success.compared[0].num_seeds, success.answer) == (5, "holds")
    assert apply_criterion(claim, claim.criterion, runs).compared[0].num_seeds == 10


def test_structure_needs_accuracy_and_messages():
    """Topsim that rises with five messages for 25 meanings is none."""
    claim = claim_of({**EFFECT, "kind": "structure", "controls": {"accuracy": 0.05, "Unique Lines": 2}})
    equal = {"accuracy": {arm: [0.9] * 10 for arm in "ab"}, "Unique_Lines": {arm: [25] * 10 for arm in "ab"}}
    assert judge(claim, runs_of(topsim=arms(1), **equal))[0] == "holds"
    for name, values in (("Unique_Lines", [5, 6] * 5), ("Unique_Lines", [15, 35] * 5), ("accuracy", [0.5] * 10)):
        worse = equal | {name: equal[name] | {"b": values}}
        assert judge(claim, runs_of(topsim=arms(1), **worse))[0] == "can't tell"


def test_intervals_at_a_bound_and_correlations_within_cells():
    difference = Difference(mean=0.5, ci95=(0.0, 1.0))
    assert [effect_answer(difference, least)[0] for least in (0.5, 1.0, 1.05)] == [
        "can't tell", "can't tell", "does not hold",
    ]  # fmt: skip
    assert null_answer(difference, 1.0)[0] == "holds" and null_answer(difference, 0.9)[0] == "can't tell"
    assert null_answer(Difference(mean=-2, ci95=(-3.0, -1.1)), 1.0)[0] == "does not hold"
    # Both figures rise with the size; within a size one falls with the other.
    rng = np.random.default_rng(0)
    x = {("n", size): list(size + rng.normal(size=10)) for size in (10, 20, 30)}
    falling = {arm: [2 * arm[1] - (value - arm[1]) for value in values] for arm, values in x.items()}
    statistic = {"correlation": ["posdis", "topsim"], "within": ["n"]}
    criterion = {**EFFECT, "arm": {}, "baseline": 0, "statistic": statistic}
    verdict, judged = judge(claim_of(criterion), runs_of(posdis=x, topsim=falling))
    assert verdict == "does not hold" and judged.compared[0].difference.mean == pytest.approx(-1)


def test_how_often_the_rules_err():
    """How often a rule gives each answer for ten seeds of unit spread, and how often the interval has the mean."""

    def rates(rule, centre):
        draws = np.random.default_rng(1).normal(centre, 1, (800, 10))
        found = [paired_difference(values) for values in draws]
        answers = [rule(each)[0] for each in found]
        covers = np.mean([each.ci95[0] <= centre <= each.ci95[1] for each in found])
        return {answer: answers.count(answer) / 800 for answer in ("holds", "does not hold")}, covers

    effect, null = partial(effect_answer, least=1.5), partial(null_answer, margin=1.0)
    nothing, covers = rates(effect, 0)
    assert nothing["holds"] < 0.025 and nothing["does not hold"] > 0.9 and covers == pytest.approx(0.95, abs=0.02)
    assert rates(effect, 3)[0]["holds"] > 0.95 and rates(effect, 3)[0]["does not hold"] == 0
    assert rates(effect, 1.5)[0]["does not hold"] == pytest.approx(0.025, abs=0.02)
    assert rates(null, 1)[0]["holds"] < 0.04 and rates(null, 0)[0]["holds"] > 0.6


def test_several_sizes_must_agree():
    sizes = {"setting": "n", "values": [10, 20, 30], "published": 40}
    criterion = {**EFFECT, "arm": {}, "baseline": 0, "sizes": sizes}
    claim = claim_of(criterion, differences=[{"size": "40"}])
    agreeing, apart = (
        runs_of(topsim={("n", 10 * at): list(level + NOISE) for at, level in enumerate(levels, 1)})
        for levels in ((1, 2, 1), (1, 0, 1))
    )
    assert claim.criterion.sizes.nearest == 2
    assert judge(claim, agreeing)[0] == "holds at another size"
    assert judge(claim, apart)[0] == "can't tell"
    less = claim_of({**criterion, "published": 9}, differences=[{"size": "40"}])
    assert judge(less, agreeing)[0] == "does not hold at another size"
