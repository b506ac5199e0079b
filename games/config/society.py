"""Sections society and generations of an experiment: numbers and sources of agents, and their replacement."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from ecsuite.games.config.registry import MEETINGS
from ecsuite.parts.config import Accuracy, Count, Natural, require_defaults
from ecsuite.parts.own_code import NoOptions
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError

FRESH = "fresh"
"""Name of a member with random initial weights."""
WORDS = ("sender", "receiver", "frozen")
"""Words that may follow a name after a colon."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSource:
    """Source of an agent, and its role."""

    source: str
    """A run folder, or `FRESH`."""
    role: str | None
    """The only role taken from the run, `sender` or `receiver`; None: both."""
    is_frozen: bool

    @property
    def run(self) -> str | None:
        """Run folder; None: random weights."""
        return None if self.source == FRESH else self.source

    def is_of(self, role: str) -> bool:
        """Whether the source has an agent of a role."""
        return self.role in (None, role)


def members_in(names: Sequence[str]) -> list[AgentSource]:
    """Parse a list of members such as `[runs/a*4, runs/b:sender, fresh, runs/c:frozen]`.

    Raises:
        ConfigError: If a member has no name, no number after `*`, or contradictory words.
    """
    members: list[AgentSource] = []
    for name in names:
        source, star, number = name.partition("*")
        if star and not re.fullmatch("[1-9][0-9]{0,4}", number):
            raise ConfigError(f"members: expected a number of agents after *, such as runs/a*4, got {name!r}")
        words = []
        while (found := source.rpartition(":"))[2] in WORDS:
            source = found[0]
            words.append(found[2])
        if not source or len(set(words) - {"frozen"}) > 1 or len(set(words)) < len(words):
            raise ConfigError(
                f"members: expected runs/a, runs/a:sender, runs/a:receiver:frozen, runs/a*4 or fresh, got {name!r}"
            )
        role = next((word for word in words if word != "frozen"), None)
        members += [AgentSource(source=source, role=role, is_frozen="frozen" in words)] * int(number or 1)
    return members


def communities_of(members: Sequence[AgentSource]) -> list[int]:
    """Community of each member, from 0, in order of appearance: members from one source form a community."""
    sources = list(dict.fromkeys(member.source for member in members))
    return [sources.index(member.source) for member in members]


def without_places(names: Sequence[str]) -> list[str]:
    """Replace sources of members by numbers: the identity of a run does not depend on its location."""
    members = members_in(names)
    numbers = communities_of(members)
    return [
        ":".join([
            FRESH if member.run is None else str(number), member.role or "both", *["frozen"] * member.is_frozen
        ])
        for member, number in zip(members, numbers, strict=True)
    ]  # fmt: skip


EVERYONE = Part("all", NoOptions())
"""Default meetings of a society."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SocietyOptions:
    """Agents of a game, and their meetings."""

    senders: Count = 1
    """Number of senders."""
    receivers: Count = 1
    """Number of receivers."""
    agents: Count | None = None
    """Number of agents that both send and receive, and do not play with themselves; null: senders and receivers are
    different agents."""
    shares: Literal["nothing", "perception", "symbols", "both"] = "nothing"
    """Modules shared between an agent's sending and receiving: nothing, its perception, its embedding of symbols, or
    both."""
    self_play_every: Count | None = None
    """Number of steps between steps in which agents hear themselves instead of others (Lian et al. 2024,
    NeLLCom-X); null: never."""
    meets: Annotated[Part, MEETINGS] = EVERYONE
    """Pairs of senders and receivers that play; a list of meetings defines phases."""
    members: tuple[str, ...] = ()
    """Source of each agent: [runs/a*4, runs/b:sender, fresh, runs/c:frozen]. A run provides a sender and a
    receiver with its weights, or only the named one; its agents are used in rotation. []: all are fresh."""
    pairs_per_step: Count | None = None
    """Number of pairs that play in a step, each with its own batch; null: the larger number of senders and
    receivers. Pairs are drawn so that every agent plays once before any agent plays again."""
    sender_speeds: tuple[Accuracy, ...] = ()
    """Probability that a sender's weights change after it played (Rita et al. 2022): one value per sender, or one for
    all; []: 1."""
    receiver_speeds: tuple[Accuracy, ...] = ()
    """Probability that a receiver's weights change after it played, as for senders."""
    imitate_every: Count | None = None
    """Number of steps between steps in which senders learn the messages of the best sender instead of playing
    (Chaabouni et al. 2022)."""
    students: Count | None = None
    """Number of senders that learn in such a step: they and a teacher are redrawn each time, and the best one teaches;
    null: all but the best."""
    voting: bool = False
    """Whether evaluations include the accuracy of the vote of a sender's receivers (Chaabouni et al. 2022)."""

    def __post_init__(self) -> None:
        """Check that the settings fit together; `ConfigError` if not."""
        if self.members:
            self._check_members()
        if self.agents is not None:
            if self.senders != 1 or self.receivers != 1:
                raise ConfigError("agents: expected either agents, or senders and receivers")
            if self.agents == 1:
                raise ConfigError("agents: an agent does not play with itself: expected at least 2, got 1")
        elif self.self_play_every is not None:
            raise ConfigError(
                "self_play_every: senders and receivers are different agents: set society.agents"
            )
        elif self.shares != "nothing":
            raise ConfigError("shares: senders and receivers are different agents: set society.agents")
        for role in ("sender", "receiver"):
            speeds = getattr(self, f"{role}_speeds")
            if len(speeds) not in (0, 1, self.number(role)):
                raise ConfigError(
                    f"{role}_speeds: expected one value for each of {self.number(role)} {role}s, got {len(speeds)}"
                )
        if self.self_play_every is not None and self.shares != "nothing":
            # Shared modules then have one gradient, which can't belong to one role only.
            if any(speed < 1 for speed in (*self.sender_speeds, *self.receiver_speeds)):
                raise ConfigError(
                    "self_play_every: agents with shared modules that hear themselves learn in both roles or in none: "
                    "expected no speeds below 1, or shares=nothing"
                )
        if self.imitate_every is not None and self.number("sender") == 1:
            raise ConfigError("imitate_every: needs several senders, such as society.senders=4")
        if self.imitate_every is None:
            require_defaults(self, ("students",), "without imitate_every")
        if self.students is not None:
            if self.students >= self.number("sender"):
                raise ConfigError(
                    f"students: expected fewer than the {self.number('sender')} senders, got {self.students}"
                )
        if self.voting and self.number("receiver") == 1:
            raise ConfigError("voting: needs several receivers, such as society.receivers=4")

    def _check_members(self) -> None:
        """Check that the numbers of members and agents agree, and that one learns; `ConfigError` if not."""
        members = members_in(self.members)
        if self.senders != 1 or self.receivers != 1:
            raise ConfigError("members: they set the numbers of senders and receivers: expected only one")
        if self.agents not in (None, len(members)):
            raise ConfigError(f"members: {len(members)} are named, but society.agents is {self.agents}")
        for role in ("sender", "receiver"):
            if not any(member.is_of(role) for member in members) and self.agents is None:
                raise ConfigError(f"members: none is a {role}: expected at least one")
        if all(member.is_frozen for member in members):
            raise ConfigError("members: all are frozen: nothing is left to train")

    def members_of(self, role: str) -> list[AgentSource]:
        """Named members with a role, in order; agents with both roles belong to both."""
        return [
            member for member in members_in(self.members) if self.agents is not None or member.is_of(role)
        ]

    def number(self, role: str) -> int:
        """Number of agents of a role."""
        if self.members:
            return len(self.members_of(role))
        return self.agents or (self.senders if role == "sender" else self.receivers)

    def speed(self, role: str, index: int) -> float:
        """Probability that the weights of an agent change after it played."""
        speeds: tuple[float, ...] = getattr(self, f"{role}_speeds")
        return 1.0 if not speeds else speeds[0 if len(speeds) == 1 else index]


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerationOptions:
    """Replacement of agents, and learning of new agents before they play."""

    every: Count | None = None
    """Number of steps per generation; null: agents are not replaced."""
    roles: Literal["both", "senders", "receivers"] = "both"
    """Roles of the replaced agents."""
    which: Literal["all", "oldest", "random", "none"] = "all"
    """Agents that are replaced; none: all stay, and learn the corpus of their own language again."""
    number: Count = 1
    """Number of replaced agents per role, if they are the oldest or random."""
    transmit: bool = False
    """Whether messages are recorded at the end of a generation, for new agents to learn from (iterated learning,
    Kirby et al. 2014; Ren et al. 2020)."""
    size: Count = 1000
    """Number of recorded examples per sender: the bottleneck."""
    sampled: bool = True
    """Whether recorded messages are sampled, if the channel supports it; otherwise the most likely messages."""
    sender_steps: Natural = 0
    """Number of first steps of a generation in which new senders learn the messages of the senders they replace."""
    receiver_steps: Natural = 0
    """Number of following steps in which new receivers learn the meanings of messages."""
    batch_size: Count | None = None
    """Messages that an agent learns per step; null: training.batch_size, or all recorded messages if fewer."""
    receivers_learn: Literal["messages", "sender"] = "messages"
    """Messages that new receivers learn: recorded messages, or current messages of a sender, whose weights
    do not change meanwhile (Ren et al. 2020)."""

    def __post_init__(self) -> None:
        """Check that the phases fit into a generation; `ConfigError` if not."""
        if self.every is None:
            if any(getattr(self, each.name) != each.default for each in fields(self)):
                raise ConfigError("every: expected a number of steps per generation, such as 500, got null")
            return
        if self.number > 1 and self.which in ("all", "none"):
            raise ConfigError(
                f"number: not read with which={self.which}: expected which=oldest or which=random"
            )
        num_learning = self.sender_steps + self.receiver_steps
        if num_learning >= self.every:
            raise ConfigError(
                f"every: {num_learning} learning steps leave none of {self.every} steps to play: expected more"
            )
        if bool(num_learning) != self.transmit:
            expected = "sender_steps or receiver_steps" if self.transmit else "transmit: true"
            raise ConfigError(f"transmit: new agents learn recorded messages: expected {expected}")
        for role in ("sender", "receiver"):
            if getattr(self, f"{role}_steps") and self.roles not in ("both", f"{role}s"):
                raise ConfigError(f"{role}_steps: no {role} is replaced (generations.roles): expected 0")
        if not self.receiver_steps:
            require_defaults(self, ("receivers_learn",), "without receiver_steps")
        if not self.transmit:
            require_defaults(self, ("size", "sampled", "batch_size"), "without transmit: true")
        if self.batch_size is not None and self.batch_size > self.size:
            raise ConfigError(f"batch_size: expected at most the {self.size} of size, got {self.batch_size}")
        if self.which == "none" and not self.transmit:
            raise ConfigError("which: no agent is replaced and nothing is learnt: expected transmit: true")
