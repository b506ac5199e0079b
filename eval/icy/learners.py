"""Learners of all agents: the generic training path with autograd, used if there is no fused learner.

The fused learners are in `eval.icy.fast`.
"""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ecsuite.agents.feedforward import FeedForwardSender
from ecsuite.agents.message import Message
from ecsuite.agents.own_agents import check_message, check_states, require_shape
from ecsuite.agents.replicas import replicas
from ecsuite.agents.senders import Decoder
from ecsuite.agents.spec import AgentSpec, Role
from ecsuite.agents.transformer import TransformerSender
from ecsuite.eval.icy.channels import Noise, SupervisedChannel, one_hot, straight_through, supervised_loss
from ecsuite.eval.icy.fast.cells import Parameters, submodule_parameters
from ecsuite.eval.icy.fast.receivers import make_fused_receiver
from ecsuite.eval.icy.fast.senders import Learner, SupervisedBatch, make_fused_sender
from ecsuite.eval.icy.hashtable import HashtableSender
from ecsuite.eval.icy.models import AttributeClassifier, make_agent
from ecsuite.grammars.geometry import Geometry

SIDE_BY_SIDE = (TransformerSender,)
"""Senders without a fused learner whose replicas are computed side by side on CUDA, where few kernels count; on the
CPU they take longer so."""
OURS = ("ecsuite.", "torch.")
"""Modules whose operations do not depend on values, where states are not shared."""


class LogitsBuilder:
    """Message builder of fixed length that keeps the logits and feeds their softmax back to the sender."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.logits: list[Tensor] = []

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.logits) == self.length

    def step(self, logits: Tensor) -> Tensor:
        """Add logits (batch, vocab_size + 1); returns weights of the same shape as feedback."""
        self.logits.append(logits)
        return logits.softmax(-1)

    def message(self) -> Message:
        """Return the message, as weights (length, batch, vocab_size + 1)."""
        weights = torch.stack(self.logits).softmax(-1)
        length = torch.full_like(weights[0, :, 0], self.length)
        return Message(symbols=weights, ends=None, length=length)


class SampledMessageBuilder(LogitsBuilder):
    """Message builder that keeps the logits and feeds one-hot symbols back to the sender."""

    def __init__(self, length: int, noise: Tensor | None) -> None:
        """Gumbel noise (batch, length, vocab_size + 1) for straight-through samples; None for argmax."""
        super().__init__(length)
        self.noise = noise

    def step(self, logits: Tensor) -> Tensor:
        """See the base class."""
        self.logits.append(logits)
        if self.noise is None:
            return one_hot(logits.argmax(-1), logits)
        return straight_through(logits, self.noise[:, len(self.logits) - 1])


def make_builder(length: int, feeds_back_samples: bool, noise: Tensor | None) -> LogitsBuilder:
    """The builder of a message that feeds back samples (argmax without noise), or the softmax of the logits."""
    return SampledMessageBuilder(length, noise) if feeds_back_samples else LogitsBuilder(length)


def is_autoregressive(sender: nn.Module) -> bool:
    """Whether a sender gets its previous symbol as input; of other classes than ours it is assumed."""
    if isinstance(sender, Decoder):
        return sender.embed is not None
    return not isinstance(sender, FeedForwardSender | HashtableSender)


def make_learner(
    agent: nn.Module, geometry: Geometry, link: SupervisedChannel | None = None, seed: int = 0
) -> Learner:
    """Make the learner of an agent: fused if there is one, else generic.

    Args:
        agent: As returned by `make_agent`.
        geometry: Sizes of the language.
        link: The channel of its logits; soft if not given. Learners over other channels have one replica.
        seed: Seed of the channel's noise.
    """
    link = link or SupervisedChannel()
    if isinstance(agent, AttributeClassifier):
        return ReceiverLearner(agent, geometry, link, seed)
    if isinstance(agent, HashtableSender):
        assert link.channel == "soft", "a hashtable has no logits"
        return LookupTableLearner(agent)
    fused = make_fused_sender(agent) if link.channel == "soft" else None
    return fused or SenderLearner(agent, geometry, link, seed)


def try_agent(spec: AgentSpec, role: Role, geometry: Geometry, hidden_size: int) -> None:
    """Make an agent of a user's own file, and call it once; see `make_agent`.

    Raises:
        PartError: If what it gives has another shape than is needed.
    """
    agent = make_agent(spec, role, geometry, hidden_size)
    length, width, kind = geometry.message_length, geometry.vocab_size + 1, spec.family
    if isinstance(agent, AttributeClassifier):
        weights = torch.full((length, 2, width), 1 / width)
        message = Message(symbols=weights, ends=None, length=torch.full((2,), float(length)))
        check_states(kind, agent.receiver, message, agent.receiver(message))
        return
    builder, meanings = LogitsBuilder(length), torch.zeros(2, geometry.num_attributes * geometry.num_values)

    def check_step(logits: Tensor) -> Tensor:
        require_shape(kind, "forward", "scores", logits, (2, width), "builder.step to be given")
        return LogitsBuilder.step(builder, logits)

    builder.step = check_step  # type: ignore[method-assign]
    with torch.no_grad():
        check_message(kind, agent, meanings, agent(meanings, builder))


class ModuleLearner(Learner):
    """Base class of learners that call their module, whose own parameters are not used."""

    purpose: str
    """Purpose of the noise, see `Noise`."""

    def __init__(self, module: nn.Module, geometry: Geometry, link: SupervisedChannel, seed: int) -> None:
        self.module, self.geometry, self.link = module, geometry, link
        self.source = Noise(seed, self.purpose)
        self.updates = 0
        self.is_same_each_time = link.channel == "soft" and all(
            type(each).__module__.startswith(OURS) for each in module.modules()
        )

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """See the base class."""
        assert self.link.channel == "soft" or len(examples.features) == 1, "noise is that of one run"
        self.source.at(self.updates)
        self.updates += torch.is_grad_enabled()
        tensors = examples.features, examples.meanings, examples.messages[:, :, 0].transpose(0, 1)
        if examples.features.is_cuda and type(self.module) in SIDE_BY_SIDE:
            with replicas():
                losses, examples.accuracy = vmap(self.replica_loss)(dict(parameters), *tensors)
            return losses.sum()
        results = [
            self.replica_loss({name: value[index] for name, value in parameters.items()}, *each)
            for index, each in enumerate(zip(*tensors, strict=True))
        ]
        each_loss, rights = zip(*results, strict=True)
        examples.accuracy = torch.stack(rights)
        return torch.stack(each_loss).sum()

    def noise(self, shape: Sequence[int], like: Tensor) -> Tensor | None:
        """The channel's noise in this update, on the device of `like`; None for a channel without noise."""
        return None if self.link.channel == "soft" else self.source.draw(shape, like.device)

    @abstractmethod
    def replica_loss(
        self, parameters: dict[str, Tensor], features: Tensor, meanings: Tensor, messages: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Loss and accuracy of one replica; its part of the batch is (..., batch)."""


class SenderLearner(ModuleLearner):
    """Learner of a sender. Its accuracy is that of its argmax symbols, without noise."""

    purpose = "sender"

    def replica_loss(
        self, parameters: dict[str, Tensor], features: Tensor, meanings: Tensor, messages: Tensor
    ) -> tuple[Tensor, Tensor]:
        """See the base class."""
        features = features.t().contiguous()
        messages = messages.t()  # (batch, length)
        noise = self.noise((*messages.shape, self.geometry.vocab_size + 1), features)
        feeds_back_samples = self.link.channel == "gumbel" and is_autoregressive(self.module)
        logits = self.message_logits(parameters, features, noise, feeds_back_samples)
        loss = supervised_loss(self.link, logits, messages, noise, is_receiver=False)
        if feeds_back_samples:
            with torch.no_grad():
                logits = self.message_logits(parameters, features, None, feeds_back_samples)
        return loss, (logits.argmax(-1) == messages).float().mean()

    def message_logits(
        self, parameters: dict[str, Tensor], features: Tensor, noise: Tensor | None, feeds_back_samples: bool
    ) -> Tensor:
        """The logits of messages, (batch, length, vocab_size + 1)."""
        builder = make_builder(self.geometry.message_length, feeds_back_samples, noise)
        functional_call(self.module, parameters, (features, builder))
        return torch.stack(builder.logits, dim=1)


class ReceiverLearner(ModuleLearner):
    """Learner of a receiver. Its accuracy is that of its argmax attribute values."""

    purpose = "receiver"

    def __init__(
        self, module: AttributeClassifier, geometry: Geometry, link: SupervisedChannel, seed: int
    ) -> None:
        super().__init__(module, geometry, link, seed)
        self.fused_receiver = make_fused_receiver(module.receiver)

    def replica_loss(
        self, parameters: dict[str, Tensor], features: Tensor, meanings: Tensor, messages: Tensor
    ) -> tuple[Tensor, Tensor]:
        """See the base class."""
        logits = self.attribute_logits(parameters, messages)
        meanings = meanings.t()  # (batch, attributes)
        loss = supervised_loss(
            self.link, logits, meanings, self.noise(logits.shape, logits), is_receiver=True
        )
        return loss, (logits.argmax(-1) == meanings).float().mean()

    def attribute_logits(self, parameters: dict[str, Tensor], symbols: Tensor) -> Tensor:
        """Logits (batch, attributes, values) for messages, ids (length, batch)."""
        if self.fused_receiver is None:
            length = torch.full((symbols.shape[1],), float(len(symbols)), device=symbols.device)
            message = Message(symbols=symbols, ends=None, length=length)
            logits: Tensor = functional_call(self.module, parameters, (message, torch.float32))
            return logits
        own = {name: value.unsqueeze(0) for name, value in parameters.items()}
        encoder = submodule_parameters(own, "receiver.")
        state = self.fused_receiver.final_state(encoder, symbols.unsqueeze(1))[0]  # (hidden, batch)
        flat = nn.functional.linear(state.t(), parameters["answer.weight"], parameters["answer.bias"])
        return flat.view(-1, self.geometry.num_attributes, self.geometry.num_values)


class LookupTableLearner(Learner):
    """Learner of a hashtable: looks up meanings, then stores their messages. It has no weights, so only one replica."""

    def __init__(self, sender: HashtableSender) -> None:
        self.sender = sender

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """Compute the accuracy, and store the batch unless gradients are disabled; the loss is zero."""
        assert len(examples.meanings) == 1, "a hashtable has one replica"
        meanings, messages = examples.meanings[0].t(), examples.messages[:, 0, 0].t()
        examples.accuracy = torch.tensor([self.sender.score(meanings, messages)])
        if torch.is_grad_enabled():
            self.sender.add(meanings, messages)
        return torch.zeros(())
