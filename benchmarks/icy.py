"""Training speed of ICY's agents: ms per update and run, updates per second, GFLOP/s relative to the machine's peak.

    python benchmarks/icy.py                                     # one run and several in parallel, fp32 and bf16
    python benchmarks/icy.py lstm receiver/hier:gru --replicas 1
    python benchmarks/icy.py lstm --peer PATH --peer-python PYTHON      # also time the published program
    python benchmarks/icy.py --row lstm --workers 2              # wall time of one whole row of one seed
    python benchmarks/icy.py lstm --beside FOLDER --pairs 5      # an update's CPU time in two alternating versions
    python benchmarks/icy.py lstm --without fused                # with autograd alternating with the fused learners

Each line is measured in a separate process with one thread, in the environment of worker processes; so is the published
program. Times on the CPU are CPU time. Compare only lines of one run of this script: the machine's speed changes over
time. FOLDER holds another version of the package, named `ecsuite`.
"""

import argparse
import inspect
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import torch
from rows import Row, add_json_option, publish

import ecsuite.eval.icy.agents as icy_agents
from ecsuite.agents.spec import AgentName, Role
from ecsuite.eval.icy.acquisition import RunGroup, TrainingRun, Updates
from ecsuite.eval.icy.agents import make_agent, make_learner, parse_model
from ecsuite.eval.icy.benchmark import Icy
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.eval.models.replicas import Replicas
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.processes import WORKER_ENVIRONMENT
from ecsuite.runtime.devices import choose_device, routed_products

MODELS = ["fc1l", "fc2l", "lstm", "husendz:dgsend", "gru", "rnn", "transformer", "receiver/hier:gru"]
SEED = 123
PEAK_SIZE = 512
"""Side of the square matrices whose product measures the machine's peak."""
NODES = {"dgsend": 1, "dgrecv": 4}
"""Linear maps of the cells dgsend and dgrecv after the first; they have two gates."""
GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def main() -> None:
    """Print a table with a line for each model, precision and number of replicas; or the time of a row."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("models", nargs="*", default=MODELS, help="senders, and receivers as receiver/NAME")
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 4], help="numbers of runs in parallel")
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"])
    parser.add_argument("--seconds", type=float, default=1.0, help="minimum length of each of three windows")
    parser.add_argument("--device", default="cpu", help="auto, cpu or cuda")
    parser.add_argument("--peer", metavar="PATH", help="a checkout of the published program, to time it too")
    parser.add_argument("--peer-python", metavar="PYTHON", default=sys.executable, help="Python that runs it")
    parser.add_argument("--peer-path", metavar="FOLDER", default="", help="further folders for its imports")
    parser.add_argument("--row", metavar="MODEL", help="time a whole row of one seed instead")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes of --row")
    parser.add_argument("--beside", metavar="FOLDER", help="compare with this version instead")
    parser.add_argument(
        "--without", choices=["fused"], help="compare with learners without this part instead"
    )
    parser.add_argument(
        "--pairs", type=int, default=5, help="measurements of each version with --beside and --without"
    )
    parser.add_argument("--line", help=argparse.SUPPRESS)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.line:
        print(json.dumps(measure(*json.loads(arguments.line))))
    elif arguments.row:
        time_row(arguments.row, arguments.workers, arguments.device)
    elif arguments.beside or arguments.without:
        compare_versions(arguments)
    else:
        print_table(arguments)


def print_table(arguments: argparse.Namespace) -> None:
    """Measure and print line by line."""
    rows: list[Row] = []
    if not arguments.json:
        print(
            "model              program replicas ms/update/run  run updates/s MFLOP/update  GFLOP/s  of peak"
        )
    environment = os.environ | WORKER_ENVIRONMENT
    for model in arguments.models:
        role, spec = read_model(model)
        flops = flops_per_update(role, spec)
        best = 0.0
        for precision in arguments.precisions:
            for replicas in arguments.replicas:
                line = [model, precision, replicas, arguments.seconds, arguments.device]
                command = [sys.executable, __file__, "--line", json.dumps(line)]
                found = json.loads(subprocess.check_output(command, env=environment))
                best = max(best, found["rate"])
                name = f"{model} {precision} {replicas}"
                rows.append(Row(name=name, unit="updates/s", values=(found["rate"],), higher_is_better=True))
                if arguments.json:
                    continue
                peak = f"{flops * found['rate'] / found['peak']:8.0%}"
                print_line(model, precision, str(replicas), found["rate"], flops, peak)
        if arguments.peer:
            path = os.pathsep.join(filter(None, [arguments.peer, arguments.peer_path]))
            script = PEER.replace("WINDOWS", inspect.getsource(windows))
            settings = {"seconds": arguments.seconds, **peer_names(role, spec)}
            command = [arguments.peer_python, "-W", "ignore", "-c", script, json.dumps(settings)]
            rate = float(subprocess.check_output(command, env=environment | {"PYTHONPATH": path}))
            rows.append(Row(name=f"{model} peer", unit="updates/s", values=(rate,), higher_is_better=True))
            if arguments.json:
                continue
            print_line(model, "peer", "1", rate, flops, f"  ours is at best {best / rate:.1f} x as fast")
    if arguments.json:
        publish(rows, as_json=True)


def compare_versions(arguments: argparse.Namespace) -> None:
    """Print for each line how many times as long an update takes in the other version: the least and the median."""
    here, rows = str(Path(__file__).resolve().parents[2]), []
    sides = {"before": (arguments.beside or here, arguments.without), "now": (here, None)}
    for model, precision, replicas in product(arguments.models, arguments.precisions, arguments.replicas):
        line = [model, precision, replicas, arguments.seconds, arguments.device]
        rates: dict[str, list[float]] = {side: [] for side in sides}
        for number in range(arguments.pairs):
            for side in sorted(rates, reverse=bool(number % 2)):
                folder, part = sides[side]
                command = [sys.executable, __file__, "--line", json.dumps([*line, *([part] if part else [])])]
                environment = os.environ | WORKER_ENVIRONMENT | {"PYTHONPATH": folder}
                rates[side].append(json.loads(subprocess.check_output(command, env=environment))["rate"])
        ratios = tuple(new / old for old, new in zip(*rates.values(), strict=True))
        name = f"{model} {precision} {replicas}"
        rows += [
            Row(name=f"{name}, times as fast", unit="x", values=ratios, higher_is_better=True),
            *(
                Row(name=f"{name}, {side}", unit="ms", values=tuple(1e3 / rate for rate in found))
                for side, found in rates.items()
            ),
        ]
        if not arguments.json:
            least, median = min(ratios), statistics.median(ratios)
            print(f"{name:28} {least:.2f} x at least, median {median:.2f} x, of {len(ratios)}", flush=True)
    if arguments.json:
        publish(rows, as_json=True)


def print_line(model: str, program: str, replicas: str, rate: float, flops: float, end: str) -> None:
    """Print one line; `rate` is in updates of single runs per second."""
    figures = f"{1e3 / rate:13.2f} {rate:14,.1f} {flops / 1e6:12,.1f} {flops * rate / 1e9:8.1f} {end}"
    print(f"{model:18} {program:7} {replicas:>8} {figures}", flush=True)


def measure(
    model: str, precision: str, replicas: int, seconds: float, device_name: str, without: str | None = None
) -> dict[str, float]:
    """Updates of single runs per second, and the peak of matrix products in FLOP/s, in the same process and thread."""
    torch.set_num_threads(1)
    if without == "fused":
        for name in ("make_fused_sender", "make_fused_receiver"):
            setattr(icy_agents, name, lambda _: None)
    device = choose_device(device_name)
    square = torch.randn(PEAK_SIZE, PEAK_SIZE, device=device)
    with routed_products(device, precision):
        squares = windows(lambda: torch.mm(square, square), seconds / 4, device)
        learning = windows(make_update(model, precision, replicas, device), seconds, device)
    return {"rate": statistics.median(learning) * replicas, "peak": max(squares) * 2 * PEAK_SIZE**3}


def make_update(model: str, precision: str, replicas: int, device: torch.device) -> Callable[[], object]:
    """Return a function that makes one update of all replicas on CONCAT, like `ecsuite.eval.icy.acquisition.learn`."""
    role, spec = read_model(model)
    geometry, protocol = Geometry(), Protocol(target=None, precision=precision)  # type: ignore[arg-type]
    torch.manual_seed(SEED)
    agents = [make_agent(spec, role, geometry, protocol.hidden_size) for _ in range(replicas)]
    replica_batch = Replicas(agents, lr=protocol.lr, clip=None, device=device)
    learner = make_learner(agents[0].to(device), geometry)
    runs = [TrainingRun(grammar="concat", seed=SEED + index) for index in range(replicas)]
    run_group = RunGroup(runs, role, geometry, protocol, device)
    steps = Updates(learner, replica_batch, run_group.examples)
    counter = iter(range(10**9))

    def update() -> None:
        updates = next(counter)
        _, accuracies = steps.loss(*run_group.batch(updates))
        for index, accuracy in enumerate(accuracies):
            run_group.early_stoppings[index].observe(updates, accuracy)
        steps.step()

    return update


def windows(step: Callable[[], object], seconds: float, device: torch.device) -> list[float]:
    """Calls per second, on the CPU of its time, in each of three windows, after a few warm-up calls."""
    for _ in range(3):
        step()
    rates = []
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    for _ in range(3):
        calls, began = 0, clock()
        while (passed := clock() - began) < seconds:
            step()
            if device.type == "cuda":
                torch.cuda.synchronize()
            calls += 1
        rates.append(calls / passed)
    return rates


def flops_per_update(role: Role, spec: AgentName) -> float:
    """Multiplications and additions in the matrix products of one update of one run: three times the forward pass.

    This is the minimum of the agent's definition: linear maps of symbols are folded into the layers that follow, and
    maps of zeros are left out. Elementwise operations are not counted. For each example, with length L, hidden size H,
    symbols S, features F (all values of all attributes) and gates G of a cell (RNN 1, GRU 3, LSTM 4):

        cell(I)      G H (H + I) for an input of I rows; dgsend and dgrecv 2 H (H + I) + 2 H^2 for each further map
        cells        F H + L (cell(S, or 0 if zero-input) + cell(H) for each further layer + H S)
        HUSend       F H + L (cell(0) + cell(S, or 0 for HUSendZ) + H (S + 1))
        FC1L; FC2L   F L S; F H + H L S
        transformer  F H + 2 L H S + (2 H^2 + L (12 H^2 + (L + 1) H)) for each layer, with cached keys and values

    and of receivers:

        cells; hier  L (cell(S) + cell(H) for each further layer) + H F; L (cell(S) + cell(H) + H) + H F
        FC1L; FC2L   L S F; L S H + L H F (form=sum: L S H + H F)
        CNN          3 H^2 for each position of each block, positions halving, + H F for each remaining position
    """
    geometry, protocol = Geometry(), Protocol()
    length, symbols = geometry.message_length, geometry.vocab_size + 1
    features = geometry.num_attributes * geometry.num_values
    size = spec.number("hidden") or protocol.hidden_size

    def cell(rows: int) -> int:
        if spec.cell in NODES:
            return 2 * size * (size + rows) + NODES[spec.cell] * 2 * size**2
        if spec.cell in GATES:
            return GATES[spec.cell] * size * (size + rows)
        return 3 * size**2 if rows else 0  # SRU: three maps of an input of the hidden size

    feedback = 0 if spec.zero_input or spec.family == "husendz:CELL" else symbols
    above = (spec.num_layers - 1) * cell(size)
    if role == "receiver":
        blocks = spec.number("blocks") or length.bit_length() - 1
        read_at = length if spec.family == "fc2l" and dict(spec.options).get("form") != "sum" else 1
        convolved = sum(3 * size**2 * (length >> block) for block in range(blocks))
        forward = {
            "hier:CELL": length * (cell(symbols) + cell(size) + size) + size * features,
            "cnn": convolved + size * (length >> blocks) * features,
            "fc1l": length * symbols * features,
            "fc2l": length * symbols * size + size * features * read_at,
        }.get(spec.family, length * (cell(symbols) + above) + size * features)
    else:
        upper = cell(0) + size if spec.family.startswith("husend") else above
        attended = spec.num_layers * (2 * size**2 + length * (12 * size**2 + (length + 1) * size))
        forward = {
            "hashtable": 0,
            "fc1l": features * length * symbols,
            "fc2l": features * size + size * length * symbols,
            "transformer": features * size + attended + 2 * length * size * symbols,
        }.get(spec.family, features * size + length * (cell(feedback) + upper + size * symbols))
    return 3 * 2 * forward * protocol.batch_size


def read_model(text: str) -> tuple[Role, AgentName]:
    """`lstm` or `receiver/lstm`."""
    role: Role = "receiver" if text.startswith("receiver/") else "sender"
    return role, parse_model(role, text.removeprefix("receiver/"))


def peer_names(role: Role, spec: AgentName) -> dict[str, str | None]:
    """The published program's names of an agent's model and cell."""
    layers = f"{spec.num_layers}L" if spec.num_layers > 1 else ""
    names = {"hier:CELL": "Hier", "husenda:CELL": "HierAutoReg", "husendz:CELL": "HierZero", "cnn": "CNN"}
    names |= {"fc1l": "FC1L", "fc2l": "FC2L", "transformer": "TransDecSoft" + layers}
    recurrent = "RNNZero" if spec.zero_input else "RNNAutoReg"
    default = f"RNN{layers or '1L'}" if role == "receiver" else recurrent + layers
    cell = spec.cell if spec.cell in NODES else (spec.cell or "").upper()
    return {"role": role, "model": names.get(spec.family, default), "cell": cell}


PEER = """
from __future__ import annotations
import contextlib, io, json, statistics, sys, time, types
import numpy as np, torch
WINDOWS
request = json.loads(sys.argv[1])
torch.set_num_threads(1)
settings = types.SimpleNamespace(
    model=request["model"], rnn_type=request["cell"], tokens_per_meaning=4, vocab_size=4, num_meaning_types=5,
    meanings_per_type=10, embedding_size=128, link="Soft", gumbel_tau=1.2, dropout=0.0, enable_cuda=False, opt="Adam",
    lr=1e-3, l2=0.0, clip_grad=None,
)
with contextlib.redirect_stdout(io.StringIO()):
    from mll import run_mem_recv, run_mem_send
    agent = (run_mem_send if request["role"] == "sender" else run_mem_recv).Agent(params=settings)
messages = torch.randint(0, 4, (10**5, 20))  # the content does not affect the speed
weights = torch.tensor([10**4, 10**3, 10**2, 10, 1])
def update():
    meanings = torch.from_numpy(np.random.choice(10, (128, 5), replace=True))
    agent.train(meanings=meanings, utts=messages[(meanings * weights).sum(1)].t())
print(statistics.median(windows(update, request["seconds"], torch.device("cpu"))))
"""
"""Runs the published program's update of one run, on the CPU; prints updates per second."""


def time_row(model: str, num_workers: int, device: str) -> None:
    """Time `ecsuite icy --model MODEL --seeds 123` without a cache."""
    role, spec = read_model(model)
    study = resolve(StudyConfig(role=role, models=(str(spec),), seeds=(SEED,)), device=device)
    began = time.perf_counter()
    result = Icy().measure(study, Runner(num_workers=num_workers))
    print(f"{model}: a row of seed {SEED} with {num_workers} processes: {time.perf_counter() - began:.1f} s")
    for table in Icy().report(study, result).tables:
        print(table)


if __name__ == "__main__":
    main()
