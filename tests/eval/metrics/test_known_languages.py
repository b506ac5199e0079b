"""Every metric of composition on four languages with known answers: perfect, permuted, constant, random."""

import itertools

import numpy as np
import pytest

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics import load_metric
from ecsuite.eval.metrics.score import Options

MEANINGS = np.array(list(itertools.product(range(4), range(4))) * 6)
PERFECT = np.add(MEANINGS, [10, 20])
UNDEFINED = None

ANSWERS = {
    # name: (metric, perfect code, constant message)
    "topsim": ("topsim", 1, UNDEFINED),
    "posdis": ("posdis", 1, UNDEFINED),
    "bosdis": ("bosdis", 1, UNDEFINED),
    "ami": ("ami", 1, UNDEFINED),
    "ami_arithmetic": ("ami", 1, UNDEFINED),
    "ncnpmi": ("ncnpmi", 1, 0),
    "context_independence": ("context_independence", 1, 1 / 4),
    "synonymy": ("synonymy", 0, 0),
    "polysemy": ("synonymy", 0, 3),
    "conflict_count": ("conflict_count", 0, 3 / 4 * MEANINGS.size),
    "hce": ("hce", 1, 0),
    "has": ("has", 0, 0),
    "zla_segments": ("zla", UNDEFINED, UNDEFINED),
    "zla_messages": ("zla", UNDEFINED, UNDEFINED),
}


def scores(messages, eos=None):
    corpus = Corpus(messages=Ragged.from_rows(messages), meanings=MEANINGS, eos=eos)
    metrics = dict.fromkeys(metric for metric, *_ in ANSWERS.values())
    return {score.name: score for metric in metrics for score in load_metric(metric)(corpus, Options())}


def approximately(value):
    return UNDEFINED if value is UNDEFINED else pytest.approx(value)


def check(found, place):
    assert {name: score.value for name, score in found.items()} == {
        name: approximately(answers[place]) for name, answers in ANSWERS.items()
    }


def test_perfect_code():
    found = scores(PERFECT)
    check(found, 1)
    for name in ("topsim", "posdis", "bosdis", "ami", "ncnpmi", "context_independence", "hce"):
        assert found[name].details["null_high"] < 0.9
        assert found[name].details["p_value"] == 0.1  # nine draws
        assert found[name].ci95[1] == pytest.approx(1)
    for name in ("synonymy", "polysemy", "conflict_count"):
        assert found[name].details["null_low"] > 0.5
        assert found[name].details["p_value"] == 0.1
        assert found[name].ci95[0] == 0


def test_permuted_code():
    """Positions exchanged, values renamed, rows shuffled."""
    rng = np.random.default_rng(0)
    names = rng.permutation(8).reshape(2, 4)
    check(scores(np.stack([names[1][MEANINGS[:, 1]], names[0][MEANINGS[:, 0]]], axis=1)), 1)


def test_perfect_code_with_random_symbols_after_eos():
    check(scores([[*row, 0, *range(i % 5)] for i, row in enumerate(PERFECT.tolist())], eos=0), 1)


def test_constant_message():
    found = scores([[7, 7]] * len(MEANINGS))
    check(found, 2)
    for score in found.values():
        assert score.value is UNDEFINED or score.details["p_value"] == 1


def test_random_code(all_draws):
    """A random code scores within its null distribution."""
    rng = np.random.default_rng(1)
    found = scores(rng.integers(0, 4, PERFECT.shape))
    for name, score in found.items():
        if score.value is not UNDEFINED:
            assert score.details["p_value"] > 0.01, name
            spread = max(0.01, score.details["null_high"] - score.details["null_low"])
            assert abs(score.value - score.details["null_mean"]) < 1.5 * spread, name


def test_one_row():
    corpus = Corpus(messages=Ragged.from_rows([[1, 2]]), meanings=np.array([[0, 3]]))
    known = {
        score.name: score.value
        for metric, *_ in ANSWERS.values()
        for score in load_metric(metric)(corpus, Options())
        if score.value is not None
    }
    assert known == {"context_independence": 1, "synonymy": 1, "polysemy": 1, "conflict_count": 0, "has": 0}
