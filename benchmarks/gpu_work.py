"""Trainings that `gpu.py` measures, each as a loop that reports every update."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import game_training
import icy
import numpy as np
import torch
import xferbench

from ecsuite.eval.models.backbones import BACKBONES, initial_embedding
from ecsuite.eval.models.data import Windows
from ecsuite.eval.models.encoder_decoder import (
    NUM_SPECIAL,
    Encoded,
    PairBatches,
    Specials,
    build,
    train_encoder_decoder,
)
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.models.training import Callbacks
from ecsuite.eval.translation.presets import PRESETS as TRANSLATION
from ecsuite.eval.xferbench.jobs import cross_entropy, train
from ecsuite.eval.xferbench.presets import FULL, NANO
from ecsuite.eval.xtreme.presets import PRESETS as XTREME
from ecsuite.eval.xtreme.rows import TokenRows
from ecsuite.eval.xtreme.transfer import LabelHead, finetune
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.train import train as train_game
from ecsuite.runtime.devices import PRECISIONS, computing, fixed_threads, routed_products

MANY = 10**6
"""Updates of a training that ends when enough was measured."""
SEEDS, GRAMMARS = 10, 5
"""Numbers of seeds and grammars in ICY's Table 3, whose runs of a model are trained side by side."""
SMALLER = {
    "sender.hidden_size": 16, "receiver.hidden_size": 16, "training.batch_size": 8, "evaluation.num_valid": 8,
    "evaluation.corpus_size": 8,
}  # fmt: skip
"""Settings of games with which a whole measurement takes a second."""

GAMES = (("disc_small",), ("disc_large",), ("disc_small", "channel.kind=reinforce"), ("recon_large",))
"""Games that EGG's modules play beside ours, each with its changed settings."""
NUM_TESTED = 32
"""Number of batches of a test of XferBench, which has its own graph; a real test has eight times more."""

Told = Callable[[], None]
"""Called after every update; ends the loop by an exception."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """A training, and what an update of it is."""

    loop: Callable[[Told], None]
    """Trains without end."""
    amount: int
    """Number of units per update."""
    unit: str
    """Unit of the amount."""
    precision: str
    """Precision of matrix products."""
    flops: float | None = None
    """FLOP of the products of an update; None: they are counted."""
    padding: float | None = None
    """Share of the symbols of a batch that are padding."""
    num_warm: int = 40
    """Updates before those that are timed: they make kernels, memory and graphs."""


def game(
    name: str,
    device: torch.device,
    *changes: str,
    is_small: bool,
    num_threads: int = 1,
    num_pairs: int = 1,
) -> Work:
    """Training of a shipped game as `train-game` does it, without evaluations and checkpoints before its end.

    Args:
        name: Of the game.
        changes: Changed settings, `section.key=value`.
        device: Where it is trained.
        is_small: Whether to try the script.
        num_threads: Of products on the CPU.
        num_pairs: Number of pairs that play in parallel, each with separate agents.
    """
    settings = (SMALLER | {"training.num_examples": 64}) if is_small else {}
    settings |= {
        "training.num_epochs": MANY,
        "training.evaluate_every": MANY,
        "training.checkpoint_every": MANY,
    }
    if num_pairs > 1:
        pairs = [f"[{number}, {number}]" for number in range(num_pairs)]
        settings |= {"society.senders": num_pairs, "society.receivers": num_pairs}
        settings |= {"society.meets": f"{{kind: list, pairs: [{', '.join(pairs)}]}}"}
    experiment = load_experiment(name, [*changes, *(f"{key}={value}" for key, value in settings.items())])

    def loop(told: Told) -> None:
        with tempfile.TemporaryDirectory() as folder, fixed_threads(num_threads):
            train_game(
                experiment,
                Path(folder),
                device=device.type,
                progress=lambda *_: None,
                note=lambda _: None,
                should_stop=told,
            )

    precision = game_training.choose_precision(experiment.training.precision, device)
    # The products of a graph are not counted; those of these games are known.
    flops = game_training.flops_per_step(experiment) if name.startswith(("disc", "recon")) else None
    return Work(
        loop=loop,
        amount=num_pairs * experiment.training.batch_size,
        unit="examples",
        precision=precision,
        flops=None if flops is None else num_pairs * flops,
    )


def egg(name: str, device: torch.device, *changes: str, is_small: bool) -> Work:
    """Training of the same game by EGG's own modules; `ImportError` if they can't be imported."""
    smaller = [f"{key}={value}" for key, value in SMALLER.items()] if is_small else []
    experiment = load_experiment(name, [*changes, *smaller])
    step = game_training.egg_step(experiment, device)
    return Work(
        loop=_repeated(step), amount=experiment.training.batch_size, unit="examples", precision="fp32"
    )


def language_model(device: torch.device, *, is_small: bool, is_test: bool = False) -> Work:
    """Pretraining or test of XferBench's model at the paper's size."""
    sizes, precision = NANO if is_small else FULL, "bf16"
    draws = torch.Generator().manual_seed(0)
    model = LanguageModel(sizes.vocab_size, sizes, draws).to(device)
    model.products = PRECISIONS[precision]
    symbols = torch.randint(sizes.vocab_size, (64 * sizes.batch, sizes.context + 1), generator=draws)
    windows = Windows(symbols=symbols)

    def loop(told: Told) -> None:
        with computing(device, precision, seed=0):
            if is_test:
                part = Windows(symbols=symbols[: NUM_TESTED * sizes.batch])
                _repeated(lambda: cross_entropy(model, part, sizes.batch))(told)
            train(
                model, windows, num_epochs=MANY, batch=sizes.batch, lr=1e-5, weight_decay=0.01, generator=draws,
                callbacks=_telling(told),
            )  # fmt: skip

    tokens = sizes.batch * sizes.context * (NUM_TESTED if is_test else 1)
    flops = (xferbench.TRUNK + xferbench.HEAD) * tokens / (3 if is_test else 1)
    flops = None if is_small else flops
    return Work(loop=loop, amount=tokens, unit="tokens", precision=precision, flops=flops)


def artificial_language(model: str, device: torch.device, *, is_small: bool) -> Work:
    """Learning of ICY's grammars by all runs of a row of Table 3 in parallel."""
    replicas = 2 if is_small else SEEDS * GRAMMARS
    update = icy.make_update(model, "fp32", replicas, device)

    def loop(told: Told) -> None:
        with routed_products(device, "fp32"):
            _repeated(update)(told)

    flops = replicas * icy.flops_per_update(*icy.read_model(model))
    return Work(loop=loop, amount=replicas, unit="updates", precision="fp32", flops=flops)


def translation(device: torch.device, *, is_small: bool) -> Work:
    """Fine-tuning of the translation experiment, on pairs of sentences of different lengths."""
    preset = TRANSLATION["nano" if is_small else "full"]
    special, rng = Specials.of(preset.model.vocab_size), np.random.default_rng(0)
    sources, targets = (
        _sentences(rng, preset.model.vocab_size - NUM_SPECIAL, preset.longest) for _ in range(2)
    )
    pairs = PairBatches(Encoded(sources=sources, targets=targets), preset.optimisation.batch, special, rng)
    model = build(preset.model, preset.model.vocab_size).to(device)

    def loop(told: Told) -> None:
        with computing(device, "bf16", seed=0):
            train_encoder_decoder(
                model, pairs, MANY * MANY, lr=1e-5, warmup=0.0, weight_decay=0.01, precision="bf16",
                callbacks=_telling(told),
            )  # fmt: skip

    batches = [pairs.take(index)["input_ids"] for index in pairs.draw_epoch()]
    num_tokens = sum(int((each != special.pad).sum()) for each in batches)
    sizes, num_targets = preset.model, sum(map(len, targets))
    layer, square = 4 * sizes.width**2 + 2 * sizes.width * sizes.feed_forward, sizes.width**2
    products = sizes.num_layers * (num_tokens * (layer + 2 * square) + num_targets * (layer + 2 * square))
    # Without those of attention, a few per cent; those of graphs are not counted.
    products += num_targets * sizes.width * sizes.vocab_size
    return Work(
        loop=loop,
        amount=num_tokens // len(batches),
        unit="tokens",
        precision="bf16",
        flops=6 * products / len(batches),
        padding=1 - num_tokens / sum(each.numel() for each in batches),
        num_warm=500,  # of sources and targets of many lengths
    )


def fine_tuning(device: torch.device, *, is_small: bool) -> Work:
    """Fine-tuning of XTREME's whole model to tag words, on rows of different lengths."""
    preset, draws = XTREME["nano" if is_small else "full"], torch.Generator().manual_seed(0)
    tuning = replace(preset.tuning["tagging"], epochs=MANY)
    rng, size = np.random.default_rng(0), preset.vocabulary.size
    backbone = BACKBONES["decoder"](preset.backbone, draws)
    backbone.products = PRECISIONS["bf16"]
    backbone.set_embedding(initial_embedding(size, preset.backbone.width, draws))
    head = LabelHead(preset.backbone.width, 17, draws)
    ids = [row.tolist() for row in _sentences(rng, size - 1, min(tuning.context, preset.backbone.context))]
    rows = TokenRows(ids=ids, targets=[[number % 17 for number in row] for row in ids], padding=size - 1)
    parameters = [*backbone.to(device).parameters(), *head.to(device).parameters()]

    def loop(told: Told) -> None:
        with computing(device, "bf16", seed=0):
            finetune(
                backbone, head, rows, tuning, parameters, trains_backbone=True, generator=draws,
                callbacks=_telling(told),
            )  # fmt: skip

    batches = [rows.take(index, torch.device("cpu"))[1] for index in rows.batches(tuning.batch)]
    num_tokens = sum(int(mask.sum()) for mask in batches)
    products = num_tokens * 12 * preset.backbone.num_layers * preset.backbone.width**2  # without attention
    return Work(
        loop=loop,
        amount=num_tokens // len(batches),
        unit="tokens",
        precision="bf16",
        flops=6 * products / len(batches),
        padding=1 - num_tokens / sum(mask.numel() for mask in batches),
    )


def works(device: torch.device, *, is_small: bool) -> Iterator[tuple[str, Callable[[], Work]]]:
    """The name of each row, and the function that makes its work; the most informative first."""
    for name, *changes in GAMES:
        row = f"{name}, REINFORCE" if changes else name
        for program, make in ((row, game), (f"{row}, EGG", egg)):
            yield program, lambda make=make, given=(name, device, *changes): make(*given, is_small=is_small)
    yield "xferbench, train", lambda: language_model(device, is_small=is_small)
    yield "xferbench, test", lambda: language_model(device, is_small=is_small, is_test=True)
    yield "shape_gs", lambda: game("shape_gs", device, is_small=is_small)
    for number in (1, 16, 64):
        row = "disc_tiny" if number == 1 else f"disc_tiny, {number} pairs"
        yield row, lambda number=number: game("disc_tiny", device, is_small=is_small, num_pairs=number)
    cpu = torch.device("cpu")
    yield "shape_gs, two CPU cores", lambda: game("shape_gs", cpu, is_small=is_small, num_threads=2)
    yield "translation", lambda: translation(device, is_small=is_small)
    yield "xtreme", lambda: fine_tuning(device, is_small=is_small)
    for model in ("fc1l", "fc2l", "rnn", "gru", "lstm", "husendz:dgsend", "transformer"):
        yield f"icy {model}", lambda model=model: artificial_language(model, device, is_small=is_small)


def _repeated(step: Callable[[], object]) -> Callable[[Told], None]:
    def loop(told: Told) -> None:
        while True:
            step()
            told()

    return loop


def _telling(told: Told) -> Callbacks:
    return Callbacks(report_progress=lambda share: told())


def _sentences(rng: np.random.Generator, num_symbols: int, longest: int) -> list[np.ndarray]:
    """Rows of symbols, of about 25 symbols as sentences of news have, at most `longest`."""
    lengths = np.minimum(longest, 1 + rng.negative_binomial(4, 4 / 28, 4096))
    return np.split(rng.integers(num_symbols, size=lengths.sum()), np.cumsum(lengths)[:-1])
