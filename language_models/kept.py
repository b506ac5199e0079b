"""Answers that are kept, a line each: by digest of backend and settings, prompt, what is allowed, and draw."""

import errno
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.checksums import CHECKSUM, checksum_of, sealed
from ecsuite.formats.directory import BESIDE
from ecsuite.language_models.backend import Reply, Request
from ecsuite.runtime.errors import RUN_AGAIN, ConfigError

KEY = "answers"
"""Where the metadata of a run have the checksum of the file."""
FILE = BESIDE[KEY]
"""The file in a run folder."""


def digest(content: Any) -> str:
    """SHA-256 of what JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def key_of(settings: Mapping[str, Any], request: Request) -> str:
    """The digest of a request."""
    return digest([settings, request.system, request.user, request.allowed.to_json(), request.draw])


@dataclass(slots=True)
class Used:
    """What one participant asked of a backend with its settings."""

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    models: list[str] = field(default_factory=list)
    """The models that answered, the first one first."""

    @property
    def tokens(self) -> int:
        """Of prompts and answers."""
        return self.prompt_tokens + self.answer_tokens


class KeptAnswers:
    """The answers of a run folder, or of none.

    Args:
        folder: Where they are read and written; None: they are forgotten with this object.
        note: Told of lines that are damaged, which are asked for again.
        is_read_only: Whether the file is left as it is.
    """

    def __init__(
        self,
        folder: Path | None = None,
        note: Callable[[str], None] = lambda _: None,
        *,
        is_read_only: bool = False,
    ) -> None:
        self.file, self._is_read_only = None if folder is None else folder / FILE, is_read_only
        self._lock, self._replies, self._lines = Lock(), dict[str, Reply](), dict[str, bytes]()
        self._used: dict[str, Used] = {}
        if self.file is not None and self.file.exists():
            self._read(note)

    def _read(self, note: Callable[[str], None]) -> None:
        assert self.file is not None
        damaged = 0
        lines = self.file.read_bytes().splitlines(keepends=True)
        for number, line in enumerate(lines):
            try:
                row = json.loads(line)
                if not line.endswith(b"\n") or row[CHECKSUM] != checksum_of(row):
                    raise ValueError
                self._take(row, line)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, msgspec.MsgspecError):
                damaged += number < len(lines) - 1  # the last one was cut when the process was killed
        if damaged:
            then = "" if self._is_read_only else " and asked for again"
            note(f"{self.file}: {damaged} answers are damaged{then}")
        if len(self._lines) < len(lines) and not self._is_read_only:
            write_atomically(self.file, self._lines.values())

    def _take(self, row: Mapping[str, Any], line: bytes) -> None:
        reply = msgspec.convert({name: row[name] for name in Reply.__slots__}, Reply)
        used = self.used(row["backend"])
        used.calls += 1
        used.prompt_tokens += reply.prompt_tokens
        used.answer_tokens += reply.answer_tokens
        if reply.model not in used.models:
            used.models.append(reply.model)
        self._replies[row["key"]], self._lines[row["key"]] = reply, line

    def __contains__(self, key: str) -> bool:
        """Whether a question was answered."""
        return key in self._replies

    def get(self, key: str) -> Reply | None:
        """The answer to a question."""
        return self._replies.get(key)

    def replies(self) -> list[Reply]:
        """All answers."""
        return list(self._replies.values())

    def used(self, backend: str) -> Used:
        """What was asked, by the digest of the backend's settings and of who asks."""
        return self._used.setdefault(backend, Used())

    def add(self, key: str, backend: str, request: Request, reply: Reply) -> None:
        """Keep an answer, in the file before anything else is done with it."""
        row = {"key": key, "backend": backend, **{name: getattr(reply, name) for name in Reply.__slots__}}
        row |= {"system": request.system, "user": request.user, "draw": request.draw}
        line = json.dumps(sealed(row)).encode() + b"\n"
        with self._lock:
            if self.file is not None:
                self._append(self.file, line)
            self._take(row, line)

    def _append(self, file: Path, line: bytes) -> None:
        """Write a line wholly, or nothing of it."""
        with file.open("ab", buffering=0) as opened:
            before = opened.tell()
            try:
                if opened.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError as error:
                opened.truncate(before)
                raise ConfigError(
                    f"{file}: can't be written: {error.strerror}; the answers before are kept: {RUN_AGAIN}"
                ) from None

    def sort(self) -> None:
        """Write the file in an order that does not depend on which answer came first."""
        if self.file is not None and self._lines:
            write_atomically(self.file, [self._lines[key] for key in sorted(self._lines)])
