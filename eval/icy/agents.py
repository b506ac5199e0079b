"""The agents that ICY trains, their learners, and their parameter counts.

The agents are agents of games, initialised as in the paper, and lookup tables. The learners here train with
autograd; the fused learners of `eval.icy.fast` replace them where available.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ecsuite.agents.autocast import call_receiver, check_message, check_states, require_shape
from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.feedforward import FC1LReceiver, FeedForwardSender
from ecsuite.agents.linear import Linear
from ecsuite.agents.message import Message
from ecsuite.agents.options import AgentOptions
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.replicas import replicas
from ecsuite.agents.senders import Decoder, MessageBuilder
from ecsuite.agents.spec import NOT_IN_GAMES, AgentName, Role, parse_agent
from ecsuite.agents.transformer import TransformerSender
from ecsuite.eval.icy.channels import Noise, SupervisedChannel, one_hot, straight_through, supervised_loss
from ecsuite.eval.icy.fast.cells import Parameters, submodule_parameters
from ecsuite.eval.icy.fast.receivers import make_fused_receiver
from ecsuite.eval.icy.fast.senders import SupervisedBatch, SupervisedLearner, make_fused_sender
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.words import all_meanings, symbol_type
from ecsuite.runtime.devices import computing

BASELINES = {role: dict.fromkeys(names, AgentOptions) for role, names in NOT_IN_GAMES.items()}
"""Lookup tables by role, with their class of options, which is empty."""

CERTAIN_LOGIT = 50.0
"""Logit of the stored symbol, all others being 0: the probability of another symbol is about exp(-50)."""

SIDE_BY_SIDE = (TransformerSender,)
"""Senders without a fused learner whose replicas are computed with `vmap` on CUDA, where the number of kernels
determines the time; on the CPU it is slower."""
OURS = ("ecsuite.", "torch.")
"""Prefixes of modules whose operations do not depend on tensor values, as long as states are not shared."""

MEANINGS_PER_BATCH = 4096
"""Number of meanings in a batch of `messages_of`."""
PUBLISHED_GEOMETRY = Geometry()
"""The sizes of the paper's tables."""

NEVER_USED: tuple[tuple[str, Role, Callable[[AgentName], bool], Callable[[int, int, int, int], int]], ...] = (
    (
        "HUSendA: a linear map of the one-hot meaning, in addition to the embedding of meanings",
        "sender",
        lambda spec: spec.family == "husenda:CELL",
        lambda features, values, symbols, hidden: features * hidden + hidden,
    ),
    (
        "recurrent receivers: a map from the state to the values of one attribute",
        "receiver",
        lambda spec: spec.family == spec.cell,
        lambda features, values, symbols, hidden: hidden * values + values,
    ),
    (
        "a second embedding of symbols, for messages of weights, with the values of the first",
        "receiver",
        lambda spec: spec.family not in ("fc1l", "fc2l", *BASELINES["receiver"]),
        lambda features, values, symbols, hidden: symbols * hidden,
    ),
)
"""Parameters that the published program creates and counts but never uses: description, role, function that selects
agents, and function from (num_features, num_values, symbols including the start symbol, hidden) to their number."""


def parse_model(role: Role, text: str) -> AgentName:
    """Parse the name and options of a model: an agent of `parse_agent`, or one of `BASELINES`."""
    return parse_agent(role, text, BASELINES[role])


def make_agent(spec: AgentName, role: Role, geometry: Geometry, hidden_size: int) -> nn.Module:
    """Make an agent as in the ICY paper; a receiver with an output layer for (batch, attributes, values)."""
    vocab_size, max_len = geometry.vocab_size, geometry.message_length
    if spec.family == "knn":
        return NearestNeighbour(num_attributes=geometry.num_attributes, vocab_size=vocab_size)
    if spec.family == "hashtable":
        if role == "sender":
            return HashtableSender(vocab_size=vocab_size, max_len=max_len)
        return LookupTable([0] * geometry.num_attributes)
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


class LookupTable(nn.Module):
    """Gives the first answer stored for an input, and a default answer for an unknown input.

    As a sender its inputs are meanings and its answers messages, as a receiver the reverse. It has no parameters and is
    not trained by gradients.

    Args:
        default: Answer for unknown inputs, (width).
    """

    def __init__(self, default: Sequence[int]) -> None:
        super().__init__()
        self.default = np.array(default, np.int64)
        self.answers: dict[bytes, NDArray[np.int64]] = {}

    def predict(self, inputs: Tensor) -> Tensor:
        """Answers for inputs, (batch, ...) of any type, as numbers (batch, width)."""
        found = np.stack([self.answers.get(key, self.default) for key in self._keys(inputs)])
        return torch.from_numpy(found).to(inputs.device)

    def add(self, inputs: Tensor, answers: Tensor) -> None:
        """Store answers, (batch, width), for inputs, (batch, ...), unless an input already has one."""
        copies = answers.detach().cpu().long().numpy().copy()
        for key, answer in zip(self._keys(inputs), copies, strict=True):
            self.answers.setdefault(key, answer)

    @staticmethod
    def _keys(inputs: Tensor) -> list[bytes]:
        """Table keys of inputs; equal numbers give equal keys in any type."""
        return [row.tobytes() for row in inputs.detach().cpu().double().flatten(1).numpy()]

    def score(self, inputs: Tensor, answers: Tensor) -> float:
        """Share of correct numbers, 0 to 1, in the predicted answers, against answers (batch, width)."""
        return (self.predict(inputs) == answers).float().mean().item()


class NearestNeighbour(LookupTable):
    """Receiver that gives the meaning of the stored message with the fewest different symbols; ties: the earliest.

    Without a stored message it gives the first value of each attribute.
    """

    def __init__(self, *, num_attributes: int, vocab_size: int) -> None:
        super().__init__([0] * num_attributes)
        self.vocab_size = vocab_size
        self.stored = self.meanings = torch.zeros(0)

    def predict(self, inputs: Tensor) -> Tensor:
        """Meanings (batch, num_attributes) for messages, ids (batch, length)."""
        if not len(self.stored):
            return super().predict(inputs)
        common = self._one_hot(inputs) @ self.stored.t()  # number of equal symbols, (batch, num_stored)
        return self.meanings[common.argmax(1)]

    def add(self, inputs: Tensor, answers: Tensor) -> None:
        """Store messages, ids (batch, length), with their meanings, unless an equal message is stored."""
        before = len(self.answers)
        super().add(inputs, answers)
        if new := list(self.answers)[before:]:
            messages = np.frombuffer(b"".join(new)).reshape(len(new), -1)
            weights = self._one_hot(torch.from_numpy(messages.astype(np.int64)))
            meanings = torch.from_numpy(np.stack([self.answers[key] for key in new]))
            self.stored = torch.cat([self.stored, weights]) if before else weights
            self.meanings = torch.cat([self.meanings, meanings]) if before else meanings

    def _one_hot(self, messages: Tensor) -> Tensor:
        """Flattened one-hot messages, (batch, length * (vocab_size + 1))."""
        return nn.functional.one_hot(messages, self.vocab_size + 1).flatten(1).float()


class HashtableSender(LookupTable):
    """Sends the first message stored for a meaning, and only symbols 1 for an unknown meaning."""

    def __init__(self, *, vocab_size: int, max_len: int) -> None:
        super().__init__([1] * max_len)
        self.vocab_size, self.max_len = vocab_size, max_len

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Generate a message for each meaning. See `RecurrentSender.forward`."""
        steps = iter(self.predict(meanings).unbind(1))
        while not builder.done:
            logits = CERTAIN_LOGIT * nn.functional.one_hot(next(steps), self.vocab_size + 1)
            builder.step(logits.to(meanings.dtype))
        return builder.message()


class LogitsBuilder:
    """Message builder of fixed length that stores the logits.

    Feedback to the sender is the softmax of the logits or, with `feeds_back_samples`, one-hot symbols:
    straight-through samples by Gumbel `noise` (batch, length, vocab_size + 1), or argmax symbols if `noise` is None.
    """

    def __init__(self, length: int, *, feeds_back_samples: bool = False, noise: Tensor | None = None) -> None:
        self.length, self.feeds_back_samples, self.noise = length, feeds_back_samples, noise
        self.logits: list[Tensor] = []

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return len(self.logits) == self.length

    def step(self, logits: Tensor) -> Tensor:
        """Add logits (batch, vocab_size + 1); returns weights of the same shape as feedback."""
        self.logits.append(logits)
        if not self.feeds_back_samples:
            return logits.softmax(-1)
        if self.noise is None:
            return one_hot(logits.argmax(-1), logits)
        return straight_through(logits, self.noise[:, len(self.logits) - 1])

    def message(self) -> Message:
        """Return the message, as weights (length, batch, vocab_size + 1)."""
        weights = torch.stack(self.logits).softmax(-1)
        length = torch.full_like(weights[0, :, 0], self.length)
        return Message(symbols=weights, ends=None, length=length)


def is_autoregressive(sender: nn.Module) -> bool:
    """Whether a sender gets its previous symbol as input; assumed for classes of users."""
    if isinstance(sender, Decoder):
        return sender.embed is not None
    return not isinstance(sender, FeedForwardSender | HashtableSender)


def make_learner(
    agent: nn.Module, geometry: Geometry, link: SupervisedChannel | None = None, seed: int = 0
) -> SupervisedLearner:
    """Make the learner of an agent: fused if there is one, else generic.

    Args:
        agent: As returned by `make_agent`.
        geometry: Sizes of the language.
        link: The channel of its logits; soft if not given. Learners over other channels have one replica.
        seed: Seed of the channel's noise.
    """
    link = link or SupervisedChannel()
    if isinstance(agent, AttributeClassifier):
        return _ReceiverLearner(agent, geometry, link, seed)
    if isinstance(agent, LookupTable):
        assert link.channel == "soft", "a lookup table has no logits"
        return _LookupTableLearner(agent)
    fused = make_fused_sender(agent) if link.channel == "soft" else None
    return fused or _SenderLearner(agent, geometry, link, seed)


def try_agent(spec: AgentName, role: Role, geometry: Geometry, hidden_size: int) -> None:
    """Make an agent from a user's file, and call it once; see `make_agent`.

    Raises:
        PartError: If its output has the wrong shape.
    """
    agent = make_agent(spec, role, geometry, hidden_size)
    length, width, kind = geometry.message_length, geometry.vocab_size + 1, spec.family
    if isinstance(agent, AttributeClassifier):
        weights = torch.full((length, 2, width), 1 / width)
        message = Message(symbols=weights, ends=None, length=torch.full((2,), float(length)))
        check_states(kind, agent.receiver, message, agent.receiver(message))
    else:
        builder = LogitsBuilder(length)
        meanings = torch.zeros(2, geometry.num_attributes * geometry.num_values)

        def check_step(logits: Tensor) -> Tensor:
            require_shape(kind, "forward", "scores", logits, (2, width), "builder.step to be given")
            return LogitsBuilder.step(builder, logits)

        builder.step = check_step  # type: ignore[method-assign]
        with torch.no_grad():
            check_message(kind, agent, meanings, agent(meanings, builder))


class _ModuleLearner(SupervisedLearner):
    """Base class of learners that call their module with the parameters of replicas instead of its own."""

    purpose: str
    """Purpose of the noise, see `Noise`."""

    def __init__(self, module: nn.Module, geometry: Geometry, link: SupervisedChannel, seed: int) -> None:
        self.module, self.geometry, self.link = module, geometry, link
        self.source = Noise(seed, self.purpose)
        self.updates = 0
        self.has_static_operations = link.channel == "soft" and all(
            type(each).__module__.startswith(OURS) for each in module.modules()
        )

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        assert self.link.channel == "soft" or len(examples.features) == 1, "noise is drawn for one run only"
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


class _SenderLearner(_ModuleLearner):
    """Learner of a sender; the accuracy is the share of correct argmax symbols, without noise."""

    purpose = "sender"

    def replica_loss(
        self, parameters: dict[str, Tensor], features: Tensor, meanings: Tensor, messages: Tensor
    ) -> tuple[Tensor, Tensor]:
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
        builder = LogitsBuilder(
            self.geometry.message_length, feeds_back_samples=feeds_back_samples, noise=noise
        )
        functional_call(self.module, parameters, (features, builder))
        return torch.stack(builder.logits, dim=1)


class _ReceiverLearner(_ModuleLearner):
    """Learner of a receiver; the accuracy is the share of correct argmax attribute values."""

    purpose = "receiver"

    def __init__(
        self, module: AttributeClassifier, geometry: Geometry, link: SupervisedChannel, seed: int
    ) -> None:
        super().__init__(module, geometry, link, seed)
        self.fused_receiver = make_fused_receiver(module.receiver)

    def replica_loss(
        self, parameters: dict[str, Tensor], features: Tensor, meanings: Tensor, messages: Tensor
    ) -> tuple[Tensor, Tensor]:
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
        replica = {name: value.unsqueeze(0) for name, value in parameters.items()}
        encoder = submodule_parameters(replica, "receiver.")
        state = self.fused_receiver.final_state(encoder, symbols.unsqueeze(1))[0]  # (hidden, batch)
        flat = nn.functional.linear(state.t(), parameters["answer.weight"], parameters["answer.bias"])
        return flat.view(-1, self.geometry.num_attributes, self.geometry.num_values)


class _LookupTableLearner(SupervisedLearner):
    """Learner of a lookup table: looks up inputs, then stores their answers. It has no weights and one replica."""

    def __init__(self, table: LookupTable) -> None:
        self.table = table

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """Compute the accuracy, and store the batch unless gradients are disabled; the loss is zero."""
        assert len(examples.meanings) == 1, "a lookup table has one replica"
        meanings, messages = examples.meanings[0].t(), examples.messages[:, 0, 0].t()
        is_sender = isinstance(self.table, HashtableSender)
        inputs, answers = (meanings, messages) if is_sender else (messages, meanings)
        examples.accuracy = torch.tensor([self.table.score(inputs, answers)])
        if torch.is_grad_enabled():
            self.table.add(inputs, answers)
        return torch.zeros(())


def messages_of(
    model: str, weights: Mapping[str, Tensor], geometry: Geometry, hidden_size: int
) -> NDArray[np.int32]:
    """The messages of a trained sender for all meanings, with argmax symbols, (num_meanings, message_length)."""
    sender = make_agent(parse_model("sender", model), "sender", geometry, hidden_size).eval()
    sender.load_state_dict(dict(weights))
    meanings = all_meanings(geometry)
    features = np.zeros((len(meanings), geometry.num_attributes, geometry.num_values), dtype=np.float32)
    np.put_along_axis(features, meanings[..., None], 1.0, axis=2)
    batches = []
    with torch.no_grad(), computing(torch.device("cpu"), seed=0):
        for batch in torch.from_numpy(features).flatten(1).split(MEANINGS_PER_BATCH):
            builder = LogitsBuilder(geometry.message_length)
            sender(batch, builder)
            # EOS is never a target, and messages have a fixed length: choose among content symbols only.
            batches.append(torch.stack(builder.logits)[..., 1:].argmax(-1).t() + 1)
    return torch.cat(batches).numpy().astype(symbol_type(geometry.vocab_size))


def parameter_count(module: nn.Module) -> int:
    """Number of parameters of a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def published_parameters(
    spec: str | AgentName, role: Role, geometry: Geometry = PUBLISHED_GEOMETRY, hidden_size: int = 128
) -> int:
    """Number of parameters as in the paper's tables: our agent's in style icy, plus the unused ones of its program.

    Args:
        spec: Name and options.
        role: sender or receiver; a receiver is counted with its output layer.
        geometry: Sizes of the language.
        hidden_size: Width of states and embeddings, unless the spec has the option `hidden`.
    """
    spec = parse_model(role, spec) if isinstance(spec, str) else spec
    with torch.device("meta"):  # shapes without data
        agent = make_agent(spec, role, geometry, hidden_size)
    features = geometry.num_attributes * geometry.num_values
    width = spec.number("hidden") or hidden_size
    unused = (
        count(features, geometry.num_values, geometry.vocab_size + 1, width)
        for _, family_role, applies, count in NEVER_USED
        if family_role == role and applies(spec)
    )
    return parameter_count(agent) + sum(unused)
