"""Protocols: what a backbone without a human vocabulary is trained on before a task, and the task's language."""

from dataclasses import dataclass

from ecsuite.parts.config import read_presets


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


PROTOCOLS = read_presets(Protocol, "ecsuite.eval.xtreme", "protocols.yaml")
"""By name."""
PUBLISHED = PROTOCOLS.pop("published")
"""The usual use of the benchmark, with `--model`."""
