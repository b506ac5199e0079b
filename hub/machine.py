"""What is of this machine or secret, and stays here: paths, its name and its user, tokens and keys.

In the records that ecsuite writes, such as `config.yaml`, paths are shortened, and their checksums written anew. What
is found in any other file is refused with its line, since what a user wrote is not changed.
"""

import getpass
import json
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ecsuite.files.checksums import CHECKSUM, MARK, sealed, sealed_text
from ecsuite.formats.stored_text import opened
from ecsuite.runtime.errors import ConfigError

RECORDS = ("config.yaml", "metadata.json", "scores.json", "results.json", "sweep.json")
"""Names of the files that ecsuite writes and whose paths are shortened."""
TEXTS = (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".csv", ".tsv", ".txt", ".py")
"""Endings of the texts that are read, also packed ones."""
SECRETS = (
    (rb"hf_[A-Za-z0-9]{24,}", "a token of the Hugging Face hub"),
    (rb"(?:ghp|gho|ghs)_[A-Za-z0-9]{36}|github_pat_\w{22,}", "a token of GitHub"),
    (rb"(?<![0-9A-Za-z])(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])", "a key of AWS"),
    (rb"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{32,}", "a key of a service"),
    (rb"-----BEGIN [A-Z ]*PRIVATE KEY-----", "a private key"),
)
"""What is secret in any file."""
ROOTS = (
    "home Users root tmp var private mnt media scratch gpfs lustre nfs net srv opt work workspace project projects "
    "storage cluster Volumes"
).split()
"""Folders at the root of a machine; a path that begins with one of them is of a machine."""
_PATH = rf"(?<![\w./:~-])(?:/(?:{'|'.join(ROOTS)})/[^:;,\"'\n\\]*[^:;,\"'\n\\\s]|[A-Za-z]:\\[^:;,\"'\n]+)"
_SERVER = (
    r"https?://(?!localhost\b|127\.)(?:10\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+|[A-Za-z][\w-]*|"
    r"[\w.-]+\.(?:local|localdomain|internal|intranet|lan|corp|home))(?=[:/\"'\s]|$)"
)
"""The address of a server that a network of one's own knows alone, such as http://gpu7:8000/v1."""
HERE = "http://127.0.0.1"
"""What records have in the place of such an address."""
_BLOCK = 1 << 24
_OVERLAP = 1 << 12
"""Bytes that are read at once, and how many of them are read again with the next."""


class Machine:
    """This machine as files could show it.

    Args:
        folder: What lies below it keeps its relative path.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        places = (self.folder, Path.cwd(), Path.home(), Path(tempfile.gettempdir()))
        own = sorted({str(place) for place in places if len(place.parts) > 1}, key=len, reverse=True)
        prefixes = "|".join(map(re.escape, own))
        self._path = re.compile(rf"{_SERVER}|{_PATH}|(?<![\w./-])(?:{prefixes})(?:/[^:;,\"'\n]*)?(?![\w-])")
        self._refused = [(re.compile(pattern.encode()), what) for pattern, what in self._of_machine(prefixes)]
        self._secret = [(re.compile(pattern), what) for pattern, what in SECRETS]

    @staticmethod
    def _of_machine(prefixes: str) -> Iterator[tuple[str, str]]:
        yield rf"{_PATH}|(?<![\w./-])(?:{prefixes})(?![\w-])", "a path of a machine"
        host = socket.gethostname().partition(".")[0]
        if len(host) > 3 and host != "localhost":
            yield rf"(?<![\w.-]){re.escape(host)}(?![\w-])", "the name of this machine"
        with suppress(OSError, KeyError):  # of a user that the system does not know
            yield rf"(?<![\w.-]){re.escape(getpass.getuser())}@[\w-]", "an address of this user"

    def record(self, name: str, content: bytes) -> bytes:
        """The content of a record without paths and servers of a machine, and its checksum anew; as it is without them.

        Raises:
            ValueError: If it is no text, or no JSON.
        """
        text = content.decode()
        if not self._path.search(text):
            return content
        if not name.endswith(".json"):
            shortened = self.shortened(text).encode()
            return sealed_text(shortened) if MARK in content else shortened
        tree = self._without_paths(json.loads(text))
        tree = sealed(tree) if isinstance(tree, dict) and CHECKSUM in tree else tree
        return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"

    def shortened(self, text: str) -> str:
        """A text with `HERE` for servers, and paths relative to the folder or the current one, or as a name alone."""
        return self._path.sub(lambda found: self._short(found[0]), text)

    def _without_paths(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.shortened(value)
        if isinstance(value, dict):
            return {self._without_paths(key): self._without_paths(inner) for key, inner in value.items()}
        return [self._without_paths(inner) for inner in value] if isinstance(value, list) else value

    def _short(self, path: str) -> str:
        if path.startswith("http"):
            return HERE
        for base in (self.folder.parent, Path.cwd()):
            if Path(path).is_relative_to(base) and base != Path("/"):
                return str(Path(path).relative_to(base))
        return re.split(r"[/\\]", path.rstrip("/\\"))[-1]

    def require_clean(self, file: Path, name: str, content: bytes | None = None) -> None:
        """Refuse a file with something that is of a machine or secret.

        Args:
            file: The file; errors name it.
            name: What it is called on the hub.
            content: What is sent in its place; None: the file as it is.

        Raises:
            ConfigError: If there is something, with its line.
        """
        plain = name.removesuffix(".gz").removesuffix(".xz")
        patterns = [*self._secret, *(self._refused if plain.endswith(TEXTS) else [])]
        line = 1
        for block, is_counted in _blocks(file, content):
            for pattern, what in patterns:
                if (found := pattern.search(block)) is not None:
                    line += block.count(b"\n", 0, found.start())
                    shown = "" if pattern in [each for each, _ in self._secret] else f" ({_text(found[0])})"
                    raise ConfigError(
                        f"{file}:{line}: has {what}{shown}, which would be there for all to read: take it out of the "
                        "file, or the file out of the folder; nothing was sent"
                    )
            line += block.count(b"\n", 0, is_counted)


def _text(found: bytes) -> str:
    return found.decode(errors="replace")[:80]


def _blocks(file: Path, content: bytes | None) -> Iterator[tuple[bytes, int]]:
    """The content in overlapping blocks, unpacked, each with how many of its bytes are not in the next one."""
    if content is not None:
        yield content, len(content)
        return
    rest = b""
    with opened(file) as stream:
        while piece := stream.read(_BLOCK):
            block = rest + piece
            rest = block[-_OVERLAP:]
            yield block, len(block) - len(rest)
