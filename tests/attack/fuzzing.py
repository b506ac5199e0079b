"""Feeds readers with changed input: `python tests/attack/fuzzing.py` prints what they accept, refuse, or break at.

Input number N of a reader is the same on every machine with the same seeds, so that what breaks can be read again:
`python tests/attack/fuzzing.py --reader npz --first N --inputs 1 --keep FOLDER`.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attack.mutations import mutated
from attack.readers import READERS, REFUSALS, Reader
from ecsuite.parts.error_messages import MAX_LENGTH, one_line

SEEDS = Path(__file__).parent / "seeds"
SECONDS, MEMORY = 5.0, 200 << 20
"""Most processor time of an input; most memory in bytes, beside twice its size."""
ALLOWED = "100M"
"""What `--max-memory` allows while input is read."""
OUTCOMES = ("accepted", "refused", "broken")


@dataclass(kw_only=True)
class Outcome:
    """What a reader did with some input."""

    counts: Counter[str] = field(default_factory=Counter)  # inputs by outcome
    num_placed: int = 0  # refusals that name a line, a row, a column, a byte or a key
    slowest: float = 0.0  # most processor time of an input, in seconds
    largest: int = 0  # most memory of an input, in bytes
    faults: list[str] = field(default_factory=list)  # the number of the input, and why it is broken

    def add(self, other: Mapping[str, Any]) -> None:
        self.counts.update(other["counts"])
        self.num_placed += other["num_placed"]
        self.slowest = max(self.slowest, other["slowest"])
        self.largest = max(self.largest, other["largest"])
        self.faults += other["faults"]


def fuzz(name: str, first: int, number: int, keep: Path | None = None) -> Outcome:
    """Read `number` changed inputs, from number `first` on, and keep those that break the reader in a folder."""
    reader, outcome = READERS[name], Outcome()
    files = sorted(file for file in SEEDS.joinpath(name).rglob("*") if file.is_file())
    contents = {file: file.read_bytes() for file in files}
    os.environ["ECSUITE_MAX_MEMORY"] = ALLOWED
    with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in range(first, first + number):
            random_ = random.Random(f"{name} {place}")
            file = random_.choice(files)
            data = mutated(contents[file], random_, list(contents.values()), file.suffix)
            seed = SEEDS / name / file.relative_to(SEEDS / name).parts[0]
            target = Path("in") / seed.name
            if seed.is_dir():
                shutil.copytree(seed, target)
            else:
                target.parent.mkdir()
            changed = Path("in") / file.relative_to(SEEDS / name)
            changed.write_bytes(data)
            fault = _try(reader, target, changed, data, is_same=data == contents[file], outcome=outcome)
            if fault:
                outcome.faults.append(f"{name} {place} ({changed.relative_to('in')}): {fault}")
                if keep is not None:
                    shutil.copytree("in", keep / f"{name}-{place}")
            shutil.rmtree("in")
    return outcome


def _try(reader: Reader, path: Path, changed: Path, data: bytes, *, is_same: bool, outcome: Outcome) -> str:
    """Read one input; returns what is wrong with how the reader took it, empty if nothing."""
    fault, before = "", _forget_memory()
    start = time.process_time()
    try:
        found = reader.read(path)
    except tuple(REFUSALS) as error:
        result, message = "refused", one_line(error)
        if len(message) > MAX_LENGTH or "\n" in str(error):
            fault = f"a message of several lines or {len(message)} characters: {message}"
        elif not any(part in message for part in (changed.name, path.name, str(path.parent))):
            fault = f"the message names no file: {message}"
        place = r":\d+: |row \d|column|byte|key|\[\d+\]|line \d|: \w+(\.\w+)*: "
        outcome.num_placed += bool(re.search(place, message))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        result, place = "broken", f"{last.filename}:{last.lineno}"
        fault = f"{type(error).__name__} at {place}: {one_line(error)}"
    else:
        result = "accepted"
        if reader.kept is not None and changed.suffix != ".json" and not is_same:
            fault = "accepted although its checksum is of other bytes"
        elif reader.kept is not None and found != reader.kept:
            fault = "accepted with another value than was written"
    seconds, size = time.process_time() - start, _peak_memory() - before
    outcome.slowest, outcome.largest = max(outcome.slowest, seconds), max(outcome.largest, size)
    if seconds > SECONDS:
        fault = fault or f"{seconds:.1f} s of processor time"
    if size > MEMORY + 2 * len(data):
        fault = fault or f"{size:,} bytes of memory"
    outcome.counts["broken" if fault else result] += 1
    return fault


def _forget_memory() -> int:
    """The memory of this process in bytes, from which its peak is counted anew, where Linux allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _peak_memory()
    return _status("VmRSS")


def _peak_memory() -> int:
    """Most memory of this process in bytes since the last `_forget_memory`."""
    found = _status("VmHWM")
    return found or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(key: str) -> int:
    try:
        found = re.search(rf"^{key}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def main() -> None:
    """Read many inputs of each reader, in processes of their own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--reader", action="append", choices=READERS)
    parser.add_argument("--block", type=int, default=1000, help="inputs of a process")
    parser.add_argument("--keep", type=Path, help="folder for inputs that break a reader")
    parser.add_argument("--json", action="store_true", help="one process: read here, print the outcome")
    options = parser.parse_args()
    if options.json:
        [name] = options.reader
        print(json.dumps(fuzz(name, options.first, options.inputs, options.keep).__dict__))
        return
    columns = ("inputs", "accepted", "refused", "with place", "broken", "slowest", "MiB")
    print(f"{'reader':18}", *(f"{column:>10}" for column in columns))
    faults: list[str] = []
    for name in options.reader or READERS:
        total = Outcome()
        for first in range(options.first, options.first + options.inputs, options.block):
            number = min(options.block, options.first + options.inputs - first)
            inputs = ["--reader", name, "--first", str(first), "--inputs", str(number)]
            keep = ["--keep", str(options.keep.resolve())] if options.keep else []
            command = [sys.executable, __file__, "--json", *inputs, *keep]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                total.counts["broken"] += number
                ended = f"the process ended with {done.returncode}: {done.stderr[-300:]}"
                total.faults.append(f"{name} {first} and on: {ended}")
                continue
            total.add(json.loads(done.stdout.splitlines()[-1]))
        counts = [total.counts[each] for each in OUTCOMES]
        figures = [
            sum(counts), *counts[:2], total.num_placed, counts[2], f"{total.slowest:.2f} s", total.largest >> 20,
        ]  # fmt: skip
        print(f"{name:18}", *(f"{each:>10}" for each in figures), flush=True)
        for fault in total.faults[:5]:
            print(f"  {fault}", flush=True)
        faults += total.faults
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
