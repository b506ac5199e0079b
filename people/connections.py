"""The web server's address, connections and time limits of requests.

uvicorn has no time limit for requests, so that silent clients could use up all file descriptors of the process. If
there are too many connections, the one with the oldest request is closed, so that new visitors are served.
"""

import asyncio
import errno
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ecsuite.jobs.signals import exit_at_sigterm
from ecsuite.people.server import HEADERS
from ecsuite.runtime.errors import ConfigError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SECONDS_OF_REQUEST = 20.0
"""Maximum time in seconds from the first byte of a request to the last byte of its response."""
MOST_CONNECTIONS = 1024
"""Maximum number of open connections, if the process may open enough files."""
FILES_OF_CONNECTION = 4
"""File descriptors per connection, including new and closing connections, the database and pages."""
SHARE_OF_ADDRESS = 0.5
"""Maximum share of the connections from one address, which may be a whole class, or a proxy for all visitors."""


def bound(host: str, port: int) -> socket.socket:
    """Make a listening socket; port 0 stands for any free port.

    Raises:
        ConfigError: If the port is in use, or the address is not this machine's.
    """
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"--port {port}: in use by another program; choose another, or 0 for any free one"
            ) from None
        if error.errno == errno.EACCES:
            raise ConfigError(f"--port {port}: not allowed to this user; choose one from 1024") from None
        raise ConfigError(f"--host {host}: can't listen there: {error.strerror or error}") from None


def address(listening: socket.socket) -> str:
    """URL of the page."""
    host, port = listening.getsockname()[:2]
    return f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}/"


def most_connections() -> int:
    """Maximum number of connections, after raising the process's limit of open files as far as possible."""
    if resource is None:
        return MOST_CONNECTIONS
    needed = FILES_OF_CONNECTION * MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return max(4, files // FILES_OF_CONNECTION)


class Connection(H11Protocol):
    """A connection with a time limit for requests."""

    opened: "dict[Connection, str]"
    """Addresses of the server's open connections, ordered by the start of their requests."""
    most: int
    """Maximum number of open connections of the server."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the first request of a client."""
        super().connection_made(transport)
        self._begin_request()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request; after a complete response, a new request begins."""
        if self.timeout_keep_alive_task is not None:
            self._begin_request()
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove a closed connection."""
        if self._deadline is not None:
            self._deadline.cancel()
        self.opened.pop(self, None)
        super().connection_lost(exc)

    def _begin_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(SECONDS_OF_REQUEST, self.abort)
        address = self.client[0] if self.client else ""
        self.opened.pop(self, None)
        same_address = [other for other, its in self.opened.items() if its == address]
        if len(same_address) >= max(2, int(self.most * SHARE_OF_ADDRESS)):
            same_address[0].abort()
        elif len(self.opened) >= self.most:
            next(iter(self.opened)).abort()
        self.opened[self] = address

    def abort(self) -> None:
        """Close the connection at once, without sending the rest."""
        self.opened.pop(self, None)
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Respond to data that is not HTTP, and close the connection."""
        headers = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        head = f"HTTP/1.1 400 Bad Request\r\n{headers}Content-Type: text/plain; charset=utf-8\r\n"
        self.transport.write(f"{head}Content-Length: {len(msg)}\r\nConnection: close\r\n\r\n{msg}".encode())
        self.transport.close()


class _Server(uvicorn.Server):
    """A server that accepts few connections at a time, while the others wait in the backlog."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(MOST_CONNECTIONS)


def make_server(app: Any, most: int) -> uvicorn.Server:
    """Make a server with at most `most` connections; pass the sockets to its `run`."""
    config = uvicorn.Config(
        app,
        http=type("ConnectionOfServer", (Connection,), {"opened": {}, "most": most}),
        ws="none",
        backlog=max(2, most // 2),  # number of connections accepted before the first one is handled
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
        lifespan="off",
    )
    return _Server(config)


def serve(app: Any, listening: socket.socket, *, opens_browser: bool, close: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM, then call `close`."""
    server = make_server(app, most_connections())
    if opens_browser:
        webbrowser.open(address(listening))
    try:
        # uvicorn raises the signal again after it has stopped.
        with exit_at_sigterm(), suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        listening.close()
        close()
