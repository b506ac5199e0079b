"""Downloads from a local server: complete, resumed, checked; each error is one line."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from ecsuite.config import ConfigError
from ecsuite.downloads.web import fetch

CONTENT = bytes(range(256)) * 8


class Server(BaseHTTPRequestHandler):
    """Sends `CONTENT` from the requested byte, if it supports ranges."""

    ranges, cut, status = True, None, 200
    asked: ClassVar = []

    def do_GET(self):
        asked = self.headers.get("Range")
        type(self).asked.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.ranges else 0
        if start >= len(CONTENT) or self.status != 200:
            self.send_error(416 if self.status == 200 else self.status)
            return
        self.send_response(206 if asked and self.ranges else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start : self.cut])

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
def get(server, tmp_path):
    """Fetches the file; reported fractions are in `get.shares`."""

    def get(sha256=None, url=None):
        get.shares = []
        path = tmp_path / "file.zip"
        fetch(
            url or server.url, path, sha256=sha256, offline_advice="Ask a friend", progress=get.shares.append
        )
        return path.read_bytes()

    get.part = tmp_path / "file.zip.part"
    return get


def test_a_file_comes_whole(get, server):
    assert get(hashlib.sha256(CONTENT).hexdigest()) == CONTENT
    assert not get.part.exists()
    assert get.shares[-1] == 1.0
    assert server.asked == [None]


def test_an_interrupted_download_is_resumed(get, server):
    server.cut = 1000
    with pytest.raises(ConfigError) as error:
        get()
    assert str(error.value) == (
        f"{server.url}: connection lost after 1,000 of 2,048 bytes; run the same command again to resume. Ask a friend"
    )
    assert get.part.read_bytes() == CONTENT[:1000]
    server.cut = None
    assert get() == CONTENT
    assert server.asked == [None, "bytes=1000-"]


@pytest.mark.parametrize(
    ("ranges", "part", "asked"),
    [
        (False, b"something else", ["bytes=14-"]),
        (True, CONTENT + b"more", ["bytes=2052-", None]),
    ],
    ids=["a server without ranges", "a part that is too long"],
)
def test_a_part_that_cannot_be_continued_is_thrown_away(get, server, ranges, part, asked):
    server.ranges = ranges
    get.part.write_bytes(part)
    assert get() == CONTENT
    assert server.asked == asked


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


def test_nobody_answers(get):
    with HTTPServer(("127.0.0.1", 0), Server) as closed:
        url = f"http://127.0.0.1:{closed.server_port}/file.zip"
    with pytest.raises(ConfigError) as error:
        get(url=url)
    assert str(error.value) == (
        f"{url}: cannot be read (<urlopen error [Errno 111] Connection refused>);"
        " run the same command again to resume. Ask a friend"
    )


def test_files_of_this_machine_have_addresses_too(get, tmp_path):
    (tmp_path / "there").write_bytes(CONTENT)
    assert get(url=(tmp_path / "there").as_uri()) == CONTENT
