"""The information-bottleneck bound and the rate-distortion curve: spaces with closed answers, and what fits them."""

import numpy as np
import pytest
from scipy.optimize import brentq

from ecsuite.eval.metrics import information_bound as bounds
from ecsuite.runtime.errors import ConfigError
from ecsuite.spaces.space import Space


def space(beliefs, need=None):
    beliefs = np.array(beliefs, float)
    number = len(beliefs)
    need = np.full(number, 1 / number) if need is None else np.array(need, float)
    return Space(name="toy", beliefs=beliefs, need=need, vectors=np.arange(number)[:, None])


def entropy(share):
    return 0.0 if share in (0, 1) else -share * np.log2(share) - (1 - share) * np.log2(1 - share)


@pytest.fixture(autouse=True)
def _few_betas(monkeypatch):
    monkeypatch.setattr(bounds, "NUM_BETAS", 100)


@pytest.mark.parametrize("flip", [0.1, 0.25])
def test_two_meanings_that_are_confused(flip):
    """Mrs. Gerber's lemma (Wyner and Ziv 1973): I(W;U) = 1 - h(a * flip) where I(M;W) = 1 - h(a)."""
    found = bounds.compute_bound(space([[1 - flip, flip], [flip, 1 - flip]]))
    for rate, told in zip(found.complexity, found.accuracy, strict=True):
        share = 0.5 if rate < 1e-9 else 0.0
        if 1e-9 <= rate < 1 - 1e-9:
            share = brentq(lambda a, rate=rate: 1 - entropy(a) - rate, 1e-15, 0.5)
        assert told == pytest.approx(1 - entropy(share * (1 - flip) + flip * (1 - share)), abs=1e-4)
    first = found.betas[found.complexity > 1e-3][-1]
    assert first == pytest.approx(1 / (1 - 2 * flip) ** 2, rel=0.1)  # below it no word is worth having


def test_known_bounds_and_distances():
    found = bounds.compute_bound(space([[0.7, 0, 0.3], [0, 0.7, 0.3]]))
    assert found.accuracy == pytest.approx(0.7 * found.complexity, abs=1e-4)
    exact = bounds.compute_bound(space(np.eye(4), [0.4, 0.3, 0.2, 0.1]))
    assert exact.accuracy == pytest.approx(exact.complexity, abs=1e-9)
    assert exact.complexity[0] == pytest.approx(1.8464, abs=1e-4)
    found = bounds.compute_bound(space(np.full((4, 3), 1 / 3)))
    assert found.complexity.max() == pytest.approx(0, abs=1e-12)
    toy = space(np.eye(4))
    halves, names = np.repeat(np.eye(2), 2, axis=0), np.eye(4)
    assert bounds.generalized_distance(toy, halves, halves[:, ::-1]) == pytest.approx(0)
    assert bounds.generalized_distance(toy, halves, names) == pytest.approx(0.5)  # 1 bit of 2
    assert bounds.generalized_distance(toy, halves, np.tile(np.eye(2), (2, 1))) == pytest.approx(1)
    assert bounds.generalized_distance(toy, np.ones((4, 1)), np.ones((4, 1))) == 0
    assert (bounds.complexity(toy, halves), bounds.accuracy(toy, halves)) == pytest.approx((1, 1))


def test_no_language_is_below_the_bound_and_optimal_ones_are_on_it():
    rng = np.random.default_rng(0)
    where = rng.normal(size=(12, 2))
    beliefs = np.exp(-((where[:, None] - where[None]) ** 2).sum(-1))
    toy = space(beliefs / beliefs.sum(1, keepdims=True), rng.dirichlet(np.ones(12)))
    found = bounds.compute_bound(toy)
    assert (np.diff(found.objective / found.betas) > -1e-9).all()
    for place in (0, 30, 60):
        optimal = bounds.fit(toy, found, found.encoders[place])
        assert optimal.loss == pytest.approx(0, abs=1e-6)
    for number in (1, 2, 5, 12):
        language = bounds.fit(toy, found, rng.dirichlet(np.ones(number), 12))
        assert language.loss >= 0 and language.accuracy <= language.complexity + 1e-9
        assert 0 <= language.distance <= 1


def test_a_bound_is_kept_and_a_damaged_one_is_computed_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    toy = space([[0.9, 0.1], [0.2, 0.8]])
    first = bounds.bound_of(toy).complexity
    assert np.array_equal(bounds.kept_bound(toy.digest).complexity, first)
    [file] = (tmp_path / "bounds").iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert bounds.kept_bound(toy.digest) is None and np.array_equal(bounds.bound_of(toy).complexity, first)


def test_known_costs():
    # R(D) = 1 - h(D) of equally likely meanings and a wrong guess that costs 1 (Cover and Thomas, theorem 10.3.1).
    curve = bounds.rate_distortion(np.array([0.5, 0.5]), 1 - np.eye(2))
    expected = [1 - entropy(min(each, 0.5)) for each in curve.distortions]
    assert curve.rates == pytest.approx(expected, abs=1e-4)
    need, wrong = np.array([0.5, 0.25, 0.25]), 1 - np.eye(3)
    assert bounds.communicative_cost(need, np.eye(3), wrong) == 0
    one_word = np.ones((3, 1))
    assert bounds.communicative_cost(need, one_word, wrong) == pytest.approx(1 - (0.25 + 2 / 16))
    assert bounds.communicative_cost(need, one_word, wrong, "literal") == pytest.approx(2 / 3)
    with pytest.raises(ConfigError, match=r"shape \(3, 3\)"):
        bounds.communicative_cost(need, np.eye(3), np.eye(2))


def test_agreement_with_ultk():
    """What ULTK computes of the same space (CLMBRs/ultk, commits 92e3da4 for the bound and 907b087 for the cost).

    Six meanings in a line, p(u|m) falling by e a step, need by rank: objectives of its `IBOptimizer`,
    epsilon, beta_l and gNID of its `IBNamingModel`, and `informativity` with utility exp(-|m - u|).
    """
    places = np.arange(6.0)
    likeness = np.exp(-np.abs(places[:, None] - places))
    line = space(likeness / likeness.sum(1, keepdims=True), 1 / np.arange(1, 7) / (1 / np.arange(1, 7)).sum())
    found = bounds.compute_bound(line)
    for beta, objective in (
        (1.5325205447199817, -0.001581951775415938),
        (1.9323799583681278, -0.07990732648723153),
        (3.8582884477468187, -0.8543048484397324),
        (16.341779639354378, -8.978903962361276),
    ):
        here = (found.complexity - beta * found.accuracy).min()
        assert here == pytest.approx(objective, abs=1e-5)
    halves, odd = np.repeat(np.eye(2), 3, axis=0), np.tile(np.eye(2), (3, 1))
    for language, theirs in (
        (halves, [0.8139625284, 0.4023845900, 0.0213078767, 2.8778618213, 0.312349065]),
        (odd, [0.9538051054, 0.1118010906, 0.4858473799, 1.6125626433, 0.980032050]),
    ):
        here = bounds.fit(line, found, language)
        figures = [here.complexity, here.accuracy, here.loss, here.beta, here.distance]
        assert figures == pytest.approx(theirs, abs=1e-3) and figures[:2] == pytest.approx(theirs[:2])
    cost = bounds.communicative_cost(line.need, halves, 1 - likeness, "literal")
    assert cost == pytest.approx(1 - 0.523218637463145)
    assert bounds.communicative_cost(line.need, halves, 1 - likeness) == pytest.approx(1 - 0.566596916825591)
