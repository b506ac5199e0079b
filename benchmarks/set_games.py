"""Training speed of games, and the time of each part of an update.

    python benchmarks/set_games.py shape_qt thing_qt
    OMP_NUM_THREADS=1 taskset -c 0 python benchmarks/set_games.py --operators 8 shape_qt

An update is timed in five parts: generation of the rounds (on CPU), both agents' perception networks, the rest of the
forward pass (sender, channel, receiver, loss), the backward pass, and the Adam update. Each is the median over updates,
so that other load on the machine has little influence. `objects` is the number of images or vectors of a batch; each
agent encodes each object that it sees once. `--operators` lists the most expensive operators by torch's profiler.
"""

import argparse
import statistics
import time
from collections import defaultdict
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from ecsuite.devices import PRECISIONS, choose_device, choose_precision, routed_products
from ecsuite.games.corpus_generation import noise_generator
from ecsuite.games.experiment import load_experiment
from ecsuite.games.game import Game, make_world
from ecsuite.games.registry import OPTIMIZERS

PARTS = ("world", "perception", "agents", "backward", "adam")
WARM_UP = 3
"""Number of untimed updates."""


def main() -> None:
    """Print one line per game."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("games", nargs="*", default=["thing_qt", "thing_gs_l4", "shape_qt", "shape_gs_l4"])
    parser.add_argument("--updates", type=int, default=30, help="timed updates")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--operators", type=int, default=0, help="operators to list")
    arguments = parser.parse_args()
    print(f"{'game':13} examples/s  objects  ms/update  " + "  ".join(f"{part:>10}" for part in PARTS))
    for name in arguments.games:
        update = Update(name, arguments.set, arguments.device)
        with routed_products(update.device):
            for _ in range(WARM_UP):
                update.run()
            times = [update.run() for _ in range(arguments.updates)]
            medians = {part: statistics.median(each[part] for each in times) for part in PARTS}
            total = sum(medians.values())
            shares = "  ".join(f"{medians[part] / total:10.0%}" for part in PARTS)
            speed = update.batch_size / total
            print(
                f"{name:13} {speed:10,.0f} {update.num_objects:8,} {1000 * total:10.1f}  {shares}", flush=True
            )
            if arguments.operators:
                with profile(activities=[ProfilerActivity.CPU]) as profiler:
                    for _ in range(5):
                        update.run()
                print(operators(profiler, arguments.operators))


class Update:
    """Timed, consecutive updates of a game.

    Args:
        name: The game.
        changes: `section.key=value` assignments.
        device_name: auto, cpu or cuda.
    """

    def __init__(self, name: str, changes: list[str], device_name: str) -> None:
        self.device = choose_device(device_name)
        experiment = load_experiment(name, changes)
        precision = choose_precision(experiment.training.precision, self.device)
        self.seed, self.batch_size = experiment.training.seed, experiment.training.batch_size
        self.world = make_world(experiment)
        torch.manual_seed(self.seed)
        self.game = game = Game(experiment, self.world, PRECISIONS[precision]).to(self.device)
        make_optimizer = OPTIMIZERS.load(experiment.optimizer.kind)(experiment.optimizer.options).optimizer
        self.optimizer = make_optimizer(game.parameters())
        self.number = self.num_objects = 0
        self.perception_seconds = 0.0
        for perception in (game.sender_perception, game.receiver_perception):
            if perception is None:  # no candidates to encode
                continue
            perception.register_forward_pre_hook(lambda *_: self._time_perception(-1))
            perception.register_forward_hook(lambda *_: self._time_perception(1))

    def run(self) -> dict[str, float]:
        """Run one update and return the seconds of each of `PARTS`."""
        times = defaultdict[str, float](float)
        began = self._now()
        rounds = self.world.batch("train", self.number)
        self.num_objects = len(rounds.objects)
        times["world"] = self._now() - began
        self.perception_seconds, began = 0.0, self._now()
        noise = noise_generator(self.seed, "train", self.number, self.device)
        played = self.game.play(rounds, "train", noise, 0)
        times["perception"] = self.perception_seconds
        times["agents"] = self._now() - began - self.perception_seconds
        self.optimizer.zero_grad(set_to_none=True)
        began = self._now()
        played.objective.backward()
        times["backward"] = self._now() - began
        began = self._now()
        self.optimizer.step()
        times["adam"] = self._now() - began
        self.number += 1
        return dict(times)

    def _now(self) -> float:
        """Current time in seconds, after all work on the device is finished."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def _time_perception(self, sign: int) -> None:
        """Start (-1) or stop (1) the timer of the perception networks."""
        self.perception_seconds += sign * self._now()


def operators(profiler: Any, number: int) -> str:
    """The operators with the most CPU time of their own, and their shares."""
    rows = sorted(profiler.key_averages(), key=lambda row: -row.self_cpu_time_total)
    total = sum(row.self_cpu_time_total for row in rows)
    return "\n".join(f"  {row.self_cpu_time_total / total:6.1%}  {row.key}" for row in rows[:number])


if __name__ == "__main__":
    main()
