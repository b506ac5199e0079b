"""Checksums in files that users may open: a key of JSON objects, the last line of YAML.

Files that users write need no checksum. `ecsuite verify --accept` updates the checksums of edited files.
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
    """Compute the checksum of a JSON object, ignoring an existing checksum."""
    rest = {key: value for key, value in data.items() if key != CHECKSUM}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def sealed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Add the checksum of a JSON object as its last key."""
    # Converted to JSON and back, so that tuples and keys of other types have the checksum of the file.
    plain = json.loads(json.dumps({key: value for key, value in data.items() if key != CHECKSUM}))
    return {**plain, CHECKSUM: checksum_of(plain)}


def require_unchanged(data: Any, file: Path) -> None:
    """Verify the checksum of a JSON object, if there is one.

    Raises:
        DamagedError: If the checksum differs.
    """
    if isinstance(data, dict) and CHECKSUM in data and data[CHECKSUM] != checksum_of(data):
        raise changed(file)


def sealed_text(content: bytes) -> bytes:
    """Add or replace the checksum in the last line of a YAML file."""
    content = b"".join(line for line in content.splitlines(keepends=True) if not line.startswith(MARK))
    return content + MARK + hashlib.sha256(content).hexdigest().encode() + b"\n"


def is_sealed_text(content: bytes) -> bool:
    """Whether a YAML file has a valid checksum."""
    return MARK in content and content == sealed_text(content)


def require_unchanged_text(content: bytes, file: Path) -> None:
    """Verify the checksum of a YAML file, if there is one.

    Raises:
        DamagedError: If the checksum differs.
    """
    if MARK in content and content != sealed_text(content):
        raise changed(file)


def changed(file: Path) -> DamagedError:
    """Make the error for a damaged or edited file, with the command that accepts the file."""
    return DamagedError(
        f"{file}: damaged or edited since it was written: restore it, or take it as it is with ecsuite verify "
        f"{shlex.quote(str(file.parent))} --accept"
    )
