"""Bits that flip in kept files: the commands that read them print the same as before, or say what is wrong.

    python tests/attack/flips.py --flips 400

Positions are drawn evenly from all files. A figure a line: flips tried, by what happened.
"""

import argparse
import json
import random
import tempfile
from pathlib import Path

from crashes import COMMANDS, TRAIN, begin, ecsuite, end, fresh, preload, prepare, without

UNREAD = (".lock",)
"""Ends of names of files whose content nobody reads for figures."""
READERS = {
    "train": [
        ["show", "run"],
        ["score", "run", "--metrics", "topsim", "--json"],
        ["evaluate", "run", "--device", "cpu", "--json"],
        ["compare", "table", "run", "--json"],
        [*TRAIN, "--json"],
    ],
    "score": [["compare", "table", "run", "--json"], ["score", "run", "--metrics", "posdis", "--json"]],
    "icy": [[*COMMANDS["icy"][1], "--json"]],
    "sweep": [["compare", "table", "sweep", "--json"], [*COMMANDS["sweep"][1], "--json"]],
    "xferbench": [[*COMMANDS["xferbench"][1], "--json"]],
    "xtreme": [[*COMMANDS["xtreme"][1], "--json"]],
}
"""By command, what reads the files that it writes."""
TIMES = ("seconds", "examples_per_second")


def figures_of(printed):
    try:
        return without(json.loads(printed), TIMES)
    except ValueError:
        return printed


def attack(name, num_flips, seed=0, print_fault=print):
    """Flip one bit at a time in what a command has written; returns the figures."""
    before, line = COMMANDS[name]
    rng, results = random.Random(seed), {"same": 0, "refused": 0, "noted": 0, "other": 0, "crashed": 0}
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        prepare(made)
        given = set(made.rglob("*"))
        for each in [*before, line]:
            code, *_, modules = ecsuite(made, each)
            assert code == 0
            preload(modules)
        files = [each for each in sorted(made.rglob("*")) if each.is_file() and each not in given]
        files = [each for each in files if not each.name.endswith(UNREAD) and each.stat().st_size]
        work = Path(scratch) / "work"
        usual = {}
        for reader in READERS[name]:
            code, said, *_, out = ecsuite(fresh(made, work), reader, with_output=True)
            assert code == 0, (reader, said)
            usual[tuple(reader)] = figures_of(out), said
        for number in range(num_flips):
            file = files[number % len(files)].relative_to(made)
            data = bytearray((made / file).read_bytes())
            bit = rng.randrange(8 * len(data))
            data[bit // 8] ^= 1 << bit % 8
            for reader in READERS[name]:
                (fresh(made, work) / file).write_bytes(data)
                code, said, *_, out = ecsuite(work, reader, with_output=True)
                figures, words = usual[tuple(reader)]
                if "Traceback" in said or code not in (0, 2, 3):
                    result = "crashed"
                elif code:
                    result = "refused"
                elif figures_of(out) == figures:
                    result = "same"
                else:
                    result = "other" if said == words else "noted"
                results[result] += 1
                if result in ("other", "crashed"):
                    print_fault(f"{' '.join(reader)[:60]}: {file}, bit {bit}: {result} {said[-300:]}")
    readings = sum(results.values())
    good = readings - results["other"] - results["crashed"]
    return {"command": name, "files": len(files), "flips": num_flips, "readings": readings, "good": good, **results}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", default=list(READERS))
    parser.add_argument("--flips", type=int, default=100, help="for each command")
    parser.add_argument("--seed", type=int, default=0)
    options = begin(parser)
    end((attack(name, options.flips, options.seed) for name in options.commands), "good", "readings")


if __name__ == "__main__":
    main()
