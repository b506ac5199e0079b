"""Corpora and texts of the smallest size; few resamples, so that tests are quick."""

import functools

import numpy as np
import pytest

from ecsuite.eval.statistics import bootstrap
from ecsuite.eval.xferbench.jobs import make_study
from ecsuite.eval.xferbench.presets import NANO
from ecsuite.eval.xferbench.texts import ArtificialText
from ecsuite.grammars.baselines import zipf_parentheses

TEXTS = tuple(ArtificialText(number, 30_000) for number in (1, 2, 3))


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(bootstrap, "NUM_RESAMPLES", 999)


@functools.cache
def drawn(seed=0):
    return zipf_parentheses(3000, np.random.default_rng(seed), num_types=50)


@pytest.fixture(scope="session")
def draw():
    """A small corpus with structure, by seed."""
    return drawn


@pytest.fixture
def corpus():
    """A small corpus with structure."""
    return drawn()


@pytest.fixture
def texts():
    """Two targets."""
    return TEXTS[:2]


@pytest.fixture
def study_of():
    """Makes a study of the corpus with preset nano; options replace its parts."""

    def make(corpus=drawn(), texts=TEXTS[:2], preset=NANO, seeds=(0,), **options):  # noqa: B008
        return make_study(corpus, texts, preset, seeds, device="cpu", **options)

    return make
