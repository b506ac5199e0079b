"""Signals at every step of training: kill -9, Ctrl-C and SIGTERM, after which the command runs again.

    python tests/attack/steps.py society kickback --signals kill int

A figure a line: steps at which a signal was sent, and how many runs ended with the bytes of the command that nobody
disturbed. Files are disturbed by `crashes.py`; here it is what agents do at a step: play, learn, imitate, or begin.
"""

import argparse
import json
import os
import signal
import tempfile
from itertools import chain
from pathlib import Path

from crashes import COMMANDS, begin, contents, ecsuite, end, fresh, other_bytes, preload
from stops import without_spare

import ecsuite.games.plays.population as players

SIGNALS = {"kill": signal.SIGKILL, "int": signal.SIGINT, "term": signal.SIGTERM}
CODES = {"kill": -signal.SIGKILL, "int": 130, "term": 75}
"""Exit codes: training that was interrupted writes its corpus, and can go on."""
PLACES = ("begin_step", "train_on", "scale_gradients")
"""Where in a step: before agents begin, before they play or learn, before their weights change."""


def with_signal(sent, step, place):
    """A population that sends a signal to its process at a place of a step."""
    plain = getattr(players.Population, place)

    def disturbed(self, *arguments):
        if arguments[PLACES.index(place) == 1] == step:
            os.kill(os.getpid(), SIGNALS[sent])
        return plain(self, *arguments)

    return disturbed


def attack(name, signals, steps, print_fault=print):
    """Send signals at steps; yields the figures of each signal and place."""
    before, line = COMMANDS[name]
    assert not before
    with tempfile.TemporaryDirectory() as scratch:
        prepared, work = Path(scratch) / "prepared", Path(scratch) / "work"
        prepared.mkdir()
        code, said, *_, modules = ecsuite(fresh(prepared, work), line)
        assert code == 0, said
        preload(modules)
        whole = without_spare(contents(work))
        with (work / "run" / "metadata.json").open() as file:
            num_steps = json.load(file)["training"]["num_steps"]
        for sent in signals:
            for place in PLACES:
                figures = {"command": name, "signal": sent, "place": place, "sent": 0, "survived": 0}
                for step in steps or range(num_steps):
                    plain = getattr(players.Population, place)
                    setattr(players.Population, place, with_signal(sent, step, place))
                    try:
                        code, said, *_ = ecsuite(fresh(prepared, work), line)
                    finally:
                        setattr(players.Population, place, plain)
                    faults = [] if code == CODES[sent] else [f"exit code {code}: {said[-600:]}"]
                    again, told, *_ = ecsuite(work, line)
                    faults += [f"run again: exit code {again}: {told[-600:]}"] if again else []
                    if not faults:
                        faults = other_bytes(without_spare(contents(work)), whole)
                    figures["sent"] += 1
                    figures["survived"] += not faults
                    for each in faults:
                        print_fault(f"{name}, {sent} at {place} of step {step}: {each}")
                yield figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", default=["society", "kickback"])
    parser.add_argument("--signals", nargs="+", default=list(SIGNALS), choices=SIGNALS)
    parser.add_argument("--steps", nargs="+", type=int, help="only these, from 0")
    options = begin(parser)
    found = (attack(name, options.signals, options.steps) for name in options.commands)
    end(chain.from_iterable(found), "survived")


if __name__ == "__main__":
    main()
