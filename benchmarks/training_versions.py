"""Train the same games with two alternating versions of the package, and compare the CPU time of each pair of runs.

    python benchmarks/training_versions.py OLD NEW --pairs 20

OLD and NEW are folders that hold a version each, named `ecsuite`. Each version runs in a separate process, on one
thread, and waits while the other one trains. Reported is the mean ratio new / old of a game with its 95 % interval
(Student's t of the logarithms), so that slow minutes of a machine are in both sides of a pair.
"""

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from statistics import mean, stdev

from rows import Row, publish
from scipy.stats import t

GAMES = {
    "disc_small": ("disc_small", ["training.num_examples=8192", "training.num_epochs=1"]),
    "disc_small, reinforce": (
        "disc_small",
        ["channel=reinforce", "training.num_examples=4096", "training.num_epochs=1"],
    ),
    "disc_small, reinforce, bf16": (
        "disc_small",
        [
            "channel=reinforce",
            "training.num_examples=4096",
            "training.num_epochs=1",
            "training.precision=bf16",
        ],
    ),
    "disc_small, messages that all differ and never end": (
        "disc_small",
        [
            "channel=reinforce,length=fixed,vocab_size=100",
            "world.num_attributes=8",
            "training.num_examples=2048",
            "training.num_epochs=1",
        ],
    ),
    "disc_small, three evaluations and two steps": (
        "disc_small",
        [
            "training.num_examples=1024",
            "training.num_epochs=2",
            "training.evaluate_every=1",
            "evaluation.num_valid=4096",
        ],
    ),
    "channel, evaluated after each of eight steps": (
        "channel",
        [
            "training.num_examples=1024",
            "training.num_epochs=1",
            "training.evaluate_every=1",
            "evaluation.num_valid=1024",
        ],
    ),
    "digits, evaluated after each of eight steps": (
        "digits",
        [
            "training.num_examples=512",
            "training.num_epochs=1",
            "training.evaluate_every=1",
            "evaluation.num_valid=1024",
        ],
    ),
    "summation, evaluated after each of eight steps": (
        "summation",
        [
            "training.num_examples=1024",
            "training.num_epochs=1",
            "training.evaluate_every=1",
            "evaluation.num_valid=2048",
        ],
    ),
    "disc_tiny, reinforce": (
        "disc_tiny",
        ["channel=reinforce,max_len=3", "training.num_examples=8192", "training.num_epochs=2"],
    ),
    "2 x 2 of disc_small, reinforce": (
        "disc_small",
        [
            "channel=reinforce",
            "training.num_examples=512",
            "training.batch_size=256",
            "training.num_epochs=1",
            "society.senders=2",
            "society.receivers=2",
        ],
    ),
    "disc_tiny": ("disc_tiny", ["training.num_epochs=2"]),
    "objects_game": ("objects_game", ["training.num_epochs=5"]),
    "compo_vs_generalization": ("compo_vs_generalization", ["training.num_epochs=5"]),
    "digits": ("digits", ["training.num_epochs=5"]),
    "fixed_language": ("fixed_language", ["training.num_epochs=5"]),
    "thing_qt": ("thing_qt", ["training.num_examples=20480", "training.num_epochs=1"]),
    "task_and_talk_full": ("task_and_talk_full", ["training.num_examples=40000", "training.num_epochs=1"]),
    "reference": ("reference", ["training.num_examples=5120", "training.num_epochs=1"]),
    "4 x 4 of disc_tiny": (
        "disc_tiny",
        ["training.num_epochs=2", "society.senders=4", "society.receivers=4"],
    ),
}
"""Games of a few seconds: the shipped one, and what is changed."""
COMMON = ["training.precision=fp32", "evaluation.num_valid=64", "evaluation.corpus_size=16"]
WORKER = """
import json, sys, tempfile, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(1)
import ecsuite
assert Path(ecsuite.__file__).resolve().parent == (Path(sys.argv[1]) / "ecsuite").resolve(), ecsuite.__file__
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.train import train
for line in sys.stdin:
    name, settings = json.loads(line)
    experiment = load_experiment(name, settings)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        train(experiment, Path(folder) / "run", device="cpu", progress=lambda *_: None, note=lambda _: None)
        print(time.process_time() - began, flush=True)
"""


class Version:
    """Version of the package, run in a separate process."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-c", WORKER, str(folder)]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, name: str, settings: list[str]) -> float:
        """CPU time of a training."""
        assert self.program.stdin is not None and self.program.stdout is not None
        print(json.dumps([name, settings]), file=self.program.stdin, flush=True)
        return float(self.program.stdout.readline())


def main() -> None:
    """Print a line of JSON for each game, or the rows of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--game", action="append", choices=GAMES, help="only this one; may be given again")
    parser.add_argument("--json", action="store_true", help="only the rows, as other scripts print them")
    arguments = parser.parse_args()
    rows = []
    versions = [Version(arguments.old), Version(arguments.new)]
    for game in arguments.game or GAMES:
        name, settings = GAMES[game]
        changes = [*COMMON, *settings]
        for version in versions:
            version.seconds(name, changes)  # imports, and what the first run alone does
        seconds = []
        for number in range(arguments.pairs):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            took = {place: versions[place].seconds(name, changes) for place in order}
            seconds.append((took[0], took[1]))
        ratios = tuple(new / old for old, new in seconds)
        rows.append(Row(name=f"{game}, before", unit="s", values=tuple(old for old, _ in seconds)))
        rows.append(Row(name=f"{game}, ratio to before", unit="", values=ratios))
        if arguments.json:
            continue
        logs = [math.log(ratio) for ratio in ratios]
        width = float(t.ppf(0.975, len(logs) - 1)) * stdev(logs) / math.sqrt(len(logs))
        low, middle, high = (math.exp(mean(logs) + shift) for shift in (-width, 0.0, width))
        row = {"game": game, "pairs": len(logs), "ratio": middle, "low": low, "high": high}
        print(json.dumps(row | {"seconds_old": mean(old for old, _ in seconds)}), flush=True)
    if arguments.json:
        publish(rows, as_json=True)


if __name__ == "__main__":
    main()
