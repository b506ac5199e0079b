"""Pupils: any agent learns from a lesson, the way its module defines, where there is no faster one.

The fast ones are in `eval.icy.fast`.
"""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ecsuite.agents import make_receiver, make_sender
from ecsuite.agents.hashtable import HashtableSender
from ecsuite.agents.message import Message
from ecsuite.agents.receivers import AttributeClassifier
from ecsuite.agents.senders import Decoder
from ecsuite.agents.spec import AgentSpec, Role
from ecsuite.config import ConfigError
from ecsuite.eval.icy.channels import Noise, SupervisedChannel, one_hot, straight_through, supervised_loss
from ecsuite.eval.icy.fast.receiver_kernels import make_fused_receiver
from ecsuite.eval.icy.fast.recurrent_kernels import Parameters, submodule_parameters
from ecsuite.eval.icy.fast.supervised_batches import Learner, SupervisedBatch
from ecsuite.eval.icy.fast.supervised_kernels import make_fused_sender
from ecsuite.grammars.geometry import Geometry


class LogitsBuilder:
    """A line of fixed length that keeps the scores, and lets the sender hear their softmax.

    Args:
        length: Symbols in a message.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        self.scores: list[Tensor] = []

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.scores) == self.length

    def step(self, scores: Tensor) -> Tensor:
        """Scores (batch, vocab_size + 1) to weights of the same shape."""
        self.scores.append(scores)
        return scores.softmax(-1)

    def message(self) -> Message:
        """What was said, as weights (length, batch, vocab_size + 1)."""
        weights = torch.stack(self.scores).softmax(-1)
        length = torch.full_like(weights[0, :, 0], self.length)
        return Message(symbols=weights, ends=None, length=length)


class SampledMessageBuilder(LogitsBuilder):
    """A line that keeps the scores, and lets the sender hear what it said: one-hot rows.

    Args:
        noise: Gumbel noise (batch, length, vocab_size + 1) for straight-through samples; None for the likeliest.
        length: Symbols in a message.
    """

    def __init__(self, length: int, noise: Tensor | None) -> None:
        super().__init__(length)
        self.noise = noise

    def step(self, scores: Tensor) -> Tensor:
        """See the base class."""
        place = len(self.scores)
        self.scores.append(scores)
        if self.noise is None:
            return one_hot(scores.argmax(-1), scores)
        return straight_through(scores, self.noise[:, place])


def is_autoregressive(sender: nn.Module) -> bool:
    """Whether what a sender says changes what it says next."""
    return isinstance(sender, Decoder) and sender.embed is not None


def make_agent(spec: AgentSpec, role: Role, geometry: Geometry, hidden_size: int) -> nn.Module:
    """An agent as the ICY paper has it; a receiver with its answer, (batch, attributes, values)."""
    shape = {
        "vocab_size": geometry.vocab_size,
        "max_len": geometry.message_length,
        "hidden_size": hidden_size,
    }
    if role == "sender":
        num_features = geometry.num_attributes * geometry.num_values
        return make_sender(spec, num_features=num_features, style="icy", **shape)
    receiver = make_receiver(spec, style="icy", **shape)
    return AttributeClassifier(receiver, geometry.num_attributes, geometry.num_values)


def make_learner(
    agent: nn.Module, geometry: Geometry, link: SupervisedChannel | None = None, seed: int = 0
) -> Learner:
    """How an agent learns: by its fast way, or as its module says.

    Args:
        agent: As `make_agent` makes it.
        geometry: Of the language.
        link: The channel that its scores go through; soft if not given. Over others a pupil has one replica.
        seed: Of the noise of the channel.

    Raises:
        ConfigError: If a hashtable is to learn over a channel: it has no scores to draw from.
    """
    link = link or SupervisedChannel()
    if isinstance(agent, AttributeClassifier):
        return ReceiverLearner(agent, geometry, link, seed)
    if isinstance(agent, HashtableSender):
        if link.channel != "soft":
            raise ConfigError(f"hashtable learns nothing over the channel {link}; use --channel soft")
        return LookupTableLearner(agent)
    fast = make_fused_sender(agent) if link.channel == "soft" else None
    return fast or SenderLearner(agent, geometry, link, seed)


class ModuleLearner(Learner):
    """What pupils share that learn through their module, replica by replica.

    Args:
        module: A module of the right kind; its own parameters are not used.
        geometry: Of the language.
        link: The channel that its scores go through.
        seed: Of the channel's noise.
    """

    purpose: str
    """What the noise is for, which decides what it is."""

    def __init__(self, module: nn.Module, geometry: Geometry, link: SupervisedChannel, seed: int) -> None:
        self.module, self.geometry, self.link = module, geometry, link
        self.source = Noise(seed, self.purpose)
        self.updates = 0

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """See the base class."""
        assert self.link.channel == "soft" or len(examples.features) == 1, "noise is that of one run"
        self.source.at(self.updates)
        self.updates += torch.is_grad_enabled()
        losses, rights = zip(
            *(
                self.replica_loss({name: value[index] for name, value in parameters.items()}, examples, index)
                for index in range(len(examples.features))
            ),
            strict=True,
        )
        examples.accuracy = torch.stack(rights)
        return torch.stack(losses).sum()

    def noise(self, shape: Sequence[int], like: Tensor) -> Tensor | None:
        """The channel's noise in this update, on the device of `like`; None for a channel without."""
        return None if self.link.channel == "soft" else self.source.draw(shape, like.device)

    @abstractmethod
    def replica_loss(
        self, parameters: dict[str, Tensor], examples: SupervisedBatch, index: int
    ) -> tuple[Tensor, Tensor]:
        """Loss of one replica, and its share of right answers."""


class SenderLearner(ModuleLearner):
    """A sender. Its accuracy is that of its likeliest symbols, said without noise."""

    purpose = "sender"

    def replica_loss(
        self, parameters: dict[str, Tensor], examples: SupervisedBatch, index: int
    ) -> tuple[Tensor, Tensor]:
        """See the base class."""
        features = examples.features[index].t().contiguous()
        messages = examples.messages[:, index, 0].t()  # (batch, length)
        noise = self.noise((*messages.shape, examples.num_symbols), features)
        hears_samples = self.link.channel == "gumbel" and is_autoregressive(self.module)
        scores = self.speak(parameters, features, noise if hears_samples else None, hears_samples)
        loss = supervised_loss(self.link, scores, messages, noise, is_answer=False)
        if hears_samples:
            with torch.no_grad():
                scores = self.speak(parameters, features, None, hears_samples)
        return loss, (scores.argmax(-1) == messages).float().mean()

    def speak(
        self, parameters: dict[str, Tensor], features: Tensor, noise: Tensor | None, hears_samples: bool
    ) -> Tensor:
        """The scores of a message, (batch, length, vocab_size + 1)."""
        length = self.geometry.message_length
        builder = SampledMessageBuilder(length, noise) if hears_samples else LogitsBuilder(length)
        functional_call(self.module, parameters, (features, builder))
        return torch.stack(builder.scores, dim=1)


class ReceiverLearner(ModuleLearner):
    """A receiver. Its accuracy is that of its likeliest answers."""

    purpose = "receiver"

    def __init__(
        self, module: AttributeClassifier, geometry: Geometry, link: SupervisedChannel, seed: int
    ) -> None:
        super().__init__(module, geometry, link, seed)
        self.fused_receiver = make_fused_receiver(module.receiver)

    def replica_loss(
        self, parameters: dict[str, Tensor], examples: SupervisedBatch, index: int
    ) -> tuple[Tensor, Tensor]:
        """See the base class."""
        answers = self.answers(parameters, examples.messages[:, index, 0])
        meanings = examples.meanings[index].t()  # (batch, attributes)
        loss = supervised_loss(
            self.link, answers, meanings, self.noise(answers.shape, answers), is_answer=True
        )
        return loss, (answers.argmax(-1) == meanings).float().mean()

    def answers(self, parameters: dict[str, Tensor], symbols: Tensor) -> Tensor:
        """Scores (batch, attributes, values) of what was said, ids (length, batch)."""
        if self.fused_receiver is None:
            length = torch.full((symbols.shape[1],), float(len(symbols)), device=symbols.device)
            message = Message(symbols=symbols, ends=None, length=length)
            read: Tensor = functional_call(self.module, parameters, (message, torch.float32))
            return read
        own = {name: value.unsqueeze(0) for name, value in parameters.items()}
        state = self.fused_receiver.final_state(submodule_parameters(own, "receiver."), symbols.unsqueeze(1))[
            0
        ]  # (hidden, batch)
        flat = nn.functional.linear(state.t(), parameters["answer.weight"], parameters["answer.bias"])
        return flat.view(-1, self.geometry.num_attributes, self.geometry.num_values)


class LookupTableLearner(Learner):
    """A hashtable: says what it knows, and is then told. It has no weights, so there can be only one of it.

    Args:
        sender: Where to remember.
    """

    def __init__(self, sender: HashtableSender) -> None:
        self.sender = sender

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """Nothing to minimise; it is told unless gradients are off."""
        assert len(examples.meanings) == 1, "a hashtable learns alone"
        meanings, messages = examples.meanings[0].t(), examples.messages[:, 0, 0].t()
        examples.accuracy = torch.tensor([self.sender.score(meanings, messages)])
        if torch.is_grad_enabled():
            self.sender.add(meanings, messages)
        return torch.zeros(())
