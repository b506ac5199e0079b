"""What a study does where it is not told: grammars and seeds by protocol, and what a hashtable cannot do."""

import pytest

from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.runtime.errors import ConfigError

PAIR = {"protocol": "end-to-end", "receivers": ("gru",)}


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
