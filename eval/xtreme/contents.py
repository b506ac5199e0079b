"""Data and models that jobs read: identified by their content, not by their place."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents(ABC):
    """What a job reads; another content gives another job, and none is read that was not identified."""

    digest: str = ""
    """A hash of the content."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Its place and what it is, for messages."""

    @abstractmethod
    def stored(self) -> Any:
        """What is stored now.

        Raises:
            ConfigError: If there is nothing.
        """

    @abstractmethod
    def hash_of(self, content: Any) -> str:
        """The hash of a content, the same in every process."""

    def identified(self) -> Self:
        """The same, with the hash of what is stored now, and whole paths.

        Raises:
            ConfigError: If there is nothing, or it is malformed.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        paths = {name: value.resolve() for name, value in values.items() if isinstance(value, Path)}
        return replace(self, digest=self.hash_of(self.stored()), **paths)

    def read(self) -> Any:
        """What is stored.

        Raises:
            ConfigError: If it has changed since it was identified.
        """
        content = self.stored()
        if self.hash_of(content) != self.digest:
            raise ConfigError(f"{self.title} has changed while it was in use: run the same command again")
        return content


def hash_of_text(text: str) -> str:
    """A hash of 12 bytes in hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
