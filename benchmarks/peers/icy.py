"""ICY's program (Perkins 2021): gradients that are not clipped, and a stopness that is the first example's."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ecsuite.benchmarks.peers.rows import Programs, Row

NAME = "compositional-inductive-bias"
CLIPPING = """
import types
for name in ("mlflow", "git", "h5py", "pandas", "ruamel", "ruamel.yaml"):
    try:
        __import__(name)
    except ImportError:
        sys.modules[name] = types.ModuleType(name)
import torch
from types import SimpleNamespace
from mll.run_mem_recv import NeuralTrainer
torch.manual_seed(0)
model = torch.nn.Linear(50, 50)
trainer = NeuralTrainer(model, SimpleNamespace(opt="SGD", lr=1.0, l2=0.0, clip_grad=5.0))
before = model.weight.detach().clone()
trainer.backprop((model(100 * torch.ones(8, 50)) ** 2).sum())
result = float((model.weight.detach() - before).norm())
"""
STOPNESS = """
import torch
from mll.recv_models.rnn_hierarchical_model import HierModel
torch.manual_seed(0)
model = HierModel(32, 4, 20, 5, 10, "GRU", 0.0).eval()
messages = torch.randint(4, (20, 8))
others = messages.clone()
others[:, 0] = torch.randint(4, (20,))
result = float((model(messages) - model(others))[1:].abs().max().detach())
"""
SIZES = ("--num-attributes", "3", "--num-values", "5")
NUM_SEEDS = 5
GRAMMARS = ("perm", "shufdet", "hol")


def rows(programs: Programs) -> Iterator[Row]:
    """Defects of the program, if it can be run; and their effect on ICY's ratios, with ecsuite's agents."""
    if programs.has(NAME):
        yield _row(
            "clipping clips nothing",
            "norm of the step of an update that is clipped to 5",
            programs.run(NAME, CLIPPING, None),
            5.0,
            True,
        )
        yield _row(
            "stopness is that of the first example",
            "receiver HU-GRU: change of the output of examples when another one changes",
            programs.run(NAME, STOPNESS, None), 0.0, True,
        )  # fmt: skip
    geometry = f"3 by 5, {NUM_SEEDS} seeds"
    for model in ("rnn", "husendz:dgsend"):
        yield from _compared(
            "clipping clips nothing", f"sender {model}, {geometry}",
            ["--model", model], ["--model", model, "--clip", "5"],
        )  # fmt: skip
    yield from _compared(
        "stopness is that of the first example", f"receiver hier:gru, {geometry}",
        ["--role", "receiver", "--model", "hier:gru,stop=first"], ["--role", "receiver", "--model", "hier:gru"],
    )  # fmt: skip
    yield from _compared(
        "the stop test is one batch, every 50 updates", f"sender rnn, {geometry}",
        ["--model", "rnn", "--protocol", "paper"], ["--model", "rnn"],
    )  # fmt: skip


def _compared(defect: str, data: str, theirs: Sequence[str], right: Sequence[str]) -> Iterator[Row]:
    """A row for each grammar: updates as a multiple of CONCAT's, both ways."""
    found = [_ratios(arguments) for arguments in (theirs, right)]
    for grammar in GRAMMARS:
        values = [each[grammar] for each in found]
        yield _row(
            defect,
            f"{data}: updates to 80 % of {grammar.upper()} as a multiple of CONCAT",
            values[0],
            values[1],
            False,
        )


def _ratios(arguments: Sequence[str]) -> dict[str, str]:
    """The mean ratio of each grammar and its 95 % interval, as `ecsuite icy` prints them."""
    grammars = [each for grammar in GRAMMARS for each in ("--grammar", grammar)]
    command = [
        sys.executable,
        "-m",
        "ecsuite.cli",
        "icy",
        *arguments,
        *grammars,
        *SIZES,
        "--seeds",
        str(NUM_SEEDS),
        "--json",
        "--quiet",
    ]
    found: dict[str, Any] = json.loads(subprocess.check_output(command, text=True))
    (row,) = found["rows"]
    return {cell["grammar"]: _shown(cell) for cell in row["cells"]}


def _shown(cell: dict[str, Any]) -> str:
    if cell["mean"] is None:
        return f"{cell['num_censored']} of {NUM_SEEDS} runs do not reach it"
    spread = "" if cell["half_width"] is None else f" ± {cell['half_width']:.2f}"
    return f"{cell['mean']:.2f}{spread}"


def _row(defect: str, measured: str, theirs: float | str, right: float | str, is_run: bool) -> Row:
    return Row(program="ICY", defect=defect, measured=measured, theirs=theirs, right=right, is_run=is_run)
