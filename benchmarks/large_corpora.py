"""Memory and time of commands on a corpus of 10^7 messages, each in separate processes.

    python benchmarks/large_corpora.py                      # ten minutes; 1.2 GB on the disk
    python benchmarks/large_corpora.py --messages 1e6
    python benchmarks/large_corpora.py --only "score {corpus}" --beside OTHER      # OTHER/ecsuite is another version

Bounds at 10^7: a gibibyte of memory and a minute of CPU a command; all default metrics, two gigabytes and two minutes.
Memory is the sum over all processes of a command, with shared memory counted once (Linux). Messages have four symbols
and EOS, of meanings of four attributes with ten values, which are concepts, too; half of the symbols are noise.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rows import add_json_option, collect, cpu_seconds, other_version, publish

LINES = {
    "show {corpus}": (1074.0, 60.0),
    "report {corpus} --out {out}/page.html": (1074.0, 60.0),
    "score {corpus} --metrics morphemes": (1074.0, 60.0),
    "score {corpus}": (2000.0, 120.0),
}
"""The commands, and the most megabytes and seconds of CPU of each at 10^7."""
NUM_ATTRIBUTES, NUM_VALUES, NOISE = 4, 10, 0.5
BLOCK = 1_000_000
"""Messages that are written at once."""
LOOKS = 0.1
"""Seconds between two looks at the memory."""


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


def figures(given: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str, float]]:
    """Peak memory, CPU time and time of each command, for alternating versions."""
    packages = {"": Path(__file__).resolve().parents[2]}
    if given.beside:
        packages["other "] = other_version(given.beside)
    corpus = folder / f"corpus-{given.messages:g}"
    if not corpus.is_dir():
        corpus.mkdir(parents=True)
        write_corpus(corpus, int(given.messages))
    for _ in range(given.repeats):
        for line in given.only or LINES:
            for which, package in packages.items():
                threads = {"OMP_NUM_THREADS": "1" if " --" in line else "2"}
                before = cpu_seconds()
                began, peak = time.perf_counter(), 0.0
                process = subprocess.Popen(
                    [sys.executable, "-m", "ecsuite", *line.format(corpus=corpus, out=folder).split()],
                    env=threads | os.environ | {"PYTHONPATH": str(package)},
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                while process.poll() is None:
                    peak = max(peak, _megabytes(process.pid))
                    time.sleep(LOOKS)
                if process.returncode:
                    raise SystemExit(f"ecsuite {line}: ended with {process.returncode}")
                yield f"{which}{line}, wall", "s (wall)", time.perf_counter() - began
                yield f"{which}{line}, peak", "MB", peak
                yield f"{which}{line}, CPU", "s", cpu_seconds() - before


def _megabytes(process: int) -> float:
    """Memory of a process and its children, with shared memory counted once; 0 if unknown."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        threads = list(Path(f"/proc/{process}/task").iterdir())
        children = [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:  # it has ended
        return 0.0
    own = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6
    return own + sum(map(_megabytes, children))


def main() -> None:
    """Print the rows, and what is over its bound."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=float, default=1e7, help="size of the corpus")
    parser.add_argument("--repeats", type=int, default=1, help="measurements of each")
    parser.add_argument("--only", nargs="+", choices=list(LINES), help="some of the commands")
    parser.add_argument("--folder", type=Path, help="folder of the corpus; default: a temporary folder")
    parser.add_argument("--beside", type=Path, help="folder of another version of the package `ecsuite`")
    add_json_option(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        rows = collect(figures(given, given.folder or Path(temporary)))
    publish(rows, as_json=given.json)
    bounds = {f"{line}, peak": megabytes for line, (megabytes, _) in LINES.items()}
    bounds |= {f"{line}, CPU": seconds for line, (_, seconds) in LINES.items()}
    over = [
        f"{row.name}: {row.best:.0f} of {bounds[row.name]:.0f} {row.unit}"
        for row in rows
        if row.best > bounds.get(row.name, math.inf)
    ]
    if over:
        raise SystemExit(f"over the bounds: {'; '.join(over)}")


if __name__ == "__main__":
    main()
