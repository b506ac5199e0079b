"""Meetings in phases: communities that live apart, meet over some of their members, or all live together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ecsuite.games.config.registry import MEETINGS
from ecsuite.games.players.meetings import Meeting, Meetings
from ecsuite.parts.registry import Part, parts_in_list
from ecsuite.runtime.errors import ConfigError

UNTIL = " until "
"""What is before the epoch at which a phase ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """Meetings, and when they take place."""

    meets: Part
    since: int
    """The first epoch, from 0."""
    until: int | None
    """The first epoch after it; None: it has no end."""


class Phases:
    """Meetings that change with the epochs."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of phases."""

        of: tuple[str, ...] = ("groups until 1", "all")
        """One after the other: other meetings with their options, and of all but the last the epoch at which they end:
        [groups until 5, "groups,across=1,bridges=1 until 8", all]; a list in the place of a name is short for this."""

        def __post_init__(self) -> None:
            """Check them; `ConfigError` if one is unknown, or ends before it begins."""
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
    """The phases of a list; see `Phases.Options`."""
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
