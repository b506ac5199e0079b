"""The members of a society that are named one by one: agents of other runs, and fresh ones, frozen or not."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ecsuite.runtime.errors import ConfigError

FRESH = "fresh"
"""The name of a member that begins with weights of its own."""
WORDS = ("sender", "receiver", "frozen")
"""What may follow a name after a colon."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """Where an agent comes from, and what it does."""

    source: str
    """A run folder, or `FRESH`."""
    role: str | None
    """All that is taken of the run, `sender` or `receiver`; None: both."""
    is_frozen: bool

    @property
    def run(self) -> str | None:
        """The run folder; None: it is fresh."""
        return None if self.source == FRESH else self.source

    def is_of(self, role: str) -> bool:
        """Whether it has what an agent of a role needs."""
        return self.role in (None, role)


def members_in(names: Sequence[str]) -> list[Member]:
    """The members of a list such as `[runs/a*4, runs/b:sender, fresh, runs/c:frozen]`.

    Raises:
        ConfigError: If one has no name, or no number after `*`, or contradicts itself.
    """
    members: list[Member] = []
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
        members += [Member(source=source, role=role, is_frozen="frozen" in words)] * int(number or 1)
    return members


def communities_of(members: Sequence[Member]) -> list[int]:
    """The community of each member, from 0: those of one source are one, in the order in which they are named."""
    sources = list(dict.fromkeys(member.source for member in members))
    return [sources.index(member.source) for member in members]


def without_places(names: Sequence[str]) -> list[str]:
    """Members with the numbers of their sources in the place of names: a run is the same wherever it lies."""
    members = members_in(names)
    numbers = communities_of(members)
    return [
        ":".join([
            FRESH if member.run is None else str(number), member.role or "both", *["frozen"] * member.is_frozen
        ])
        for member, number in zip(members, numbers, strict=True)
    ]  # fmt: skip
