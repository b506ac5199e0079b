"""What the tasks of XTREME are made of, however it was stored."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class TaggedSentence:
    """Words and a tag for each."""

    words: tuple[str, ...]
    """At least one."""
    tags: tuple[str, ...] | None
    """As many; None where they are held back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPair:
    """Two sentences and how they relate."""

    first: str
    """The premise, or the first sentence."""
    second: str
    """The hypothesis, or the second sentence."""
    label: str | None
    """The relation; None where it is held back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A stretch of a context."""

    text: str
    """What it says."""
    start: int
    """Characters of the context before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question about a context that holds its answer."""

    id: str
    """Names the question in predictions."""
    question: str
    """What is asked."""
    context: str
    """Where the answer is to be found."""
    answers: tuple[Answer, ...]
    """All that count as right; none where they are held back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bitext:
    """Sentences in two languages, of which some translate each other."""

    source_ids: tuple[str, ...]
    """Names of the sentences to look for: of Tatoeba their rows, "0" and so on."""
    sources: tuple[str, ...]
    """The sentences to look for; of Tatoeba the English ones, sorted."""
    target_ids: tuple[str, ...]
    """Names of the sentences to look among."""
    targets: tuple[str, ...]
    """The sentences to look among."""
    gold: frozenset[tuple[str, str]] | None
    """Names of a sentence and its translation; None where they are held back."""
