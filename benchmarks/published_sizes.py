"""The published experiments at their published sizes, the most informative first, some minutes at a time.

    python benchmarks/published_sizes.py --data FOLDER             # ten minutes; repeat the command to continue
    python benchmarks/published_sizes.py --list                    # every step, and which are done

Each step is a line of `ecsuite`, as users type it. A step that is not done when the time is over is asked to stop,
keeps its state, and is gone on with by the next call. Runs, kept work and results are in `--folder`; `done.json` there
says when each step ended, on which machine, and how many seconds it took in all. `--data` holds `text/`, files such as
`da.txt.gz` with a document a line, and `xtreme/`, the tasks' data; steps that lack theirs are left out, and named.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rows import machine, versions

from ecsuite.files.atomic_files import write_atomically

PREEMPTED = 75
"""Exit code of a stopped command that can resume."""
TO_STOP = 60.0
"""Seconds that a step may take to store its state."""
GAMES = ("disc_small", "disc_large")
MORE_GAMES = ("recon_large", "channel", "objects", "digits", "guess_number", "yao")
"""Shipped games that need no data; with the others eight, as the yardstick of the reduced preset."""
TEXTS = ("fr", "ru")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A line of `ecsuite`."""

    name: str
    """Name of the result."""
    line: str
    """Arguments of `ecsuite`; `{runs}`, `{text}` and `{xtreme}` are folders, `{device}` the device."""


def steps() -> Iterator[Step]:
    """Every step, in the order in which they are made."""
    for game in GAMES:
        yield Step(name=game, line=f"train-game {game} --out {{runs}}/{game} --resume --device {{device}}")
    for preset in ("danish", "full"):
        yield from transfer(preset)
    for game in MORE_GAMES:
        yield Step(name=game, line=f"train-game {game} --out {{runs}}/{game} --resume --device {{device}}")
        yield Step(name=f"{game}-full", line=_scored(game, "full"))
    for game in ("mu_shapeworld", "mu_shapeworld_ref", "mu_shapeworld_setref"):
        train = f"train-game {game} --epochs 100 --out {{runs}}/{game} --resume --device {{device}}"
        yield Step(name=game, line=train)
        yield Step(name=f"{game}-scores", line=f"score {{runs}}/{game} --metrics ami,cbm,topsim")
    yield Step(name="cbm_table1", line="cbm paper/cbm_table1 --set training.num_epochs=200 --device {device}")
    for table in ("icy_table3", "icy_table4"):
        yield Step(name=table, line=f"icy paper/{table} --device {{device}}")
    xtreme = "--data {xtreme} --texts {text} --tasks udpos,panx,xnli --device {device}"
    yield Step(name="xtreme", line=f"xtreme {{runs}}/disc_small {xtreme}")


def transfer(preset: str) -> Iterator[Step]:
    """XferBench of games, of the paper's baselines and of human texts."""
    for game in GAMES:
        yield Step(name=f"{game}-{preset}", line=_scored(game, preset))
    own, options = f"preset={preset},targets={{text}}", "--device {device}"
    for name in ("paren_synth", "random", "no_pretrain"):
        yield Step(name=f"{name}-{preset}", line=f"score reference {name},{own} {options}")
    for text in TEXTS:
        yield Step(
            name=f"human-{text}-{preset}",
            line=f"score reference human,{own} --text {{text}}/{text}.txt.gz {options}",
        )


def _scored(game: str, preset: str) -> str:
    return f"score {{runs}}/{game} --metrics xferbench,preset={preset},targets={{text}} --device {{device}}"


def command(step: Step, folder: Path, data: Path | None, device: str) -> list[str] | str:
    """The command of a step; or a missing requirement, as text."""
    if data is None and re.search(r"\{(text|xtreme)\}", step.line):
        return "--data is not given"
    places = {"runs": str(folder / "runs"), "device": device}
    places |= {name: str(data / name) for name in ("text", "xtreme")} if data is not None else {}
    for name in ("text", "xtreme"):
        if f"{{{name}}}" in step.line and not Path(places[name]).is_dir():
            return f"no folder {places[name]}"
    words = step.line.format_map(places).split()
    if words[0] != "train-game":
        words += ["--out", str(folder / f"{step.name}.json")]
        words += [] if step.name.endswith("-scores") else ["--cache", str(folder / "cache")]
    return [sys.executable, "-m", "ecsuite.cli", *words]


def run(words: list[str], seconds: float) -> int:
    """The exit code of a command, which is asked to stop after some seconds."""
    process = subprocess.Popen(words)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
    try:
        process.wait(TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return PREEMPTED


def main(arguments: list[str] | None = None) -> None:
    """Make the steps that are not done, until the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", default=[""], help="beginnings of the names of steps; default: all"
    )
    parser.add_argument("--list", action="store_true", help="print every step, and when it was done")
    parser.add_argument("--minutes", type=float, default=9.0, help="then the step is asked to stop")
    parser.add_argument("--folder", type=Path, default=Path("runs/published_sizes"))
    parser.add_argument("--data", type=Path, help="folder with `text` and `xtreme`")
    parser.add_argument("--device", default="cuda", help="auto, cpu or cuda")
    given = parser.parse_args(arguments)
    file, began = given.folder / "done.json", time.monotonic()
    known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for step in steps():
        if not step.name.startswith(tuple(given.names)):
            continue
        state = known.get(step.name, {})
        if given.list:
            print(f"{state.get('date', 'not done'):12} {step.name:24} ecsuite {step.line}")
            continue
        if "date" in state:
            continue
        words = command(step, given.folder, given.data, given.device)
        if isinstance(words, str):
            print(f"{step.name}: left out: {words}", flush=True)
            continue
        left = 60 * given.minutes - (time.monotonic() - began)
        if left <= 0:
            print(f"{step.name}: next; run this again to continue")
            return
        print(f"{step.name}: {' '.join(words[2:])}", flush=True)
        started = time.monotonic()
        code = run(words, left)
        state["seconds"] = round(state.get("seconds", 0.0) + time.monotonic() - started, 1)
        if code == 0:
            state |= {"date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine(), "versions": versions()}
        given.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(file, f"{json.dumps(known | {step.name: state}, indent=1)}\n".encode())
        known[step.name] = state
        if code not in (0, PREEMPTED):
            print(f"{step.name}: failed with exit code {code}; the others go on", flush=True)


if __name__ == "__main__":
    main()
