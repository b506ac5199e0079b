"""Meetings of agents: kinds of society.meets, phases of epochs, and the pairs of each step.

A kind is a class with `Options` and a method `pairs(num_senders, num_receivers, are_agents, seed)`.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ecsuite.games.config.registry import MEETINGS
from ecsuite.games.config.sections import Experiment
from ecsuite.games.config.society import communities_of, members_in
from ecsuite.parts.config import Count, Weight
from ecsuite.parts.own_code import NoOptions
from ecsuite.parts.registry import Part, parts_in_list
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Meeting:
    """A sender and a receiver that play together, by their indices."""

    sender: int
    receiver: int
    weight: float = 1.0
    """Relative frequency of the pair."""
    since: int = 0
    """First epoch in which the pair may play."""
    until: int | None = None
    """First epoch in which the pair may no longer play; None: no end."""


class Meetings(Protocol):
    """Interface of a kind of `society.meets`."""

    def pairs(self, num_senders: int, num_receivers: int, *, are_agents: bool, seed: int) -> list[Meeting]:
        """List the pairs that may play; a pair may be listed several times, for epochs that do not overlap.

        Args:
            num_senders: Number of senders.
            num_receivers: Number of receivers.
            are_agents: Whether a sender and the receiver with the same index are one agent, which does not meet itself.
            seed: Seed of the run.
        """


class All:
    """Every sender meets every receiver."""

    Options = NoOptions

    def __init__(self, options: NoOptions) -> None:
        pass

    def pairs(self, num_senders: int, num_receivers: int, *, are_agents: bool, seed: int) -> list[Meeting]:
        """See `Meetings`."""
        every = [Meeting(i, j) for i in range(num_senders) for j in range(num_receivers)]
        return [pair for pair in every if not are_agents or pair.sender != pair.receiver]


class Ring:
    """Agents in a ring meet their neighbours."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the ring."""

        distance: Count = 1
        """Largest distance in the ring between two agents that meet; at most half of the ring."""

    def __init__(self, options: Options) -> None:
        self.distance = options.distance

    def pairs(self, num_senders: int, num_receivers: int, *, are_agents: bool, seed: int) -> list[Meeting]:
        """See `Meetings`."""
        if num_senders != num_receivers:
            raise ConfigError(
                f"society.meets: a ring needs one receiver per sender, got {num_senders} senders and "
                f"{num_receivers} receivers"
            )
        most = max(1, num_senders // 2)
        if self.distance > most:
            raise ConfigError(
                f"society.meets.distance: in a ring of {num_senders} no agent is further away than {most}, got "
                f"{self.distance}: expected at most {most}, or meets=all"
            )
        found = [
            Meeting(i, j)
            for i in range(num_senders)
            for j in range(num_senders)
            if min((i - j) % num_senders, (j - i) % num_senders) <= self.distance
        ]
        return [pair for pair in found if not are_agents or pair.sender != pair.receiver]


class Random:
    """Each sender meets some receivers, drawn once for the run: the same number for all senders, evenly over receivers.

    All such sets of pairs are equally likely, including sets that split the agents into separate groups: with two
    partners this is often so.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of random meetings."""

        partners: Count = 2
        """Number of receivers that each sender meets."""

    def __init__(self, options: Options) -> None:
        self.partners = options.partners

    def pairs(self, num_senders: int, num_receivers: int, *, are_agents: bool, seed: int) -> list[Meeting]:
        """See `Meetings`."""
        most = num_receivers - are_agents
        if self.partners > most:
            raise ConfigError(f"society.meets.partners: expected at most {most}, got {self.partners}")
        rng = np.random.default_rng([seed, *b"meetings"])
        order = rng.permutation(num_receivers).tolist()
        if are_agents:  # each agent meets the agents that follow it in a random cyclic order
            first = [
                (order[i], order[(i + 1 + step) % num_senders])
                for i in range(num_senders)
                for step in range(self.partners)
            ]
        else:
            first = [
                (i, order[(i * self.partners + step) % num_receivers])
                for i in range(num_senders)
                for step in range(self.partners)
            ]
        return [Meeting(*pair) for pair in sorted(exchanged(first, are_agents=are_agents, rng=rng))]


EXCHANGES = 100
"""Attempted exchanges per pair (Milo et al. 2003, arXiv cond-mat/0312028, section II.B)."""


def exchanged(
    pairs: Sequence[tuple[int, int]], *, are_agents: bool, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Randomise pairs uniformly, keeping the number of partners of every agent.

    Repeatedly, two pairs exchange their receivers unless a pair would occur twice (the Markov chain of Besag &
    Clifford 1989, section 3; Milo et al. 2003).

    Args:
        pairs: Sender and receiver of each pair.
        are_agents: Whether meetings of an agent with itself are excluded.
        rng: Source of the exchanges.
    """
    found, known = list(pairs), set(pairs)
    for first, second in rng.integers(len(found), size=(EXCHANGES * len(found), 2)).tolist():
        (i, j), (k, m) = found[first], found[second]
        if are_agents and (i == m or k == j):
            continue
        if (i, m) not in known and (k, j) not in known:
            known -= {(i, j), (k, m)}
            found[first], found[second] = (i, m), (k, j)
            known |= {(i, m), (k, j)}
    return found


class Groups:
    """Groups of agents that meet within a group, and seldom or never between groups."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of groups."""

        number: Count = 2
        """Number of groups, of about equal size."""
        across: Weight = 0.0
        """Frequency of pairs from different groups, relative to pairs within a group; 0: never."""
        sizes: tuple[Count, ...] = ()
        """Number of senders, and of receivers, in each group, such as [6, 2]; []: equal sizes."""
        bridges: Count | None = None
        """Number of members of each group, the first ones, that play across; null: all."""

        def __post_init__(self) -> None:
            """Check that the options fit together; `ConfigError` if not."""
            if self.sizes and self.number not in (2, len(self.sizes)):
                raise ConfigError(f"number: expected {len(self.sizes)} groups, the number of sizes")
            if self.bridges is not None and not self.across:
                raise ConfigError("bridges: no pair plays across: expected across above 0, such as across=1")

    def __init__(self, options: Options) -> None:
        self.options = options

    def pairs(self, num_senders: int, num_receivers: int, *, are_agents: bool, seed: int) -> list[Meeting]:
        """See `Meetings`."""
        found = []
        senders, receivers = (self._places(number) for number in (num_senders, num_receivers))
        if (
            self.options.number > min(num_senders, num_receivers) // (1 + are_agents)
            and not self.options.sizes
        ):
            raise ConfigError(
                f"society.meets.number: {self.options.number} groups of {num_senders} senders and {num_receivers} "
                "receivers leave a group without a partner: expected fewer groups"
            )
        most = self.options.bridges
        for pair in All(NoOptions()).pairs(num_senders, num_receivers, are_agents=are_agents, seed=seed):
            (group, place), (other, other_place) = senders[pair.sender], receivers[pair.receiver]
            if group == other:
                found.append(pair)
            elif self.options.across and (most is None or max(place, other_place) < most):
                found.append(Meeting(pair.sender, pair.receiver, self.options.across))
        return found

    def _places(self, number: int) -> list[tuple[int, int]]:
        """The group of each agent, and its index in the group."""
        sizes = self.options.sizes
        if not sizes:
            groups = [index * self.options.number // number for index in range(number)]
        elif sum(sizes) == number:
            groups = [group for group, size in enumerate(sizes) for _ in range(size)]
        else:
            raise ConfigError(
                f"society.meets.sizes: groups of {list(sizes)} have {sum(sizes)} members: expected {number}"
            )
        return [(group, index - groups.index(group)) for index, group in enumerate(groups)]


class ListedPairs:
    """Pairs given as a list."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a list."""

        pairs: tuple[tuple[float, ...], ...] = ()
        """Sender, receiver and, optionally, relative frequency of each pair: [[0, 0], [0, 1, 0.5]]."""

    def __init__(self, options: Options) -> None:
        self.rows = options.pairs

    def pairs(self, num_senders: int, num_receivers: int, *, are_agents: bool, seed: int) -> list[Meeting]:
        """See `Meetings`."""
        return [
            _pair(row, "society.meets.pairs", num_senders, num_receivers, are_agents) for row in self.rows
        ]


class FromFile:
    """Pairs from a CSV file with the columns `sender`, `receiver` and, optionally, `weight`."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a file."""

        path: str = field(default="")
        """Path of the file. Agents are numbered from 0."""

    def __init__(self, options: Options) -> None:
        self.path = options.path

    def pairs(self, num_senders: int, num_receivers: int, *, are_agents: bool, seed: int) -> list[Meeting]:
        """See `Meetings`."""
        return ListedPairs(self.listed()).pairs(num_senders, num_receivers, are_agents=are_agents, seed=seed)

    def listed(self) -> ListedPairs.Options:
        """Read the file as a list, which is stored in the config of a run.

        Raises:
            ConfigError: If the file can't be read, or a row is not a pair.
        """
        if not self.path:
            raise ConfigError(
                "society.meets.path: expected a CSV file with the columns sender, receiver, weight"
            )
        try:
            with Path(self.path).open(encoding="utf-8", newline="") as opened:
                rows = list(csv.DictReader(opened))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise ConfigError(f"society.meets.path: {self.path} can't be read: {error}") from None
        pairs = []
        for line, row in enumerate(rows, 2):
            try:
                weight = row.get("weight")
                pairs.append((int(row["sender"]), int(row["receiver"]), float(weight) if weight else 1.0))
            except (KeyError, TypeError, ValueError):
                raise ConfigError(
                    f"{self.path}:{line}: expected columns sender and receiver with numbers from 0, and weight"
                ) from None
        return ListedPairs.Options(pairs=tuple(tuple(map(float, pair)) for pair in pairs))


def _pair(
    row: Sequence[float], place: str, num_senders: int, num_receivers: int, are_agents: bool
) -> Meeting:
    """Convert a row of a list to a pair; `ConfigError` if it is not one."""
    weight = row[2] if len(row) == 3 else 1.0
    if len(row) not in (2, 3) or row[0] != int(row[0]) or row[1] != int(row[1]) or not 0 < weight < np.inf:
        raise ConfigError(f"{place}: expected rows of sender, receiver and a weight above 0, got {list(row)}")
    pair = Meeting(int(row[0]), int(row[1]), float(weight))
    if not (0 <= pair.sender < num_senders and 0 <= pair.receiver < num_receivers):
        raise ConfigError(
            f"{place}: pair {pair.sender}, {pair.receiver}: there are {num_senders} senders and {num_receivers} "
            "receivers, numbered from 0"
        )
    if are_agents and pair.sender == pair.receiver:
        raise ConfigError(f"{place}: agent {pair.sender} can't play with itself")
    return pair


UNTIL = " until "
"""Text before the epoch at which a phase ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """Meetings, and the epochs in which they take place."""

    meets: Part
    since: int
    """First epoch, from 0."""
    until: int | None
    """First epoch after the phase; None: no end."""


class Phases:
    """Meetings that change with the epochs."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of phases."""

        of: tuple[str, ...] = ("groups until 1", "all")
        """Phases in order: meetings with their options and, except for the last phase, the epoch at which they end:
        [groups until 5, "groups,across=1,bridges=1 until 8", all]; a list as the value of meets is short for this."""

        def __post_init__(self) -> None:
            """Check the phases; `ConfigError` if one is unknown or ends before it begins."""
            phases_in(self.of)

    def __init__(self, options: Options) -> None:
        self.phases = phases_in(options.of)

    def pairs(self, num_senders: int, num_receivers: int, *, are_agents: bool, seed: int) -> list[Meeting]:
        """See `Meetings`."""
        found = []
        for phase in self.phases:
            meetings: Meetings = MEETINGS.make(phase.meets)
            pairs = meetings.pairs(num_senders, num_receivers, are_agents=are_agents, seed=seed)
            found += [replace(pair, since=phase.since, until=phase.until) for pair in pairs]
        return found


def phases_in(texts: Sequence[str]) -> list[Phase]:
    """Parse a list of phases; see `Phases.Options`."""
    names, ends = [], []
    for place, each in enumerate(texts, 1):
        name, until, end = each.rpartition(UNTIL)
        is_last = place == len(texts)
        if bool(until) == is_last or (until and not end.strip().isdecimal()):
            expected = (
                "no end of the last phase"
                if is_last
                else "a phase and the epoch of its end, `groups until 5`"
            )
            raise ConfigError(f"of: expected {expected}, got {each!r}")
        names.append(name if until else each)
        ends.append(int(end) if until else None)
    parts = parts_in_list(MEETINGS, [name.strip() for name in names], "of")
    begins = [0, *(last for last in ends if last is not None)]
    for before, after in pairwise(begins):
        if after <= before:
            raise ConfigError(
                f"of: a phase begins with epoch {before} and ends at {after}, expected a later end"
            )
    for part in parts:
        if part.kind in ("phases", "file"):
            raise ConfigError(f"of: expected other meetings than {part.kind}")
    return [
        Phase(meets=part, since=since, until=until)
        for part, since, until in zip(parts, begins, ends, strict=True)
    ]


def meetings_of_agents(meets: Part, num_agents: int, seed: int) -> list[Meeting] | None:
    """Make the meetings of a play whose agents both speak and listen, from its option `meets`; None: all with all.

    Raises:
        ConfigError: If they do not fit the number of agents.
    """
    if meets.kind == "all":
        return None
    try:
        made: list[Meeting] = MEETINGS.make(meets).pairs(num_agents, num_agents, are_agents=True, seed=seed)
    except ConfigError as error:
        raise ConfigError(str(error).replace("society.", "play.", 1)) from None
    return made


def drawn_pairs(
    meetings: Sequence[Meeting] | None, num_agents: int, rng: np.random.Generator, size: int, epoch: int
) -> tuple[list[int], list[int]]:
    """Draw speakers and listeners of `size` rounds, with the weights of the pairs that may meet in an epoch."""
    if meetings is None:
        speakers = rng.integers(num_agents, size=size)
        listeners = rng.integers(num_agents - 1, size=size)
        listeners += listeners >= speakers
        return speakers.tolist(), listeners.tolist()
    found = [e for e in meetings if e.since <= epoch and (e.until is None or epoch < e.until)]
    if not found:
        raise ConfigError(
            f"play.meets: no pair meets in epoch {epoch + 1}: expected meetings for every epoch"
        )
    weights = np.array([each.weight for each in found])
    chosen = rng.choice(len(found), size=size, p=weights / weights.sum()).tolist()
    return [found[each].sender for each in chosen], [found[each].receiver for each in chosen]


class Schedule:
    """The pairs of each step, a pure function of seed, step and epoch.

    Args:
        meetings: The pairs that may play.
        options: The section `society`.
        seed: Seed of the run.
        num_epochs: Epochs of the run.

    Raises:
        ConfigError: If an agent has no partner, a pair occurs twice, `pairs_per_step` is too large, or a phase
            begins after the last epoch.
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
        """Pairs that meet in some epoch, each once."""
        self.options, self.seed = options, seed
        self.num_senders, self.num_receivers = num_senders, num_receivers
        met = {
            "sender": ({pair.sender for pair in self.meetings}, num_senders),
            "receiver": ({pair.receiver for pair in self.meetings}, num_receivers),
        }
        for role, (known, number) in met.items():
            if left := sorted(set(range(number)) - known):
                raise ConfigError(
                    f"society.meets: {role} {left[0]} has no partner: expected a pair for every agent"
                )
        if (last := max(pair.since for pair in planned)) >= num_epochs:
            raise ConfigError(
                f"society.meets: a phase begins with epoch {last}, but training.num_epochs is {num_epochs}: expected "
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
        self.partners: list[list[int]] = [[] for _ in range(num_senders)]
        """Receivers that each sender meets."""
        for pair in self.meetings:
            self.partners[pair.sender].append(pair.receiver)

    @cached_property
    def communities(self) -> tuple[list[int], list[int]]:
        """The community of each sender, and of each receiver, from 0.

        A community contains the members of one run or, without named members, the agents that meetings of the first
        phase connect.
        """
        members = members_in(self.options.members)
        if members:
            numbers = list(zip(members, communities_of(members), strict=True))
            if self.options.agents is not None:
                return ([number for _, number in numbers],) * 2
            senders, receivers = (
                [number for member, number in numbers if member.is_of(role)]
                for role in ("sender", "receiver")
            )
            return senders, receivers
        are_agents = self.options.agents is not None
        # The first agent that each agent is connected to.
        first = list(range(self.num_senders + (0 if are_agents else self.num_receivers)))
        offset = 0 if are_agents else self.num_senders
        for _ in first:  # enough iterations for a chain of all agents
            before = list(first)
            for pair in self.phases[0].meetings:
                one, other = pair.sender, pair.receiver + offset
                first[one] = first[other] = min(first[one], first[other])
            if first == before:
                break
        numbers_of = {each: number for number, each in enumerate(sorted(set(first)))}
        found = [numbers_of[each] for each in first]
        return found[: self.num_senders], found[offset : offset + self.num_receivers]

    def is_within(self, pair: Meeting) -> bool:
        """Whether both agents of a pair belong to one community."""
        senders, receivers = self.communities
        return senders[pair.sender] == receivers[pair.receiver]

    @property
    def contact(self) -> int | None:
        """First epoch in which members of two communities meet; None: there is none."""
        return next(
            (phase.begin for phase in self.phases if not all(map(self.is_within, phase.meetings))), None
        )

    def phase(self, epoch: int) -> "_Phase":
        """Get the phase of an epoch."""
        return next(phase for phase in reversed(self.phases) if phase.begin <= epoch)

    def of_step(self, step: int, epoch: int = 0) -> list[Meeting]:
        """Draw the pairs of a step by their weights, so that all pairs play before any plays again.

        In steps of self-play, each agent plays with itself.
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

    def with_receivers(self, receivers: Sequence[int], step: int, epoch: int = 0) -> list[Meeting]:
        """Pair receivers with senders that they meet in this phase, or else in any phase, in rotation."""
        now, ever = self.phase(epoch).meetings, self.meetings
        met = [
            [pair for pair in now if pair.receiver == index]
            or [pair for pair in ever if pair.receiver == index]
            for index in receivers
        ]
        return [pairs[step % len(pairs)] for pairs in met]


def meetings_of(experiment: Experiment) -> set[tuple[str, str]]:
    """Names in a corpus of the speaker and the listener of each pair that may meet in some epoch.

    A receiver that does not send is `receiver 0` and so on. Empty for a play in which agents do not meet in pairs.

    Raises:
        ConfigError: If there are no pairs.
    """
    options, society, seed = experiment.play.options, experiment.society, experiment.training.seed
    if hasattr(options, "meets"):
        both = MEETINGS.make(options.meets).pairs(options.agents, options.agents, are_agents=True, seed=seed)
        return {(str(pair.sender), str(pair.receiver)) for pair in both}
    num_epochs = max(experiment.training.num_epochs, 1)
    schedule = Schedule(MEETINGS.make(society.meets), society, seed, num_epochs)
    prefix = "receiver " if society.agents is None else ""
    return {(str(pair.sender), f"{prefix}{pair.receiver}") for pair in schedule.meetings}


class _Phase:
    """Meetings from an epoch on."""

    def __init__(self, begin: int, meetings: list[Meeting]) -> None:
        self.begin, self.meetings = begin, meetings
        self.weights = np.array([pair.weight for pair in meetings])
        if not meetings:
            raise ConfigError(f"society.meets: in epoch {begin} no pair meets: expected at least one")
        if len({(pair.sender, pair.receiver) for pair in meetings}) < len(meetings):
            raise ConfigError("society.meets: a pair occurs twice: expected each pair once, with a weight")
