"""Crashes and full disks at every filesystem event of a command, which then runs again: the same bytes.

    python tests/attack/crashes.py train --fault die --every 1

A figure a line: points tried, and how many ended with the bytes of the command that nobody disturbed.
"""

import argparse
import contextlib
import functools
import hashlib
import importlib
import io
import itertools
import json
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

from events import DEAD, Events

GAME = """training.num_examples=64 training.batch_size=32 training.num_epochs=2 training.evaluate_every=1
training.seed=4 training.checkpoint_every=2 evaluation.num_valid=32 sender.hidden_size=4
receiver.hidden_size=4""".split()
"""With seed 0 all messages are empty."""
TRAIN = ["train-game", "disc_tiny", "--out", "run", "--device", "cpu", *(f"--set={each}" for each in GAME)]
SOCIETY = [
    "society.imitate_every=5", "society.voting=true", "society.sender_speeds=[1, 0.5]", "generations.which=oldest",
    "society.receiver_speeds=[0.5]", "generations.batch_size=3", "society.senders=2", "society.receivers=3",
]  # fmt: skip
KICKBACK = "society.agents=2 generations.which=none channel=reinforce generations.receivers_learn=sender"
"""Agents that learn their own language again."""
GENERATIONS = """generations.every=8 generations.transmit=true generations.size=12 generations.sender_steps=2
generations.receiver_steps=2 training.num_epochs=11 training.evaluate_every=6 training.checkpoint_every=5""".split()
"""22 steps; agents begin, or learn again, at the 8th and 16th."""


def train_society(settings):
    return [*TRAIN, "--resume", *(f"--set={each}" for each in (*GENERATIONS, *settings))]


HERE = ["--workers", "1", "--device", "cpu"]
ICY = "icy --model fc1l --grammar perm --num-attributes 2 --num-values 2 --cache c --seeds 1 --out i.json"
STUDY = {"base": "disc_tiny", "vary": {"channel.vocab_size": [3, 5]}, "seeds": [4], "score": ["topsim"]}
STUDY["set"] = {name: json.loads(value) for name, value in (each.split("=") for each in GAME) if "seed" not in name}
XTREME = "--tasks udpos,tatoeba --human human.txt --out x.json".split()
COMMANDS = {
    "train": ([], [*TRAIN, "--resume"]),
    "society": ([], train_society(SOCIETY)),
    "kickback": ([], train_society(KICKBACK.split())),
    "score": ([TRAIN], ["score", "run", "--metrics", "topsim,posdis"]),
    "icy": ([], ICY.split() + HERE),
    "xferbench": ([TRAIN], "score run --metrics xferbench,preset=nano --cache c".split() + HERE),
    "sweep": ([], ["sweep", "study.yaml", "--out", "sweep", "--on", "local:1", "--device", "cpu"]),
    "xtreme": ([TRAIN], "xtreme run --data data --preset nano --languages de --cache c".split() + XTREME + HERE),
}  # fmt: skip
"""By name, commands that prepare the folder, and the command that is disturbed and runs again."""
SAVE_OFTEN = ("xtreme",)
"""Commands whose models write a checkpoint after each update."""
WEIGHTS = ("pretrain-", "train_on_text-", "tokenise-")
"""Beginnings of the names of kept results whose arrays are the same in every run."""
VARYING = ("seconds", "examples_per_second", "checksum", "arrays", "log_sha256")
"""Keys whose values are times, or checksums of files with times."""


def prepare(folder):
    """Write the files that commands read: the study of `sweep`, and tasks of XTREME in two languages."""
    (folder / "study.yaml").write_text(json.dumps(STUDY))
    (folder / "human.txt").write_text("".join(f"word{n % 7} word{n % 5} of line {n}\n" for n in range(200)))
    for number, (language, part) in enumerate(itertools.product(("en", "de"), ("train", "dev", "test"))):
        sentences = [
            f"{language}la\tDET\n{language}{n:b}\tNOUN\n{language}ru\tVERB\n"
            for n in range(30 * number, 30 * number + 30)
        ]
        file = folder / "data" / "udpos" / f"{part}-{language}.tsv"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(sentences))
    for ending, language in (("deu", "de"), ("eng", "en")):
        file = folder / "data" / "tatoeba" / f"tatoeba.deu-eng.{ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{language}la {language}{n:b} {language}ru\n" for n in range(12)))


def save_often():
    """Let models that learn a corpus write a checkpoint after each update."""
    from ecsuite.eval.models import training

    training.Checkpoint = functools.partial(training.Checkpoint, seconds=0)


def begin(parser):
    """The options of a script, whose figures are printed line by line; what its commands need is imported."""
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    import torch._dynamo

    import ecsuite.games.training.train  # noqa: F401

    torch.set_num_threads(1)
    return options


def end(found, good, tried="sent"):
    """Print figures, a line each, and end with 0 if all that was tried turned out well."""
    is_survived = True
    for figures in found:
        print(json.dumps(figures), flush=True)
        is_survived &= figures[tried] == figures[good]
    sys.exit(not is_survived)


def ecsuite(folder, line, at=None, fault="die", with_output=False):
    return ended(*start(folder, line, at, fault, with_output))


def start(folder, line, at=None, fault="die", with_output=False):
    """Start a command in a child process; returns its number, and the file of a pipe to read what it tells."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    code, printed, out = 1, io.StringIO(), io.StringIO()
    events = Events(folder, at, fault)
    try:
        os.chdir(folder)
        from ecsuite.cli import main

        if line[0] in SAVE_OFTEN:
            save_often()
        sys.argv = ["ecsuite", *line]
        events.install()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(printed):
            main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        printed.write(traceback.format_exc())
    told = [printed.getvalue()[-20_000:], events.count, events.kinds, list(sys.modules)]
    with open(writer, "wb") as pipe:
        pipe.write(json.dumps([*told, out.getvalue()] if with_output else told).encode())
    os._exit(code)


def ended(child, reader):
    """Wait for a child process.

    Returns:
        The exit code, standard error, the number of events, their kinds, the modules that it imported, and, if asked,
        standard output.
    """
    with open(reader, "rb") as pipe:
        told = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, *(json.loads(told) if told and code >= 0 else ("", 0, {}, [], ""))


def preload(modules):
    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def contents(folder):
    return {
        str(file.relative_to(folder)): comparable(file)
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not is_lock(file)
    }


def is_lock(file):
    return "locks" in file.parts or file.name == "lock" or file.suffix in (".lock", ".command")


def comparable(file):
    data = file.read_bytes()
    if file.suffix == ".safetensors" and file.name.startswith(WEIGHTS):
        return hashlib.sha256(data).hexdigest()
    if file.suffix not in (".json", ".jsonl"):
        return "" if "results" in file.parts else data  # packed run folders have logs with times
    return [without(json.loads(line)) for line in (data.splitlines() if file.suffix == ".jsonl" else [data])]


def without(value, keys=VARYING):
    if isinstance(value, dict):
        return {key: without(each, keys) for key, each in value.items() if key not in keys}
    return [without(each, keys) for each in value] if isinstance(value, list) else value


def fresh(prepared, place):
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(prepared, place)
    return place


def attack(name, fault, points, every, print_fault=print):
    """Disturb a command at events and let it run again; returns the figures."""
    before, line = COMMANDS[name]
    with tempfile.TemporaryDirectory() as scratch:
        prepared = Path(scratch) / "prepared"
        prepared.mkdir()
        prepare(prepared)
        for each in before:
            assert ecsuite(prepared, each)[0] == 0
        code, said, num_events, kinds, modules = ecsuite(fresh(prepared, Path(scratch) / "work"), line)
        assert code == 0, said
        preload(modules)
        whole = contents(Path(scratch) / "work")
        chosen = range(1, num_events + 1, every)
        if points:
            chosen = sorted({1 + index * (num_events - 1) // max(1, points - 1) for index in range(points)})
        figures = {"command": name, "fault": fault, "events": num_events, "kinds": kinds, "tried": 0, "survived": 0}
        for at in chosen:
            folder = fresh(prepared, Path(scratch) / "work")
            code, said, *_ = ecsuite(folder, line, at, fault)
            faults = ends_well(code, said, fault)
            code, again, *_ = ecsuite(folder, line)
            if code:
                faults.append(f"run again: exit code {code}: {again[-600:]}")
            else:
                faults += other_bytes(contents(folder), whole)
            figures["tried"] += 1
            figures["survived"] += not faults
            for each in faults:
                print_fault(f"{name}, {fault} at event {at}: {each}")
        return figures


def other_bytes(found, whole):
    """The fault that some files differ from those of a run that was not disturbed, if they do."""
    others = [each for each in {**found, **whole} if found.get(each) != whole.get(each)]
    return [f"other bytes: {', '.join(others)[:300]}"] if others else []


def ends_well(code, said, fault):
    if fault == "die":
        return [] if code in (DEAD, 0) else [f"exit code {code}: {said[-600:]}"]
    lines = [each for each in said.splitlines() if "no space left" in each.lower()]
    is_told = code == 2 and "Traceback" not in said and len(lines) == 1 and len(lines[0]) <= 300
    return [] if code == 0 or is_told else [f"exit code {code}: {said[-600:]}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="+", choices=COMMANDS)
    parser.add_argument("--fault", default="die", choices=("die", "full"))
    parser.add_argument("--every", type=int, default=1, help="every n-th event")
    parser.add_argument("--points", type=int, help="so many events instead, evenly spread")
    options = begin(parser)
    found = (attack(name, options.fault, options.points, options.every) for name in options.commands)
    end(found, "survived", "tried")


if __name__ == "__main__":
    main()
