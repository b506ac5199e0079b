"""Checksums inside of the files that users may open: JSON objects by a key, YAML by its last line.

Files that users write have none, and are read as they are. `ecsuite verify --accept` writes those of files edited on
purpose.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ecsuite.runtime.errors import DamagedError

CHECKSUM = "checksum"
"""Key of the checksum of a JSON object: SHA-256 of its other keys as sorted JSON."""
MARK = b"# sha256 of all lines above: "
"""Beginning of the last line of a YAML file with a checksum."""


def checksum_of(data: Mapping[str, Any]) -> str:
    """The checksum of a JSON object, without the one that it may have."""
    rest = {key: value for key, value in data.items() if key != CHECKSUM}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def sealed(data: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with its checksum as the last key."""
    # As read again, so that keys which are no texts, and tuples, have the checksum that they will have.
    plain = json.loads(json.dumps({key: value for key, value in data.items() if key != CHECKSUM}))
    return {**plain, CHECKSUM: checksum_of(plain)}


def require_unchanged(data: Any, file: Path) -> None:
    """Check the checksum of a JSON object, if it is one and has one.

    Raises:
        DamagedError: If it is another.
    """
    if isinstance(data, dict) and CHECKSUM in data and data[CHECKSUM] != checksum_of(data):
        raise changed(file)


def sealed_text(content: bytes) -> bytes:
    """The content of a YAML file, with a checksum as its last line in place of an earlier one."""
    content = b"".join(line for line in content.splitlines(keepends=True) if not line.startswith(MARK))
    return content + MARK + hashlib.sha256(content).hexdigest().encode() + b"\n"


def is_sealed_text(content: bytes) -> bool:
    """Whether a YAML file has a checksum, and is as it was written."""
    return MARK in content and content == sealed_text(content)


def require_unchanged_text(content: bytes, file: Path) -> None:
    """Check the checksum of a YAML file, if it has one.

    Raises:
        DamagedError: If it is another.
    """
    if MARK in content and content != sealed_text(content):
        raise changed(file)


def changed(file: Path) -> DamagedError:
    """The error for a file that is not as it was written, with what accepts it."""
    return DamagedError(
        f"{file}: damaged or edited since it was written: restore it, or take it as it is with ecsuite verify "
        f"{shlex.quote(str(file.parent))} --accept"
    )
