"""The models that ICY trains: the agents of games, initialised as in the paper, and its baseline `hashtable`."""

import torch
from torch import Tensor, nn

from ecsuite.agents.autocast import call_receiver
from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.feedforward import FC1LReceiver
from ecsuite.agents.linear import Linear
from ecsuite.agents.message import Message
from ecsuite.agents.options import AgentOptions
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.spec import AgentSpec, Role, parse_agent
from ecsuite.eval.icy.hashtable import HashtableSender
from ecsuite.grammars.geometry import Geometry

BASELINES: dict[Role, dict[str, type]] = {"sender": {"hashtable": AgentOptions}, "receiver": {}}
"""Models that learn from a given language only, by role, so that no game can train them."""


def parse_model(role: Role, text: str) -> AgentSpec:
    """Parse the name and options of a model: those of `parse_agent`, and `BASELINES`."""
    return parse_agent(role, text, BASELINES[role])


def make_agent(spec: AgentSpec, role: Role, geometry: Geometry, hidden_size: int) -> nn.Module:
    """Make an agent as in the ICY paper; a receiver with an output layer for (batch, attributes, values)."""
    vocab_size, max_len = geometry.vocab_size, geometry.message_length
    if spec.family == "hashtable":
        return HashtableSender(vocab_size=vocab_size, max_len=max_len)
    if role == "sender":
        num_features = geometry.num_attributes * geometry.num_values
        return make_sender(
            spec,
            num_features=num_features,
            vocab_size=vocab_size,
            max_len=max_len,
            hidden_size=hidden_size,
            style="icy",
        )
    receiver = make_receiver(
        spec, vocab_size=vocab_size, max_len=max_len, hidden_size=hidden_size, style="icy"
    )
    return AttributeClassifier(receiver, geometry.num_attributes, geometry.num_values)


class AttributeClassifier(nn.Module):
    """A receiver, which encodes the message, with a linear output layer: one row of logits per attribute."""

    def __init__(self, receiver: Receiver, num_attributes: int, num_values: int) -> None:
        super().__init__()
        self.num_attributes, self.num_values = num_attributes, num_values
        self.receiver = receiver
        # FC1L has no bias and the initial weights of an embedding, as in the published program.
        is_embedding = isinstance(receiver, FC1LReceiver) and receiver.style == "icy"
        self.answer = Linear(receiver.state_size, num_attributes * num_values, bias=not is_embedding)
        if is_embedding:
            nn.init.normal_(self.answer.weight)

    def forward(self, message: Message, dtype: torch.dtype = torch.float32) -> Tensor:
        """Logits of each attribute, (batch, num_attributes, num_values); the message must have a certain end."""
        states, _ = call_receiver(self.receiver, message, dtype)
        assert len(states) == 1, (
            "expected a message with one end; a relaxed message of variable length has several ends"
        )
        logits: Tensor = self.answer(states[0])
        return logits.view(-1, self.num_attributes, self.num_values)
