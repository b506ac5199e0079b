"""The connections of the server: how long a request may take, and which is closed where there are too many.

uvicorn waits for a request for ever, so that clients that send nothing more would hold all files that the process may
open. Where there are too many connections, the one whose request began first is closed: whoever comes is served.
"""

import asyncio
import socket
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ecsuite.people.responses import HEADERS

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SECONDS_OF_REQUEST = 20.0
"""After so long from its first byte to the last of its answer, a request's connection is closed."""
MOST_CONNECTIONS = 1024
"""Most open connections, where the process may open enough files."""
FILES_OF_CONNECTION = 4
"""Files to each: connections that have just come or are being closed, the database, pages."""
SHARE_OF_ADDRESS = 0.5
"""Largest share of the connections that one address may have: a whole class, or the proxy of all."""


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


class Connections:
    """The open connections of a server.

    Args:
        most: Most of them.
    """

    def __init__(self, most: int) -> None:
        self.most, self.most_of_address = most, max(2, int(most * SHARE_OF_ADDRESS))
        self._open: dict[Connection, str] = {}  # that whose request began first is first

    def add(self, connection: "Connection", address: str) -> None:
        """Note that a request begins, and close what is too much."""
        self._open.pop(connection, None)
        of_address = [other for other, its in self._open.items() if its == address]
        if len(of_address) >= self.most_of_address:
            of_address[0].abort()
        elif len(self._open) >= self.most:
            next(iter(self._open)).abort()
        self._open[connection] = address

    def remove(self, connection: "Connection") -> None:
        """Forget a connection that is closed."""
        self._open.pop(connection, None)


class Connection(H11Protocol):
    """A connection whose requests have a limit of time."""

    connections_of_server: Connections
    """Given by `make_server`."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self._begin_request()

    def data_received(self, data: bytes) -> None:
        """A part of a request has come: its first if the answer before was sent."""
        if self.timeout_keep_alive_task is not None:
            self._begin_request()
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone, or was sent away."""
        self._forget()
        super().connection_lost(exc)

    def _begin_request(self) -> None:
        self._forget()
        self._deadline = self.loop.call_later(SECONDS_OF_REQUEST, self.abort)
        self.connections_of_server.add(self, self.client[0] if self.client else "")

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self.connections_of_server.remove(self)

    def abort(self) -> None:
        """Close the connection, whatever is not sent yet."""
        self._forget()
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, and close the connection."""
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
    shared: dict[str, Any] = {"connections_of_server": Connections(most)}
    config = uvicorn.Config(
        app,
        http=type("ConnectionOfServer", (Connection,), shared),
        ws="none",
        backlog=max(2, most // 2),  # so many are accepted before the first is looked at
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
        lifespan="off",
    )
    return _Server(config)
