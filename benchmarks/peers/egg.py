"""EGG (Kharitonov et al. 2021): its metrics count symbols after EOS, of its own game and of a grammar."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.benchmarks.peers.languages import noisy, said, shortened
from ecsuite.benchmarks.peers.rows import Programs, Row
from ecsuite.eval.metrics.disentanglement import posdis
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.topsim import topsim
from ecsuite.eval.statistics.contingency import entropy

NAME = "EGG"
STUB = """
import types
sys.modules.setdefault("wandb", types.ModuleType("wandb"))
"""
METRICS = (
    STUB
    + """
import torch
from egg.core.language_analysis import Disent, TopographicSimilarity, calc_entropy
result = []
for meanings, messages in data:
    attributes, symbols = torch.tensor(meanings), torch.tensor(messages)
    result.append({
        "topsim": float(TopographicSimilarity.compute_topsim(meanings, messages)),
        "posdis": Disent.posdis(attributes, symbols),
        "entropy": float(calc_entropy(symbols)),
    })
"""
)
GAME = (
    STUB
    + """
import contextlib, io, os
from egg.zoo.basic_games import play
os.chdir(data["folder"])
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    play.main(data["arguments"])
result = printed.getvalue()
"""
)
ARGUMENTS = (
    "--game_type discri --mode gs --train_data train.txt --validation_data valid.txt --n_values 4 --n_epochs {epochs} "
    "--batch_size 32 --validation_batch_size 512 --vocab_size 6 --max_len 8 --sender_hidden 64 --receiver_hidden 64 "
    "--sender_embedding 16 --receiver_embedding 16 --sender_cell gru --receiver_cell gru --lr 0.003 "
    "--random_seed {seed} --print_validation_events"
)
NUM_EPOCHS = 10
NUM_SEEDS = 3


def rows(programs: Programs) -> Iterator[Row]:
    """Its three metrics on messages as its sender computes them, and up to EOS."""
    computed, cut, meanings = shortened(noisy())
    yield from compared(programs, "500 messages of a grammar, 30 % noise", computed, cut, meanings)
    if programs.has(NAME):
        for seed in range(1, NUM_SEEDS + 1):
            computed, meanings, accuracy = play(programs, seed)
            cut = np.where(np.cumsum(computed == 0, axis=1) > 0, 0, computed)
            data = f"its game, seed {seed}, {accuracy:.0%} accuracy, 512 messages"
            yield from compared(programs, data, computed, cut, meanings)


def compared(
    programs: Programs, data: str, computed: np.ndarray, cut: np.ndarray, meanings: np.ndarray
) -> Iterator[Row]:
    """Rows of one corpus; `computed` and `cut` are what `shortened` returns."""
    corpus = said(cut, meanings)
    right = {
        "topsim": topsim(corpus, Options())[0].value,
        "posdis": posdis(corpus, Options())[0].value,
        "entropy": _message_entropy(cut),
    }
    if programs.has(NAME):
        (theirs,) = programs.run(NAME, METRICS, [[meanings.tolist(), computed.tolist()]])
    else:
        whole = said(computed + 1, meanings)  # no symbol is EOS
        theirs = {
            "topsim": topsim(whole, Options())[0].value,
            "posdis": posdis(whole, Options())[0].value,
            "entropy": _message_entropy(computed),
        }
    for name, value in theirs.items():
        yield Row(
            program="EGG",
            defect="symbols after EOS count",
            measured=f"{data}: {name}",
            theirs=value,
            right=right[name],
            is_run=programs.has(NAME),
        )


def play(programs: Programs, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Train EGG's discrimination game: what its sender computes for validation, the meanings, and the accuracy.

    Objects have four attributes of four values; there are four candidates.
    """
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        targets = [
            _write(Path(folder) / f"{name}.txt", size, rng)
            for name, size in (("train", 4096), ("valid", 512))
        ]
        arguments = ARGUMENTS.format(epochs=NUM_EPOCHS, seed=seed).split()
        printed: str = programs.run(NAME, GAME, {"folder": folder, "arguments": arguments})
    messages: Any = re.search(r"MESSAGES\n(.*)\n", printed)
    accuracies = re.findall(r'"acc": ([0-9.]+)[^}]*"mode": "test"', printed)
    one_hot = np.array(json.loads(messages.group(1)))
    return one_hot.argmax(axis=-1), targets[1], float(accuracies[-1])


def _write(file: Path, size: int, rng: np.random.Generator) -> np.ndarray:
    """Write rounds of four different objects, and return the targets, (size, 4)."""
    targets, lines = [], []
    for _ in range(size):
        objects = rng.permutation(4**4)[:4]
        values = np.stack(np.unravel_index(objects, (4,) * 4), axis=1)
        target = int(rng.integers(4))
        targets.append(values[target])
        lines.append(" . ".join(" ".join(map(str, each)) for each in values) + f" . {target}\n")
    file.write_text("".join(lines))
    return np.stack(targets)


def _message_entropy(messages: np.ndarray) -> float:
    return float(entropy(np.unique(messages, axis=0, return_counts=True)[1]))
