"""Training speed of games: ms per update, examples per second, GFLOP/s relative to the machine's peak, and memory.

    python benchmarks/game_training.py disc_small disc_large
    python benchmarks/game_training.py disc_small --peer      # also EGG, if `egg.core` can be imported
    python benchmarks/game_training.py --parts shape_qt thing_qt
    OMP_NUM_THREADS=1 taskset -c 0 python benchmarks/game_training.py --parts --operators 8 shape_qt

Each row is measured in a separate process, so that its peak memory is separate. Compare rows of one run only: the
machine's speed varies between runs. FLOPs are counted for games of attributes only.

With `--parts` an update is timed in five parts: generation of the rounds (on CPU), both agents' perception networks,
the rest of the forward pass (sender, channel, receiver, loss), the backward pass, and the update of the weights; each
is the median over updates. `objects` is the number of images or vectors of a batch. `--operators` lists the most
expensive operators by torch's profiler.
"""

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from rows import Row, add_json_option, publish
from torch.profiler import ProfilerActivity, profile

from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import OPTIMIZERS
from ecsuite.games.config.sections import Experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.devices import PRECISIONS, choose_device, choose_precision, routed_products

PEAK_SIZE = 2048
PARTS = ("world", "perception", "agents", "backward", "optimizer")
WARM_UP = 2
"""Number of untimed updates."""


def main() -> None:
    """Print a table with one row per experiment and precision, or per experiment with its parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("experiments", nargs="*", default=["disc_small"])
    parser.add_argument("--updates", type=int, default=12, help="timed updates")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--peer", action="store_true", help="also time EGG with the same sizes")
    parser.add_argument("--parts", action="store_true", help="time the parts of an update")
    parser.add_argument("--operators", type=int, default=0, help="with --parts: operators to list")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.parts:
        print_parts(arguments)
        return
    if arguments.row:
        print(json.dumps(measure(arguments)))
        return
    rows: list[Row] = []
    if not arguments.json:
        print("experiment   program       ms/step examples/s  GFLOP/s  of peak  peak RSS")
    for experiment in arguments.experiments:
        for row in ["fp32", "bf16", *(["egg"] if arguments.peer else [])]:
            options = ["--updates", str(arguments.updates), "--device", arguments.device]
            options += [f"--set={change}" for change in arguments.set]
            command = [sys.executable, __file__, experiment, "--row", row, *options]
            figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            times = tuple(1e3 * seconds for seconds in figures["seconds"])
            rows.append(Row(name=f"{experiment} {row}", unit="ms", values=times))
            rows.append(Row(name=f"{experiment} {row}, peak", unit="MB", values=(figures["megabytes"],)))
            if arguments.json:
                continue
            print(
                f"{experiment:12} {'egg' if row == 'egg' else 'ecsuite ' + row:12} {figures['ms']:8.0f} "
                f"{figures['examples']:10,.0f} {figures['gflops']:8.0f} {figures['of_peak']:8.0%} "
                f"{figures['megabytes']:6,.0f} MB",
                flush=True,
            )
    if arguments.json:
        publish(rows, as_json=True)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Time one program on one experiment; the peak is measured by a square matrix product in the same precision."""
    experiment = load_experiment(arguments.experiments[0], arguments.set)
    device, row = choose_device(arguments.device), arguments.row
    step = egg_step(experiment, device) if row == "egg" else Update(experiment, device, row).run
    dtype = torch.bfloat16 if row == "bf16" else torch.float32
    with nullcontext() if row == "egg" else routed_products(device):
        times = timed(step, arguments.updates, device)
        seconds = statistics.median(times)
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        square = torch.randn(PEAK_SIZE, PEAK_SIZE, device=device).to(dtype)
        peak = 2 * PEAK_SIZE**3 / min(timed(lambda: torch.mm(square, square), 10, device))
    flops = flops_per_step(experiment)
    return {
        "seconds": times,
        "ms": seconds * 1e3,
        "examples": experiment.training.batch_size / seconds,
        "gflops": flops / seconds / 1e9,
        "of_peak": flops / seconds / peak,
        "megabytes": megabytes,
    }


def print_parts(arguments: argparse.Namespace) -> None:
    """Print one line per game with the share of each part."""
    print(f"{'game':13} examples/s  objects  ms/update  " + "  ".join(f"{part:>10}" for part in PARTS))
    device = choose_device(arguments.device)
    for name in arguments.experiments:
        experiment = load_experiment(name, arguments.set)
        update = Update(experiment, device, choose_precision(experiment.training.precision, device))
        with routed_products(device):
            times = [update.run() for _ in range(arguments.updates + WARM_UP)][WARM_UP:]
            medians = {part: statistics.median(each[part] for each in times) for part in PARTS}
            total = sum(medians.values())
            shares = "  ".join(f"{medians[part] / total:10.0%}" for part in PARTS)
            speed = experiment.training.batch_size / total
            print(
                f"{name:13} {speed:10,.0f} {update.num_objects:8,} {1000 * total:10.1f}  {shares}", flush=True
            )
            if arguments.operators:
                with profile(activities=[ProfilerActivity.CPU]) as profiler:
                    for _ in range(5):
                        update.run()
                print(operators(profiler, arguments.operators))


class Update:
    """Consecutive updates of a game, as in the training loop.

    Args:
        experiment: The game.
        device: Where the agents are.
        precision: bf16 or fp32.
    """

    def __init__(self, experiment: Experiment, device: torch.device, precision: str) -> None:
        self.device, self.seed = device, experiment.training.seed
        self.world = make_world(experiment)
        torch.manual_seed(self.seed)
        self.game = game = make_pair(experiment, self.world, PRECISIONS[precision]).to(device)
        make_optimizer = OPTIMIZERS.load(experiment.optimizer.kind)(experiment.optimizer.options).optimizer
        self.optimizer = make_optimizer(game.parameters())
        self.number = self.num_objects = 0
        self.perception_seconds = 0.0
        for perception in (game.speaker.perception, game.listener.perception):
            if perception is None:  # no candidates to encode
                continue
            perception.register_forward_pre_hook(lambda *_: self._time_perception(-1))
            perception.register_forward_hook(lambda *_: self._time_perception(1))

    def run(self) -> dict[str, float]:
        """Run one update and return the seconds of each of `PARTS`."""
        began = self._now()
        rounds = self.world.batch("train", self.number)
        self.num_objects = len(rounds.objects)
        drawn, self.perception_seconds = self._now(), 0.0
        noise = noise_generator(self.seed, "train", self.number, self.device)
        played = self.game.play(rounds, "train", noise, 0)
        self.optimizer.zero_grad(set_to_none=True)
        said = self._now()
        played.objective.backward()
        learnt = self._now()
        self.optimizer.step()
        self.number += 1
        seen = self.perception_seconds
        seconds = (drawn - began, seen, said - drawn - seen, learnt - said, self._now() - learnt)
        return dict(zip(PARTS, seconds, strict=True))

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


def timed(step: Callable[[], object], number: int, device: torch.device) -> list[float]:
    """Seconds of each of `number` calls, after `WARM_UP` untimed ones."""
    times = []
    for _ in range(number + WARM_UP):
        began = time.perf_counter()
        step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return times[WARM_UP:]


def flops_per_step(experiment: Experiment) -> float:
    """FLOPs of the matrix products of one training step, forward and backward (three times the forward pass).

    Candidates are encoded once. Elementwise operations are not counted.
    """
    channel, sender, receiver = (
        part.options for part in (experiment.channel, experiment.sender, experiment.receiver)
    )
    features = experiment.world.options.num_attributes * experiment.world.options.num_values
    symbols = channel.vocab_size + 1
    sender_step = sender.hidden_size * 3 * (sender.hidden_size + sender.embedding_size)
    sender_step += symbols * (sender.hidden_size + sender.embedding_size)
    receiver_step = receiver.hidden_size * 3 * (receiver.hidden_size + receiver.embedding_size)
    receiver_step += symbols * receiver.embedding_size
    discriminates = experiment.task.kind == "discrimination"
    candidates = 1 + experiment.task.options.num_distractors if discriminates else 0
    task_once = candidates * features * receiver.hidden_size if discriminates else 0
    task_step = (candidates if discriminates else features) * receiver.hidden_size
    forward = features * sender.hidden_size + channel.max_len * sender_step + task_once
    forward += (channel.max_len + 1) * (receiver_step + task_step)
    return 3 * 2 * forward * experiment.training.batch_size


def egg_step(experiment: Experiment, device: torch.device) -> Callable[[], object]:
    """A training step of EGG's own modules with the same sizes and EGG's default logging strategy."""
    import egg.core as egg
    from egg.zoo.basic_games.architectures import DiscriReceiver, RecoReceiver, Sender

    world = make_world(experiment)
    (features,), num_values = world.object_shape, experiment.world.options.num_values
    symbols = experiment.channel.options.vocab_size + 1
    agents = experiment.sender.options, experiment.receiver.options
    hidden, embedding = [agent.hidden_size for agent in agents], [agent.embedding_size for agent in agents]
    discriminates = experiment.task.kind == "discrimination"

    def loss(sender_input, message, receiver_input, output, labels, aux_input):  # type: ignore[no-untyped-def]
        if discriminates:
            right = (output.argmax(1) == labels).float()
            return torch.nn.functional.cross_entropy(output, labels, reduction="none"), {"acc": right}
        logits = output.view(-1, num_values)
        losses = torch.nn.functional.cross_entropy(logits, labels.view(-1), reduction="none")
        right = (logits.argmax(1) == labels.view(-1)).view_as(labels).all(1).float()
        return losses.view_as(labels).mean(1), {"acc": right}

    torch.manual_seed(1)
    receiver_agent = (
        DiscriReceiver(features, hidden[1]) if discriminates else RecoReceiver(features, hidden[1])
    )
    cells, longest = [agent.cell for agent in agents], experiment.channel.options.max_len
    agent = Sender(n_hidden=hidden[0], n_features=features)
    speaks, listens = (symbols, embedding[0], hidden[0], longest), (symbols, embedding[1], hidden[1])
    if experiment.channel.kind == "reinforce":
        sender = egg.RnnSenderReinforce(agent, *speaks, cell=cells[0])
        receiver = egg.RnnReceiverDeterministic(receiver_agent, *listens, cell=cells[1])
        entropy = experiment.channel.options.entropy_coefficient
        game = egg.SenderReceiverRnnReinforce(sender, receiver, loss, sender_entropy_coeff=entropy)
    else:
        sender = egg.RnnSenderGS(agent, *speaks, 1.0, cell=cells[0])
        receiver = egg.RnnReceiverGS(receiver_agent, *listens, cell=cells[1])
        game = egg.SenderReceiverRnnGS(sender, receiver, loss)
    game = game.to(device)
    optimizer = torch.optim.Adam(game.parameters(), lr=experiment.optimizer.options.lr)
    size = experiment.training.batch_size
    numbers = itertools.count()

    def step() -> None:
        batch = world.draw("train", next(numbers), size)
        candidates = torch.from_numpy(batch.objects[batch.candidate_indices()]).to(device)
        targets = torch.from_numpy(batch.labels.argmax(1)).to(device)
        values = candidates[torch.arange(len(targets)), targets]
        labels = targets if discriminates else values
        seen = world.features(candidates, torch.float32) if discriminates else None
        objective, _ = game(world.features(values, torch.float32), labels, seen)
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    main()
