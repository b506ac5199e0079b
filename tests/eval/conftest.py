"""Few draws for every null and interval, so that tests are quick; a test that is about draws asks for `all_draws`."""

import pytest

from ecsuite.eval.statistics import resampling

USUAL = {name: getattr(resampling, name) for name in ("NUM_PERMUTATIONS", "NUM_SUBSAMPLES", "MIN_DRAWS")}


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    for name in USUAL:
        monkeypatch.setattr(resampling, name, 9)


@pytest.fixture
def all_draws(monkeypatch, few_draws):
    for name, number in USUAL.items():
        monkeypatch.setattr(resampling, name, number)
