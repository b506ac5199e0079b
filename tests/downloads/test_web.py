import errno
import hashlib
import io
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar
from urllib.request import Request, urlopen

import pytest

from ecsuite.downloads import web
from ecsuite.downloads.web import fetch
from ecsuite.runtime.errors import ConfigError

CONTENT = bytes(range(256)) * 8


class Server(BaseHTTPRequestHandler):
    """Sends `CONTENT` from the requested byte, if it supports ranges."""

    content, etag, obeys = CONTENT, '"1"', True
    ranges, cut, status = True, None, 200
    asked: ClassVar = []

    def do_GET(self):
        asked = self.headers.get("Range")
        type(self).asked.append(asked)
        unchanged = not self.obeys or self.headers.get("If-Range") in (None, self.etag)
        start = int(asked[len("bytes=") : -1]) if asked and self.ranges and unchanged else 0
        if start >= len(self.content) or self.status != 200:
            self.send_error(416 if self.status == 200 else self.status)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(self.content) - start))
        if self.etag is not None:
            self.send_header("ETag", self.etag)
        self.end_headers()
        self.wfile.write(self.content[start : self.cut])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    Own = type("Own", (Server,), {"asked": []})  # each test counts anew
    with HTTPServer(("127.0.0.1", 0), Own) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        Own.url = f"http://127.0.0.1:{served.server_port}/file.zip"
        yield Own
        served.shutdown()
        thread.join()


@pytest.fixture
def get(server, tmp_path, monkeypatch):
    """Fetches the file, here without https; reported fractions and notes are in `get.shares` and `get.notes`."""
    monkeypatch.setattr(web, "open_url", urlopen)

    def get(sha256=None, url=None):
        get.shares, get.notes = [], []
        fetch(
            url or server.url, get.path, sha256=sha256, offline_advice="Ask a friend", progress=get.shares.append,
            note=get.notes.append,
        )  # fmt: skip
        return get.path.read_bytes()

    get.path, get.part = tmp_path / "file.zip", tmp_path / "file.zip.part"
    return get


def start_and_lose(get, server):
    server.cut = 1000
    with pytest.raises(ConfigError, match="connection lost after 1,000 of 2,048 bytes"):
        get()
    server.cut = None
    server.asked.clear()


CHANGED = "the file on the server has changed"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"etag": '"2"', "content": CONTENT[::-1]}, CHANGED),
        ({"etag": '"2"', "content": CONTENT[::-1], "obeys": False}, CHANGED),
        ({"etag": None, "content": CONTENT + b"more"}, CHANGED),
        ({"content": CONTENT[:500]}, "the partial file does not belong to the file on the server"),
    ],
    ids=["another ETag", "an ETag the server does not heed", "another size", "a shorter file"],
)
def test_a_changed_file_is_downloaded_anew_and_this_is_said(get, server, change, reason):
    start_and_lose(get, server)
    for name, value in change.items():
        setattr(server, name, value)
    assert get() == server.content
    assert get.notes == [f"{server.url}: {reason}; downloading it from the beginning"]
    assert server.asked == ["bytes=1000-", None]


def test_a_server_without_ranges(get, server):
    start_and_lose(get, server)
    server.ranges = False
    assert get() == CONTENT
    assert server.asked == ["bytes=1000-"]


@pytest.mark.parametrize("record", [None, b"?", b'{"url":"https://else","etag":null,"modified":null,"size":9}'])
def test_a_part_of_something_unknown_is_not_continued(get, server, record):
    get.part.write_bytes(CONTENT[:9])
    if record is not None:
        get.part.with_name("file.zip.part.json").write_bytes(record)
    assert get() == CONTENT
    assert server.asked == [None]


def test_the_disk_is_full(get, server, monkeypatch):
    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(web, "write_atomically", full)
    with pytest.raises(ConfigError) as error:
        get()
    told = "cannot be written (No space left on device); the partial download is stored: free some"
    assert str(error.value) == f"{get.part}: {told} space, then run the same command again"


@pytest.mark.parametrize("url", ["http://some.where/a", "ftp://some.where/a", "file:///etc/passwd"])
def test_nothing_but_https(tmp_path, url):
    with pytest.raises(ConfigError, match=r"expected an address that begins with https://; nothing was"):
        fetch(url, tmp_path / "a", sha256=None, offline_advice="", progress=lambda share: None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("to", "is_refused"), [("http://else/a", True), ("https://else/a", False)])
def test_a_redirection_to_http_is_refused(to, is_refused):
    handler = web._OnlyHttps()
    request = Request("https://some.where/a", headers={"Range": "bytes=7-"})

    def redirect():
        return handler.redirect_request(request, io.BytesIO(), 302, "Found", {}, to)

    if is_refused:
        with pytest.raises(ConfigError, match=r"where/a: the server leads to http://else/a, which is not"):
            redirect()
    else:
        assert redirect().full_url == to and redirect().get_header("Range") == "bytes=7-"


def test_another_file_than_expected_is_thrown_away(get, server):
    found = hashlib.sha256(CONTENT).hexdigest()
    message = f"{server.url}: expected SHA-256 {'0' * 64}, found {found}; the file has changed"
    with pytest.raises(ConfigError, match=f"^{message}$"):
        get("0" * 64)
    assert not get.part.exists()


def test_what_the_server_does_not_have(get, server):
    server.status = 404
    message = f"{server.url}: the server answered 404 Not Found. Ask a friend"
    with pytest.raises(ConfigError, match=f"^{message}$"):
        get()
