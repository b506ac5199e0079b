"""Keys of kept scores: they change with the version of the metric, and with that of draws."""

import pytest

from ecsuite.eval.metrics import METRICS, load_metric
from ecsuite.eval.statistics import resampling
from ecsuite.eval.sweeps.jobs import Metric


@pytest.mark.parametrize("name", ["csar", "morphemes", "xferbench", "topsim", "transfer"])
def test_a_raised_version_is_another_key(name, monkeypatch):
    before = Metric(name=name).job_key()
    monkeypatch.setattr(resampling, "VERSION", resampling.VERSION + 1)
    draws = Metric(name=name).job_key()
    monkeypatch.setitem(vars(load_metric(name)), "version", load_metric(name).version + 1)
    assert len({repr(each) for each in (before, draws, Metric(name=name).job_key())}) == 3


def test_every_metric_has_a_version():
    assert all(load_metric(name).version >= 1 for name in METRICS.parts)
