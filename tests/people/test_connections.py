import http.client
import signal
import socket
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

pytest.importorskip("uvicorn", reason="the extra `people` is not installed")
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from ecsuite.people import connections
from ecsuite.people.connections import bound, serve
from ecsuite.people.server import HEADERS, WithHeaders

HALF_HEADER = b"GET / HTTP/1.1\r\nHost: a\r\nX-a: "
HALF_BODY = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf"
MOST = 8


async def answer(request):
    return PlainTextResponse(await request.body() or "x" * 4_000_000 * ("large" in request.query_params))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, None), (signal.SIGTERM, 75)])
def test_a_server_that_is_ended_closes_what_it_serves(number, code, monkeypatch):
    ended = SimpleNamespace(run=lambda sockets: signal.raise_signal(number))
    monkeypatch.setattr(connections, "make_server", lambda app, most: ended)
    closed = []
    with pytest.raises(SystemExit) if code else nullcontext() as raised:
        serve(None, bound("127.0.0.1", 0), opens_browser=False, close=lambda: closed.append(True))
    assert closed == [True] and (code is None or raised.value.code == code)


@pytest.fixture
def port():
    listening = bound("127.0.0.1", 0)
    app = WithHeaders(Starlette(routes=[Route("/", answer, methods=["GET", "POST"])]))
    server = connections.make_server(app, MOST)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()


def send(port, data):
    client = socket.create_connection(("127.0.0.1", port), timeout=20)
    client.sendall(data)
    return client


def status(port):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    client.request("GET", "/")
    found = client.getresponse().status
    client.close()
    return found


def is_closed(client):
    try:
        return client.recv(1000) == b""
    except ConnectionError:
        return True


@pytest.mark.sample(1)
@pytest.mark.parametrize("sent", [b"", HALF_HEADER, HALF_BODY], ids=["nothing", "half a header", "half a body"])
def test_others_are_served_while_slow_clients_wait(port, sent, monkeypatch):
    monkeypatch.setattr(connections, "SECONDS_OF_REQUEST", 100.0)  # longer than clients wait for being sent away
    slow = [send(port, sent) for _ in range(5 * MOST)]
    assert status(port) == 200
    assert sum(map(is_closed, slow[: 4 * MOST])) == 4 * MOST  # whose requests began first
    for client in slow:
        client.close()


def test_what_is_no_http_has_the_headers(port):
    with send(port, b"no HTTP\r\n\r\n") as client, client.makefile("rb") as file:
        text = file.read().decode()
    assert text.startswith("HTTP/1.1 400 ")
    assert all(f"{name}: {value}\r\n" in text for name, value in HEADERS.items())
