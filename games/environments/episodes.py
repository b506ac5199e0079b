"""Episodes: agents act and speak in a world with steps, and what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import one_hot

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.channels import Channel, Mode
from ecsuite.games.environments.environment import Environment, Floats, Integers, Moment
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What an agent makes of what it sees and hears."""

    scores: Tensor
    """Of its actions, (batch, num_actions)."""
    logits: Tensor
    """Of its message, (batch, max_len * number of logits of a symbol)."""


class Decide(Protocol):
    """Agents in a batch of episodes, which remember what they saw and heard before."""

    def __call__(self, agent: int, seen: Tensor, heard: Tensor, *, keeps: bool = True) -> Decision:
        """What an agent makes of what it sees, (batch, num_features), and hears, (batch, num_heard, message width).

        With `keeps` false, it does not remember it.
        """


class Agents(Protocol):
    """The agents of an environment."""

    def begin(self, batch: int) -> Decide:
        """Agents at the beginning of episodes."""


Choose = Callable[[Tensor], Tensor]
"""Actions, (batch,), by their scores, (batch, num_actions)."""
Deliver = Callable[[int, Tensor, Tensor], tuple[Tensor, Tensor]]
"""Changes what was said at a step, (batch, num_agents, message width), and who hears whom next, see `Moment.heard`."""
Watch = Callable[[int, int, Decide, Tensor, Tensor], None]
"""Told of step, agent, the agents, what it sees, and what it hears, before it decides; see `Decide`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Episodes:
    """What came of a batch of episodes; the first dimension are steps, up to the last of the longest."""

    seen: Sequence[Tensor]
    """What each agent saw, (steps, batch, num_features) each."""
    heard: Sequence[Tensor]
    """What each agent heard, (steps, batch, num_heard, message width) each."""
    heard_from: Integers
    """Whose message each agent heard, (steps, batch, num_agents, most of num_heard); -1: nobody's."""
    said: Tensor
    """What arrives of messages, (steps, batch, num_agents, message width), without the graph."""
    words: Tensor
    """The messages themselves: ids, (steps, batch, num_agents, max_len), with EOS and PAD where messages may end early
    one more, or words of values, with their width."""
    messages: Sequence[Sequence[Message | None]]
    """The messages of each step and agent; None: it never speaks."""
    scores: Sequence[Tensor]
    """Scores of the actions of each agent, (steps, batch, num_actions) each."""
    logits: Sequence[Tensor]
    """Logits of the messages of each agent, (steps, batch, max_len * number of logits of a symbol) each."""
    actions: Integers
    """(steps, batch, num_agents)."""
    rewards: NDArray[np.float64]
    """(steps, batch, num_agents); 0 after the end."""
    counts: NDArray[np.bool_]
    """Whether action or message count: the episode goes on and the agent is active, (steps, batch, num_agents)."""
    speaking: NDArray[np.bool_]
    """Whether the message counts, (steps, batch, num_agents)."""
    acting: NDArray[np.bool_]
    """Whether the action counts, (steps, batch, num_agents)."""
    right: Integers | None
    """The right actions where the world says so, (steps, batch, num_agents), -1 elsewhere; None: it never does."""
    alive: NDArray[np.bool_]
    """Whether the episode was not over before the step, (steps, batch)."""
    meanings: Integers
    """(steps, batch, num_agents, num_attributes)."""

    @property
    def num_symbols(self) -> Integers:
        """Symbols that each agent said at each step, without EOS, (steps, batch, num_agents)."""
        is_said = (self.words != EOS) & (self.words != PAD)
        numbers: Integers = is_said.sum(3).cpu().numpy() * self.speaking
        return numbers

    @property
    def returns(self) -> NDArray[np.float64]:
        """Sum of the rewards of each episode, the mean of its agents, (batch,)."""
        returns: NDArray[np.float64] = self.rewards.sum(0).mean(1)
        return returns


def play_episodes(
    environment: Environment,
    agents: Agents,
    channel: Channel,
    seed: int,
    episodes: Integers,
    *,
    mode: Mode,
    choose: Choose,
    generator: torch.Generator | None,
    device: torch.device,
    epoch: int = 0,
    is_noisy: bool = False,
    deliver: Deliver | None = None,
    watch: Watch | None = None,
) -> Episodes:
    """Play episodes from their beginning to the end of the last one.

    Args:
        environment: The world.
        agents: Who acts.
        channel: How logits become messages.
        seed: Of the environment.
        episodes: Their numbers, (batch,).
        mode: How messages are chosen.
        choose: How actions are chosen.
        generator: Where the draws of messages come from.
        device: Where agents compute.
        epoch: Passes over the training episodes so far, for the channel.
        is_noisy: Whether messages meet the noise of the channel.
        deliver: Changes what is heard; None: nothing does.
        watch: Is told before each decision.

    Raises:
        ConfigError: If the environment does not keep to what it says of itself.
    """
    batch, specs = len(episodes), environment.agents
    num_words = channel.max_len * channel.symbol_size
    moment = environment.reset(seed, episodes)
    require_fitting(environment, moment, batch, "reset")
    decide = agents.begin(batch)
    said = torch.zeros(batch, len(specs), num_words, device=device)
    rows = torch.arange(batch, device=device)[:, None]
    steps = []
    for step in range(environment.max_steps):
        heard_from = torch.from_numpy(np.ascontiguousarray(moment.heard)).to(device)
        own, own_from = said, heard_from
        if deliver is not None and step > 0:
            said, heard_from = deliver(step - 1, said, heard_from)
        if step == 0:
            heard_from = torch.full_like(heard_from, -1)  # nobody said anything yet
        acting = _of_active(moment, moment.acting)
        arriving = torch.cat([torch.zeros_like(said[:, :1]), said], 1)
        seen, heard, decisions, messages, sent, actions = [], [], [], [], [], []
        for number, spec in enumerate(specs):
            seen.append(torch.from_numpy(moment.observations[number]).to(device, torch.float32))
            arrived = arriving[rows, heard_from[:, number, : spec.num_heard] + 1]
            is_own = (own_from[:, number, : spec.num_heard] == number)[..., None]  # which nothing changes
            heard.append(own[:, number, None].where(is_own, arrived) if step > 0 else arrived)
            if watch is not None:
                watch(step, number, decide, seen[-1], heard[-1])
            decision = decide(number, seen[-1], heard[-1])
            decisions.append(decision)
            chosen = choose(decision.scores) if spec.num_actions > 1 else torch.zeros_like(rows[:, 0])
            actions.append(chosen.where(torch.from_numpy(acting[:, number]).to(device), 0))
            message = None
            if spec.speaks:
                message = _message(channel, decision.logits, mode, generator, epoch, spec.num_symbols)
            messages.append(message)
            sent.append(_arriving(channel, message, generator, is_noisy, said[:, 0]))
        said = torch.stack(sent, 1)
        alive, speaking = ~moment.done, _of_active(moment, moment.speaking)
        numbers = torch.stack(actions, 1).cpu().numpy()
        after, rewards = stepped(environment, moment, numbers)
        steps.append(
            (seen, heard, heard_from.cpu().numpy(), said.detach(), messages, decisions, numbers,
             rewards * alive[:, None], alive, moment.meanings, moment.right,
             *(alive[:, None] & each for each in (moment.active, speaking, acting)))
        )  # fmt: skip
        moment = after
        if moment.done.all():
            break
    return _together(steps, channel, len(specs))


def _of_active(moment: Moment, which: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Which of the active agents, (batch, num_agents); None: all of them."""
    return moment.active if which is None else moment.active & which


def _together(steps: Sequence[tuple], channel: Channel, number: int) -> Episodes:  # type: ignore[type-arg]
    """The steps of episodes as one."""
    (
        seen, heard, heard_from, said, messages, decisions, actions, rewards, alive, meanings, right,
        counts, speaking, acting,
    ) = zip(*steps, strict=True)  # fmt: skip
    like = next(message.symbols for message in messages[0] if message is not None)
    silent = torch.zeros_like(like)
    words = [
        torch.stack([silent if message is None else message.symbols for message in each]).detach()
        for each in messages
    ]
    return Episodes(
        seen=[torch.stack(each) for each in zip(*seen, strict=True)],
        heard=[torch.stack(each) for each in zip(*heard, strict=True)],
        heard_from=np.stack(heard_from),
        said=torch.stack(said),
        words=torch.stack(words).transpose(2, 3).transpose(1, 2),
        messages=messages,
        scores=[torch.stack([each[agent].scores for each in decisions]) for agent in range(number)],
        logits=[torch.stack([each[agent].logits for each in decisions]) for agent in range(number)],
        actions=np.stack(actions),
        rewards=np.stack(rewards),
        counts=np.stack(counts),
        speaking=np.stack(speaking),
        acting=np.stack(acting),
        right=None if right[0] is None else np.stack(right),
        alive=np.stack(alive),
        meanings=np.stack(meanings),
    )


def _message(
    channel: Channel,
    logits: Tensor,
    mode: Mode,
    generator: torch.Generator | None,
    epoch: int,
    num_symbols: int | None,
) -> Message:
    """The message of logits, (batch, max_len * number of logits of a symbol)."""
    builder = channel.start_message(mode, logits, generator, epoch)
    for of_symbol in of_symbols(channel, logits, num_symbols).unbind(1):
        builder.step(of_symbol)
    return builder.message()


def of_symbols(channel: Channel, logits: Tensor, num_symbols: int | None) -> Tensor:
    """The logits of a message, (..., max_len * number), as (..., max_len, number), -inf where it may not be said.

    EOS of messages of one length is left to the channel.
    """
    logits = logits.unflatten(-1, (channel.max_len, -1))
    if num_symbols is not None and num_symbols < channel.vocab_size:
        logits = logits.clone()
        logits[..., num_symbols + 1 :] = -torch.inf
    return logits


def _arriving(
    channel: Channel, message: Message | None, generator: torch.Generator | None, is_noisy: bool, like: Tensor
) -> Tensor:
    """A message as it arrives, (batch, max_len * symbol_size)."""
    if message is None:
        return torch.zeros_like(like)
    if is_noisy and channel.has_noise:
        message = channel.received(message, generator)
    # Beyond there is nothing but EOS, which is heard where one ends early.
    symbols = message.symbols[: channel.max_len]
    if not symbols.is_floating_point():
        symbols = one_hot(symbols.clamp(min=EOS), channel.symbol_size).float()
    return symbols.transpose(0, 1).flatten(1)


def played_again(episodes: Episodes, agents: Agents) -> Episodes:
    """The same episodes with the scores and logits of other agents, who see and hear the same."""
    scores, logits = [], []
    decide = agents.begin(episodes.alive.shape[1])
    for agent, (seen, heard) in enumerate(zip(episodes.seen, episodes.heard, strict=True)):
        made = [decide(agent, *each) for each in zip(seen, heard.detach(), strict=True)]
        scores.append(torch.stack([each.scores for each in made]))
        logits.append(torch.stack([each.logits for each in made]))
    return replace(episodes, scores=scores, logits=logits)


def require_described(environment: Environment) -> None:
    """Raise `ConfigError` if an environment does not say who is in it, or how long episodes are."""
    needed = ("agents", "max_steps", "attribute_names")
    if missing := [name for name in needed if not hasattr(environment, name)]:
        raise ConfigError(f"environment {type(environment).__name__}: expected {', '.join(missing)}")


def stepped(environment: Environment, moment: Moment, actions: Integers) -> tuple[Moment, Floats]:
    """A step of episodes; `ConfigError` if what the environment gives is not as it says of itself."""
    given, shape = environment.step(moment, actions), (len(actions), len(environment.agents))
    is_pair = isinstance(given, tuple) and len(given) == 2
    if not is_pair or np.shape(given[1]) != shape:
        got = f"rewards of shape {np.shape(given[1])}" if is_pair else type(given).__name__
        name = type(environment).__name__
        raise ConfigError(
            f"environment {name}: expected a Moment and rewards of shape {shape} from step, got {got}"
        )
    require_fitting(environment, given[0], len(actions), "step")
    return given


def require_fitting(environment: Environment, moment: Moment, batch: int, method: str) -> None:
    """Raise `ConfigError` if a moment is not as the environment says of itself."""
    name, specs = type(environment).__name__, environment.agents
    most = max(spec.num_heard for spec in specs)
    if not isinstance(moment, Moment):
        raise ConfigError(f"environment {name}: expected a Moment from {method}, got {type(moment).__name__}")
    if len(moment.observations) != len(specs):
        raise ConfigError(
            f"environment {name}: expected observations of {len(specs)} agents, got {len(moment.observations)}"
        )
    shapes = {
        f"what {spec.name} sees": (seen, (batch, spec.num_features))
        for spec, seen in zip(specs, moment.observations, strict=True)
    } | {
        "heard": (moment.heard[..., :most], (batch, len(specs), most)),
        **{
            name: (flags, (batch, len(specs)))
            for name in ("active", "speaking", "acting")
            if (flags := getattr(moment, name)) is not None
        },
        "done": (moment.done, (batch,)),
        "meanings": (moment.meanings, (batch, len(specs), len(environment.attribute_names))),
    }
    for what, (given, shape) in shapes.items():
        if np.shape(given) != shape:
            raise ConfigError(
                f"environment {name}: expected {what} of shape {shape} from {method}, got {np.shape(given)}"
            )
