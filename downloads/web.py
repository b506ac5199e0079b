"""A file from the web, whole or not there; what a broken connection has brought is gone on with."""

import hashlib
import os
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ecsuite.config import ConfigError

_SECONDS_WITHOUT_ANSWER = 60
_BYTES_AT_A_TIME = 1 << 20
_PARTIAL_CONTENT = 206
_NOTHING_LEFT = 416


def fetch(
    url: str, path: Path, *, sha256: str | None, instead: str, progress: Callable[[float], None]
) -> None:
    """Download a file; what is there of it already, as `NAME.part`, is not asked for again where the server allows.

    Args:
        url: Where it is.
        path: Where it goes, in a folder that exists.
        sha256: What its checksum must be; None if that is not known.
        instead: What a user without a network can do; ends the message of an error.
        progress: Called with the share that is there, 0 to 1, where the server says how much it is.

    Raises:
        ConfigError: If the address cannot be reached, the connection breaks off, or the checksum is another.
    """
    part = path.with_name(f"{path.name}.part")
    start = part.stat().st_size if part.exists() else 0
    try:
        with _open(url, start) as response:
            start = start if response.status == _PARTIAL_CONTENT else 0
            length = response.headers["Content-Length"]
            total = start + int(length) if length else 0
            done = start
            with part.open("ab" if start else "wb") as file:
                while piece := response.read(_BYTES_AT_A_TIME):
                    file.write(piece)
                    done += len(piece)
                    progress(done / total if total else 0.0)
    except HTTPError as error:
        error.close()
        if error.code == _NOTHING_LEFT and start:  # what is there is no beginning of what the server has
            part.unlink()
            return fetch(url, path, sha256=sha256, instead=instead, progress=progress)
        raise ConfigError(f"{url}: the server says {error.code} {error.reason}. {instead}") from error
    except (OSError, HTTPException) as error:
        raise ConfigError(
            f"{url}: cannot be read ({error}); the same command goes on where it stopped. {instead}"
        ) from error
    if done < total:
        raise ConfigError(
            f"{url}: broke off after {done:,} of {total:,} bytes; the same command goes on from there. {instead}"
        )
    if sha256 is not None:
        with part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            part.unlink()
            raise ConfigError(
                f"{url}: has SHA-256 {found}, expected {sha256}; it is not the file that it was"
            )
    os.replace(part, path)


def _open(url: str, start: int) -> Any:
    """The answer, from byte `start` on where the server can do that (status 206)."""
    headers = {"User-Agent": "ecsuite"} | ({"Range": f"bytes={start}-"} if start else {})
    return urlopen(Request(url, headers=headers), timeout=_SECONDS_WITHOUT_ANSWER)
