"""What every response of the server has: security headers, and of an error one line without anything of the inside."""

import sqlite3
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ecsuite.people.errors import RefusedError

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every response that does not set them itself."""


class BadRequestError(Exception):
    """What was sent is not what the page sends."""


class WithHeaders:
    """An application whose responses have `HEADERS`, whichever part of it makes them.

    Args:
        app: The application, which has answered before it raises.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        with suppress(Exception):  # Starlette raises again what `_mistaken` has told
            await self.app(scope, receive, send_with_headers)


def _told(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, status)

    return handler


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = "There is no such page." if error.status_code == 404 else error.detail
    return JSONResponse({"error": text}, error.status_code, error.headers)


async def _not_stored(request: Request, error: Exception) -> Response:
    sys.stderr.write(f"an answer can't be stored now: {error}; nothing is lost, pages send it again\n")
    return JSONResponse({"error": "The server can't store answers now."}, 503)


async def _mistaken(request: Request, error: Exception) -> Response:
    place = f"{request.method} {quote(request.url.path)}"  # no escape sequence reaches the terminal
    sys.stderr.write(f"{place}: {type(error).__name__}: {error}\n")
    return JSONResponse({"error": "The server made a mistake."}, 500)


ERRORS = {
    HTTPException: _refused,
    BadRequestError: _told(400),
    ClientDisconnect: _told(400),
    RefusedError: _told(409),
    sqlite3.OperationalError: _not_stored,
    Exception: _mistaken,
}
"""By kind of error, what answers it."""
