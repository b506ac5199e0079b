"""An agent: it speaks, listens, or does both. What it is, is a state of it: newly begun, loaded from a run, frozen."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, pad

from ecsuite.agents.autocast import call_receiver, call_sender
from ecsuite.agents.linear import Linear
from ecsuite.agents.message import PAD, Message
from ecsuite.agents.perception import Perception, make_object_perception
from ecsuite.agents.registry import RECEIVERS, SENDERS
from ecsuite.agents.shared_states import distinct_rows, may_look_at
from ecsuite.games.channels.channels import Channel, Mode, SymbolChannel
from ecsuite.games.channels.noise import Noise, uniform
from ecsuite.games.config.registry import CHANNELS, REASONINGS, TASKS
from ecsuite.games.config.sections import Experiment, Role
from ecsuite.games.players.reasoning import Reasoning, heard_at
from ecsuite.games.tasks.losses import Loss
from ecsuite.games.tasks.tasks import Task
from ecsuite.games.tasks.views import Perturbation, View, score_candidates, shown_objects
from ecsuite.games.worlds.world import Batch, World
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError

MOST_VALUES = 2**16
"""Of the meanings that are said at once, where batches are smaller."""


class Side(nn.Module, ABC):
    """What an agent speaks with, or what it listens with: a perception of objects, and more.

    In training objects are perturbed, and vectors dropped out, unless it is frozen: then its weights stay as they are,
    and it computes as in evaluation.

    Args:
        role: What it is for.
        experiment: Has the options.
        world: Has the objects.
        dtype: Precision of products and activations.
    """

    def __init__(self, role: Role, experiment: Experiment, world: World, dtype: torch.dtype) -> None:
        super().__init__()
        self.role, self.world, self.dtype = role, world, dtype
        self.device = torch.empty(0).device  # a scripted one has no tensors that say so
        self.taught: Part = getattr(experiment, role).options.taught
        """The language that it learns before it plays."""
        options = getattr(experiment, role).options.perception.options
        self.perturbation = Perturbation(role, options, world.object_shape)
        self.dropout = options.dropout
        self.is_frozen = experiment.training.is_frozen(role)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move tensors, as `to` does."""
        self.device = fn(torch.empty(0, device=self.device)).device
        return super()._apply(fn, recurse)  # type: ignore[no-any-return, no-untyped-call]

    @abstractmethod
    def learnt(self) -> list[nn.Module]:
        """The modules whose weights it learns, and which stay as they are where it is frozen."""

    def freeze(self) -> None:
        """Keep the weights as they are, where the experiment asks for it."""
        for module in self.learnt() if self.is_frozen else ():
            module.requires_grad_(False)

    def perturbed(self, objects: Tensor, generator: Noise | None) -> Tensor:
        """Objects as it sees them: in training perturbed."""
        if not self.perturbation.is_on or not self.training or self.is_frozen:
            return objects
        return self.perturbation(objects, generator)

    def dropped_out(self, vectors: Tensor, generator: Noise | None) -> Tensor:
        """Inverted dropout, in training only; by the generator of the step, so a resumed run drops the same values."""
        if self.dropout == 0 or not self.training or self.is_frozen:
            return vectors
        kept = uniform(vectors.shape, generator, vectors.device) >= self.dropout
        scaled: Tensor = vectors * (kept / (1 - self.dropout)).to(vectors.dtype)
        return scaled

    def make_perception(self, part: Any, width: int | None = None) -> tuple[Perception, int]:
        """A perception, and the width of its vectors; see `make_object_perception`."""
        try:
            return make_object_perception(part, self.world.object_shape, width)
        except ConfigError as error:
            raise ConfigError(f"{self.role}.{error}") from None


class Speaker(Side):
    """Sees objects and says something of them over a channel of its own.

    Its meaning is the mean of its targets' vectors, concatenated with the mean of the distractors where it sees them
    (Lazaridou et al. 2017 with one target; with several, Mu & Goodman 2021 and Carmeli et al. 2024, section 2.1).

    Raises:
        ConfigError: If its perception does not fit the world's objects.
    """

    channel: Channel

    def __init__(self, experiment: Experiment, world: World, dtype: torch.dtype) -> None:
        super().__init__("sender", experiment, world, dtype)
        # Modules are made in this order, so that a seed gives the same weights in every version.
        perception, size = self.make_perception(experiment.sender.options.perception)
        self.channel = channel = CHANNELS.make(experiment.channel)
        num_logits = channel.num_logits or channel.symbol_size
        num_features = 2 * size if world.rounds.sender_sees_all else size
        self.network = SENDERS.make(
            experiment.sender, num_features=num_features, vocab_size=num_logits - 1, max_len=channel.max_len
        )
        self.perception = perception
        self.has_noise = experiment.training.noise, experiment.evaluation.noise
        """Whether its messages meet the noise of the channel in training, and in evaluation."""
        self.loss: Loss | None = None
        """The loss of its messages: baselines of one speaker are nothing to another."""
        # Own code may say of a meaning what depends on others, or on what is drawn.
        self.says_alike = isinstance(channel, SymbolChannel) and not experiment.code
        self.freeze()

    def learnt(self) -> list[nn.Module]:
        """Network, perception and channel; not the loss."""
        return [self.network, self.perception, self.channel]

    def train(self, mode: bool = True) -> Self:
        """Set training or evaluation mode; where it is frozen, only the channel's noise belongs to training."""
        super().train(mode)
        if self.is_frozen:
            for module in (self.network, self.perception):
                module.eval()
        return self

    def generate_message(self, batch: Batch, mode: Mode, generator: Noise | None, epoch: int = 0) -> Message:
        """What it says of the rounds of a batch; see `Pair.play` for the other arguments."""
        return self.message(self.shown(batch), batch.num_positive, mode, generator, epoch)

    def message(
        self, shown: View, num_positive: int, mode: Mode, generator: Noise | None, epoch: int = 0
    ) -> Message:
        """What it says of what it sees; see `SeenRounds` and `Pair.play`."""
        meaning = self.meanings(shown, num_positive, generator)
        builder = self.channel.start_message(mode, meaning, generator, epoch)
        return call_sender(self.network, meaning, builder)

    def meanings(self, shown: View, num_positive: int, generator: Noise | None) -> Tensor:
        """What it speaks about, (batch, num_features)."""
        vectors = self.perception(self.perturbed(shown.features, generator))
        return self.dropped_out(self._about(shown.of_rounds(vectors), num_positive), generator)

    def _about(self, vectors: Tensor, num_positive: int) -> Tensor:
        """What it speaks about in rounds, (batch, num_features), of vectors (batch, num_seen, size)."""
        meaning = _mean(vectors[:, :num_positive])
        if self.world.rounds.sender_sees_all:
            meaning = torch.cat([meaning, _mean(vectors[:, num_positive:])], dim=1)
        return meaning

    def messages(self, seen: Sequence[tuple[View, int]]) -> list[Message]:
        """The most likely messages about the rounds of several batches, in evaluation mode: each meaning is said once.

        Messages are those of each batch alone, but where two symbols are equally likely up to rounding. Words of
        values are said batch by batch, as rounding would change them, and so is what own code says.

        Args:
            seen: Of each batch what it sees, and the number of targets in it.
        """
        if len(seen) < 2 or not self.says_alike or not may_look_at(seen[0][0].features):
            return [self.message(shown, num_positive, "greedy", None) for shown, num_positive in seen]
        objects = [shown.features for shown, _ in seen]
        vectors = self.perception(torch.cat(objects)).split([len(each) for each in objects])
        meanings = [
            self._about(shown.of_rounds(each), num_positive)
            for (shown, num_positive), each in zip(seen, vectors, strict=True)
        ]
        every = torch.cat(meanings)
        firsts, places = distinct_rows(every)
        size = max(*map(len, meanings), MOST_VALUES // every.shape[1])
        said = torch.cat([self._most_likely(rows) for rows in every[firsts].split(size)])
        return [self._as_message(said[each]) for each in places.split([len(each) for each in meanings])]

    def _most_likely(self, meanings: Tensor) -> Tensor:
        """The most likely symbols about meanings, (batch, max_len + 1), with PAD after the end."""
        said = call_sender(
            self.network, meanings, self.channel.start_message("greedy", meanings, None)
        ).symbols
        return pad(said.t(), (0, self.channel.max_len + 1 - len(said)), value=PAD)

    def _as_message(self, symbols: Tensor) -> Message:
        """Such symbols as a message, of as many steps as a message builder makes."""
        length = (symbols != PAD).sum(1)
        num_steps = self.channel.max_len
        if self.channel.has_eos:
            num_steps = min(int(length.max()), num_steps) + 1
        return Message(symbols=symbols[:, :num_steps].t().contiguous(), ends=None, length=length.float())

    def messages_of_each(self, candidates: View) -> Message:
        """The most likely message about each candidate of a round, if it were the target.

        Returns:
            Ids, (num_steps, num_candidates * batch): those about the candidates of a round are `batch` apart.
        """
        meanings = candidates.of_rounds(self.perception(candidates.features))  # (batch, num_candidates, size)
        if self.world.rounds.sender_sees_all:
            others = (meanings.sum(1, keepdim=True) - meanings) / (meanings.shape[1] - 1)
            meanings = torch.cat([meanings, others], dim=-1)
        meanings = meanings.transpose(0, 1).flatten(0, 1)
        return call_sender(self.network, meanings, self.channel.start_message("greedy", meanings, None))

    def shown(self, batch: Batch) -> View:
        """What it sees of a batch."""
        return shown_objects(batch, self.world, self.dtype, self.device)


class Listener(Side):
    """Reads a message and answers; where candidates are to be chosen from, it sees them.

    A candidate's score is the dot product of its vector and the network's state, projected to the same width.

    Raises:
        ConfigError: If its perception does not fit the world's objects, or the task does not fit the world.
    """

    task: Task

    def __init__(
        self, experiment: Experiment, world: World, dtype: torch.dtype, *, vocab_size: int, max_len: int
    ) -> None:
        super().__init__("receiver", experiment, world, dtype)
        self.network = RECEIVERS.make(experiment.receiver, vocab_size=vocab_size, max_len=max_len)
        self.perception: Perception | None = None
        self.projection: Linear | None = None
        width = self.network.state_size
        if TASKS.load(experiment.task.kind).scores_candidates:
            perception, size = self.make_perception(experiment.receiver.options.perception, width)
            self.perception = perception
            if not self.network.needs_projection and size != width:
                raise ConfigError(f"receiver: it scores {width} features, and the objects have {size}")
            if not perception.fits_states and self.network.needs_projection:
                self.projection = Linear(width, size, bias=False)
        self.task = TASKS.make(experiment.task, world=world, state_size=width)
        self.reasoning: Reasoning = REASONINGS.make(experiment.reasoning)
        self.freeze()

    def learnt(self) -> list[nn.Module]:
        """Network, perception, projection and task."""
        modules = (self.network, self.perception, self.projection, self.task)
        return [module for module in modules if isinstance(module, nn.Module)]

    def train(self, mode: bool = True) -> Self:
        """Set training or evaluation mode; a frozen one stays in evaluation mode."""
        super().train(mode)
        for module in self.learnt() if self.is_frozen else ():
            module.eval()
        return self

    def response(
        self,
        message: Message,
        candidates: View | None,
        generator: Noise | None,
        others: Message | None = None,
    ) -> tuple[Tensor, Tensor]:
        """What the task gets of messages, and the probability of each end, (num_ends, batch).

        Args:
            message: What was said.
            candidates: What it sees.
            generator: Source of what is drawn in training.
            others: What else might have been said, ids, (num_steps, num_others * batch), if it reasons about that.

        Returns:
            Scores of the candidates, (num_ends, batch, num_candidates), or without candidates the network's states,
            (num_ends, batch, state_size), with what it sees of the target beside them.
        """
        states, ends = call_receiver(self.network, message, self.dtype)
        if candidates is None:
            return states, ends
        if not self.task.scores_candidates:
            seen = candidates.features.to(states.dtype).expand(len(states), -1, -1)
            return torch.cat([states, seen], -1), ends
        if others is None:
            return self.scores(states, candidates, generator), ends
        heard, _ = call_receiver(self.network, others, self.dtype)
        literal = self.scores(
            torch.cat([states, heard[0].unflatten(0, (-1, states.shape[1]))]), candidates, generator
        )
        answers = [
            self.reasoning.scores(heard_at(end, literal, message, others)) for end in range(len(states))
        ]
        return torch.stack(answers), ends

    def scores(self, states: Tensor, candidates: View, generator: Noise | None) -> Tensor:
        """Scores of the candidates, (num_ends, batch, num_candidates), for states (num_ends, batch, state_size)."""
        assert self.perception is not None
        seen = self.perturbed(candidates.features, generator)
        vectors = self.dropped_out(self.perception(seen), generator)
        queries = states if self.projection is None else self.projection(states)
        if self.task.scores_are_cosines:
            queries, vectors = normalize(queries.float(), dim=-1), normalize(vectors.float(), dim=-1)
        scores = score_candidates(queries, vectors, candidates).float()
        if candidates.present is not None:
            scores = scores.masked_fill(~candidates.present, -torch.inf)
        return scores


SHARED = {"perception": "perception", "symbols": "embedding of symbols"}
"""What an agent may use both for speaking and listening."""


class Agent(nn.Module):
    """An agent that speaks, listens, or does both.

    Args:
        speaker: What it speaks with.
        listener: What it listens with.
        shares: What it uses for both, of perception and symbols: how it sees, and the embedding of symbols.

    Raises:
        ConfigError: If it can't share that.
    """

    def __init__(
        self, speaker: Speaker | None, listener: Listener | None, *, shares: Collection[str] = ()
    ) -> None:
        super().__init__()
        self.speaker, self.listener = speaker, listener
        for what in shares:
            assert speaker is not None and listener is not None
            if speaker.is_frozen or listener.is_frozen:
                role = speaker.role if speaker.is_frozen else listener.role
                raise ConfigError(
                    f"society.shares: a {SHARED[what]} for both learns in both: expected "
                    f"training.freeze_{role}=false"
                )
            if what == "symbols":
                own, other = (getattr(side.network, "embed", None) for side in (speaker, listener))
                _require_alike(own, other, "embeddings of symbols")
                listener.network.embed = own
            else:
                _require_alike(speaker.perception, listener.perception, "perceptions")
                listener.perception = speaker.perception

    def side(self, role: Role) -> Speaker | Listener:
        """What it speaks with, or listens with."""
        side: Speaker | Listener | None = self.speaker if role == "sender" else self.listener
        assert side is not None
        return side

    def weights(self, role: Role) -> Iterator[nn.Parameter]:
        """The weights that it learns in a role."""
        return self.side(role).parameters()


def _mean(vectors: Tensor) -> Tensor:
    """Mean over the objects of each round, (batch, size), of vectors (batch, number, size)."""
    return vectors[:, 0] if vectors.shape[1] == 1 else vectors.mean(1)


def _require_alike(own: Any, other: Any, what: str) -> None:
    """Refuse modules of sender and receiver that can't be one."""
    modules = isinstance(own, nn.Module) and isinstance(other, nn.Module)
    if not modules or _shapes(own) != _shapes(other):
        raise ConfigError(
            f"society.shares: expected {what} of sender and receiver with weights of the same shapes"
        )


def _shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
