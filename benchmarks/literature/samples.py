"""A language as it is read: its messages without EOS, and the values of the attributes."""

from dataclasses import dataclass

import numpy as np

from ecsuite.benchmarks.corpus_size import Form, Language
from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import attribute_codes
from ecsuite.eval.statistics.contingency import Ints

Message = tuple[int, ...]
EOS = 0
"""Content symbols are above it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """Messages and meanings, line by line."""

    messages: list[Message]
    """Content symbols, from 1."""
    attributes: Ints
    """Values of the attributes, from 0, (num_messages, num_attributes)."""

    @classmethod
    def of(cls, corpus: Corpus) -> "Sample":
        """The messages of a corpus up to EOS.

        Raises:
            ValueError: If its meanings are no attribute values.
        """
        attributes = attribute_codes(corpus)
        if attributes is None:
            raise ValueError("the corpus has no attribute values")
        content, _ = corpus.reindexed()
        return cls(
            messages=[tuple((content[row] + 1).tolist()) for row in range(len(content))],
            attributes=attributes,
        )

    def corpus(self, messages: list[Message] | None = None) -> Corpus:
        """Make a corpus of these or of other messages, without EOS."""
        return Corpus(
            [list(message) for message in (self.messages if messages is None else messages)],
            meanings=self.attributes,
        )

    def rows(self, chosen: Ints) -> "Sample":
        """Some of the lines."""
        return Sample(messages=[self.messages[row] for row in chosen], attributes=self.attributes[chosen])

    def each_meaning_once(self) -> "Sample":
        """The first line about each meaning."""
        _, first = np.unique(self.attributes, axis=0, return_index=True)
        return self.rows(np.sort(first))

    def ended(self) -> list[Message]:
        """The messages with EOS as their last symbol."""
        return [(*message, EOS) for message in self.messages]

    def filled(self) -> list[Message]:
        """The messages with EOS, which is repeated until all are of one length."""
        longest = max(len(message) for message in self.messages) + 1
        return [message + (EOS,) * (longest - len(message)) for message in self.messages]


def noisy_grammar() -> Sample:
    """500 messages of CONCAT, three attributes of five values, 30 % of symbols replaced by random ones or EOS."""
    language = Language(grammar="concat", num_attributes=3, noise=0.3)
    return Sample.of(language.corpus(500, 1, Form()))
