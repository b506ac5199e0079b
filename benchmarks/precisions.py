"""CPU time of a step of the shipped games in fp32 and bf16, alternately; the basis of `training.precision=auto`.

    python benchmarks/precisions.py                              # all games that need no files of yours
    python benchmarks/precisions.py digits disc_small --rounds 3
    python benchmarks/precisions.py --out benchmarks/results/precisions.json

One thread. A game is trained for some steps in fp32, then in bf16, and again. Printed are the least of the rounds'
median CPU times of a step, and `auto`: how much longer the precision that it takes needs than the faster one. The YAML
of some games says fp32; that is not asked here. `NAME/KEY=VALUE` is a game with another setting. With --out, the file
is written after each game.
"""

import argparse
import statistics
import tempfile
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import torch
from rows import Row, as_document

from ecsuite.games.config.experiment import load_experiment, named_configs
from ecsuite.games.config.sections import Experiment
from ecsuite.games.plays.notes import choose_game_precision, work_of_step
from ecsuite.games.training.train import train
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.provenance import processor

SECONDS, STEPS, WARM_UP = 1.0, 30, 3
"""CPU seconds and steps after which a training ends, and steps that are not counted."""
BETWEEN = [
    *(f"disc_small/training.batch_size={size}" for size in (16, 64, 256)),
    *(f"disc_tiny/sender.hidden_size={width}/receiver.hidden_size={width}" for width in (128, 256)),
]
"""No shipped game without convolutions has a size between the small and the large ones."""
COMMON = ["evaluation.num_valid=64", "evaluation.corpus_size=16"]


class _EnoughError(Exception):
    """Ends a training."""


def main() -> None:
    """Print a line for each game."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("games", nargs="*", default=[*named_configs(), *BETWEEN])
    parser.add_argument("--rounds", type=int, default=2, help="trainings in each precision")
    parser.add_argument("--out", type=Path, help="write the rows to this JSON file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[Row] = []
    print(f"{processor()}\n{'game':56} {'work':>12} fp32 ms  bf16 ms  bf16/fp32  auto")
    for game in arguments.games:
        try:
            times = measure(game, arguments.rounds)
        except ConfigError as error:
            print(f"{game:56} not measured: {error}", flush=True)
            continue
        rows += [
            Row(name=f"{game} {name}", unit="ms", values=tuple(values)) for name, values in times.items()
        ]
        fp32, bf16 = (min(values) for values in times.values())
        experiment = game_of(game, "training.precision=auto")
        auto = choose_game_precision(experiment, torch.device("cpu"))
        longer = min(times[auto]) / min(fp32, bf16) - 1
        figures = f"{work_of_step(experiment):12,} {fp32:7.1f} {bf16:8.1f} {bf16 / fp32:10.2f}"
        print(f"{game:56} {figures}  {auto} +{longer:.0%}", flush=True)
        if arguments.out:
            arguments.out.write_text(as_document(rows) + "\n")


def game_of(game: str, *changes: str) -> Experiment:
    """The experiment of `NAME` or `NAME/KEY=VALUE/KEY=VALUE`."""
    name, *settings = game.split("/")
    return load_experiment(name, [*COMMON, *settings, *changes])


def measure(game: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of CPU time of a step in each precision, of each round."""
    times: dict[str, list[float]] = {"fp32": [], "bf16": []}
    for _ in range(rounds):
        for precision, values in times.items():
            values.append(1e3 * step_time(game_of(game, f"training.precision={precision}")))
    return times


def step_time(experiment: Experiment) -> float:
    """Median CPU seconds of a step."""
    ends = [time.process_time()]

    def progress(label: str, done: int, total: int) -> None:
        ends.append(time.process_time())
        if len(ends) > STEPS + WARM_UP or (ends[-1] - ends[0] > SECONDS and len(ends) > WARM_UP + 2):
            raise _EnoughError

    with tempfile.TemporaryDirectory() as folder, suppress(_EnoughError):
        train(experiment, Path(folder) / "run", device="cpu", progress=progress, note=lambda _: None)
    return statistics.median(after - before for before, after in pairwise(ends[WARM_UP:]))


if __name__ == "__main__":
    main()
