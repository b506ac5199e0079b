"""Who speaks in a corpus that is no run, by its metadata: a grammar, people, or somebody else who learned from one."""

from collections.abc import Mapping
from typing import Any, Literal

GRAMMAR = "a grammar"
"""The `speaker` of a first language, which nobody learned; corpora of grammars alone have none."""
PEOPLE = ("a participant", "participants")
"""The `speaker` where people took part: one, or several."""
PROGRAMS = ("a simulated participant", "simulated participants")
"""The same where programs did."""


def speaker_of(metadata: Mapping[str, Any]) -> str:
    """Who speaks; empty where it is a grammar, or nobody knows."""
    speaker = metadata.get("speaker")
    return speaker if isinstance(speaker, str) and speaker != GRAMMAR else ""


def kind_of(metadata: Mapping[str, Any]) -> Literal["people", "grammar", "corpus"]:
    """What a corpus is of; what learners of a grammar say is not of the grammar."""
    if (speaker := speaker_of(metadata)) in PEOPLE:
        return "people"
    return "grammar" if "grammar" in metadata and not speaker else "corpus"
