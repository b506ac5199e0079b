"""The models of ICY: names, the hashtable, and receivers with logits for each attribute."""

import pytest
import torch
from plain_modules import PlainReceiver, PlainSender

from ecsuite.eval.icy.agents import (
    AttributeClassifier,
    HashtableSender,
    make_agent,
    make_learner,
    parse_model,
)
from ecsuite.eval.icy.channels import parse_channel
from ecsuite.eval.icy.fast.senders import SupervisedBatch
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.errors import ConfigError


def test_the_hashtable_is_a_model_of_icy():
    spec = parse_model("sender", "Hashtable")
    assert str(spec) == spec.family == "hashtable"
    table = make_agent(spec, "sender", Geometry(num_attributes=2, num_values=3), 8)
    assert isinstance(table, HashtableSender) and table.max_len == 8
    with pytest.raises(ConfigError, match="hashtable has no options"):
        parse_model("sender", "hashtable,hidden=5")
    with pytest.raises(ConfigError, match=r"unknown sender 'hashtabel'; did you mean 'hashtable'\?"):
        parse_model("sender", "hashtabel")
    with pytest.raises(ConfigError, match="unknown sender 'knn'"):
        parse_model("sender", "knn")


def language(geometry):
    """All meanings of three values each, and their words in turn."""
    meanings = torch.cartesian_prod(*[torch.arange(geometry.num_values)] * geometry.num_attributes)
    words = torch.tensor([[1, 1], [1, 2], [2, 1]])  # of the three values
    messages = words[meanings].flatten(1)  # (num_meanings, message_length)
    return SupervisedBatch(
        meanings.t()[None], messages.t()[:, None], geometry.num_values, geometry.vocab_size + 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("channel", ["soft", "gumbel"])
@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_agents_of_torchs_layers_learn_a_language(role, channel):
    geometry = Geometry(num_attributes=2, num_values=3, word_length=2)
    torch.manual_seed(0)
    agent = (
        PlainSender(6, geometry.vocab_size + 1)
        if role == "sender"
        else AttributeClassifier(PlainReceiver(geometry.vocab_size + 1), 2, 3)
    )
    learner = make_learner(agent, geometry, parse_channel(channel))
    parameters = {name: value.detach()[None].requires_grad_() for name, value in agent.named_parameters()}
    optimizer = torch.optim.Adam(list(parameters.values()), lr=0.03)
    examples = language(geometry)
    for _ in range(150):
        loss = learner.loss(parameters, examples)
        optimizer.zero_grad()
        loss.backward()
        assert all(value.grad.abs().max() > 0 for value in parameters.values())
        optimizer.step()
    assert examples.accuracy.item() > 0.9
