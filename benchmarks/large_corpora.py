"""Memory and time of commands on a corpus of 10^7 messages, each in a process of its own.

    python benchmarks/large_corpora.py                      # ten minutes; 1.2 GB on the disk
    python benchmarks/large_corpora.py --messages 1e6

Bounds at 10^7: a gibibyte of memory and a minute a command. Messages have four symbols and EOS, of meanings of four
attributes with ten values, which are concepts, too; half of the symbols are noise.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rows import add_json_option, collect, publish

LINES = ("show {corpus}", "report {corpus} --out {out}/page.html", "score {corpus} --metrics morphemes")
"""The commands."""
BOUNDS = {"MB": 1074.0, "s": 60.0}
"""The most of each unit at 10^7 messages: a gibibyte, and a minute of CPU."""
NUM_ATTRIBUTES, NUM_VALUES, NOISE = 4, 10, 0.5
BLOCK = 1_000_000
"""Messages that are written at once."""


def write_corpus(folder: Path, num_messages: int) -> None:
    """Write messages and meanings, as texts of equal lines."""
    rng = np.random.default_rng(0)
    message = b"[00, 00, 00, 00, 0]\n"
    meaning = b'{"meaning": [0, 0, 0, 0], "concepts": ["a0=0", "a1=0", "a2=0", "a3=0"]}\n'
    first = meaning.index(b'"a0=') + 4
    with (folder / "corpus.jsonl").open("wb") as messages, (folder / "meanings.jsonl").open("wb") as meanings:
        for begin in range(0, num_messages, BLOCK):
            rows = min(BLOCK, num_messages - begin)
            values = rng.integers(0, NUM_VALUES, (rows, NUM_ATTRIBUTES))
            symbols = values + NUM_VALUES * (1 + np.arange(NUM_ATTRIBUTES))
            is_noise = rng.random(symbols.shape) < NOISE
            symbols = np.where(is_noise, rng.integers(NUM_VALUES, 5 * NUM_VALUES, symbols.shape), symbols)
            lines = np.tile(np.frombuffer(message, np.uint8), (rows, 1))
            others = np.tile(np.frombuffer(meaning, np.uint8), (rows, 1))
            for place in range(NUM_ATTRIBUTES):
                lines[:, 1 + 4 * place] = 48 + symbols[:, place] // 10
                lines[:, 2 + 4 * place] = 48 + symbols[:, place] % 10
                others[:, 13 + 3 * place] = 48 + values[:, place]
                others[:, first + 8 * place] = 48 + values[:, place]
            messages.write(lines.tobytes())
            meanings.write(others.tobytes())


def figures(num_messages: int, folder: Path) -> Iterator[tuple[str, str, float]]:
    """Peak memory and CPU time of each command."""
    corpus = folder / "corpus"
    corpus.mkdir()
    write_corpus(corpus, num_messages)
    for line in LINES:
        name = line.partition(" ")[0]
        command = [sys.executable, "-m", "ecsuite", *line.format(corpus=corpus, out=folder).split()]
        process = subprocess.Popen(
            command,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(f"ecsuite {line}: ended with {os.waitstatus_to_exitcode(status)}")
        yield f"{name}, peak", "MB", _megabytes(used)
        yield f"{name}, CPU", "s", used.ru_utime + used.ru_stime


def _megabytes(used: resource.struct_rusage) -> float:
    """The peak of resident memory, which Linux tells in KiB and macOS in bytes."""
    return used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


def main() -> None:
    """Print the rows, and what is over its bound."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=float, default=1e7, help="size of the corpus")
    add_json_option(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = collect(figures(int(given.messages), Path(folder)))
    publish(rows, as_json=given.json)
    over = [f"{row.name}: {row.best:.0f} {row.unit}" for row in rows if row.best > BOUNDS[row.unit]]
    if over:
        raise SystemExit(f"over the bounds of {BOUNDS}: {'; '.join(over)}")


if __name__ == "__main__":
    main()
