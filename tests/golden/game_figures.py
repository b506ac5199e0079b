"""The first eight losses of every shipped game, in nats, on training and on validation examples.

Reduced in size, in fp32, on one thread. Bound: 1e-4 of each loss, 1e-3 where images are normalised in small batches.
Processors add products in other orders, which changes the seventh digit of a loss; eight updates make no more of it
than that, while any other order of draws, of examples or of operations changes the second.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

from access import as_json, run
from comparison import Bound, Case

BOUND = Bound(relative=1e-4)
NORMALISED = Bound(relative=1e-3)
"""Of images that are normalised in batches of a few: a map that hardly varies is divided by its small deviation, which
makes ten times as much of a difference in the last digit (3e-4 after seven updates between AVX-512 and AVX2)."""
NUM_LOSSES = 8
BATCH = 4

PLAYED = (
    "training.precision=fp32", f"training.num_examples={BATCH * NUM_LOSSES}", f"training.batch_size={BATCH}",
    "training.num_epochs=1", "training.evaluate_every=1", "training.checkpoint_every=100",
    f"evaluation.num_valid={BATCH}", "evaluation.corpus_size=8",
)  # fmt: skip
USUAL = (
    *PLAYED, "sender.hidden_size=16", "sender.embedding_size=8", "receiver.hidden_size=24", "receiver.embedding_size=8",
)  # fmt: skip
SEEN = ("sender.perception.size=8", "receiver.perception.size=12")
SETS = (*SEEN, "task.num_targets=3", "task.num_distractors=4")

REDUCTIONS: dict[str, tuple[str, ...]] = {
    "autoencoder": ("sender.kind=gru", "receiver.kind=gru"),
    "channel": (),
    "compo_vs_generalization": ("sender.kind=gru", "receiver.kind=gru"),
    "digits": SEEN,
    "disc_large": ("channel.max_len=8",),
    "disc_small": (), "disc_tiny": (),
    "fixed_language": ("sender.kind=gru", "world.num_values=5"),
    "guess_number": ("sender.kind=gru", "receiver.kind=gru"),
    "image_factors": ("sender.kind=gru", "receiver.kind=gru", "sender.perception.size=8"),
    "mu_cub": (*SETS, "world.features=features.npz"),
    "mu_shapeworld": (*SETS, "world.images_per_label=3"),
    "mu_shapeworld_ref": (*SETS, "world.images_per_label=2"),
    "mu_shapeworld_setref": (*SETS, "world.images_per_label=2"),
    "objects_game": (),
    "recon_large": ("channel.max_len=8",),
    "self_supervised": ("sender.kind=gru", "receiver.kind=gru", *SEEN),
    **dict.fromkeys(("shape_gs", "shape_gs_l4", "shape_qt", "shape_qt_l4"), (*SETS, "world.images_per_batch=16")),
    **dict.fromkeys(("thing_gs", "thing_gs_l4", "thing_qt", "thing_qt_l4"), SETS),
    "summation": ("sender.kind=gru", "receiver.kind=gru", "world.max_count=4"),
    "yao": (*SEEN, "task.num_distractors=15", "channel.vocab_size=50", "world.features=features.npz"),
}  # fmt: skip
"""What makes each game small, beside `USUAL`; only settings that the game reads."""


def log_of(folder: Path, game: str, settings: tuple[str, ...]) -> list[Any]:
    given = [f"--set={setting}" for setting in settings]
    run("train-game", game, *given, "--device", "cpu", "--out", "run", folder=folder)
    return [json.loads(line) for line in (folder / "run" / "log.jsonl").read_text().splitlines()]


def losses(folder: Path, game: str) -> dict[str, list[float]]:
    settings = (*USUAL, *REDUCTIONS[game])
    if "world.features=features.npz" in settings:
        classes = ("--num-classes", "20", "--images-per-class", "16", "--num-features", "12")
        run("data", "features", "features.npz", *classes, folder=folder)
    entries = log_of(folder, game, settings)
    return {part: [entry[part]["loss"] for entry in entries] for part in ("train", "valid")}


PLAYS: dict[str, tuple[str, ...]] = {
    "guided_grid": ("play.agents.hidden_size=8", "play.environment.size=3", "play.environment.num_steps=4"),
    "task_and_talk": ("play.agents.hidden_size=8",),
}
"""The same of games whose agents act or talk in turns."""


def figures(folder: Path, game: str) -> list[Any]:
    """What the log has of each update: figures of training, and of the examples held out."""
    entries = log_of(folder, game, (*PLAYED, *PLAYS[game]))
    return [{part: entry[part] for part in ("train", "valid")} for entry in entries]


def names(folder: Path) -> Any:
    """The shipped games but those about a user's objects: a new one needs a case here."""
    return sorted(set(as_json("list", folder=folder)["games"]) - {"objects", "images"})


CASES = {"names": Case(names)}
CASES |= {
    game: Case(partial(losses, game=game), NORMALISED if "shapeworld" in game else BOUND) for game in REDUCTIONS
}  # fmt: skip
CASES |= {game: Case(partial(figures, game=game), BOUND) for game in PLAYS}
