"""Speed of a society: examples per second of pairs that play side by side, and one after the other.

    python benchmarks/societies.py
    python benchmarks/societies.py --agents 8 --batch-size 1024 --precision fp32

Both play the same steps of disc_small, alternating, with the update of the weights; the ratio is of wall times.
"""

import argparse
import time

import torch
from rows import Row, add_json_option, publish

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.devices import PRECISIONS, choose_device, choose_precision, routed_products


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=8, help="number of senders, and of receivers")
    parser.add_argument("--width", type=int, default=128, help="units of each agent")
    parser.add_argument("--batch-size", type=int, default=128, help="examples of a pair in a step")
    parser.add_argument("--precision", default="auto", choices=["auto", "bf16", "tf32", "fp32"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=10)
    add_json_option(parser)
    arguments = parser.parse_args()
    device = choose_device(arguments.device)
    precision = choose_precision(arguments.precision, device)
    experiment = load_experiment(
        "disc_small",
        changes={
            "society.senders": arguments.agents,
            "society.receivers": arguments.agents,
            "sender.hidden_size": arguments.width,
            "receiver.hidden_size": arguments.width,
            "training.batch_size": arguments.batch_size,
        },
    )
    world = make_world(experiment)
    players = {}
    for name in ("side by side", "one after the other"):
        torch.manual_seed(1)
        society = Population.from_experiment(experiment, world, PRECISIONS[precision]).to(device)
        if name != "side by side":
            society.engine.are_able = False
        players[name] = society, Optimise(experiment.optimizer, society)
    rates: dict[str, list[float]] = {name: [] for name in players}
    with routed_products(device, precision):
        for step in range(arguments.steps + 1):
            for name, (society, updates) in players.items():
                began = time.perf_counter()
                updates.optimizer.zero_grad(set_to_none=True)
                society.train_on(step, step, 0).objective.backward()
                society.scale_gradients(step)
                updates.step()
                if device.type == "cuda":
                    torch.cuda.synchronize()
                if step:  # the first one also imports and compiles
                    seconds = time.perf_counter() - began
                    rates[name].append(arguments.agents * arguments.batch_size / seconds)
    found = players["side by side"][0].engine
    if found.reason is not None:
        raise SystemExit(f"the pairs did not play side by side: {found.reason}")
    what = f"{arguments.agents} + {arguments.agents} agents, {precision}"
    rows = [
        Row(name=f"{what}, {name}", unit="examples/s", values=tuple(each), higher_is_better=True)
        for name, each in rates.items()
    ]
    paired = zip(rates["side by side"], rates["one after the other"], strict=True)
    ratios = tuple(here / there for here, there in paired)
    rows.append(Row(name=f"{what}, ratio", unit="x", values=ratios, higher_is_better=True))
    publish(rows, as_json=arguments.json)


if __name__ == "__main__":
    main()
