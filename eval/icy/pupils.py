"""Pupils: any agent learns from a lesson, the way its module defines, where there is no faster one.

`make_pupil` gives the fast way of `ecsuite.agents.imitation` where there is one.
"""

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ecsuite.agents import make_receiver, make_sender
from ecsuite.agents.imitation import Imitator, Lesson, make_imitator
from ecsuite.agents.kernels import Parameters
from ecsuite.agents.message import Message
from ecsuite.agents.receivers import AttributeReader
from ecsuite.agents.spec import AgentSpec, Role
from ecsuite.grammars.geometry import Geometry


class ScoreLine:
    """A line of fixed length that keeps the scores, and lets the sender hear their softmax.

    Args:
        length: Symbols in a message.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        self.scores: list[Tensor] = []

    @property
    def is_open(self) -> bool:
        """Whether another symbol may be said."""
        return len(self.scores) < self.length

    def say(self, scores: Tensor) -> Tensor:
        """Scores (batch, vocab_size + 1) to weights of the same shape."""
        self.scores.append(scores)
        return scores.softmax(-1)

    def message(self) -> Message:
        """What was said, as weights (length, batch, vocab_size + 1)."""
        weights = torch.stack(self.scores).softmax(-1)
        length = torch.full_like(weights[0, :, 0], self.length)
        return Message(symbols=weights, ends=None, length=length)


def make_agent(spec: AgentSpec, role: Role, geometry: Geometry, hidden_size: int) -> nn.Module:
    """An agent as the ICY paper has it; a receiver with its answer, (batch, attributes, values)."""
    shape = {"vocab_size": geometry.vocab_size, "max_len": geometry.message_length, "hidden_size": hidden_size}
    if role == "sender":
        num_features = geometry.num_attributes * geometry.num_values
        return make_sender(spec, num_features=num_features, style="icy", **shape)
    receiver = make_receiver(spec, style="icy", **shape)
    return AttributeReader(receiver, geometry.num_attributes, geometry.num_values)


def make_pupil(agent: nn.Module, geometry: Geometry) -> Imitator:
    """How an agent learns: by its fast way, or as its module says."""
    if isinstance(agent, AttributeReader):
        return ReadingPupil(agent, geometry)
    return make_imitator(agent) or SpeakingPupil(agent, geometry)


class ModulePupil(Imitator):
    """What pupils share that learn through their module, replica by replica.

    Args:
        module: A module of the right kind; its own parameters are not used.
        geometry: Of the language.
    """

    def __init__(self, module: nn.Module, geometry: Geometry) -> None:
        self.module, self.geometry = module, geometry

    def loss(self, parameters: Parameters, lesson: Lesson) -> Tensor:
        """See the base class."""
        losses, rights = zip(
            *(
                self.replica_loss({name: value[index] for name, value in parameters.items()}, lesson, index)
                for index in range(len(lesson.features))
            ),
            strict=True,
        )
        lesson.right = torch.stack(rights)
        return torch.stack(losses).sum()

    def replica_loss(self, parameters: dict[str, Tensor], lesson: Lesson, index: int) -> tuple[Tensor, Tensor]:
        """Loss of one replica, and its share of right answers."""
        raise NotImplementedError


class SpeakingPupil(ModulePupil):
    """A sender: the mean cross-entropy of all symbols."""

    def replica_loss(self, parameters: dict[str, Tensor], lesson: Lesson, index: int) -> tuple[Tensor, Tensor]:
        """See the base class."""
        line = ScoreLine(self.geometry.message_length)
        functional_call(self.module, parameters, (lesson.features[index].t().contiguous(), line))
        scores, messages = torch.stack(line.scores).flatten(0, 1), lesson.messages[:, index, 0].flatten()
        loss = nn.functional.cross_entropy(scores, messages)
        return loss, (scores.argmax(-1) == messages).float().mean()


class ReadingPupil(ModulePupil):
    """A receiver: the sum over attributes of the mean cross-entropy, as the published program has it."""

    def replica_loss(self, parameters: dict[str, Tensor], lesson: Lesson, index: int) -> tuple[Tensor, Tensor]:
        """See the base class."""
        symbols = lesson.messages[:, index, 0]  # (length, batch)
        length = torch.full((symbols.shape[1],), float(len(symbols)), device=symbols.device)
        message = Message(symbols=symbols, ends=None, length=length)
        answers = functional_call(self.module, parameters, (message, torch.float32))  # (batch, attributes, values)
        meanings = lesson.meanings[index].t()  # (batch, attributes)
        loss = nn.functional.cross_entropy(answers.flatten(0, 1), meanings.flatten()) * meanings.shape[1]
        return loss, (answers.argmax(-1) == meanings).float().mean()
