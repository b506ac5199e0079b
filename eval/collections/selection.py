"""Which messages of a file are scored, and how the file is read."""

from dataclasses import dataclass, field

from ecsuite.corpus import Corpus
from ecsuite.formats.corpora import Reading
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """How the files of corpora are read, and which of their messages are scored."""

    reading: Reading = field(default_factory=Reading)
    """How they are read."""
    where: str | None = None
    """`COLUMN=VALUE`: only messages with this value; None: all."""

    def of(self, corpus: Corpus) -> Corpus:
        """Those messages of a corpus.

        Raises:
            ConfigError: If `where` is not written so.
            CorpusError: If there is no such column, or no such message.
        """
        if self.where is None:
            return corpus
        column, equals, value = self.where.partition("=")
        if not equals:
            raise ConfigError(f"--where {self.where}: expected COLUMN=VALUE, such as split=held_out")
        return corpus.where(column, value)
