"""Running the web server: its address, its connections, and how long a request may take.

uvicorn waits for a request for ever, so that clients that send nothing more would hold all files that the process may
open. Where there are too many connections, the one whose request began first is closed, so that newcomers are served.
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
"""Seconds from the first byte of a request to the last of its answer after which the connection is closed."""
MOST_CONNECTIONS = 1024
"""Most open connections, where the process may open enough files."""
FILES_OF_CONNECTION = 4
"""Files per connection: connections that have just come or are being closed, the database, pages."""
SHARE_OF_ADDRESS = 0.5
"""Largest share of the connections that one address may have: a whole class, or the proxy of all."""


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 stands for any free one.

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
    """The address of the page."""
    host, port = listening.getsockname()[:2]
    return f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}/"


def most_connections() -> int:
    """How many connections may be open; allows this process to open as many files as that needs, if it can be."""
    if resource is None:
        return MOST_CONNECTIONS
    needed = FILES_OF_CONNECTION * MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return max(4, files // FILES_OF_CONNECTION)


class Connection(H11Protocol):
    """A connection whose requests have a limit of time."""

    opened: "dict[Connection, str]"
    """The open connections of the server and their addresses; the one whose request began first is first."""
    most: int
    """Most open connections of the server."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the first request of a client."""
        super().connection_made(transport)
        self._begin_request()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request: its first if the answer before was sent."""
        if self.timeout_keep_alive_task is not None:
            self._begin_request()
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a client that has gone, or was sent away."""
        if self._deadline is not None:
            self._deadline.cancel()
        self.opened.pop(self, None)
        super().connection_lost(exc)

    def _begin_request(self) -> None:
        """Set the deadline of a request, and close the connections that are too many."""
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
        """Close the connection, whatever is not sent yet."""
        self.opened.pop(self, None)
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer data that is no HTTP, and close the connection."""
        headers = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        head = f"HTTP/1.1 400 Bad Request\r\n{headers}Content-Type: text/plain; charset=utf-8\r\n"
        self.transport.write(f"{head}Content-Length: {len(msg)}\r\nConnection: close\r\n\r\n{msg}".encode())
        self.transport.close()


class _Server(uvicorn.Server):
    """A server that accepts few connections at a time, and lets many wait for that."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(MOST_CONNECTIONS)


def make_server(app: Any, most: int) -> uvicorn.Server:
    """A server of an application that has at most so many connections; its `run` takes sockets."""
    config = uvicorn.Config(
        app,
        http=type("ConnectionOfServer", (Connection,), {"opened": {}, "most": most}),
        ws="none",
        backlog=max(2, most // 2),  # so many are accepted before the first is looked at
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
        # uvicorn sends either signal to itself again after it has stopped.
        with exit_at_sigterm(), suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        listening.close()
        close()
