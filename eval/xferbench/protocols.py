"""Protocols: by which rules corpora and texts become data. A score holds the name of its protocol."""

from collections.abc import Callable
from dataclasses import dataclass

from ecsuite.corpus import Corpus
from ecsuite.eval.learning.data import Source, Target
from ecsuite.eval.xferbench import published, strict
from ecsuite.eval.xferbench.presets import Preset
from ecsuite.eval.xferbench.texts import Text


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """The rules."""

    name: str
    """The name in signatures."""
    about: str
    """A line for people."""
    source: Callable[[Corpus, Preset, int], Source]
    """What to pretrain on, from a corpus and a seed."""
    target: Callable[[Text, Preset], Target]
    """What to tune and test on, from a text."""
    weight_decay: float
    """AdamW's."""
    warning: str | None = None
    """What a reader of its scores has to know."""


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            name="strict",
            about="what the paper says: tuning and test share nothing, each held-out token is scored once",
            source=strict.source,
            target=strict.target,
            weight_decay=0.01,
        ),
        Protocol(
            name="published-2024",
            about="what the authors' program did when the published tables were made",
            source=published.source,
            target=published.target,
            weight_decay=0.0,
            warning="tuning and test share documents, and untrained ends of documents are scored, as in the tables",
        ),
        Protocol(
            name="head-2024-12",
            about="what the authors' program does since December 2024: it tunes on what it tests on",
            source=published.source_shuffled,
            target=published.target_shuffled,
            weight_decay=0.0,
            warning="the whole test set is among the tuning data: this only shows the leak, never report it",
        ),
    )
}
"""By name."""
