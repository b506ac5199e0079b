"""Protocols: how a body that has never seen a human language comes to a task, and in which language it learns it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """One way."""

    name: str
    """The name in signatures."""
    about: str
    """A line for people."""
    shares_vocabulary: bool
    """Whether one vocabulary and one embedding serve all languages."""
    learns_text: bool
    """Whether texts are learnt before the task."""
    text_tunes_body: bool
    """Whether learning texts changes the body, or the embedding alone."""
    is_zero_shot: bool
    """Whether the task is learnt in English alone, or in each language that is tested."""


PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            name="adapt",
            about="one vocabulary; the body learns as much text of each language; the task in English",
            shares_vocabulary=True,
            learns_text=True,
            text_tunes_body=True,
            is_zero_shot=True,
        ),
        # Artetxe, Ruder & Yogatama (2020)
        Protocol(
            name="monotrans",
            about="an embedding for each language, learnt from its text under a fixed body; the task in English",
            shares_vocabulary=False,
            learns_text=True,
            text_tunes_body=False,
            is_zero_shot=True,
        ),
        Protocol(
            name="direct",
            about="one vocabulary, no text; the task in English: a control",
            shares_vocabulary=True,
            learns_text=False,
            text_tunes_body=False,
            is_zero_shot=True,
        ),
        Protocol(
            name="in-language",
            about="a vocabulary, the text and the task of each language; the body learns all of them",
            shares_vocabulary=False,
            learns_text=True,
            text_tunes_body=True,
            is_zero_shot=False,
        ),
    )
}
"""By name."""
