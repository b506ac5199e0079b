"""Speakers and listeners: networks with perceptions of objects, a channel or a task, trained or frozen."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, pad

from ecsuite.agents.autocast import call_receiver, call_sender
from ecsuite.agents.linear import Linear
from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.agents.perception import Perception, make_object_perception
from ecsuite.agents.registry import RECEIVERS, SENDERS
from ecsuite.agents.shared_states import distinct_rows, may_look_at
from ecsuite.games.channels.channels import Channel, Mode, SymbolChannel, all_messages
from ecsuite.games.channels.noise import Noise
from ecsuite.games.config.registry import CHANNELS, REASONINGS, TASKS
from ecsuite.games.config.sections import Role
from ecsuite.games.players.reasoning import Reasoning, message_of, scores_at_end
from ecsuite.games.tasks.losses import Loss
from ecsuite.games.tasks.tasks import Reconstruction, Task
from ecsuite.games.tasks.views import Perturbation, View, score_candidates, shown_objects
from ecsuite.games.worlds.world import Batch, World
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError

MOST_UNDERSTOOD = 2**24
"""Maximum number of values in the states of messages about which a speaker reasons at once."""
MOST_VALUES = 2**16
"""Maximum number of values in the meanings of one pass of a speaker, if batches are smaller."""


class Speaker(nn.Module):
    """Network that sees objects and generates messages about them over its channel.

    Its meaning is the mean of its targets' vectors, concatenated with the mean of the distractors if it sees them
    (Lazaridou et al. 2017 with one target; with several, Mu & Goodman 2021 and Carmeli et al. 2024, section 2.1). In
    training, objects are perturbed and vectors dropped out. A frozen speaker is not trained and
    computes as in evaluation.

    Args:
        part: The section `sender`.
        channel: The section `channel`.
        world: Source of the objects.
        dtype: Precision of products and activations.
        is_frozen: Whether its weights are not trained.
        has_noise: Whether the noise of the channel applies in training, and in evaluation.
        has_own_code: Whether parts of the game are user code.

    Raises:
        ConfigError: If its perception does not fit the world's objects.
    """

    channel: Channel

    def __init__(
        self,
        part: Part,
        channel: Part,
        world: World,
        dtype: torch.dtype,
        *,
        is_frozen: bool,
        has_noise: tuple[bool, bool],
        has_own_code: bool,
    ) -> None:
        super().__init__()
        self.world, self.dtype, self.is_frozen = world, dtype, is_frozen
        self.device = torch.empty(0).device  # a scripted speaker may have no tensors
        self.taught: Part = part.options.taught
        """Language that the speaker learns before it plays."""
        self.perturbation = Perturbation("sender", part.options.perception.options, world.object_shape)
        # Modules are made in this order, so that a seed gives the same weights in every version.
        perception, size = _make_perception("sender", part.options.perception, world)
        self.channel = made = CHANNELS.make(channel)
        self.channel_kind = channel.kind
        num_logits = made.num_logits or made.symbol_size
        num_features = 2 * size if world.rounds.sender_sees_all else size
        kind, names = SENDERS.load(part.kind), dict[str, Any]()
        if kind.knows_names:
            names = {"value_names": world.value_names, "has_eos": made.has_eos}
        if kind.knows_values:
            names["num_values"] = world.num_values
        self.network = SENDERS.make(
            part, num_features=num_features, vocab_size=num_logits - 1, max_len=made.max_len, **names
        )
        self.perception, self.has_padding = perception, perception.is_by_object
        self.has_noise = has_noise
        self.minds: tuple[Listener, ...] = ()
        """The agent's listener, if the speaker reasons about messages; not a submodule."""
        self.loss: Loss | None = None
        """Loss of the speaker's messages; its baselines are specific to the speaker."""
        # A user's sender may depend on the rest of the batch or on random draws: its messages are not deduplicated.
        self.says_alike = isinstance(made, SymbolChannel) and not has_own_code
        self.freeze()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move tensors; see `to`."""
        self.device = fn(torch.empty(0, device=self.device)).device
        return super()._apply(fn, recurse)  # type: ignore[no-any-return, no-untyped-call]

    def trainable_modules(self) -> list[nn.Module]:
        """Network, perception and channel; not the loss."""
        return [self.network, self.perception, self.channel]

    def freeze(self) -> None:
        """Exclude frozen weights from training."""
        for module in self.trainable_modules() if self.is_frozen else ():
            module.requires_grad_(False)

    def train(self, mode: bool = True) -> Self:
        """Set training or evaluation mode; of a frozen speaker, only the channel's noise depends on the mode."""
        super().train(mode)
        self.perturbation.is_active = mode and not self.is_frozen
        if self.is_frozen:
            for module in (self.network, self.perception):
                module.eval()
        return self

    def generate_message(self, batch: Batch, mode: Mode, generator: Noise | None, epoch: int = 0) -> Message:
        """Generate messages about the rounds of a batch; see `Pair.play` for the other arguments."""
        return self.message(self.shown(batch), batch.num_positive, mode, generator, epoch)

    def message(
        self, shown: View, num_positive: int, mode: Mode, generator: Noise | None, epoch: int = 0
    ) -> Message:
        """Generate messages about views; see `SeenRounds` and `Pair.play`."""
        if self.minds:
            return self._reasoned(shown, None if mode == "greedy" else generator)
        meaning = self.meanings(shown, num_positive, generator)
        builder = self.channel.start_message(mode, meaning, generator, epoch)
        return call_sender(self.network, meaning, builder)

    def meanings(self, shown: View, num_positive: int, generator: Noise | None) -> Tensor:
        """Inputs of the sender's network, (batch, num_features), from views."""
        vectors = self.perception(self.perturbation(shown.features, generator))
        return self.perturbation.dropped_out(self._about(shown.of_rounds(vectors), num_positive), generator)

    def _about(self, vectors: Tensor, num_positive: int) -> Tensor:
        """Concatenate means of targets and, if seen, of distractors; vectors: (batch, num_seen, size)."""
        meaning = vectors[:, 0] if num_positive == 1 else vectors[:, :num_positive].mean(1)
        if self.world.rounds.sender_sees_all:
            others = vectors[:, num_positive:]
            meaning = torch.cat([meaning, others[:, 0] if others.shape[1] == 1 else others.mean(1)], dim=1)
        return meaning

    def messages(self, seen: Sequence[tuple[View, int]]) -> list[Message]:
        """Generate greedy messages about several batches in evaluation mode, once per distinct meaning.

        Messages equal the messages of separate batches, except if two symbols are equally likely up to rounding.
        Real-valued words, which rounding would change, and messages of user code are generated batch by batch.

        Args:
            seen: View and number of targets of each batch.
        """
        if len(seen) < 2 or self.minds or not self.says_alike or not may_look_at(seen[0][0].features):
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

    @torch.no_grad()
    def _reasoned(self, shown: View, generator: Noise | None) -> Message:
        """Choose messages by reasoning with the agent's listener; see `Reasoning.choose`."""
        (listener,) = self.minds
        every = all_messages(self.channel).to(self.device)
        was_training = listener.training
        listener.eval()
        try:
            states, _ = call_receiver(listener.network, message_of(self.channel, every), listener.dtype)
            num_rounds = (
                len(shown.features) // shown.num_seen if shown.indices is None else len(shown.indices)
            )
            size = max(1, MOST_UNDERSTOOD // (num_rounds * states.shape[-1]))
            understood = torch.cat(
                [listener.understood(each, shown, num_rounds) for each in states[0].split(size)]
            )
        finally:
            listener.train(was_training)
        chosen = listener.reasoning.choose(understood, (every > EOS).sum(1), generator)
        return message_of(self.channel, every[chosen])

    def _most_likely(self, meanings: Tensor) -> Tensor:
        """Greedy symbols for meanings, (batch, max_len + 1), with PAD after the end."""
        said = call_sender(
            self.network, meanings, self.channel.start_message("greedy", meanings, None)
        ).symbols
        return pad(said.t(), (0, self.channel.max_len + 1 - len(said)), value=PAD)

    def _as_message(self, symbols: Tensor) -> Message:
        """Convert greedy symbols to a message with the number of steps that a message builder makes."""
        length = (symbols != PAD).sum(1)
        num_steps = self.channel.max_len
        if self.channel.has_eos:
            num_steps = min(int(length.max()), num_steps) + 1
        return Message(symbols=symbols[:, :num_steps].t().contiguous(), ends=None, length=length.float())

    def messages_of_each(self, candidates: View) -> Message:
        """Generate a greedy message about each candidate of a round, as if it were the target.

        Returns:
            Ids, (num_steps, num_candidates * batch): candidate i of round j is column i * batch + j.
        """
        meanings = candidates.of_rounds(self.perception(candidates.features))  # (batch, num_candidates, size)
        if self.world.rounds.sender_sees_all:
            others = (meanings.sum(1, keepdim=True) - meanings) / (meanings.shape[1] - 1)
            meanings = torch.cat([meanings, others], dim=-1)
        meanings = meanings.transpose(0, 1).flatten(0, 1)
        return call_sender(self.network, meanings, self.channel.start_message("greedy", meanings, None))

    def shown(self, batch: Batch) -> View:
        """Get the speaker's view of a batch."""
        return shown_objects(batch, self.world, self.dtype, self.device, has_padding=self.has_padding)


class Listener(nn.Module):
    """Network that reads a message and answers; it sees the candidates, if the task has any.

    A candidate's score is the dot product of its vector and the network's state, projected to the same width. For
    training mode and frozen weights see `Speaker`.

    Args:
        part: The section `receiver`.
        task: The section `task`.
        reasoning: The section `reasoning`.
        world: Source of the objects.
        dtype: Precision of products and activations.
        vocab_size: Number of symbols of the channel without EOS.
        max_len: Maximum number of symbols per message without EOS.
        is_frozen: Whether its weights are not trained.

    Raises:
        ConfigError: If its perception does not fit the world's objects, or the task does not fit the world.
    """

    task: Task

    def __init__(
        self,
        part: Part,
        task: Part,
        reasoning: Part,
        world: World,
        dtype: torch.dtype,
        *,
        vocab_size: int,
        max_len: int,
        is_frozen: bool,
    ) -> None:
        super().__init__()
        self.world, self.dtype, self.is_frozen = world, dtype, is_frozen
        self.device = torch.empty(0).device
        self.taught: Part = part.options.taught
        """Language that the listener learns before it plays."""
        self.perturbation = Perturbation("receiver", part.options.perception.options, world.object_shape)
        names = {"value_names": world.value_names} if RECEIVERS.load(part.kind).knows_names else {}
        self.network = RECEIVERS.make(part, vocab_size=vocab_size, max_len=max_len, **names)
        self.perception: Perception | None = None
        self.has_padding = True
        self.projection: Linear | None = None
        width = self.network.state_size
        if TASKS.load(task.kind).scores_candidates:
            perception, size = _make_perception("receiver", part.options.perception, world, width)
            self.perception, self.has_padding = perception, perception.is_by_object
            if not self.network.needs_projection and size != width:
                raise ConfigError(f"receiver: it scores {width} features, but the objects have {size}")
            if not perception.fits_states and self.network.needs_projection:
                self.projection = Linear(width, size, bias=False)
        self.task, self.task_kind = TASKS.make(task, world=world, state_size=width), task.kind
        if self.network.states_are_values and isinstance(self.task, Reconstruction):
            self.task.read_off()
        self.reasoning: Reasoning = REASONINGS.make(reasoning)
        self.freeze()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move tensors; see `to`."""
        self.device = fn(torch.empty(0, device=self.device)).device
        return super()._apply(fn, recurse)  # type: ignore[no-any-return, no-untyped-call]

    def trainable_modules(self) -> list[nn.Module]:
        """Network, perception, projection and task."""
        modules = (self.network, self.perception, self.projection, self.task)
        return [module for module in modules if isinstance(module, nn.Module)]

    def freeze(self) -> None:
        """Exclude frozen weights from training."""
        for module in self.trainable_modules() if self.is_frozen else ():
            module.requires_grad_(False)

    def train(self, mode: bool = True) -> Self:
        """Set training or evaluation mode; a frozen listener stays in evaluation mode."""
        super().train(mode)
        self.perturbation.is_active = mode and not self.is_frozen
        for module in self.trainable_modules() if self.is_frozen else ():
            module.eval()
        return self

    def response(
        self,
        message: Message,
        candidates: View | None,
        generator: Noise | None,
        others: Message | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Compute the input of the task from messages, and the probability of each end, (num_ends, batch).

        Args:
            message: Messages of the rounds.
            candidates: The listener's view of them; None: the task has no candidates.
            generator: Source of random draws in training.
            others: Alternative messages, ids, (num_steps, num_others * batch), if the listener reasons about them.

        Returns:
            Scores of the candidates, (num_ends, batch, num_candidates), or without candidates the network's states,
            (num_ends, batch, state_size), joined with its view of the target.
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
            self.reasoning.scores(scores_at_end(end, literal, message, others)) for end in range(len(states))
        ]
        return torch.stack(answers), ends

    def understood(self, states: Tensor, shown: View, num_rounds: int) -> Tensor:
        """Log-probability of the correct answer to rounds that the agent itself sees, (num_messages, num_rounds).

        Args:
            states: State after each message, (num_messages, state_size).
            shown: Rounds: the target, and distractors after it where the task has candidates.
            num_rounds: Number of rounds.
        """
        answer = states[:, None]
        if self.task.scores_candidates:
            return self.scores(answer.expand(-1, num_rounds, -1), shown, None).log_softmax(-1)[..., 0]
        assert isinstance(self.task, Reconstruction) and self.world.num_values is not None
        features = shown.of_rounds(shown.features)[:, 0]
        values = features.unflatten(1, (len(self.world.num_values), -1)).argmax(-1)
        if (seen := self.task.seen_values(values)) is not None:
            parts = answer.expand(-1, num_rounds, -1), seen.to(answer.dtype).expand(len(answer), -1, -1)
            answer = torch.cat(parts, -1)
        logits = self.task.logits(answer).log_softmax(
            -1
        )  # (num_messages, 1 or num_rounds, num_attributes, most)
        asked = self.task.asked_values(values).expand(len(answer), -1, -1)[..., None]
        return logits.expand(-1, num_rounds, -1, -1).gather(-1, asked).sum((-2, -1))

    def scores(self, states: Tensor, candidates: View, generator: Noise | None) -> Tensor:
        """Scores of the candidates, (num_ends, batch, num_candidates), for states (num_ends, batch, state_size)."""
        assert self.perception is not None
        seen = self.perturbation(candidates.features, generator)
        vectors = self.perturbation.dropped_out(self.perception(seen), generator)
        queries = states if self.projection is None else self.projection(states)
        if self.task.scores_are_cosines:
            queries, vectors = normalize(queries.float(), dim=-1), normalize(vectors.float(), dim=-1)
        scores = score_candidates(queries, vectors, candidates).float()
        if candidates.present is not None:
            scores = scores.masked_fill(~candidates.present, -torch.inf)
        return scores


def _make_perception(role: Role, part: Any, world: World, width: int | None = None) -> tuple[Perception, int]:
    """Make a perception; returns it with the width of its vectors, see `make_object_perception`."""
    try:
        return make_object_perception(part, world.object_shape, width)
    except ConfigError as error:
        raise ConfigError(f"{role}.{error}") from None
