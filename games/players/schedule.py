"""The pairs of each step, a pure function of seed, step and epoch; and who belongs to whom."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ecsuite.games.players.meetings import Meeting, Meetings
from ecsuite.games.players.members import communities_of, members_in
from ecsuite.runtime.errors import ConfigError


class Schedule:
    """The pairs of each step, a pure function of seed, step and epoch.

    Args:
        meetings: Who may play with whom.
        options: The section `society`.
        seed: Of the run.
        num_epochs: Epochs of the run.

    Raises:
        ConfigError: If someone meets nobody, a pair is there twice, more pairs are to play than there are, or a phase
            begins after the end.
    """

    def __init__(self, meetings: Meetings, options: Any, seed: int, num_epochs: int) -> None:
        num_senders, num_receivers = options.number("sender"), options.number("receiver")
        are_agents = options.agents is not None
        planned = meetings.pairs(num_senders, num_receivers, are_agents=are_agents, seed=seed)
        distinct = {(pair.sender, pair.receiver): pair for pair in planned}
        self.meetings = (
            list(distinct.values())
            if len(distinct) == len(planned)
            else [distinct[key] for key in sorted(distinct)]
        )
        """Every pair that meets in some epoch, once."""
        self.seed, self.num_senders, self.num_receivers = seed, num_senders, num_receivers
        met = {
            "sender": ({pair.sender for pair in self.meetings}, num_senders),
            "receiver": ({pair.receiver for pair in self.meetings}, num_receivers),
        }
        for role, (known, number) in met.items():
            if left := sorted(set(range(number)) - known):
                raise ConfigError(
                    f"society.meets: {role} {left[0]} meets nobody: expected everyone to meet someone"
                )
        if (last := max(pair.since for pair in planned)) >= num_epochs:
            raise ConfigError(
                f"society.meets: a phase begins with epoch {last}, and training.num_epochs is {num_epochs}: expected "
                "an earlier beginning, or more epochs"
            )
        begins = sorted(
            {0, *(pair.since for pair in planned), *(pair.until for pair in planned if pair.until)}
        )
        self.phases = [
            _Phase(begin, [pair for pair in planned if pair.since <= begin < (pair.until or begin + 1)])
            for begin in begins
            if begin < num_epochs
        ]
        asked = options.pairs_per_step
        if asked is not None and asked > len(self.meetings):
            raise ConfigError(
                f"society.pairs_per_step: expected at most the {len(self.meetings)} pairs that meet, got {asked}"
            )
        self.pairs_per_step: int = asked or max(num_senders, num_receivers)
        self.self_play_every: int | None = options.self_play_every
        self.communities = _communities(options, self.phases[0].meetings, num_senders, num_receivers)
        """The community of each sender, and of each receiver, from 0: members of one run, or without named members
        those that are connected by meetings of the first phase."""
        self._partners: list[list[int]] = [[] for _ in range(num_senders)]
        for pair in self.meetings:
            self._partners[pair.sender].append(pair.receiver)

    def is_within(self, pair: Meeting) -> bool:
        """Whether a pair is of one community."""
        senders, receivers = self.communities
        return senders[pair.sender] == receivers[pair.receiver]

    @property
    def contact(self) -> int | None:
        """The epoch in which members of two communities meet first; None: they never do, or there is one only."""
        return next(
            (phase.begin for phase in self.phases if not all(map(self.is_within, phase.meetings))), None
        )

    def phase(self, epoch: int) -> "_Phase":
        """The phase of an epoch."""
        return next(phase for phase in reversed(self.phases) if phase.begin <= epoch)

    def of_step(self, step: int, epoch: int = 0) -> list[Meeting]:
        """The pairs that play in a step: drawn by their weights, but so that all play before any plays again.

        Where agents hear themselves in this step, each is a pair.
        """
        if self.self_play_every is not None and (step + 1) % self.self_play_every == 0:
            return [Meeting(agent, agent) for agent in range(self.num_senders)]
        phase = self.phase(epoch)
        number = min(self.pairs_per_step, len(phase.meetings))
        if number == len(phase.meetings):
            return phase.meetings
        rng = np.random.default_rng([self.seed, step, *b"pairs"])
        order = np.argsort(rng.exponential(size=len(phase.meetings)) / phase.weights).tolist()
        plays = [0] * self.num_senders, [0] * self.num_receivers
        chosen: list[int] = []
        most = 1
        while len(chosen) < number:
            left: list[int] = []
            for place in order:
                pair = phase.meetings[place]
                if len(chosen) == number or plays[0][pair.sender] >= most or plays[1][pair.receiver] >= most:
                    left.append(place)
                    continue
                chosen.append(place)
                plays[0][pair.sender] += 1
                plays[1][pair.receiver] += 1
            most += len(left) == len(order)
            order = left
        return [phase.meetings[place] for place in sorted(chosen)]

    def partners(self, sender: int) -> list[int]:
        """The receivers that a sender meets."""
        return self._partners[sender]

    def with_receivers(self, receivers: Sequence[int], step: int, epoch: int = 0) -> list[Meeting]:
        """A pair for each of some receivers: the senders that one meets in a phase, or else ever, in turn."""
        now, ever = self.phase(epoch).meetings, self.meetings
        met = [
            [pair for pair in now if pair.receiver == index]
            or [pair for pair in ever if pair.receiver == index]
            for index in receivers
        ]
        return [pairs[step % len(pairs)] for pairs in met]


class _Phase:
    """The meetings from an epoch on."""

    def __init__(self, begin: int, meetings: list[Meeting]) -> None:
        self.begin, self.meetings = begin, meetings
        self.weights = np.array([pair.weight for pair in meetings])
        if not meetings:
            raise ConfigError(f"society.meets: in epoch {begin} nobody meets, expected at least one pair")
        if len({(pair.sender, pair.receiver) for pair in meetings}) < len(meetings):
            raise ConfigError("society.meets: a pair is there twice, expected each once, with a weight")


def _communities(
    options: Any, meetings: Sequence[Meeting], num_senders: int, num_receivers: int
) -> tuple[list[int], list[int]]:
    """See `Schedule.communities`."""
    members = members_in(options.members)
    if members:
        numbers = list(zip(members, communities_of(members), strict=True))
        if options.agents is not None:
            return ([number for _, number in numbers],) * 2
        senders, receivers = (
            [number for member, number in numbers if member.is_of(role)] for role in ("sender", "receiver")
        )
        return senders, receivers
    are_agents = options.agents is not None
    first = list(
        range(num_senders + (0 if are_agents else num_receivers))
    )  # the first agent that each is connected to
    offset = 0 if are_agents else num_senders
    for _ in first:  # as often as a chain of all may need
        before = list(first)
        for pair in meetings:
            one, other = pair.sender, pair.receiver + offset
            first[one] = first[other] = min(first[one], first[other])
        if first == before:
            break
    numbers_of = {each: number for number, each in enumerate(sorted(set(first)))}
    found = [numbers_of[each] for each in first]
    return found[:num_senders], found[offset : offset + num_receivers]
