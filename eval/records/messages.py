"""The messages that scores are of: where they are, and how their file was read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ecsuite.corpus import Corpus
from ecsuite.formats.corpora import Reading
from ecsuite.formats.reading import read_as
from ecsuite.runtime.errors import CorpusError

HOW = ("reading", "where")
"""Keys of the metadata of a corpus, and of its JSON, that say how its file was read, and which messages it has."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Where messages are, and which they are."""

    path: Path
    """Their file or folder."""
    how: str = ""
    """How it was read, as JSON text with the keys of `HOW`; empty: without options, all messages."""

    def read(self, otherwise: Reading | None = None) -> Corpus:
        """Read them as they were read when they were scored.

        Args:
            otherwise: How the file is read if the scores do not say it.

        Raises:
            ConfigError: If the file needs more memory than is allowed.
            CorpusError: If it can't be read so.
        """
        known = _known(self.how)
        corpus = read_as(self.path, known.reading or otherwise or Reading())
        for each in known.where:
            column, _, value = each.partition("=")
            corpus = corpus.where(column, value)
        return corpus


class _How(msgspec.Struct):
    reading: Reading | None = None
    where: list[str] = []


def _known(how: str) -> _How:
    try:
        return msgspec.convert(json.loads(how or "{}"), _How)
    except msgspec.ValidationError as error:
        raise CorpusError(f"scores with how their corpus was read: {error}") from None


def how_of(corpus: Mapping[str, Any]) -> str:
    """How the file of a corpus was read, of its JSON in a file of scores."""
    known = {key: corpus[key] for key in HOW if corpus.get(key)}
    return json.dumps(known, sort_keys=True) if known else ""
