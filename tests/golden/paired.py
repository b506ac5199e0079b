"""Run two versions of the package on this machine, and see what is bit-identical.

    python tests/golden/paired.py OLD_COMMIT              # against the files of this tree as they are now
    python tests/golden/paired.py OLD_COMMIT NEW_COMMIT

Each version is exported into a temporary folder named `ecsuite` and runs the same commands of its own command line,
on one thread; each program asserts that the package it imported lies there. Compared are: tensors of the newest
checkpoint, bytes of corpora, losses in log.jsonl, and the numbers of scores. Not compared: metadata, texts for people,
times, signatures, the layout of other files; keys may be added anywhere but in a score's details. If tensors were
renamed but hold the same bytes, the table says so and counts them as identical.

Bound: none, since one machine with one number of threads promises the same bytes. It takes some four minutes.
XferBench is run at preset `nano`: its stages are those of `mini`, which takes a minute a version (`--mini` adds it).
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from comparison import differences
from corpora import irregular
from human_data import write_tasks
from metric_figures import ASKED_FOR

ROOT = Path(__file__).resolve().parents[2]
CALL = """
import sys
from pathlib import Path
import ecsuite
assert Path(ecsuite.__file__).resolve().parent == Path(sys.argv.pop(1)).resolve(), ecsuite.__file__
from ecsuite.cli import main
sys.argv[0] = "ecsuite"
main()
"""
"""Started in a program of its own with the package's folder, and what is typed after `ecsuite`."""


def settings(text: str) -> list[str]:
    return [f"--set={each}" for each in text.split()]


SET_GAME = settings(
    "training.num_examples=6400 training.num_epochs=1 training.evaluate_every=20 evaluation.num_valid=256"
)
SOCIETY = settings("""society.senders=3 society.receivers=4 society.sender_speeds=[0.5] channel=reinforce
    generations.every=40 generations.transmit=true generations.sender_steps=10 generations.receiver_steps=5
    generations.size=64 society.imitate_every=7""")
FP32 = ("--set", "training.precision=fp32", "--device", "cpu")
ICY = """--model husendz:dgsend --model lstm --num-attributes 2 --num-values 4 --word-length 2 --hidden-size 32
    --seeds 2 --grammar perm --grammar hol --workers 1""".split()
XFERBENCH = ("--workers", "1", "--device", "cpu")
CBM = [*"--row thing_qt --row shape_gs_l4 --seeds 1".split(), *XFERBENCH, *settings("""training.num_examples=1280
    training.num_epochs=1 evaluation.num_valid=256 training.precision=fp32 evaluation.corpus_size=200""")]  # fmt: skip
NOT_FIGURES = "seconds examples_per_second about reason signature note warning reference".split()
"""Keys whose values are times, or texts for people, or tell of versions."""


class Version:
    """One version of the package, exported, and the folder it works in."""

    def __init__(self, package: Path, work: Path) -> None:
        self.package, self.work = package, work
        work.mkdir()

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return self.program("-c", CALL, str(self.package), *arguments)

    def program(self, *arguments: str) -> "subprocess.Popen[str]":
        here = {"PYTHONPATH": str(self.package.parent), "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        program = [sys.executable, *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(program, cwd=self.work, env={**os.environ, **here}, **streams)

    def run(self, *arguments: str, code: int = 0) -> str:
        return self.end(self.start(*arguments), code)

    def end(self, program: "subprocess.Popen[str]", code: int = 0) -> str:
        out, error = program.communicate()
        if program.returncode != code:
            raise RuntimeError(f"{self.package}: exit {program.returncode}, expected {code}:\n{error or out}")
        return out

    def as_json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json"))


def disc_tiny(version: Version) -> dict[str, Any]:
    version.run("train-game", "disc_tiny", "--epochs", "4", *FP32, "--out", "disc")
    metrics = [name for name in version.as_json("list")["metrics"] if name not in ASKED_FOR]
    scores = version.as_json("score", "disc/corpus.jsonl", "--metrics", ",".join(metrics))
    return {**run_folder(version.work / "disc"), "scores": scores["scores"]}


def set_game(version: Version) -> dict[str, Any]:
    version.run("train-game", "thing_qt", *SET_GAME, *FP32, "--out", "sets")
    return run_folder(version.work / "sets")


def society(version: Version) -> dict[str, Any]:
    """Agents, some of them slow, who imitate each other, and learn what was written down before them."""
    version.run("train-game", "disc_tiny", "--epochs", "2", *SOCIETY, *FP32, "--out", "society")
    return run_folder(version.work / "society")


def resumed(version: Version) -> dict[str, Any]:
    """A game that is told to stop after its first evaluation, and then goes on to its end."""
    command = ("train-game", "disc_tiny", "--seed", "2", *FP32, "--out", "resumed")
    program, log = version.start(*command), version.work / "resumed" / "log.jsonl"
    while program.poll() is None and not (log.exists() and log.stat().st_size):
        time.sleep(0.01)
    program.send_signal(signal.SIGTERM)
    version.end(program, code=75)
    version.run(*command, "--resume")
    return run_folder(version.work / "resumed")


def grammar(version: Version) -> dict[str, Any]:
    size = ("--num-attributes", "4", "--num-values", "5")
    version.run("grammar", "rot+shufdet", *size, "--out", "grammar")
    return run_folder(version.work / "grammar")


def xferbench(version: Version, preset: str = "nano") -> dict[str, Any]:
    """A language model that learns the corpus of `grammar`, and is tuned on two targets."""
    found = version.as_json("score", "grammar", "--metrics", f"xferbench,preset={preset}", *XFERBENCH)
    return {key: found[key] for key in ("scores", "score", "by_target")}


def xtreme(version: Version) -> dict[str, Any]:
    corpus, data = irregular(version.work), write_tasks(version.work / "data")
    tasks = ("--tasks", "panx,xnli", "--languages", "eu", "--preset", "nano")
    return {"cells": version.as_json("xtreme", str(corpus), "--data", str(data), *tasks, *XFERBENCH)["cells"]}


def verdicts(version: Version) -> dict[str, Any]:
    """The verdicts on all claims, made again of the stored results of their runs."""
    version.end(version.program(str(version.package / "benchmarks" / "claims.py")))
    [file] = (version.package / "eval").rglob("verdicts.json")
    return {"verdicts": json.loads(file.read_text())}


CHECKS: dict[str, Callable[[Version], dict[str, Any]]] = {
    "training of disc_tiny": disc_tiny, "a set game": set_game, "a society": society, "stopped and resumed": resumed,
    "ICY rows": lambda version: {"rows": version.as_json("icy", *ICY)["rows"]},
    "a grammar": grammar, "XferBench nano": xferbench,
    "CBM rows": lambda version: {"rows": version.as_json("cbm", "paper/cbm_table1", *CBM)["rows"]},
    "XTREME cells": xtreme, "verdicts on claims": verdicts,
}  # fmt: skip


def run_folder(folder: Path) -> dict[str, Any]:
    """What a run leaves: digests of tensors and of corpora, and its log."""
    found: dict[str, Any] = {}
    for name in ("corpus.jsonl", "meanings.jsonl"):
        if (folder / name).exists():
            found[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    if (folder / "log.jsonl").exists():
        found["log.jsonl"] = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    checkpoints = sorted(folder.rglob("*.safetensors"))
    if checkpoints:
        found["tensors"] = tensors(checkpoints[-1])
    return found


def tensors(path: Path) -> dict[str, str]:
    """By name, the type, the shape and the SHA-256 of each tensor of a safetensors file."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    told = {}
    for name, entry in sorted(header.items()):
        begin, end = entry["data_offsets"]
        digest = hashlib.sha256(data[start + begin : start + end]).hexdigest()
        told[name] = f"{entry['dtype']} {entry['shape']} {digest}"
    return told


def compare(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Where what a check gave differs; a line that begins with `(` is a remark."""
    tensors_before, tensors_now = before.get("tensors", {}), now.get("tensors", {})
    is_renamed = tensors_before.keys() != tensors_now.keys()
    if is_renamed and sorted(tensors_before.values()) == sorted(tensors_now.values()):
        yield "(tensors have other names)"
        before, now = ({**found, "tensors": {}} for found in (before, now))
    yield from differences(before, now, ignored=NOT_FIGURES, may_add=True)


def export(commit: str | None, folder: Path) -> Path:
    """The files of a commit, or of this tree as they are, in a folder named `ecsuite`."""
    package = folder / "ecsuite"
    package.mkdir(parents=True)
    if commit is not None:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", str(package)], input=archive.stdout, check=True)
        return package
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, package / name)
    return package


def describe(commit: str | None) -> str:
    if commit is None:
        return f"the files of {ROOT} as they are"
    line = ["git", "log", "-1", "--format=%h %s", commit]
    return subprocess.run(line, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Run all checks on both versions, and print a line each; exit code 1 if one differs."""
    parser = argparse.ArgumentParser(description="See whether two versions give the same bits.")
    parser.add_argument("old", help="a commit")
    parser.add_argument("new", nargs="?", help="a commit; the files of this tree as they are, if not given")
    parser.add_argument("--mini", action="store_true", help="run XferBench mini, too")
    given = parser.parse_args()
    checks = dict(CHECKS)
    if given.mini:
        checks["XferBench mini"] = lambda version: xferbench(version, "mini")
    print(f"old: {describe(given.old)}\nnew: {describe(given.new)}\n")
    print(f"{'check':24}{'compared':>10}  {'identical':10} {'seconds':>8}  first difference")
    is_different = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        versions = [
            Version(export(commit, folder / name), folder / f"{name}-work")
            for name, commit in (("old", given.old), ("new", given.new))
        ]
        for name, check in checks.items():
            began = time.monotonic()
            before, now = (check(version) for version in versions)
            seconds = time.monotonic() - began
            found = list(compare(before, now))
            faults = [line for line in found if not line.startswith("(")]
            is_different |= bool(faults)
            number = sum(1 for _ in leaves(before))
            answer = "no" if faults else "yes"
            first = next(iter(faults or found), "")
            print(f"{name:24}{number:>10}  {answer:10} {seconds:8.1f}  {first}", flush=True)
            print(f"{'':24}{', '.join(before)}", flush=True)
    sys.exit(int(is_different))


def leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key not in NOT_FIGURES:
                yield from leaves(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from leaves(value)
    else:
        yield tree


if __name__ == "__main__":
    main()
