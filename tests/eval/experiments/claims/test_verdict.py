"""Verdicts by rule, on runs with known answers; how often the rules err, and how often intervals cover."""

import numpy as np

from ecsuite.eval.experiments.claims.arms import claim_run
from ecsuite.eval.experiments.claims.claim import read_claim
from ecsuite.eval.experiments.claims.verdict import judge

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


def arms(difference, noise=NOISE):
    return {"a": list(np.zeros(10)), "b": list(difference + noise)}


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
