"""Few resamples, so that tests are quick."""

import pytest

from ecsuite.eval.statistics import bootstrap


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(bootstrap, "NUM_RESAMPLES", 999)
