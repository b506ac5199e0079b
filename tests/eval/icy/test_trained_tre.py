"""TRE7 by gradient descent: never below the optimum, and close to it after enough steps."""

import numpy as np
import pytest

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.icy.trained_tre import trained_tre7
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.tre import plain_tre7
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language

GEOMETRY = Geometry(num_attributes=2, num_values=4, word_length=2, vocab_size=3)


def corpus(name, seed=0):
    return language(name, GEOMETRY, seed).corpus()


@pytest.mark.parametrize("projection", ["trained", "fixed"])
@pytest.mark.parametrize("name", ["concat", "rot", "hol"])
def test_the_optimum_is_a_lower_bound(name, projection):
    least = plain_tre7(corpus(name), Options())[0].value
    assert trained_tre7(corpus(name), 0, projection=projection, num_steps=200) >= least - 1e-4


def test_descent_approaches_the_optimum():
    reached = trained_tre7(corpus("rot"), 0, num_steps=600, lr=0.003)
    assert reached == pytest.approx(plain_tre7(corpus("rot"), Options())[0].value, abs=0.05)


def test_a_pure_function_of_its_arguments():
    first, again, other = (trained_tre7(corpus("rot"), seed, num_steps=20) for seed in (1, 1, 2))
    assert first == again != other


def test_before_the_first_step_only_the_projections_count():
    """Tables are zero: what is rebuilt are the summed biases, in every table and for every message."""
    assert trained_tre7(corpus("concat"), 0, num_steps=1) == trained_tre7(
        corpus("concat"), 0, num_steps=1, projection="fixed"
    )


def test_a_corpus_without_attributes():
    bare = Corpus(messages=Ragged.from_rows([[1], [2]]), meanings=np.array([[0.5], [1.0]]))
    with pytest.raises(
        ValueError, match="TRE7: expected attribute values: features are not attribute values"
    ):
        trained_tre7(bare, 0)
