"""A corpus of a collection with its scores."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.corpus import Corpus
from ecsuite.eval.collections.members import Member
from ecsuite.eval.views.scorecard import Scorecard

Read = Callable[[Path], Corpus]
"""Reads the messages of a path that are scored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredMember:
    """A corpus of a collection with its scores."""

    member: Member
    """The corpus."""
    card: Scorecard
    """Its scores."""

    def to_json(self) -> dict[str, Any]:
        """The scorecard with what is known of the corpus, JSON-ready."""
        return self.card.to_json() | {"member": self.member.to_json()}
