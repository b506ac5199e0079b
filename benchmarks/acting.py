"""Agents that act: steps per second of the guided grid, and rewards of trained and of scripted agents in shipped games.

    OMP_NUM_THREADS=1 python benchmarks/acting.py                               # steps a second; results/acting.json
    OMP_NUM_THREADS=1 python benchmarks/acting.py --train reference --seeds 1 2 # also minutes of CPU, in one thread

In a step, all agents of an unfinished episode see, act and speak; 64 episodes run in parallel.
Seconds are those of the process, so that what else the machine does counts little.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.plays.play import make_play
from ecsuite.games.training.train import train
from ecsuite.runtime.provenance import processor

FILE = Path(__file__).parent / "results" / "acting.json"
BATCH, BATCHES = 64, 60


def play_of(game: str, *settings: str):
    """The play of a game, ready to learn."""
    experiment = load_experiment(game, list(settings))
    play = make_play(experiment, torch.device("cpu"))
    play.optimise = Optimise(experiment.optimizer, play.module, play.modules_of)
    return play


def speed() -> dict[str, float]:
    """Steps a second of the guided grid: of playing alone, and of learning."""
    play = play_of("guided_grid", f"training.batch_size={BATCH}")
    number, counted = 0, []
    made = play.play

    def counting(*arguments, **how):
        episodes = made(*arguments, **how)
        counted.append(int(episodes.alive.sum()))
        return episodes

    play.play = counting
    found = {}
    for name in ("playing", "learning"):
        for is_timed in (False, True):
            counted.clear()
            start = time.process_time()
            for number in range(BATCHES if is_timed else 5):
                if name == "learning":
                    play.train_step(number)
                else:
                    next(play.batches("valid"))
            found[name] = sum(counted) / (time.process_time() - start)
    return {name: round(value) for name, value in found.items()}


def trained(game: str, seed: int) -> dict[str, float]:
    """Rewards of trained and of scripted agents in the same episodes, and minutes of CPU."""
    experiment = load_experiment(game, [f"training.seed={seed}"])
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        result = train(
            experiment, Path(folder), device="cpu", progress=lambda *_: None, note=print,
            should_stop=lambda: None,
        )  # fmt: skip
        minutes = (time.process_time() - start) / 60
    scripted = play_of(game, f"training.seed={seed}").references()["scripted agents"]
    return {
        "reward": round(result.measures["reward"], 4), "scripted": round(scripted, 4), "minutes": round(minutes, 2)
    }  # fmt: skip


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", nargs="*", default=[], metavar="GAME")
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2, 3, 4, 5])
    options = parser.parse_args()
    kept = json.loads(FILE.read_text()) if FILE.is_file() else {}
    kept |= {"processor": processor(), "threads": torch.get_num_threads()}
    if not options.train:
        kept["steps a second"] = speed()
    for game in options.train:
        for seed in options.seeds:
            kept.setdefault(game, {})[str(seed)] = trained(game, seed)
            FILE.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
            print(game, seed, kept[game][str(seed)], flush=True)
    FILE.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    print(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
