"""Examples of the tasks of XTREME, independent of file formats."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class TaggedSentence:
    """Words with one tag each."""

    words: tuple[str, ...]
    """The words; at least one."""
    tags: tuple[str, ...] | None
    """One tag per word; None if the tags are withheld."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPair:
    """Two sentences and their relation."""

    first: str
    """The premise, or the first sentence."""
    second: str
    """The hypothesis, or the second sentence."""
    label: str | None
    """The relation; None if it is withheld."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A span of a context."""

    text: str
    """Text of the answer."""
    start: int
    """Position of its first character in the context."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question about a context that contains its answer."""

    id: str
    """Identifier in predictions."""
    question: str
    """Text of the question."""
    context: str
    """Text that contains the answer."""
    answers: tuple[Answer, ...]
    """All correct answers; empty if they are withheld."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bitext:
    """Sentences in two languages, of which some translate each other."""

    source_ids: tuple[str, ...]
    """Names of the query sentences; for Tatoeba their rows, "0" and so on."""
    sources: tuple[str, ...]
    """The query sentences; for Tatoeba the English ones, sorted."""
    target_ids: tuple[str, ...]
    """Names of the candidate sentences."""
    targets: tuple[str, ...]
    """The candidate sentences."""
    gold: frozenset[tuple[str, str]] | None
    """Pairs of names of sentences that translate each other; None if they are withheld."""
