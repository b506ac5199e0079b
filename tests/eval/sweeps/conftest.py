"""A sweep that trains in a second."""

import pytest

SMALL = {
    "base": "disc_tiny",
    "vary": {"channel.kind": ["gumbel", "reinforce"], "channel.vocab_size": [3, 5]},
    "seeds": 2,
    "set": {
        "training.num_examples": 64,
        "training.batch_size": 32,
        "training.num_epochs": 1,
        "evaluation.num_valid": 32,
        "sender.hidden_size": 4,
        "receiver.hidden_size": 4,
    },
    "score": ["topsim", "elcc"],
}


@pytest.fixture
def small():
    """The content of its YAML file."""
    return {**SMALL, "set": dict(SMALL["set"]), "vary": dict(SMALL["vary"])}
