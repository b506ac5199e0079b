"""What a study does where it is not told: grammars and seeds by protocol, and what a hashtable cannot do."""

import pytest

from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.runtime.errors import ConfigError

PAIR = {"protocol": "end-to-end", "receivers": ("gru",)}


@pytest.mark.parametrize(
    ("settings", "grammars", "num_seeds"),
    [
        ({"models": ("lstm",)}, "perm proj rot shufdet hol", 2),
        ({"models": ("fc1l", "hashtable")}, "perm proj rot shufdet hol", 10),
        ({"models": ("fc1l", "transformer-2l")}, "perm proj rot shufdet hol", 1),
        ({"models": ("fc1l",), "role": "receiver"}, "perm proj rot shufdet hol", 1),
        ({"models": ("lstm",), "protocol": "budget"}, "perm proj rot shufdet hol pairsum", 2),
        (
            {"models": ("gru",), "protocol": "budget", "role": "receiver"},
            "perm proj rot shufdet shuf hol pairsum",
            1,
        ),
        ({"models": ("hashtable",), "role": "receiver"}, "perm proj rot shufdet hol", 10),
        ({"models": ("gru",), **PAIR}, "concat perm rot shufdet pairsum", 1),
        ({"protocol": "metrics"}, "concat perm proj rot shufdet hol", 5),
    ],
)
def test_defaults_of_a_protocol(settings, grammars, num_seeds):
    study = resolve(StudyConfig(**settings))
    assert (study.grammars, study.seeds) == (tuple(grammars.split()), tuple(range(123, 123 + num_seeds)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (PAIR, "hashtable has no weights to train end to end; name another sender"),
        ({"protocol": "budget", "channels": ("gumbel",)}, "hashtable has no logits for a channel"),
        (
            {"protocol": "budget", "channels": ("gumbel",), "role": "receiver", "models": ("KNN",)},
            "knn has no logits for a channel; use --channel soft",
        ),
        (
            {**PAIR, "models": ("gru",), "receivers": ("knn",)},
            "knn has no weights to train end to end; name another receiver",
        ),
    ],
)
def test_what_a_hashtable_cannot_do(settings, message):
    with pytest.raises(ConfigError, match=message):
        resolve(StudyConfig(**{"models": ("hashtable",), **settings}))
