"""Training speed of games: ms per step, examples per second, GFLOP/s relative to the machine's peak, and memory.

    python benchmarks/game_training.py disc_small disc_large
    python benchmarks/game_training.py disc_small --peer      # also EGG, if `egg.core` can be imported

Each row is measured in a separate process, so that its peak memory is separate. Compare rows of one run only: the
machine's speed varies between runs.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext

import torch

from ecsuite.games.experiment import Experiment

PEAK_SIZE = 2048


def main() -> None:
    """Print a table with one row per experiment and precision."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("experiments", nargs="*", default=["disc_small"])
    parser.add_argument("--steps", type=int, default=12, help="timed steps, after two untimed ones")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--peer", action="store_true", help="also time EGG with the same sizes")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        print(json.dumps(measure(arguments.experiments[0], arguments.row, arguments.steps, arguments.device)))
        return
    print("experiment   program       ms/step examples/s  GFLOP/s  of peak  peak RSS")
    for experiment in arguments.experiments:
        for row in ["fp32", "bf16", *(["egg"] if arguments.peer else [])]:
            options = ["--steps", str(arguments.steps), "--device", arguments.device]
            command = [sys.executable, __file__, experiment, "--row", row, *options]
            figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(
                f"{experiment:12} {'egg' if row == 'egg' else 'ecsuite ' + row:12} {figures['ms']:8.0f} "
                f"{figures['examples']:10,.0f} {figures['gflops']:8.0f} {figures['of_peak']:8.0%} "
                f"{figures['megabytes']:6,.0f} MB",
                flush=True,
            )


def measure(name: str, row: str, num_steps: int, device_name: str) -> dict[str, float]:
    """Time one program on one experiment; the peak is measured by a square matrix product in the same precision."""
    from ecsuite.devices import choose_device, routed_products
    from ecsuite.games.experiment import load_experiment

    experiment, device = load_experiment(name), choose_device(device_name)
    step = (egg_step if row == "egg" else our_step)(experiment, device, row)
    dtype = torch.bfloat16 if row == "bf16" else torch.float32
    with nullcontext() if row == "egg" else routed_products(device):
        seconds = statistics.median(timed(step, num_steps, device))
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        square = torch.randn(PEAK_SIZE, PEAK_SIZE, device=device).to(dtype)
        peak = 2 * PEAK_SIZE**3 / min(timed(lambda: torch.mm(square, square), 10, device))
    flops = flops_per_step(experiment)
    return {
        "ms": seconds * 1e3,
        "examples": experiment.training.batch_size / seconds,
        "gflops": flops / seconds / 1e9,
        "of_peak": flops / seconds / peak,
        "megabytes": megabytes,
    }


def timed(step: Callable[[], object], number: int, device: torch.device) -> list[float]:
    """Seconds of each of `number` calls, after two untimed ones."""
    times = []
    for _ in range(number + 2):
        began = time.perf_counter()
        step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return times[2:]


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


def our_step(experiment: Experiment, device: torch.device, precision: str) -> Callable[[], object]:
    """A training step of ecsuite, as in the training loop."""
    from ecsuite.devices import PRECISIONS
    from ecsuite.games.game import Game, make_world
    from ecsuite.games.registry import OPTIMIZERS

    torch.manual_seed(1)
    world = make_world(experiment)
    game = Game(experiment, world, PRECISIONS[precision]).to(device)
    make_optimizer = OPTIMIZERS.load(experiment.optimizer.kind)(experiment.optimizer.options).optimizer
    optimizer = make_optimizer(game.parameters())
    generator = torch.Generator(device).manual_seed(1)
    size = experiment.training.batch_size
    counter = iter(range(10**9))

    def step() -> None:
        played = game.play(world.draw("train", next(counter), size), "train", generator)
        optimizer.zero_grad(set_to_none=True)
        played.objective.backward()
        optimizer.step()

    return step


def egg_step(experiment: Experiment, device: torch.device, _: str) -> Callable[[], object]:
    """A training step of EGG's own modules with the same sizes and EGG's default logging strategy."""
    import egg.core as egg
    from egg.zoo.basic_games.architectures import DiscriReceiver, RecoReceiver, Sender

    from ecsuite.games.game import make_world

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
    cells = [agent.cell for agent in agents]
    sender = egg.RnnSenderGS(
        Sender(n_hidden=hidden[0], n_features=features),
        symbols,
        embedding[0],
        hidden[0],
        experiment.channel.options.max_len,
        1.0,
        cell=cells[0],
    )
    receiver = egg.RnnReceiverGS(receiver_agent, symbols, embedding[1], hidden[1], cell=cells[1])
    game = egg.SenderReceiverRnnGS(sender, receiver, loss).to(device)
    optimizer = torch.optim.Adam(game.parameters(), lr=experiment.optimizer.options.lr)
    size = experiment.training.batch_size
    counter = iter(range(10**9))

    def step() -> None:
        batch = world.draw("train", next(counter), size)
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
