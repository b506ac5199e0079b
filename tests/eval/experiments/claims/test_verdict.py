"""Verdicts by rule, on runs with known answers; how often the rules err, and how often intervals cover."""

from functools import partial

import numpy as np
import pytest

from ecsuite.eval.experiments.claims.arms import ClaimOutcome, claim_run
from ecsuite.eval.experiments.claims.claim import read_claim
from ecsuite.eval.experiments.claims.report import report_of
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
        claim_run(
            "mine",
            settings={"arm": arm, **(dict([arm]) if isinstance(arm, tuple) else {})},
            seed=seed,
            values={name.replace("_", " "): by_arm[arm][place] for name, by_arm in figures.items()},
            status="done",
        )
        for arm in first
        for place, seed in enumerate(SEEDS)
    ]


EFFECT = {
    "kind": "effect",
    "arm": {"arm": "b"},
    "baseline": {"arm": "a"},
    "published": 1,
    "published_from": "t",
}

NULL = {"kind": "null", "arm": {"arm": "b"}, "baseline": {"arm": "a"}, "margin": 1, "margin_from": "t"}


def arms(difference, noise=NOISE):
    return {"a": list(np.zeros(10)), "b": list(difference + noise)}


def test_a_figure_that_no_run_has_decides_nothing():
    """Whatever counts where a run has none: each value would be that, and no effect a finding."""
    null = {**NULL, "margin": 0.1}
    claim = claim_of({**null, "statistic": {"measure": "topsym", "undefined": 0}})
    verdict, judged = judge(claim, runs_of(topsim=arms(1)))
    assert (verdict, judged.reason) == ("can't tell", "no run has a value of topsym")


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
    claim = claim_of({**EFFECT, "published": published})
    verdict, judged = judge(claim, runs_of(topsim=arms(difference)))
    assert (verdict, judged.answer) == (answer, answer)
    assert judged.compared[0].difference.mean == pytest.approx(difference)


def test_an_interval_that_ends_at_a_bound_does_not_exclude_it():
    difference = Difference(mean=0.5, ci95=(0.0, 1.0))
    assert (
        effect_answer(difference, 0.5)[0] == "can't tell"
        and effect_answer(difference, 1.0)[0] == "can't tell"
    )
    assert effect_answer(difference, 1.05)[0] == "does not hold"
    assert null_answer(difference, 1.0)[0] == "holds" and null_answer(difference, 0.9)[0] == "can't tell"
    assert null_answer(Difference(mean=2, ci95=(1.1, 3.0)), 1.0)[0] == "does not hold"
    assert null_answer(Difference(mean=-2, ci95=(-3.0, -1.1)), 1.0)[0] == "does not hold"


def test_an_arm_against_a_number_and_what_counts_where_a_figure_is_undefined():
    alone = claim_of({**EFFECT, "baseline": 0})
    assert judge(alone, runs_of(topsim=arms(1)))[0] == "holds"
    two_missing, three_missing = ({"b": [*[None] * number, *(1 + NOISE[number:])]} for number in (2, 3))
    assert judge(alone, runs_of(topsim=two_missing))[0] == "holds"
    verdict, judged = judge(alone, runs_of(topsim=three_missing))
    assert (verdict, judged.reason) == ("can't tell", "3 of 10 seeds have no value")
    counted = claim_of({**EFFECT, "baseline": 0, "statistic": {"measure": "topsim", "undefined": 0}})
    verdict, judged = judge(counted, runs_of(topsim=three_missing))
    assert verdict == "holds" and judged.compared[0].difference.mean < 0.8
    assert judge(alone, [])[1].reason == "no interval: 0 of 10 seeds have a value"


def test_failed_runs_count_as_missing_and_the_papers_rule_leaves_runs_out():
    runs = runs_of(topsim=arms(1), accuracy={"a": [1] * 10, "b": [1] * 5 + [0.5] * 5})
    failed = [
        claim_run("mine", settings=run.settings, seed=run.seed, values={}, status="failed", failure="x")
        for run in runs
    ]
    claim = claim_of(EFFECT, success={"measure": "accuracy", "at_least": 0.99, "about": "section 2"})
    assert judge(claim, [*runs[:17], *failed[17:]])[0] == "can't tell"
    assert apply_criterion(claim, claim.criterion, runs, "success").compared[0].num_seeds == 5
    assert apply_criterion(claim, claim.criterion, runs, "success").answer == "holds"
    assert apply_criterion(claim, claim.criterion, runs).compared[0].num_seeds == 10


def test_an_order_needs_all_its_pairs():
    criterion = {"kind": "order", "order": [{"arm": name} for name in "cba"]}
    close = {name: list(level + np.roll(NOISE, place)) for place, (name, level) in
             enumerate({"a": 0, "b": 0.02, "c": 1}.items())}  # fmt: skip
    apart = {**close, "b": list(0.5 + np.roll(NOISE, 1))}
    reversed_ = {**apart, "a": list(2 + NOISE)}
    answers = [judge(claim_of(criterion), runs_of(topsim=each))[0] for each in (apart, close, reversed_)]
    assert answers == ["holds", "can't tell", "does not hold"]
    pairs = {"kind": "order", "pairs": [[{"arm": "c"}, {"arm": "a"}]]}
    assert judge(claim_of(pairs), runs_of(topsim=close))[0] == "holds"
    assert (
        judge(claim_of({**pairs, "published": [8], "published_from": "t"}), runs_of(topsim=close))[0]
        == "does not hold"
    )
    published = claim_of({**criterion, "published": [1.1, 0.6, 0], "published_from": "t"})
    assert judge(published, runs_of(topsim=apart))[0] == "holds"


def test_structure_needs_accuracy_and_messages():
    """Topsim that rises with five messages for 25 meanings is none."""
    criterion = {**EFFECT, "kind": "structure", "controls": {"accuracy": 0.05, "Unique Lines": 2}}
    accuracy = {"a": [0.9] * 10, "b": [0.9] * 10}
    equal, fewer = {"a": [25] * 10, "b": [25] * 10}, {"a": [25] * 10, "b": [5, 6] * 5}
    claim = claim_of(criterion)
    assert judge(claim, runs_of(topsim=arms(1), accuracy=accuracy, Unique_Lines=equal))[0] == "holds"
    verdict, judged = judge(claim, runs_of(topsim=arms(1), accuracy=accuracy, Unique_Lines=fewer))
    assert verdict == "can't tell" and "Unique Lines may be more than 2 below" in judged.reason
    unsure = {"a": [25] * 10, "b": [15, 35] * 5}  # as many in the mean, and perhaps far fewer
    assert judge(claim, runs_of(topsim=arms(1), accuracy=accuracy, Unique_Lines=unsure))[0] == "can't tell"
    worse = {"a": [0.9] * 10, "b": [0.5] * 10}
    assert judge(claim, runs_of(topsim=arms(1), accuracy=worse, Unique_Lines=equal))[0] == "can't tell"


@pytest.mark.parametrize(
    ("kinds", "scope", "verdict"),
    [
        ([], "the published setting", "holds"),
        (["counting", "part", "unread"], "the published setting", "holds"),
        (["part", "size"], "another size", "holds at another size"),
        *(([kind], "another setting", "holds in another setting")
          for kind in ("agents", "learning", "updates", "task", "data", "measure")),
        (["size", "agents"], "another setting", "holds in another setting"),
    ],
)  # fmt: skip
def test_differences_decide_the_setting(kinds, scope, verdict):
    changed = claim_of(EFFECT, differences=[{kind: "so"} for kind in kinds])
    assert changed.scope == scope
    assert judge(changed, runs_of(topsim=arms(1)))[0] == verdict
    assert judge(changed, runs_of(topsim=arms(0.2)))[0] == verdict.replace("holds", "does not hold")
    assert judge(changed, runs_of(topsim=arms(0.45)))[0] == "can't tell"
    found, result = judge(changed, runs_of(topsim=arms(1)), is_small=True)
    assert (found, result.reason[:13]) == ("can't tell", "a small check")


def test_several_sizes_must_agree():
    sizes = {"setting": "n", "values": [10, 20, 30], "published": 40}
    criterion = {**EFFECT, "arm": {}, "baseline": 0, "sizes": sizes}
    claim = claim_of(criterion, differences=[{"size": "40"}])
    agreeing, apart = (
        runs_of(
            topsim={
                ("n", size): list(level + NOISE) for size, level in zip((10, 20, 30), levels, strict=True)
            }
        )
        for levels in ((1, 2, 1), (1, 0, 1))
    )
    assert claim.criterion.sizes.nearest == 2
    assert judge(claim, agreeing)[0] == "holds at another size"
    assert judge(claim, apart)[0] == "can't tell"
    less = claim_of({**criterion, "published": 9}, differences=[{"size": "40"}])
    assert judge(less, agreeing)[0] == "does not hold at another size"


def test_a_threshold_of_ours_is_the_least_effect_itself():
    tree = {key: value for key, value in EFFECT.items() if not key.startswith("published")}
    ours = claim_of({**tree, "threshold": 0.5, "threshold_from": "t"})
    assert (ours.criterion.rerun, claim_of(EFFECT).criterion.rerun) == ("direction re-run", "figure re-run")
    for difference in (1, 0.6, 0.45, 0.2):
        answers = [judge(claim, runs_of(topsim=arms(difference)))[0] for claim in (ours, claim_of(EFFECT))]
        assert answers[0] == answers[1]
    assert ours.digest == claim_of(EFFECT).digest  # the same number decides
    assert judge(ours, runs_of(topsim=arms(1)))[1].reason.endswith("at least our threshold")


def test_a_figure_with_a_margin_is_met_from_both_sides():
    exponent = claim_of({**EFFECT, "published": 1.5, "margin": 0.2, "margin_from": "t"})
    answers = [judge(exponent, runs_of(topsim=arms(level, NOISE / 10)))[0] for level in (1.5, 1, 2, 1.7)]
    assert answers == ["holds", "does not hold", "does not hold", "can't tell"]


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
        (NULL, {"a": 1}, 0.2, "can't tell"),
        (NULL, {"b": 8}, 2, "does not hold"),
        (NULL, {"a": 8}, 2, "can't tell"),
        (NULL, {"a": 8}, -2, "does not hold"),
        ({"kind": "order", "order": [{"arm": "b"}, {"arm": "a"}]}, {"b": 3}, 1, "holds"),
        ({"kind": "order", "order": [{"arm": "b"}, {"arm": "a"}]}, {"a": 3}, 1, "can't tell"),
        ({"kind": "order", "order": [{"arm": "b"}, {"arm": "a"}]}, {"a": 3}, -1, "does not hold"),
        ({"kind": "order", "order": [{"arm": "b"}, {"arm": "a"}]}, {"b": 3}, -1, "can't tell"),
    ],
)
def test_runs_that_were_capped_bound_the_effect(criterion, censored, difference, answer):
    """`censored`: in how many runs of an arm the time is that of a stop, and the true one longer."""
    reached = {arm: [place >= censored.get(arm, 0) for place in range(10)] for arm in "ab"}
    runs = runs_of(ratio=arms(difference), reached=reached)
    claim = claim_of({**criterion, "statistic": {"measure": "ratio"}})
    verdict, result = judge(claim, runs)
    assert verdict == answer
    if answer == "can't tell":
        assert result.reason.startswith("some values are censored")


def test_accuracies_of_1_and_0_bound_the_effect():
    """Two arms without a mistake are no evidence that they are equal, nor two that are never right."""
    claim = claim_of({**NULL, "statistic": {"measure": "seen objects accuracy"}})
    for level, verdict in ((0.9, "holds"), (1, "can't tell"), (0, "can't tell")):
        assert (
            judge(claim, runs_of(**{"seen objects accuracy": {arm: [level] * 10 for arm in "ab"}}))[0]
            == verdict
        )
    above = runs_of(accuracy={"a": list(0.3 + NOISE / 10), "b": [1] * 10})
    effect = claim_of({**EFFECT, "published": 0.5, "statistic": {"measure": "accuracy"}})
    verdict, result = judge(effect, above)
    assert (verdict, result.compared[0].difference.bound) == ("holds", "lower")
    falling = claim_of({**EFFECT, "arm": {"arm": "a"}, "baseline": {"arm": "b"}, "published": -2,
                        "statistic": {"measure": "accuracy"}})  # fmt: skip
    assert judge(falling, above)[0] == "can't tell"


def test_a_correlation_of_censored_values_decides_nothing():
    x = {arm: [place / 10 for place in range(1, 11)] for arm in "ab"}
    y = {arm: [2, 1, 3, 5, 4, 6, 8, 7, 10, 9] for arm in "ab"}
    statistic = {"correlation": ["accuracy", "topsim"], "within": ["arm"]}
    criterion = {**EFFECT, "arm": {}, "baseline": 0, "statistic": statistic}
    verdict, result = judge(claim_of(criterion), runs_of(accuracy=x, topsim=y))
    assert (verdict, result.compared[0].difference.bound) == ("can't tell", "none")
    below = {arm: [value - 0.05 for value in values] for arm, values in x.items()}
    verdict, result = judge(claim_of(criterion), runs_of(accuracy=below, topsim=y))
    assert verdict == "holds", result


def test_a_correlation_within_cells_ignores_what_is_between_them():
    """Both figures rise with the size; within a size they fall together, or not at all."""
    rng = np.random.default_rng(0)
    x = {("n", size): list(size + rng.normal(size=10)) for size in (10, 20, 30)}
    falling = {arm: [2 * arm[1] - (value - arm[1]) for value in values] for arm, values in x.items()}
    statistic = {"correlation": ["posdis", "topsim"]}
    assert np.corrcoef(*([*map(np.ravel, ([*x.values()], [*falling.values()]))]))[0, 1] > 0.9
    criterion = {**EFFECT, "arm": {}, "baseline": 0, "statistic": {**statistic, "within": ["n"]}}
    verdict, judged = judge(claim_of(criterion), runs_of(posdis=x, topsim=falling))
    assert verdict == "does not hold" and judged.compared[0].difference.mean == pytest.approx(-1)


def rates(rule, centre, num_draws=1500):
    """How often a rule gives each answer, and how often the interval has the mean, for ten seeds of unit spread."""
    draws = np.random.default_rng(1).normal(centre, 1, (num_draws, 10))
    found = [paired_difference(values) for values in draws]
    answers = [rule(each)[0] for each in found]
    covers = np.mean([each.ci95[0] <= centre <= each.ci95[1] for each in found])
    return {answer: answers.count(answer) / num_draws for answer in set(answers)}, covers


def test_how_often_the_rules_err():
    effect, null = partial(effect_answer, least=1.5), partial(null_answer, margin=1.0)
    nothing, covers = rates(effect, 0)
    assert nothing.get("holds", 0) < 0.025 and nothing["does not hold"] > 0.9
    assert covers == pytest.approx(0.95, abs=0.015)
    assert rates(effect, 3)[0]["holds"] > 0.95 and rates(effect, 3)[0].get("does not hold", 0) == 0
    assert rates(effect, 1.5)[0]["does not hold"] == pytest.approx(
        0.025, abs=0.015
    )  # half of the published size
    assert rates(null, 1)[0].get("holds", 0) < 0.03 and rates(null, 0)[0]["holds"] > 0.6
    assert rates(null, 1)[0].get("does not hold", 0) == pytest.approx(0.025, abs=0.015)


def test_how_often_an_order_of_equal_arms_is_claimed():
    """All pairs are corrected together: either error, of three equal arms, is made in 5 % of cases at most."""
    rng, claim = (
        np.random.default_rng(2),
        claim_of({"kind": "order", "order": [{"arm": name} for name in "abc"]}),
    )
    answers = [
        judge(claim, runs_of(topsim={name: rng.normal(size=10) for name in "abc"}))[0] for _ in range(120)
    ]
    assert answers.count("holds") == 0 and answers.count("does not hold") <= 0.07 * len(answers)


def test_seeds_that_formed_a_protocol_are_a_column_of_the_arms():
    claim = claim_of(EFFECT)
    runs = runs_of(topsim=arms(1), protocol={"a": [1.0] * 10, "b": [1.0] * 3 + [0.0] * 7})
    outcome = ClaimOutcome(name="mine", digest="", is_small=False, runs=tuple(runs), hours=0.0)
    table = report_of(claim, outcome).tables[1]
    assert "10 of 10 [69%, 100%]" in str(table) and "3 of 10 [7%, 65%]" in str(table)
    assert any("the mean may be far from all seeds" in note for note in table.notes)
    without = ClaimOutcome(
        name="mine", digest="", is_small=False, runs=tuple(runs_of(topsim=arms(1))), hours=0.0
    )
    assert "protocol" not in str(report_of(claim, without).tables[1])
