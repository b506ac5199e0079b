"""Corpora and their scores, for tests of metrics."""

import itertools
from collections import Counter

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options
from ecsuite.runtime.ragged import Ragged


def grid(*sizes):
    """All meanings of attributes with these numbers of values, (num_meanings, num_attributes)."""
    return np.array(list(itertools.product(*map(range, sizes))))


def corpus_of(messages, meanings=None, concepts=None, **known):
    return Corpus(
        messages=Ragged.from_rows(messages),
        meanings=None if meanings is None else np.array(meanings),
        concepts=None if concepts is None else Ragged.from_rows(concepts),
        **known,
    )


def rows_of(ragged):
    return [ragged[index].tolist() for index in range(len(ragged))]


def scores_of(metric, *rows, seed=0, **known):
    return metric(corpus_of(*rows, **known), Options(seed=seed))


def score_of(metric, *rows, seed=0, **known):
    return scores_of(metric, *rows, seed=seed, **known)[0]


def plain_entropy(values):
    """Entropy in bits of the values of a list, from counted Python objects."""
    shares = np.array(list(Counter(values).values())) / len(values)
    return float(-(shares * np.log2(shares)).sum())
