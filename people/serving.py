"""Running the web server: the port, the folder, and what the terminal says."""

import errno
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ecsuite.jobs.signals import exit_at_sigterm
from ecsuite.runtime.errors import ConfigError, missing_extra


def require_people() -> None:
    """Refuse to go on without the extra.

    Raises:
        ConfigError: If it is not installed; the message has the pip command.
    """
    try:
        import markdown_it  # noqa: F401
        import PIL  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise missing_extra(f"a study with people needs {error.name}", "people") from None


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
    """Where to open the page."""
    host, port = listening.getsockname()[:2]
    return f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}/"


def serve(app: Any, listening: socket.socket, *, opens_browser: bool, close: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM, then call `close`."""
    from ecsuite.people.connections import make_server, most_connections

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
