"""Episodes: rollouts of agents in an environment, and their records."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.channels.channels import Channel, Mode
from ecsuite.games.environments.environment import Environment, Floats, Integers, Moment
from ecsuite.games.environments.fitting import require_fitting, stepped
from ecsuite.runtime.operations import Arrays
from ecsuite.runtime.recording import external_call, guard


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """Outputs of an agent's network at a step."""

    scores: Tensor
    """Scores of the actions, (batch, num_actions)."""
    logits: Tensor
    """Logits of the message, (batch, max_len * number of logits of a symbol)."""


class Policy(Protocol):
    """Agents in a batch of episodes, with their memory of earlier steps."""

    def __call__(self, agent: int, seen: Tensor, heard: Tensor, *, keeps: bool = True) -> Decision:
        """Decide from an observation, (batch, num_features), and messages, (batch, num_heard, message width).

        With `keeps` false, the agent's memory is not updated.
        """


class Policies(Protocol):
    """The agents of an environment."""

    def begin(self, batch: int) -> Policy:
        """Begin a batch of episodes, with empty memories."""


Choose = Callable[[Tensor], Tensor]
"""Function that chooses actions, (batch,), from scores, (batch, num_actions)."""
Deliver = Callable[[int, Tensor, Tensor], tuple[Tensor, Tensor]]
"""Intervention on the messages of a step, (batch, num_agents, message width), and on the next `Moment.heard`."""
Watch = Callable[[int, int, Policy, Tensor, Tensor], None]
"""Callback before each decision: step, agent index, policy, observation, and messages heard; see `Policy`."""


Array = TypeVar("Array", Tensor, NDArray[Any])


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodesOf(Generic[Array]):
    """Record of a batch of episodes; the first dimension is the step, up to the end of the longest episode.

    Values of the environment are arrays, or CPU tensors. If neither action nor message of an agent counts in any
    episode, learners without `needs_all` get zeros as its scores and logits, and the first symbol as its words.
    """

    seen: Sequence[Tensor]
    """Observations of each agent, (steps, batch, num_features) each."""
    heard: Sequence[Tensor]
    """Messages heard by each agent, (steps, batch, num_heard, message width) each."""
    heard_from: Array
    """Indices of the agents that each agent heard, (steps, batch, num_agents, maximum num_heard); -1: none."""
    said: Tensor
    """Messages as they arrive, (steps, batch, num_agents, message width), detached."""
    words: Tensor
    """Messages as sent: symbol ids, (steps, batch, num_agents, max_len), or max_len + 1 with EOS and PAD if messages
    may end early; or real-valued words with their width."""
    messages: Sequence[Sequence[Message | None]]
    """Message objects by step and agent; None: the agent never speaks."""
    scores: Sequence[Tensor]
    """Scores of each agent's actions, (steps, batch, num_actions) each."""
    logits: Sequence[Tensor]
    """Logits of each agent's messages, (steps, batch, max_len * number of logits of a symbol) each."""
    actions: Array
    """Chosen actions, (steps, batch, num_agents)."""
    rewards: Array
    """Rewards, (steps, batch, num_agents); 0 after the end."""
    counts: Array
    """Mask of active agents in unfinished episodes, (steps, batch, num_agents)."""
    speaking: Array
    """Mask of messages that count, (steps, batch, num_agents)."""
    acting: Array
    """Mask of actions that count, (steps, batch, num_agents)."""
    right: Array | None
    """Correct actions, (steps, batch, num_agents), -1 if undefined; None: the environment does not provide them."""
    alive: Array
    """Mask of episodes unfinished before the step, (steps, batch)."""
    meanings: Array
    """Meanings of the messages, (steps, batch, num_agents, num_attributes)."""

    @property
    def num_symbols(self) -> Tensor:
        """Number of symbols of each message that counts, without EOS, else 0, (steps, batch, num_agents)."""
        is_said = (self.words != EOS) & (self.words != PAD)
        return is_said.sum(3).cpu() * torch.as_tensor(self.speaking)

    @property
    def returns(self) -> Floats:
        """Undiscounted return of each episode, averaged over agents, (batch,)."""
        returns: Floats = np.asarray(self.rewards).sum(0).mean(1)
        return returns


TensorEpisodes = EpisodesOf[Tensor]
"""Episodes with the environment's values in CPU tensors, for learners."""
Episodes = EpisodesOf[NDArray[Any]]
"""Episodes with the environment's values in arrays, for evaluations."""


def as_arrays(episodes: TensorEpisodes) -> Episodes:
    """Convert the environment's values to arrays."""
    return EpisodesOf(
        seen=episodes.seen,
        heard=episodes.heard,
        heard_from=episodes.heard_from.numpy(),
        said=episodes.said,
        words=episodes.words,
        messages=episodes.messages,
        scores=episodes.scores,
        logits=episodes.logits,
        actions=episodes.actions.numpy(),
        rewards=episodes.rewards.numpy(),
        counts=episodes.counts.numpy(),
        speaking=episodes.speaking.numpy(),
        acting=episodes.acting.numpy(),
        right=None if episodes.right is None else episodes.right.numpy(),
        alive=episodes.alive.numpy(),
        meanings=episodes.meanings.numpy(),
    )


MIXED = -2
"""Mark in `Outlook.heard`: the agent heard differs between episodes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outlook:
    """Properties of a step that hold for a whole batch of episodes."""

    is_over: bool
    """Whether all episodes are finished."""
    acts: tuple[bool, ...]
    """Whether each agent's action counts in any episode, or a correct action is given."""
    counts: tuple[bool, ...]
    """Whether each agent's action or message counts in any episode."""
    heard: tuple[tuple[int, ...], ...]
    """Indices of the agents that each agent hears; see `Moment.heard` and `MIXED`."""


class _World:
    """Running episodes of an environment, called through `external_call`.

    Args:
        environment: The world.
        seed: Seed of the environment.
        has_all: See `play_episodes`.
    """

    def __init__(self, environment: Environment, seed: int, has_all: bool) -> None:
        self.environment, self.seed, self.has_all = environment, seed, has_all

    def begin(self, episodes: Integers) -> Arrays:
        """Begin episodes with these numbers, (batch,); returns the same values as `step`."""
        self.moment, self.steps = self.environment.reset(self.seed, episodes), list[Arrays]()
        require_fitting(self.environment, self.moment, len(episodes), "reset")
        return self._now()

    def step(self, actions: Integers) -> Arrays:
        """Make a step; returns `Moment.heard`, the mask of actions that count, and the observations."""
        moment, alive, acting, speaking = self.moment, ~self.moment.done, self.acting, self.speaking
        self.moment, rewards = stepped(self.environment, moment, actions)
        counts = (alive[:, None] & each for each in (moment.active, speaking, acting))
        right = () if moment.right is None else (moment.right,)
        self.steps.append((rewards * alive[:, None], alive, moment.meanings, *counts, *right))
        return self._now()

    def outlook(self) -> "Outlook":
        """Properties of the coming step; the most general ones if `has_all`."""
        heard, alive, number = self.moment.heard, ~self.moment.done, len(self.environment.agents)
        if self.has_all:
            every = (True,) * number
            return Outlook(is_over=not alive.any(), acts=every, counts=every, heard=((MIXED,),) * number)
        right = self.moment.right
        acting = self.acting if right is None else self.acting | (right >= 0)
        acts, speaks = (np.any(each[alive], axis=0) for each in (acting, self.speaking))
        whom = np.where((heard == heard[0]).all(0), heard[0], MIXED)  # (num_agents, most of num_heard)
        return Outlook(
            is_over=not alive.any(),
            acts=tuple(acts.tolist()),
            counts=tuple((acts | speaks).tolist()),
            heard=tuple(map(tuple, whom.tolist())),
        )

    def told(self) -> Arrays:
        """Stack the values of all steps: rewards, alive, meanings, counts, speaking, acting and, if given, right."""
        return [np.stack(each) for each in zip(*self.steps, strict=True)]

    def _now(self) -> Arrays:
        self.acting = _active_mask(self.moment, self.moment.acting)
        self.speaking = _active_mask(self.moment, self.moment.speaking)
        seen = (each.astype(np.float32) for each in self.moment.observations)
        return (self.moment.heard, self.acting, *seen)


def play_episodes(
    environment: Environment,
    agents: Policies,
    channel: Channel,
    seed: int,
    episodes: Tensor,
    *,
    mode: Mode,
    choose: Choose,
    generator: torch.Generator | None,
    device: torch.device,
    epoch: int = 0,
    is_noisy: bool = False,
    deliver: Deliver | None = None,
    watch: Watch | None = None,
    has_all: bool = True,
) -> TensorEpisodes:
    """Play episodes from their beginning to the end of the last one.

    Args:
        environment: The environment.
        agents: Policies of the agents.
        channel: Turns logits into messages.
        seed: Seed of the environment.
        episodes: Episode numbers, (batch,).
        mode: Mode in which messages are chosen.
        choose: Chooses the actions.
        generator: Random numbers for sampled messages and noise.
        device: Device of the agents.
        epoch: Passes over the training episodes so far, for the channel.
        is_noisy: Whether the channel's noise is applied to messages.
        deliver: Intervention on messages; None: none.
        watch: Callback before each decision.
        has_all: Whether scores, logits and words are needed at steps where neither action nor message of an agent
            counts in any episode.

    Raises:
        ConfigError: If the values of the environment do not match its description.
    """
    batch, specs = len(episodes), environment.agents
    num_words = channel.max_len * channel.symbol_size
    world = _World(environment, seed, has_all)
    now, outlook = external_call(world.begin, episodes), guard(world.outlook)
    decide = agents.begin(batch)
    said = torch.zeros(batch, len(specs), num_words, device=device)
    rows, sent, steps = torch.arange(batch, device=device)[:, None], list[Tensor](), []
    for step in range(environment.max_steps):
        heard_from, acting, *observations = (each.to(device) for each in now)
        own, own_from = said, heard_from
        if deliver is not None and step > 0:
            said, heard_from = deliver(step - 1, said, heard_from)
        if step == 0:
            heard_from = torch.full_like(heard_from, -1)  # there is no earlier message
        arriving = torch.cat([torch.zeros_like(said[:, :1]), said], 1)
        before, seen, heard, decisions, messages, sent, actions = sent, [], [], [], [], [], []
        for number, spec in enumerate(specs):
            seen.append(observations[number])
            whom = outlook.heard[number][: spec.num_heard]
            if before and whom and MIXED not in whom and deliver is None and not said.requires_grad:
                parts = [torch.zeros_like(before[0]) if each < 0 else before[each] for each in whom]
                arrived = torch.stack(parts, 1)
            else:
                arrived = arriving[rows, heard_from[:, number, : spec.num_heard] + 1]
            if deliver is not None and step > 0:
                is_own = (own_from[:, number, : spec.num_heard] == number)[..., None]  # not by `deliver`
                arrived = own[:, number, None].where(is_own, arrived)
            heard.append(arrived)
            if watch is not None:
                watch(step, number, decide, seen[-1], heard[-1])
            decision = decide(number, seen[-1], heard[-1])
            decisions.append(decision)
            chosen = torch.zeros_like(rows[:, 0])
            if spec.num_actions > 1:
                drawn = choose(decision.scores)
                chosen = drawn.where(acting[:, number], 0) if outlook.acts[number] else chosen
            actions.append(chosen)
            message = None
            if spec.speaks:
                message = _message(channel, decision.logits, mode, generator, epoch, spec.num_symbols)
            messages.append(message)
            sent.append(_received_message(channel, message, generator, is_noisy, said[:, 0]))
        said = torch.stack(sent, 1)
        numbers = torch.stack(actions, 1)
        steps.append((seen, heard, heard_from, said.detach(), messages, decisions, numbers, outlook.counts))
        now, outlook = external_call(world.step, numbers), guard(world.outlook)
        if outlook.is_over:
            break
    return _stack_steps(steps, external_call(world.told), len(specs))


class _Mask(torch.autograd.Function):
    """Replace values that do not count by zeros, and stop the backward pass there."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        return torch.zeros_like(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> None:
        return None


def _masked(decision: Decision) -> Decision:
    """Replace the tensors of a decision that does not count; see `_Mask`."""
    apply: Callable[[Tensor], Tensor] = _Mask.apply
    return Decision(scores=apply(decision.scores), logits=apply(decision.logits))


def _active_mask(moment: Moment, which: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Restrict a mask to active agents, (batch, num_agents); None: all active agents."""
    return moment.active if which is None else moment.active & which


def _stack_steps(steps: Sequence[tuple], told: Sequence[Tensor], number: int) -> TensorEpisodes:  # type: ignore[type-arg]
    """Stack the steps of episodes, and add the environment's values."""
    seen, heard, heard_from, said, messages, decisions, actions, needed = zip(*steps, strict=True)
    rewards, alive, meanings, counts, speaking, acting, *right = told
    like = next(message.symbols for message in messages[0] if message is not None)
    silent, first = torch.zeros_like(like), torch.ones_like(like)  # the first symbol, which all agents have
    words = [
        torch.stack(
            [
                silent if message is None else message.symbols if is_needed else first
                for message, is_needed in zip(of_step, flags, strict=True)
            ]
        ).detach()
        for of_step, flags in zip(messages, needed, strict=True)
    ]
    made = [
        [each if is_needed else _masked(each) for each, is_needed in zip(of_step, flags, strict=True)]
        for of_step, flags in zip(decisions, needed, strict=True)
    ]
    return EpisodesOf(
        seen=[torch.stack(each) for each in zip(*seen, strict=True)],
        heard=[torch.stack(each) for each in zip(*heard, strict=True)],
        heard_from=torch.stack(heard_from).cpu(),
        said=torch.stack(said),
        words=torch.stack(words).transpose(2, 3).transpose(1, 2),
        messages=messages,
        scores=[torch.stack([each[agent].scores for each in made]) for agent in range(number)],
        logits=[torch.stack([each[agent].logits for each in made]) for agent in range(number)],
        actions=torch.stack(actions).cpu(),
        rewards=rewards,
        counts=counts,
        speaking=speaking,
        acting=acting,
        right=right[0] if right else None,
        alive=alive,
        meanings=meanings,
    )


def _message(
    channel: Channel,
    logits: Tensor,
    mode: Mode,
    generator: torch.Generator | None,
    epoch: int,
    num_symbols: int | None,
) -> Message:
    """Build a message from logits, (batch, max_len * number of logits of a symbol)."""
    builder = channel.start_message(mode, logits, generator, epoch)
    for of_symbol in of_symbols(channel, logits, num_symbols).unbind(1):
        builder.step(of_symbol)
    return builder.message()


def of_symbols(channel: Channel, logits: Tensor, num_symbols: int | None) -> Tensor:
    """Logits by symbol, (..., max_len, number), from (..., max_len * number); -inf beyond `num_symbols`.

    In channels of fixed length, EOS is left to the channel.
    """
    logits = logits.unflatten(-1, (channel.max_len, -1))
    if num_symbols is not None and num_symbols < channel.vocab_size:
        logits = logits.clone()
        logits[..., num_symbols + 1 :] = -torch.inf
    return logits


def _received_message(
    channel: Channel, message: Message | None, generator: torch.Generator | None, is_noisy: bool, like: Tensor
) -> Tensor:
    """Encode a message as it arrives, with noise if any, (batch, max_len * symbol_size)."""
    if message is None:
        return torch.zeros_like(like)
    if is_noisy and channel.has_noise:
        message = channel.received(message, generator)
    # Only EOS can follow at index max_len; messages that end early have theirs before.
    symbols = message.symbols[: channel.max_len]
    if not symbols.is_floating_point():
        ids = torch.arange(channel.symbol_size, device=symbols.device)  # `one_hot` would look at values
        symbols = (symbols.clamp(min=EOS)[..., None] == ids).float()
    return symbols.transpose(0, 1).flatten(1)


def played_again(episodes: TensorEpisodes, agents: Policies) -> TensorEpisodes:
    """Recompute scores and logits with other agents, on the same observations and messages."""
    scores, logits = [], []
    decide = agents.begin(episodes.alive.shape[1])
    for agent, (seen, heard) in enumerate(zip(episodes.seen, episodes.heard, strict=True)):
        made = [decide(agent, *each) for each in zip(seen, heard.detach(), strict=True)]
        scores.append(torch.stack([each.scores for each in made]))
        logits.append(torch.stack([each.logits for each in made]))
    return replace(episodes, scores=scores, logits=logits)
