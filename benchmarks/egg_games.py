"""Unmodified games of EGG's zoo compared with ours: accuracy at one budget, and seconds of training.

    PYTHONPATH=EGG python benchmarks/egg_games.py
    PYTHONPATH=EGG python benchmarks/egg_games.py channel --seeds 1

EGG is the checkout of https://github.com/facebookresearch/EGG; it needs the package `editdistance`. Both programs
have the same sizes, learning rate, number of updates, rounds an update, and where there are files the same meanings;
EGG runs through `ecsuite.games.runs.egg_bridge`. Each run has a separate process; the programs alternate. Seconds
are those of training with its evaluations, one an epoch, without imports; ours also write checkpoints and the corpus.
Accuracy is of greedy messages: in `basic_games` about the rounds of the validation file, else about each meaning of
training.
Set OMP_NUM_THREADS=1 where other programs run on the machine: both slow down many times over if threads wait.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from rows import Row, add_json_option, publish

TRAIN, VALID = "train.txt", "valid.txt"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """One game in both programs."""

    program: str
    """Module of EGG with a function `main`."""
    options: str
    """Its options; without its seed."""
    game: str
    """Our game."""
    settings: str
    """Changed settings; `training.evaluate_every` is an epoch of EGG."""


PAIRS = {
    "basic_games, reconstruction": Pair(
        program="egg.zoo.basic_games.play",
        options="--game_type=reco --mode=gs --train_data=train.txt --validation_data=valid.txt --n_attributes=2"
        " --n_values=3 --n_epochs=25 --batch_size=512 --validation_batch_size=1024 --max_len=2 --vocab_size=50"
        " --sender_hidden=256 --receiver_hidden=512 --sender_embedding=5 --receiver_embedding=30"
        " --receiver_cell=gru --sender_cell=gru --lr=0.003",
        game="recon_large",
        settings="world.kind=text world.train_data=train.txt world.valid_data=valid.txt world.num_values=3"
        " training.num_epochs=25 training.batch_size=512 training.evaluate_every=16 channel.max_len=2"
        " channel.vocab_size=49 sender.hidden_size=256 receiver.hidden_size=512 sender.embedding_size=5"
        " receiver.embedding_size=30 optimizer.lr=0.003",
    ),
    "basic_games, discrimination": Pair(
        program="egg.zoo.basic_games.play",
        options="--game_type=discri --mode=rf --train_data=train.txt --validation_data=valid.txt --n_values=5"
        " --n_epochs=25 --batch_size=512 --validation_batch_size=1024 --max_len=2 --vocab_size=50"
        " --sender_hidden=256 --receiver_hidden=512 --sender_embedding=5 --receiver_embedding=30"
        " --receiver_cell=gru --sender_cell=gru --lr=0.002 --sender_entropy_coeff=0.1",
        game="disc_small",
        settings="world.kind=text world.train_data=train.txt world.valid_data=valid.txt world.num_values=5"
        " task.num_distractors=2 training.num_epochs=25 training.batch_size=512 training.evaluate_every=16"
        " channel.kind=reinforce channel.entropy_coefficient=0.1 channel.max_len=2 channel.vocab_size=49"
        " sender.hidden_size=256 receiver.hidden_size=512 sender.embedding_size=5 receiver.embedding_size=30"
        " optimizer.lr=0.002",
    ),
    "channel": Pair(
        program="egg.zoo.channel.train",
        options="--n_features=5 --probs=powerlaw --vocab_size=40 --max_len=6 --n_epochs=15 --batch_size=512"
        " --batches_per_epoch=20 --sender_cell=lstm --receiver_cell=lstm --sender_hidden=250 --receiver_hidden=250"
        " --sender_embedding=10 --receiver_embedding=10 --lr=0.002 --sender_entropy_coeff=0.1"
        " --early_stopping_thr=2",
        game="channel",
        settings="world.num_values=5 training.num_examples=10240 training.num_epochs=15 training.batch_size=512"
        " training.evaluate_every=20 evaluation.num_valid=64 channel.vocab_size=39 channel.max_len=5"
        " channel.entropy_coefficient=0.1 sender.hidden_size=250 receiver.hidden_size=250 optimizer.lr=0.002",
    ),
    "compo_vs_generalization": Pair(
        program="egg.zoo.compo_vs_generalization.train",
        options="--n_attributes=2 --n_values=5 --vocab_size=50 --max_len=3 --n_epochs=200 --batch_size=750"
        " --data_scaler=100 --sender_cell=gru --receiver_cell=gru --sender_hidden=250 --receiver_hidden=250"
        " --sender_emb=5 --receiver_emb=30 --sender_entropy_coeff=0.1 --lr=0.002 --early_stopping_thr=2",
        game="compo_vs_generalization",
        settings="world.kind=text world.train_data=train.txt world.valid_data=valid.txt world.num_values=5"
        " training.num_epochs=200 training.batch_size=750 training.evaluate_every=2 channel.kind=reinforce"
        " channel.vocab_size=50 channel.max_len=3 channel.entropy_coefficient=0.1 sender=gru receiver=gru"
        " sender.hidden_size=250 receiver.hidden_size=250 sender.embedding_size=5 receiver.embedding_size=30"
        " optimizer.lr=0.002",
    ),
}


def main() -> None:
    """Print one line per game, and the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("games", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--precision", default="auto", help="ours: auto, fp32 or bf16")
    parser.add_argument("--one", nargs=3, metavar=("PROGRAM", "GAME", "SEED"), help=argparse.SUPPRESS)
    add_json_option(parser)
    arguments = parser.parse_args()
    if arguments.one:
        program, name, seed = arguments.one
        measure = measure_egg if program == "egg" else measure_ours
        print(json.dumps(measure(PAIRS[name], int(seed), arguments.precision)))
        return
    rows: list[Row] = []
    for name in PAIRS:
        if not arguments.games or name.startswith(tuple(arguments.games)):
            rows += compare(name, arguments)
    publish(rows, as_json=arguments.json)


def compare(name: str, arguments: argparse.Namespace) -> list[Row]:
    """Run both programs alternately with each seed."""
    found: dict[str, list[dict[str, float]]] = {"egg": [], "ecsuite": []}
    for seed in range(1, arguments.seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            write_meanings(name, Path(folder), seed)
            for program, runs in found.items():
                command = [sys.executable, os.path.abspath(__file__), "--one", program, name, str(seed)]
                command += ["--precision", arguments.precision]
                done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
                runs.append(json.loads(done.stdout.splitlines()[-1]))
    rows = []
    for program, runs in found.items():
        for figure in runs[0]:
            unit = {"seconds": "s", "length": "symbols"}.get(figure, "share right")
            values = tuple(run[figure] for run in runs)
            rows.append(
                Row(
                    name=f"{name}, {program}: {figure}",
                    unit=unit,
                    values=values,
                    higher_is_better=unit == "share right",
                )
            )
    ratios = [a["seconds"] / b["seconds"] for a, b in zip(*found.values(), strict=True)]
    print(f"{name}: ecsuite is {statistics.median(ratios):.2f} times as fast", file=sys.stderr, flush=True)
    return rows


def write_meanings(name: str, folder: Path, seed: int) -> None:
    """Write the files that both programs read; EGG makes the files of `compo_vs_generalization`."""
    random = np.random.default_rng(seed)
    for file, number in ((TRAIN, 8192), (VALID, 1024)):
        if name == "basic_games, reconstruction":
            lines = [" ".join(map(str, row)) for row in random.integers(0, 3, (number, 2)).tolist()]
        elif name == "basic_games, discrimination":
            targets = random.integers(0, 3, number).tolist()
            rounds = random.integers(0, 5, (number, 3, 2)).tolist()
            lines = [
                " . ".join([*(" ".join(map(str, row)) for row in objects), str(target)])
                for objects, target in zip(rounds, targets, strict=True)
            ]
        elif name == "compo_vs_generalization":
            from egg.zoo.compo_vs_generalization import data

            train, _ = data.split_holdout(data.enumerate_attribute_value(2, 5))
            seen, unseen = data.split_train_test(train, 0.1)
            lines = [" ".join(map(str, row)) for row in (seen * 100 if file == TRAIN else unseen)]
        else:
            return
        (folder / file).write_text("\n".join(lines) + "\n")


def measure_egg(pair: Pair, seed: int, precision: str) -> dict[str, float]:
    """Run EGG's program; the time of its first training, and its accuracy."""
    from egg.core import Trainer

    from ecsuite.games.runs.egg_bridge import corpus_of_egg_game

    found: dict[str, float] = {}
    train = Trainer.train

    def timed(self: Any, *args: Any, **named: Any) -> None:
        began = time.perf_counter()
        train(self, *args, **named)
        found["seconds"] = time.perf_counter() - began

    Trainer.train = timed
    options = [*pair.options.split(), f"--random_seed={seed}", "--no_cuda"]
    corpus = corpus_of_egg_game(import_module(pair.program).main, options)
    found["accuracy"] = corpus.metadata["accuracy"]
    found["length"] = float(corpus.content().lengths.mean())
    return found


def measure_ours(pair: Pair, seed: int, precision: str) -> dict[str, float]:
    """Train our game; the time of all that its command does."""
    import ecsuite as ec
    from ecsuite.games.config.experiment import load_experiment

    changes = [*pair.settings.split(), f"training.precision={precision}", f"training.seed={seed}"]
    experiment = load_experiment(pair.game, [*changes, "training.checkpoint_every=500"])
    began = time.perf_counter()
    run = ec.train(experiment, out="run", device="cpu")
    found = {"seconds": time.perf_counter() - began}
    if pair.game == "channel":
        found["accuracy"] = share_right(run, np.arange(5)[:, None])
    elif pair.game == "compo_vs_generalization":
        found["accuracy"] = share_right(run, np.unique(np.loadtxt(TRAIN, dtype=np.int64), axis=0))
    else:
        found["accuracy"] = run.measures["accuracy"]
    return found | {"length": float(run.corpus.content().lengths.mean())}


def share_right(run: Any, meanings: Sequence[Any]) -> float:
    """The share of meanings whose attributes the receiver all names."""
    answers = np.asarray(run.understand(run.speak(meanings)))
    return float((answers == np.asarray(meanings)).all(1).mean())


if __name__ == "__main__":
    main()
