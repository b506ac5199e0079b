"""Runs per minute of a sweep, compared with a shell loop with the same number of processes.

    python benchmarks/sweep.py --runs 12 --processes 2

trains `disc_tiny` for one epoch with different seeds: by `ecsuite sweep --on local:2`, whose processes import torch
once, and by `xargs -P2` with one `ecsuite train-game` a run. Both write the same run folders.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rows import Row, add_json_option, publish

COMMAND = [sys.executable, "-m", "ecsuite.cli"]
SETTINGS = {"training.num_epochs": 1, "training.precision": "fp32"}


def by_sweep(folder: Path, num_runs: int, processes: int) -> float:
    """Seconds of `ecsuite sweep`."""
    settings = ", ".join(f"{key}: {value}" for key, value in SETTINGS.items())
    (folder / "study.yaml").write_text(f"base: disc_tiny\nseeds: {num_runs}\nset: {{{settings}}}\n")
    return timed([*COMMAND, "sweep", "study.yaml", "--on", f"local:{processes}", "--quiet"], folder)


def by_loop(folder: Path, num_runs: int, processes: int) -> float:
    """Seconds of a loop of commands, each with one thread, as the processes of a sweep have."""
    settings = " ".join(f"--set {key}={value}" for key, value in SETTINGS.items())
    one = f"{' '.join(COMMAND)} train-game disc_tiny --quiet {settings} --seed {{}} --out runs/{{}}"
    return timed(["sh", "-c", f"seq {num_runs} | xargs -P{processes} -I{{}} {one}"], folder)


def timed(command: list[str], folder: Path) -> float:
    """Seconds that a command takes."""
    began = time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def main() -> None:
    """Print the runs a minute of both, and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=12, help="number of runs")
    parser.add_argument("--processes", type=int, default=2, help="number of processes")
    parser.add_argument("--repeats", type=int, default=2, help="number of alternating measurements of each")
    add_json_option(parser)
    given = parser.parse_args()
    ways = {"ecsuite sweep": by_sweep, "xargs": by_loop}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(given.repeats):
        for name, way in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                seconds[name].append(way(Path(folder), given.runs, given.processes))
    if given.json:
        publish(
            [Row(name=name, unit="s", values=tuple(found)) for name, found in seconds.items()], as_json=True
        )
        return
    for name, found in seconds.items():
        print(f"{name:15}{60 * given.runs / min(found):6.1f} runs a minute")
    print(f"ratio {min(seconds['xargs']) / min(seconds['ecsuite sweep']):.2f}")


if __name__ == "__main__":
    main()
