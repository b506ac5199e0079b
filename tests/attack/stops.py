"""Signals at random times: kill -9 and SIGTERM, after which the command runs again, and SIGSTOP with SIGCONT.

    python tests/attack/stops.py train score --times 20

A figure a line: signals sent, how many found the command running, and how many ended with the bytes of the command that
nobody disturbed.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from itertools import chain
from pathlib import Path

import crashes
from crashes import COMMANDS, contents, ecsuite, fresh, other_bytes, preload

SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "stop": signal.SIGSTOP}
CODES = {"kill": (-signal.SIGKILL,), "term": (75, -signal.SIGTERM), "stop": (0,)}
"""Exit codes by signal, beside 0: that of a request to stop, or of the signal before it is waited for."""
SECONDS_STOPPED = 0.2


def without_spare(files):
    """Files without all but the newest checkpoint of a folder: a request to stop writes one of its own."""
    newest = {str(Path(name).parent): name for name in sorted(files) if "checkpoint-" in name}
    return {name: content for name, content in files.items() if "checkpoint-" not in name or name in newest.values()}


def attack(name, signals, times, seed=0, print_fault=print):
    """Send signals to a command at random times; yields the figures of each."""
    before, line = COMMANDS[name]
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        prepared, work = Path(scratch) / "prepared", Path(scratch) / "work"
        prepared.mkdir()
        crashes.prepare(prepared)
        for each in before:
            assert ecsuite(prepared, each)[0] == 0
        code, said, *_, modules = ecsuite(fresh(prepared, work), line)
        assert code == 0, said
        preload(modules)
        began = time.monotonic()
        ecsuite(fresh(prepared, work), line)
        seconds, whole = time.monotonic() - began, without_spare(contents(work))
        for sent in signals:
            figures = {"command": name, "signal": sent, "sent": 0, "while_running": 0, "survived": 0}
            for _ in range(times):
                child, reader = crashes.start(fresh(prepared, work), line)
                time.sleep(rng.uniform(0, seconds))
                os.kill(child, SIGNALS[sent])
                if sent == "stop":
                    time.sleep(SECONDS_STOPPED)
                    os.kill(child, signal.SIGCONT)
                code, said, *_ = crashes.ended(child, reader)
                faults = [] if code in (0, *CODES[sent]) else [f"exit code {code}: {said[-600:]}"]
                if sent != "stop":
                    again, told, *_ = ecsuite(work, line)
                    faults += [f"run again: exit code {again}: {told[-600:]}"] if again else []
                if not faults:
                    faults = other_bytes(without_spare(contents(work)), whole)
                figures["sent"] += 1
                figures["while_running"] += code != 0 or sent == "stop"
                figures["survived"] += not faults
                for each in faults:
                    print_fault(f"{name}, {sent}: {each}")
            yield figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", default=list(COMMANDS))
    parser.add_argument("--signals", nargs="+", default=list(SIGNALS), choices=SIGNALS)
    parser.add_argument("--times", type=int, default=10, help="for each command and signal")
    parser.add_argument("--seed", type=int, default=0)
    options = crashes.begin(parser)
    found = (attack(name, options.signals, options.times, options.seed) for name in options.commands)
    crashes.end(chain.from_iterable(found), "survived")


if __name__ == "__main__":
    main()
