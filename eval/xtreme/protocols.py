"""Protocols: what a backbone without a human vocabulary is trained on before a task, and the task's language."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """One way of transferring a backbone to tasks in human languages."""

    name: str
    """The name in signatures."""
    about: str
    """Description of one line."""
    shares_vocabulary: bool
    """Whether all languages share one vocabulary and one embedding."""
    learns_text: bool
    """Whether there is training on text before the task."""
    text_trains_backbone: bool
    """Whether training on text updates the backbone, or the embedding only."""
    is_zero_shot: bool
    """Whether the task is trained in English only, or in each test language."""


PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            name="adapt",
            about="one vocabulary; backbone trained on the same amount of text per language; task in English",
            shares_vocabulary=True,
            learns_text=True,
            text_trains_backbone=True,
            is_zero_shot=True,
        ),
        # Artetxe, Ruder & Yogatama (2020)
        Protocol(
            name="monotrans",
            about="one embedding per language, trained on its text with a frozen backbone; task in English",
            shares_vocabulary=False,
            learns_text=True,
            text_trains_backbone=False,
            is_zero_shot=True,
        ),
        Protocol(
            name="direct",
            about="one vocabulary, no training on text; task in English; a control",
            shares_vocabulary=True,
            learns_text=False,
            text_trains_backbone=False,
            is_zero_shot=True,
        ),
        Protocol(
            name="in-language",
            about="one vocabulary per language; backbone trained on text and task of that language",
            shares_vocabulary=False,
            learns_text=True,
            text_trains_backbone=True,
            is_zero_shot=False,
        ),
    )
}
"""By name."""
PUBLISHED = Protocol(
    name="published",
    about="a published encoder with its own vocabulary; the task in English",
    shares_vocabulary=True,
    learns_text=False,
    text_trains_backbone=False,
    is_zero_shot=True,
)
"""The usual use of the benchmark, with `--model`."""
