"""A participant in a real browser, for tests alone: reads the page and types."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import ecsuite

CHROMIUM = next((path for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if os.path.exists(path)), None)
WAIT = 30_000
"""Milliseconds that anything may take, on a loaded machine."""
AXE = Path(__file__).parent / "people" / "axe" / "axe.min.js"


def rows(server, statement):
    """The rows of a statement about the answers of the study `study.yaml` of a server."""
    with closing(sqlite3.connect(server.folder / "runs" / "study" / "people.db")) as connection, connection:
        return connection.execute(statement).fetchall()


def accessible(page):
    """Check a page by axe-core's rules of WCAG 2.1 A and AA; and nothing is cut off at its width."""
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE.read_text() + ";0")
    found = page.evaluate("() => axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


class Server:
    """`ecsuite people` in a process of its own, which can be killed and started again on the same port."""

    def __init__(self, folder, *arguments):
        self.folder, self.arguments, self.port = folder, arguments, 0
        self.start()

    def start(self):
        root = os.path.dirname(os.path.dirname(ecsuite.__file__))
        environment = {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "ecsuite.cli", "people", *self.arguments]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), "--no-browser"],
            cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.url = re.search(r"http://\S+/", self.process.stdout.readline())[0]
        self.port = int(self.url.split(":")[2].strip("/"))
        for _ in range(600):
            try:
                urllib.request.urlopen(self.url, timeout=10).close()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


class Player:
    """What a participant sees and does on one page."""

    def __init__(self, page):
        self.page = page
        self.faults = []
        page.set_default_timeout(WAIT)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(str(error)))

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(message.text)

    def begin(self, url):
        """Open the page, agree, read the instructions, and pass the quiz if there is one."""
        self.page.goto(url)
        self.page.get_by_role("button", name="I agree: begin").click()
        self.arrive("its colour and its shape", "under Training", "four")
        self.page.locator("#typed").wait_for()

    def arrive(self, *quiz, names_objects=False):
        self.page.get_by_role("button", name="Go on").wait_for()
        if names_objects:
            self.page.get_by_label("Name colours and shapes in words").check()
        self.page.get_by_role("button", name="Go on").click()
        self.page.locator("#typed, input[type=radio]").first.wait_for()
        if self.page.locator("input[type=radio]").count():
            self.quiz(*quiz)

    def quiz(self, *choices):
        for choice in choices:
            self.page.get_by_label(choice, exact=True).check()
        self.page.get_by_role("button", name="Check").click()

    @property
    def example(self):
        return int(re.search(r"Example (\d+) of", self.page.locator("h1").inner_text())[1])

    @property
    def score(self):
        return int(self.page.locator("#score").inner_text().split()[0])

    @property
    def is_attention(self):
        return "reading" in self.page.locator("label[for=typed]").inner_text()

    def answer(self, typed, trouble="", mend=None):
        """Type an answer; meanwhile the connection is lost, or the page is loaded again, or `mend` is called."""
        self.page.context.set_offline(trouble == "offline")
        self.page.locator("#typed").evaluate("element => element.setAttribute('data-old', '')")
        self.page.keyboard.type(typed)
        self.page.keyboard.press("Enter")
        if trouble == "offline" or mend:
            self.page.get_by_text("Nothing is lost: trying again").wait_for()
            (mend or (lambda: None))()
            self.page.context.set_offline(False)
        self.page.locator("#typed[data-old]").wait_for(state="detached")
        if trouble == "reload":
            self.page.reload()
        self.page.locator("h1").wait_for(state="attached")

    def choose(self, number):
        """Choose the object of a number by keyboard, and wait for what comes next."""
        self.page.locator("ol.choices").evaluate("element => element.setAttribute('data-old', '')")
        self.page.locator("ol.choices button").nth(number - 1).focus()
        self.page.keyboard.press("Enter")
        self.page.locator("ol.choices[data-old]").wait_for(state="detached")
        self.page.locator("h1").wait_for(state="attached")

    def answer_attention(self):
        self.answer(re.search("“(.+)”", self.page.locator("label[for=typed]").inner_text())[1])

    def codes(self):
        """The codes in the training panel by the names of their objects; names must be on."""
        cards = self.page.locator(".cards li").all()
        return {each.locator("img").get_attribute("alt"): each.locator(".code").inner_text() for each in cards}

    def play(self, until=None):
        """Type the codes that the panel has, to the end of the game or until an example; returns the last score."""
        known, score = {}, 0
        while self.page.locator("#typed").count():
            if until is not None and self.example >= until:
                break
            if self.is_attention:
                self.answer_attention()
                continue
            known |= self.codes()
            name = self.page.locator("section > figure img").get_attribute("alt")
            score = self.score
            self.answer(known.get(name, "zz"))
        return score
