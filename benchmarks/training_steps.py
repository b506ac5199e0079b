"""CPU time of a training step compared with the same game in plain torch, on one thread.

    python benchmarks/training_steps.py
    python benchmarks/training_steps.py disc_tiny "disc_small, reinforce" --json
    python benchmarks/training_steps.py disc_tiny --without recorder

Plain torch is `benchmarks/peers/plain_torch.py`. Each side trains in a separate process, and waits while the other
one takes some steps; a ratio compares two consecutive blocks of steps, so that slow minutes of a machine are in
both. `--without` also measures ours without a part that is there for speed; its ratio is to ours with it. A step of
several pairs is compared with the same number of steps of plain torch.
"""

import argparse
import importlib.util
import os
import pkgutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rows import Row, add_json_option, publish

FIXED, VARIABLE = "channel.length=fixed", "channel.length=variable"
GUMBEL, REINFORCE = "channel.kind=gumbel", "channel.kind=reinforce"
PAIRS = ("society.senders=8", "society.receivers=8")
BF16 = "training.precision=bf16"
ROWS: dict[str, tuple[str, ...]] = {
    "disc_tiny": (),
    "disc_tiny, fixed": (FIXED,),
    "objects_game": (),
    "channel, gumbel": (GUMBEL,),
    "digits": (),
    "compo_vs_generalization": (),
    "fixed_language": (),
    "disc_tiny, reinforce": (REINFORCE,),
    "disc_tiny, reinforce, fixed": (REINFORCE, FIXED),
    "objects_game, reinforce": (REINFORCE,),
    "channel": (),
    "channel, fixed": (FIXED,),
    "digits, reinforce": (REINFORCE,),
    "compo_vs_generalization, reinforce": (REINFORCE,),
    "disc_tiny, 8 pairs": PAIRS,
    "objects_game, 8 pairs": PAIRS,
    "disc_tiny, reinforce, 8 pairs": (REINFORCE, *PAIRS),
    "channel, 8 pairs": PAIRS,
    "disc_small": (),
    "disc_large": (),
    "disc_small, reinforce": (REINFORCE,),
    "disc_large, reinforce": (REINFORCE,),
}
"""Settings of each row; its name begins with the game."""
BF16_ROWS = {f"{name}, bf16": (BF16,) for name in ("disc_small", "disc_large")}
"""Rows that are measured if they are named: where bf16 pays depends on the processor."""
WARM_UP = 12
"""Steps that are not timed: among them the one that is recorded."""
BLOCK_SECONDS = 1.0
"""CPU time of a block of steps, about."""


def without(part: str) -> None:
    """Leave a part out that is there for speed: where it makes steps in another way, in torch's own way."""
    owner, name, other = {
        "recorder": ("runtime.recording", "NUM_CALLS_BEFORE", 10**9),
        "shared_states": ("agents.shared_states", "FEWEST_VALUES", 2**62),
        "side_by_side": ("games.engine.engine:Engine", "_play_together", lambda *_: None),
        "ahead": ("runtime.ahead:Prefetcher", "__call__", lambda self, *arguments: self.function(*arguments)),
        "recurrence": ("agents.cells", "recurrence", plain_recurrence),
        "linear": ("agents.linear", "Unrolled", plain_unrolled),
    }[part]
    setattr(pkgutil.resolve_name(f"ecsuite.{owner}"), name, other)


def plain_unrolled(weight: Any, bias: Any, dtype: Any) -> Callable[[Any], Any]:
    """A linear map in a loop over steps whose gradients torch sums, a step after the other."""
    from torch.nn.functional import linear

    weight, bias = weight.to(dtype), None if bias is None else bias.to(dtype)
    return lambda inputs: linear(inputs, weight, bias)


def plain_recurrence(gates: Any, hidden_map: Any, dtype: Any) -> Callable[..., Any]:
    """Steps of torch's operations, with its gradients; see `ecsuite.agents.recurrence.recurrence`."""
    import torch

    step = plain_unrolled(hidden_map.weight, hidden_map.bias, dtype)

    def gru(read: Any, hidden: Any, state: Any) -> Any:
        (reset, update, new), (of_reset, of_update, of_new) = read.chunk(3, -1), hidden.chunk(3, -1)
        new = torch.tanh(new + torch.sigmoid(reset + of_reset) * of_new)
        return (new + torch.sigmoid(update + of_update) * (state[0] - new),)

    def lstm(read: Any, hidden: Any, state: Any) -> Any:
        entered, forgotten, new, shown = (read + hidden).chunk(4, -1)
        memory = torch.sigmoid(forgotten) * state[1] + torch.sigmoid(entered) * torch.tanh(new)
        return torch.sigmoid(shown) * torch.tanh(memory), memory

    def elman(read: Any, hidden: Any, _: Any) -> Any:
        return (torch.tanh(read + hidden),)

    formula = {"GRUGates": gru, "LSTMGates": lstm, "ElmanGates": elman}[type(gates).__name__]

    def recur(inputs: Any, state: Any, sizes: Any, followed: Any = (None,)) -> Any:
        outputs = []
        for read, places in zip(inputs.split(sizes, -2), followed, strict=True):
            if places is not None:
                state = tuple(part.index_select(-2, places) for part in state)
            state = state or gates.start(read.new_zeros(*read.shape[:-1], hidden_map.in_features))
            state = formula(read, step(state[0]), state)
            outputs.append(state[0])
        return (torch.cat(outputs, -2), *state[1:])

    return recur


PARTS = ("recorder", "shared_states", "side_by_side", "ahead", "recurrence", "linear")


class Side:
    """One of the programs that are compared, in a separate process."""

    def __init__(self, program: str, row: str, part: str = "") -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--worker", program, row, part]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.num_steps = 1
        self.seconds(WARM_UP)

    def seconds(self, num_steps: int) -> float:
        """CPU seconds per step."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(num_steps, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def block(self) -> float:
        """CPU seconds of a step, the mean of a block."""
        seconds = self.seconds(self.num_steps)
        self.num_steps = max(1, round(BLOCK_SECONDS / seconds))
        return seconds

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def work(program: str, row: str, part: str) -> None:
    """Train, in the process of a side: as many steps as each line of the input says, whose CPU time is printed."""
    import torch

    torch.set_num_threads(1)
    clock = time.perf_counter if part == "ahead" else time.process_time
    left, began = 0, 0.0
    num_steps = 0

    def after_step() -> None:
        nonlocal left, began, num_steps
        ended = clock()
        left -= 1
        if left > 0:
            return
        if num_steps:
            print((ended - began) / num_steps, flush=True)
        left = num_steps = int(sys.stdin.readline() or sys.exit())
        began = clock()

    left = 1
    (train_plain if program == "plain" else train_ours)(row, part, after_step)


def train_plain(row: str, part: str, after_step: Callable[[], None]) -> None:
    """Train in plain torch."""
    path = Path(__file__).parent / "peers" / "plain_torch.py"
    spec = importlib.util.spec_from_file_location("plain_torch", path)
    assert spec is not None and spec.loader is not None
    peer = sys.modules["plain_torch"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(peer)
    settings = dict(each.split("=") for each in (ROWS | BF16_ROWS)[row])
    channel, length = settings.get("channel.kind"), settings.get("channel.length")
    sizes = peer.changed(peer.GAMES[row.split(",")[0]], channel, length)
    images = peer.digit_images() if sizes.image_size else None
    after_step()
    for _ in peer.train(sizes, images):
        after_step()


def train_ours(row: str, part: str, after_step: Callable[[], None]) -> None:
    """Train with the trainer of the package, without evaluations, until the process is ended."""
    from ecsuite.games.config.experiment import load_experiment
    from ecsuite.games.training.train import train

    if part:
        without(part)
    game, settings = row.split(",")[0], (ROWS | BF16_ROWS)[row]
    rounds = load_experiment(game).training.batch_size
    common = {
        "training.precision": "fp32",
        "training.num_examples": 100_000 * rounds,
        "training.num_epochs": 1,
        "training.evaluate_every": 10**6,
        "training.checkpoint_every": 10**6,
        "training.until_accuracy": None,
        "training.max_minutes": None,
        "evaluation.num_valid": 64,
        "evaluation.corpus_size": 16,
    }
    changes = [f"{key}={'null' if value is None else value}" for key, value in common.items()]
    experiment = load_experiment(game, [*changes, *settings])
    with tempfile.TemporaryDirectory() as folder:
        after_step()
        train(
            experiment,
            Path(folder) / "run",
            device="cpu",
            progress=lambda *_: after_step(),
            note=lambda _: None,
        )


def measure(row: str, part: str, num_blocks: int) -> list[Row]:
    """Rows of a game: milliseconds of each side, and the ratios of its blocks."""
    times = 8 if "8 pairs" in row else 1
    sides = {"plain torch": (Side("plain", row), times), "ours": (Side("ours", row), 1)}
    if part:
        sides[f"without {part}"] = Side("ours", row, part), 1
    try:
        found: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(num_blocks + 1):
            for name, (side, count) in sides.items():
                seconds = count * side.block()
                if number:  # the first one shows how many steps a block takes
                    found[name].append(1e3 * seconds)
    finally:
        for side, _ in sides.values():
            side.end()
    rows = [Row(name=f"{row}, {name}", unit="ms", values=tuple(each)) for name, each in found.items()]
    for name in list(found)[1:]:
        base = "plain torch" if name == "ours" else "ours"
        ratios = tuple(each / other for each, other in zip(found[name], found[base], strict=True))
        rows.append(Row(name=f"{row}, {name} / {base}", unit="x", values=ratios))
    return rows


def main() -> None:
    """Print a line for each game, or the rows of all as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", default=ROWS, help="; ".join((*ROWS, *BF16_ROWS)))
    parser.add_argument("--without", choices=PARTS, default="", help="a part that is left out")
    parser.add_argument("--blocks", type=int, default=5, help="blocks of steps of each side")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.worker:
        work(*arguments.worker)
        return
    rows = []
    for name in arguments.rows:
        found = measure(name, arguments.without, arguments.blocks)
        rows += found
        if not arguments.json:
            times = [f"{statistics.median(each.values):8.2f}" for each in found if each.unit == "ms"]
            ratios = [
                f"{each.name.split(', ')[-1]} {statistics.median(each.values):.3f} "
                f"({min(each.values):.2f} to {max(each.values):.2f})"
                for each in found
                if each.unit == "x"
            ]
            print(f"{name:36} {' '.join(times)} ms  {'  '.join(ratios)}", flush=True)
    if arguments.json:
        publish(rows, as_json=True)


if __name__ == "__main__":
    main()
