"""Download of a file from the web, by https only; an interrupted download is resumed if the file is unchanged.

Next to the partial file `NAME.part`, `NAME.part.json` identifies the whole file: address, ETag, date and size on the
server. If one of them differs, the download starts again, with a note.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

import msgspec

from ecsuite.files.atomic_files import write_atomically
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import size_text

_SECONDS_WITHOUT_ANSWER = 60
_BYTES_AT_A_TIME = 1 << 20
_PARTIAL_CONTENT = 206
_NOTHING_LEFT = 416


class _OnlyHttps(HTTPRedirectHandler):
    """Follows only redirections to https."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if urlsplit(newurl).scheme != "https":
            fp.close()
            raise ConfigError(
                f"{req.full_url}: the server leads to {newurl[:100]}, which is not https; nothing was downloaded"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _https() -> OpenerDirector:
    """Make an opener for https addresses only."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler(),
        UnknownHandler(),
        HTTPSHandler(),
        HTTPDefaultErrorHandler(),
        _OnlyHttps(),
        HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


@dataclass(frozen=True, kw_only=True, slots=True)
class _Upstream:
    """Properties of a file on the server, to detect a change."""

    url: str
    """Address."""
    etag: str | None
    """ETag; None if unknown."""
    modified: str | None
    """Date; None if unknown."""
    size: int | None
    """Bytes of the whole file; None if unknown."""

    @property
    def validator(self) -> str | None:
        """Value of `If-Range`: a strong ETag, or else the date."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified


def fetch(
    url: str,
    path: Path,
    *,
    sha256: str | None,
    offline_advice: str,
    progress: Callable[[float], None],
    note: Callable[[str], None] = lambda text: None,
) -> None:
    """Download a file; a partial download in `NAME.part` is continued if the server still has the same file.

    Args:
        url: Address of the file; must begin with https://.
        path: Path to write, in an existing folder.
        sha256: Expected checksum; None if unknown.
        offline_advice: Advice for users without a network, at the end of error messages.
        progress: Called with the fraction done, 0 to 1; 0 if the server does not send the size.
        note: Called with messages to the user.

    Raises:
        ConfigError: If the address or a redirection is not https, the server can't be reached, the connection is lost,
            the disk is full, or the checksum differs.
    """
    part, record = (path.with_name(f"{path.name}{ending}") for ending in (".part", ".part.json"))
    with _reaching(url, offline_advice):
        while (reason := _fetch_part(url, part, record, progress)) is not None:
            note(f"{url}: {reason}; downloading it from the beginning")
            _remove(part, record)
    if sha256 is not None:
        with part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            _remove(part, record)
            raise ConfigError(f"{url}: expected SHA-256 {sha256}, found {found}; the file has changed")
    os.replace(part, path)
    record.unlink(missing_ok=True)


@contextmanager
def _reaching(url: str, offline_advice: str) -> Iterator[None]:
    """Report errors of the network and of the server in one line, with the advice."""
    try:
        yield
    except HTTPError as error:
        error.close()
        raise ConfigError(
            f"{url}: the server answered {error.code} {error.reason}. {offline_advice}"
        ) from error
    except (OSError, HTTPException, _Lost) as error:
        told = str(error) if isinstance(error, _Lost) else f"cannot be read ({error})"
        raise ConfigError(f"{url}: {told}; run the same command again to resume. {offline_advice}") from error


def _fetch_part(url: str, part: Path, record: Path, progress: Callable[[float], None]) -> str | None:
    """Download the missing bytes; return None, or the reason why the partial file can't be continued."""
    before = _read_record(record, url) if part.exists() else None
    start = part.stat().st_size if before is not None else 0
    try:
        response = open_url(_request(url, start, before))
    except HTTPError as error:
        if error.code != _NOTHING_LEFT or not start:
            raise
        error.close()
        return "the partial file does not belong to the file on the server"
    with response:
        now = _upstream(url, response.headers, start if response.status == _PARTIAL_CONTENT else 0)
        if start and now != before:
            return "the file on the server has changed"
        is_continued = start > 0 and response.status == _PARTIAL_CONTENT
        done, total = start if is_continued else 0, now.size or 0
        _require_room(part, total - done, url)
        with _writing(part):
            if not is_continued:
                part.unlink(missing_ok=True)
                write_atomically(record, f"{json.dumps(asdict(now))}\n".encode())
            file = part.open("ab")
        with file:
            while piece := response.read(_BYTES_AT_A_TIME):
                with _writing(part):
                    file.write(piece)
                    file.flush()
                done += len(piece)
                progress(done / total if total else 0.0)
    if done < total:
        raise _Lost(f"connection lost after {done:,} of {total:,} bytes")
    return None


def open_url(request: Request) -> Any:
    """Send a request by https only, and return the response."""
    if urlsplit(request.full_url).scheme != "https":
        raise ConfigError(
            f"{request.full_url}: expected an address that begins with https://; nothing was downloaded"
        )
    return _https().open(request, timeout=_SECONDS_WITHOUT_ANSWER)


def _request(url: str, start: int, before: _Upstream | None) -> Request:
    """Make a request for the file from byte `start`, if the file is unchanged."""
    headers = {"User-Agent": "ecsuite"}
    if start and before is not None:
        headers["Range"] = f"bytes={start}-"
        if before.validator is not None:
            headers["If-Range"] = before.validator
    return Request(url, headers=headers)


def _upstream(url: str, headers: Mapping[str, str], start: int) -> _Upstream:
    """Properties of the file in a response; the size includes the `start` bytes before it."""
    length = headers.get("Content-Length")
    size = start + int(length) if length and length.isdecimal() else None
    return _Upstream(url=url, etag=headers.get("ETag"), modified=headers.get("Last-Modified"), size=size)


def _read_record(record: Path, url: str) -> _Upstream | None:
    """Properties of the file of a partial download; None if unknown or of another address."""
    try:
        found = msgspec.json.decode(record.read_bytes(), type=_Upstream)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if found.url == url else None


def _remove(*files: Path) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _require_room(part: Path, needed: int, url: str) -> None:
    free = shutil.disk_usage(part.parent).free
    if needed > free:
        raise ConfigError(
            f"{url}: needs {size_text(needed)} in {part.parent}, and {size_text(free)} are free: make room, or choose "
            "another folder with --out"
        )


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    """Report disk errors in one line; the partial download stays."""
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"{file}: cannot be written ({error.strerror}); the partial download is stored: free some space, then run "
            "the same command again"
        ) from error


class _Lost(Exception):
    """The connection ended before the file did."""
