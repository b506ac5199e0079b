"""Crash points, full disks, flipped bits, races and signals: a sample; all of them are slow.

By default `games/test_killing.py` kills a training in its writes.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def figures(script, *arguments):
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["die", "full"])
def test_a_sample_of_events_of_training(fault):
    (found,) = figures("crashes.py", "train", "--fault", fault, "--points", 3)
    assert found["tried"] == found["survived"] == 3


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", ["die", "full"])
def test_a_sample_of_events_of_xtreme(fault):
    (found,) = figures("crashes.py", "xtreme", "--fault", fault, "--points", 12)
    assert found["tried"] == found["survived"] == 12


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault", ["die", "full"])
@pytest.mark.parametrize("command", ["train", "society", "kickback", "score", "icy", "xferbench", "sweep"])
def test_every_event(command, fault):
    (found,) = figures("crashes.py", command, "--fault", fault)
    assert found["tried"] == found["survived"] == found["events"] > 10


@pytest.mark.slow
def test_a_sample_of_flipped_bits():
    (found,) = figures("flips.py", "score", "--flips", 4)
    assert found["same"] + found["refused"] + found["noted"] == found["readings"] == 8


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("command", ["train", "score", "icy", "xferbench", "sweep", "xtreme"])
def test_flipped_bits(command):
    (found,) = figures("flips.py", command, "--flips", 300)
    assert found["same"] + found["refused"] + found["noted"] == found["readings"] > 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_processes():
    figures("races.py", "--starts", 1000, "--trainings", 20)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "command", ["train", "society", "kickback", "score", "icy", "xferbench", "sweep", "xtreme"]
)
def test_signals_at_random_times(command):
    found = figures("stops.py", command, "--times", 5)
    assert [each["signal"] for each in found] == ["kill", "term", "stop"]
    assert all(each["survived"] == each["sent"] == 5 for each in found)


@pytest.mark.slow
def test_a_society_is_killed_where_agents_begin():
    found = figures("steps.py", "society", "--signals", "kill", "--steps", 16)
    assert [each["survived"] for each in found] == [1, 1, 1]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("command", ["society", "kickback"])
def test_signals_at_every_step(command):
    found = figures("steps.py", command)
    assert len(found) == 9
    assert all(each["survived"] == each["sent"] == 22 for each in found)
