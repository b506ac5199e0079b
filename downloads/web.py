"""Download of a file from the web, written atomically; an interrupted download is resumed."""

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
    url: str, path: Path, *, sha256: str | None, offline_advice: str, progress: Callable[[float], None]
) -> None:
    """Download a file; a partial download in `NAME.part` is continued if the server supports it.

    Args:
        url: Address of the file.
        path: Path to write, in an existing folder.
        sha256: Expected checksum; None if unknown.
        offline_advice: Advice for users without a network, at the end of error messages.
        progress: Called with the fraction done, 0 to 1; 0 if the server does not send the size.

    Raises:
        ConfigError: If the address cannot be reached, the connection is lost, or the checksum differs.
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
        if error.code == _NOTHING_LEFT and start:
            # The partial file is not a prefix of the file on the server.
            part.unlink()
            return fetch(url, path, sha256=sha256, offline_advice=offline_advice, progress=progress)
        raise ConfigError(
            f"{url}: the server answered {error.code} {error.reason}. {offline_advice}"
        ) from error
    except (OSError, HTTPException) as error:
        raise ConfigError(
            f"{url}: cannot be read ({error}); run the same command again to resume. {offline_advice}"
        ) from error
    if done < total:
        raise ConfigError(
            f"{url}: connection lost after {done:,} of {total:,} bytes; run the same command again to resume. "
            f"{offline_advice}"
        )
    if sha256 is not None:
        with part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            part.unlink()
            raise ConfigError(f"{url}: expected SHA-256 {sha256}, found {found}; the file has changed")
    os.replace(part, path)


def _open(url: str, start: int) -> Any:
    """The response, from byte `start` if the server supports it (status 206)."""
    headers = {"User-Agent": "ecsuite"} | ({"Range": f"bytes={start}-"} if start else {})
    return urlopen(Request(url, headers=headers), timeout=_SECONDS_WITHOUT_ANSWER)
