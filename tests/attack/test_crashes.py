"""Crash points, full disks, flipped bits, races and signals: a sample; all of them are slow.

By default `games/test_killing.py` kills a training in its writes.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]
FAULTS = pytest.mark.parametrize("fault", ["die", "full"])
ALL = ["train", "society", "kickback", "score", "icy", "xferbench", "sweep", "xtreme"]


def figures(script, *arguments):
    done = subprocess.run([sys.executable, str(FOLDER / script), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@FAULTS
@pytest.mark.parametrize(("command", "points"), [("train", 3), ("xtreme", 12)])
def test_a_sample_of_events(command, points, fault):
    (found,) = figures("crashes.py", command, "--fault", fault, "--points", points)
    assert found["tried"] == found["survived"] == points


@FAULTS
@pytest.mark.parametrize("command", ALL[:-1])
def test_every_event(command, fault):
    (found,) = figures("crashes.py", command, "--fault", fault)
    assert found["tried"] == found["survived"] == found["events"] > 10


@pytest.mark.parametrize(
    ("command", "flips"), [("score", 4), *((name, 300) for name in ALL if name not in ("society", "kickback"))],
)  # fmt: skip
def test_flipped_bits(command, flips):
    (found,) = figures("flips.py", command, "--flips", flips)
    assert found["same"] + found["refused"] + found["noted"] == found["readings"] >= flips


def test_two_processes():
    figures("races.py", "--starts", 1000, "--trainings", 20)


@pytest.mark.parametrize("command", ALL)
def test_signals_at_random_times(command):
    found = figures("stops.py", command, "--times", 5)
    assert [each["signal"] for each in found] == ["kill", "term", "stop"]
    assert all(each["survived"] == each["sent"] == 5 for each in found)


def test_a_society_is_killed_where_agents_begin():
    found = figures("steps.py", "society", "--signals", "kill", "--steps", 16)
    assert [each["survived"] for each in found] == [1, 1, 1]


@pytest.mark.parametrize("command", ["society", "kickback"])
def test_signals_at_every_step(command):
    found = figures("steps.py", command)
    assert len(found) == 9
    assert all(each["survived"] == each["sent"] == 22 for each in found)
