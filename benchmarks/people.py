"""Many simulated participants at once: the server's response time, and completeness of answers after a crash.

    python benchmarks/people.py
    python benchmarks/people.py --participants 200 --examples 20 --think 3 --no-kill

Each participant opens the page, agrees, passes the quiz, and types answers after seconds of thought (exponential); as
the page does, it fetches the picture of each example and sends again what was not answered. In the middle the server
is killed and started again. At the end every participant must have each answer once, and the database be consistent.
"""

import argparse
import asyncio
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
from rows import Row, add_json_option, publish

from ecsuite.people.codes import QUIZ

PACKAGE = Path(__file__).resolve().parents[2]
STUDY = """
grammars: [concat, shufdet]
datasets: [synth]
participants: {0}
starts_per_minute: 100000
simulated: true
"""
PATIENCE = 60.0
"""Seconds until a request counts as lost."""


class Server:
    """`ecsuite people serve` in a separate process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, 0
        self.start()

    def start(self) -> None:
        """Start it, on the same port as before."""
        command = [sys.executable, "-m", "ecsuite.cli", "people", "serve", "study.yaml", "--no-browser"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(PACKAGE), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        found = re.search(r"http://[^:]+:(\d+)/", self.process.stdout.readline())
        assert found is not None
        self.url, self.port = found[0], int(found[1])

    def kill(self) -> None:
        """Kill it without a chance to write anything."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Participant:
    """A program that plays as the page does."""

    def __init__(self, url: str, number: int, think: float) -> None:
        self.client = httpx.AsyncClient(base_url=url, timeout=PATIENCE)
        self.random, self.think = random.Random(number), think
        self.csrf = ""
        self.seconds: list[float] = []
        self.num_again = 0

    async def send(self, method: str, path: str, sent: object = None) -> httpx.Response:
        """Send a request until the server takes it."""
        for wait in (0.5, 1.0, 2.0, *[4.0] * 10):
            try:
                headers = {"X-CSRF-Token": self.csrf}
                response = await self.client.request(method, path, json=sent, headers=headers)
                if response.status_code < 500 and response.status_code != 429:
                    return response
            except httpx.TransportError:
                pass
            self.num_again += 1
            await asyncio.sleep(wait)
        raise TimeoutError(path)

    async def play(self, num_examples: int) -> None:
        """Play a number of examples."""
        await asyncio.sleep(self.random.random() * self.think)
        await self.send("GET", "")
        self.csrf = (await self.send("GET", "api/state")).json()["csrf"]
        await self.send("POST", "api/begin", {})
        choices = {"stage": "instructions", "has_sound": False, "names_objects": False}
        await self.send("POST", "api/go_on", choices)
        right = {name: question.right for name, question in QUIZ.items()}
        await self.send("POST", "api/quiz", {"attempt": 0, "replies": right})
        for step in range(num_examples):
            await self.send("GET", f"picture/step/{step}")
            await asyncio.sleep(self.random.expovariate(1 / self.think))
            again, began = self.num_again, time.perf_counter()
            response = await self.send(
                "POST", "api/answer", {"step": step, "typed": "abcd", "response_ms": 1000}
            )
            assert response.status_code == 200, response.text
            if again == self.num_again:  # else the server was down
                self.seconds.append(time.perf_counter() - began)
        await self.client.aclose()


async def play_all(server: Server, given: argparse.Namespace) -> list[Participant]:
    """Let all play at once; in the middle of the answers the server is killed, unless it is not to be."""
    players = [Participant(server.url, number, given.think) for number in range(given.participants)]
    games = asyncio.gather(*(player.play(given.examples) for player in players))
    if given.kill:
        half = given.participants * given.examples / 2
        while sum(len(player.seconds) for player in players) < half and not games.done():
            await asyncio.sleep(0.1)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
    await games
    return players


def missing(folder: Path, given: argparse.Namespace) -> int:
    """The number of answers that are missing, or there twice; checks the consistency of the database."""
    [database] = folder.rglob("people.db")
    with closing(sqlite3.connect(database)) as connection, connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = connection.execute("SELECT participant, step FROM answers").fetchall()
    expected = given.participants * given.examples
    return abs(expected - len(set(found))) + len(found) - len(set(found))


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--participants", type=int, default=200, help="how many play at once")
    parser.add_argument("--examples", type=int, default=20, help="answers of each")
    parser.add_argument("--think", type=float, default=3.0, help="mean seconds between picture and answer")
    parser.add_argument("--no-kill", dest="kill", action="store_false", help="leave the server alone")
    add_json_option(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.yaml").write_text(STUDY.format(given.participants))
        server = Server(folder)
        try:
            players = asyncio.run(play_all(server, given))
        finally:
            server.kill()
        seconds = np.array([each for player in players for each in player.seconds])
        figures = {
            "answer, median": 1000 * float(np.median(seconds)),
            "answer, 99 %": 1000 * float(np.quantile(seconds, 0.99)),
            "answer, longest": 1000 * float(seconds.max()),
        }
        rows = [Row(name=name, unit="ms", values=(value,)) for name, value in figures.items()]
        counts = {"answers measured": len(seconds), "answers missing or twice": missing(folder, given)}
        counts |= {"requests sent again": sum(player.num_again for player in players)}
        rows += [Row(name=name, unit="", values=(float(value),)) for name, value in counts.items()]
    publish(rows, as_json=given.json)


if __name__ == "__main__":
    main()
