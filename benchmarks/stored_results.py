"""CPU time and memory of commands that read finished runs, compared with another version.

    python benchmarks/stored_results.py --beside OTHER                 # OTHER/ecsuite is another version
    python benchmarks/stored_results.py --copies 1000                  # `compare table` of many runs alone

The first trains and scores a sweep of 48 runs of `disc_tiny`, each version its own, and then compares them, makes their
table and their page, verifies them, and asks for the sweep again, with the number of files that this changes. The
second copies the run folders of such a sweep with other seeds, and makes the table of these. Each measurement is a
process of its own; versions take turns. `--folder` keeps the runs for the next time.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rows import add_json_option, collect, other_version, publish

from ecsuite.files.checksums import sealed, sealed_text

STUDY = """\
base: disc_tiny
vary:
  channel.kind: [gumbel, reinforce]
  channel.vocab_size: [5, 20]
seeds: 12
set: {training.num_epochs: 1}
score: [topsim, posdis, cbm, word_entropy]
"""
LINES = {
    "compare": "compare runs/study",
    "compare table": "compare table runs/study",
    "report": "report runs/study --out page.html",
    "verify": "verify runs/study --quiet",
    "sweep again": "sweep study.yaml --quiet",
}
"""The commands by the name of their rows."""


def run(package: Path, folder: Path, line: str) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak megabytes (of the largest process) of a command."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(package)}
    command = [sys.executable, "-m", "ecsuite.cli", *line.split()]
    began = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"ecsuite {line}: ended with {process.returncode}: {said.decode()}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def stamps(folder: Path) -> dict[Path, tuple[int, int]]:
    """Inode and time of the last change of each file."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file: ((stat := file.stat()).st_ino, stat.st_mtime_ns) for file in files}


def copy_runs(runs: list[Path], folder: Path, number: int) -> None:
    """Copy run folders alternately; each copy has another seed in its config, metadata and name."""
    for place in range(number):
        source, copy = runs[place % len(runs)], folder / f"run-{place:04d}"
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.safetensors"))
        metadata = json.loads((copy / "metadata.json").read_text())
        before = f"seed: {metadata['config']['training']['seed']}\n"
        metadata["config"]["training"]["seed"] = place
        (copy / "metadata.json").write_text(json.dumps(sealed(metadata), indent=2) + "\n")
        config = (copy / "config.yaml").read_text()
        assert config.count(before) == 1, before
        (copy / "config.yaml").write_bytes(sealed_text(config.replace(before, f"seed: {place}\n").encode()))


def figures(given: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str, float]]:
    """Train what is to be read, then measure."""
    packages = {"": Path(__file__).resolve().parents[2]}
    if given.beside:
        packages["other "] = other_version(given.beside)
    folders = {}
    for which, package in packages.items():
        folders[which] = folder / (which.strip() or "own")
        folders[which].mkdir(exist_ok=True)
        if not (folders[which] / "study.yaml").exists():
            (folders[which] / "study.yaml").write_text(STUDY)
            run(package, folders[which], "sweep study.yaml --quiet --on local:2")
        if given.copies and not (folders[which] / "many").exists():
            copy_runs(
                sorted((folders[which] / "runs/study/runs").iterdir()), folders[which] / "many", given.copies
            )
    lines = {f"compare table of {given.copies}": "compare table many"} if given.copies else LINES
    for _ in range(given.repeats):
        for name, line in lines.items():
            if given.only and name not in given.only:
                continue
            for which, package in packages.items():
                before = stamps(folders[which]) if name == "sweep again" else {}
                wall, cpu, peak = run(package, folders[which], line)
                yield f"{which}{name}, CPU", "s", cpu
                yield f"{which}{name}, wall", "s (wall)", wall
                yield f"{which}{name}, peak", "MB", peak
                if before:
                    after = stamps(folders[which])
                    changed = sum(before.get(file) != stamp for file, stamp in after.items())
                    yield f"{which}{name}, files written", "files", changed


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each")
    parser.add_argument("--copies", type=int, default=0, help="run folders of one table instead")
    parser.add_argument("--only", nargs="+", help="some of the rows")
    parser.add_argument("--folder", type=Path, help="folder of the runs; default: a temporary folder")
    parser.add_argument("--beside", type=Path, help="folder of another version of the package `ecsuite`")
    add_json_option(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        publish(collect(figures(given, folder)), as_json=given.json)


if __name__ == "__main__":
    main()
