"""A page in a real headless Chromium, driven by the DevTools protocol over a pipe."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
"""The program; None if there is none."""
TIMEOUT = 120
"""Seconds for one answer; the machine may be busy."""


class Page:
    """One page, and what it did: errors on its console, and requests."""

    def __init__(self, send, receive, wait):
        self.send_bytes, self.receive, self.wait_for = send, receive, wait
        self.number, self.session, self.pending = 0, None, b""
        self.errors, self.requests = [], []

    def call(self, method, **params):
        """The result of a method of the protocol; events that come before it are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.send_bytes(json.dumps(message).encode() + b"\0")
        return self._until(lambda found: found.get("id") == self.number)

    def _until(self, is_wanted):
        end = time.monotonic() + TIMEOUT
        while True:
            while b"\0" not in self.pending:
                assert self.wait_for(end - time.monotonic()), "Chromium does not answer"
                self.pending += self.receive()
            line, _, self.pending = self.pending.partition(b"\0")
            found = json.loads(line)
            self._note(found)
            if is_wanted(found):
                assert "error" not in found, found
                return found.get("result", found)

    def _note(self, found):
        method, params = found.get("method"), found.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" or params.get("entry", {}).get("level") == "error":
            self.errors.append(params)
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(self, url):
        self.call("Page.navigate", url=url)
        self._until(lambda found: found.get("method") == "Page.loadEventFired")

    def ask(self, expression):
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def resize(self, width, height=900):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def prefer(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def screenshot(self, *, whole=False):
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])


@contextlib.contextmanager
def chromium():
    to_read, to_send = os.pipe()
    to_receive, to_write = os.pipe()

    def take_pipes():
        os.dup2(to_read, 103), os.dup2(to_write, 104)
        os.dup2(103, 3), os.dup2(104, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--remote-debugging-pipe", f"--user-data-dir={folder}", "--no-first-run", "about:blank",
            ],
            preexec_fn=take_pipes, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_read), os.close(to_write)
        try:
            page = Page(
                lambda data: os.write(to_send, data),
                lambda: os.read(to_receive, 1 << 20),
                lambda seconds: select.select([to_receive], [], [], max(0, seconds))[0],
            )
            target = page.call("Target.createTarget", url="about:blank")["targetId"]
            page.session = page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                page.call(f"{domain}.enable")
            yield page
        finally:
            os.close(to_send), os.close(to_receive)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
