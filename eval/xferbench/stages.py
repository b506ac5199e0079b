"""The two stages of XferBench as pure functions with cacheable results: pretraining, then fine-tuning and test."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save

from ecsuite.config import ConfigError, DivergedError
from ecsuite.corpus import Corpus, write_atomically
from ecsuite.devices import PRECISIONS, routed_products
from ecsuite.eval.learning import training
from ecsuite.eval.learning.checkpoints import Checkpoint
from ecsuite.eval.learning.data import Windows, shuffled
from ecsuite.eval.learning.gpt2 import LanguageModel
from ecsuite.eval.learning.training import compile_if_wide, rate_by_share
from ecsuite.eval.xferbench.presets import Preset
from ecsuite.eval.xferbench.protocols import PROTOCOLS
from ecsuite.eval.xferbench.texts import Text
from ecsuite.eval.xferbench.tokenised import tokenised
from ecsuite.jobs.runner import ProgressCallback

VERSION = 3
"""Increased whenever the same input would give another result."""
LARGEST_SEED = 2**32 - 1
"""A seed is the upper half of the 64-bit seed of fine-tuning; the lower half is of the text."""


def check_seeds(seeds: Sequence[int]) -> None:
    """Check seeds before the work starts.

    Raises:
        ConfigError: If a seed is not usable.
    """
    for seed in seeds:
        if not 0 <= seed <= LARGEST_SEED:
            raise ConfigError(f"XferBench: expected a seed from 0 to {LARGEST_SEED}, got {seed}")


def stage_key(preset: Preset, protocol: str, seed: int, device: str, precision: str) -> dict[str, Any]:
    """Cache key of a stage without its data: everything else that can change its result."""
    sizes = {
        name: value for name, value in asdict(preset).items() if name not in ("name", "about", "reference")
    }
    rest = {"protocol": protocol, "seed": seed, "device": device, "precision": precision, "version": VERSION}
    return {"xferbench": sizes, **rest}


def pretrain(
    corpus: Corpus | None,
    preset: Preset,
    protocol: str,
    seed: int,
    device: str,
    precision: str,
    file: Path,
    report_progress: ProgressCallback,
) -> dict[str, Any]:
    """Train a new model on a corpus and write it to `file`; without a corpus, write the initial weights.

    Returns:
        `repeats`, passes over the corpus per epoch; `parameters`, the number of parameters without symbol embeddings;
        and `sha256` of the file.
    """
    rules = PROTOCOLS[protocol]
    place = torch.device(device)
    generator = torch.Generator().manual_seed(seed)
    with routed_products(place), _threads(preset), _seeded(seed, place):
        if corpus is None:
            model, repeats = LanguageModel(1, preset, generator), 0.0
        else:
            source = rules.source(corpus, preset, seed)
            model, repeats = LanguageModel(source.vocab_size, preset, generator).to(place), source.repeats
            model.products = PRECISIONS[precision]
            epochs, decay = preset.pretrain_epochs, rules.weight_decay
            train(model, source.windows, epochs, preset.lr, preset, decay, generator, report_progress)
    weights = {name: weight.cpu() for name, weight in model.state_dict().items()}
    data = save({name: weight for name, weight in weights.items() if name != "embedding.weight"})
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, data)
    parameters = sum(weight.numel() for weight in weights.values()) - weights["embedding.weight"].numel()
    return {"repeats": repeats, "parameters": parameters, "sha256": hashlib.sha256(data).hexdigest()}


def tune_and_test(
    file: Path,
    text: Text,
    preset: Preset,
    protocol: str,
    seed: int,
    device: str,
    precision: str,
    report_progress: ProgressCallback,
    tokens: Path | None = None,
) -> dict[str, Any]:
    """Give the model of `file` new embeddings, fine-tune it on a text, and test it on held-out text.

    Returns:
        `cross_entropy`, nats per token; `test_tokens`, the number of scored tokens; and `repeats`, passes over the text
        per epoch of fine-tuning.
    """
    rules = PROTOCOLS[protocol]
    place = torch.device(device)
    report_progress(text.name, 0.0)
    target = tokenised(text, preset, protocol, tokens, lambda message: report_progress(message, 0.0))
    name = hashlib.blake2b(text.name.encode(), digest_size=4).digest()
    own_seed = (seed << 32) + int.from_bytes(name)
    generator = torch.Generator().manual_seed(own_seed)
    with routed_products(place), _threads(preset), _seeded(own_seed, place):
        model = LanguageModel(1, preset, generator)
        model.load_state_dict(load_file(file) | {"embedding.weight": model.embedding.weight.detach()})
        model.reset_embedding(target.vocab_size, generator)
        model = model.to(place)
        model.products = PRECISIONS[precision]

        def report_text(_: str, share: float) -> None:
            report_progress(text.name, share)

        epochs, decay = preset.tune_epochs, rules.weight_decay
        train(model, target.tune, epochs, preset.tune_lr, preset, decay, generator, report_text)
        value, num_scored = cross_entropy(model, target.test, preset.batch)
    return {"cross_entropy": value, "test_tokens": num_scored, "repeats": target.repeats}


def train(
    model: LanguageModel,
    windows: Windows,
    num_epochs: int,
    lr: float,
    preset: Preset,
    weight_decay: float,
    generator: torch.Generator,
    report_progress: ProgressCallback,
    checkpoint: Checkpoint | None = None,
    should_stop: Callable[[], object] = lambda: False,
) -> None:
    """Train a model in place: AdamW, linear decay to 0, gradients clipped to norm 1.

    Args:
        model: The model.
        windows: Training windows.
        num_epochs: Passes over the windows.
        lr: Learning rate of the first update.
        preset: Defines the batch size.
        weight_decay: Weight decay of AdamW.
        generator: Draws the order of the windows.
        report_progress: Called with the fraction done after every update.
        checkpoint: See `ecsuite.eval.learning.training.train`.
        should_stop: See there.

    Raises:
        DivergedError: If the loss or the final weights are not finite.
        Stopped: If the training was asked to stop.
    """
    device = model.positions.weight.device
    windows = windows.to(device)
    num_updates = num_epochs * -(-len(windows) // preset.batch)
    compile_if_wide(model, preset.width, device)
    model.train()
    training.train(
        list(model.parameters()),
        lambda: shuffled(len(windows), preset.batch, generator),
        lambda index: model.loss(*windows.take(index.to(device))),
        total=num_updates,
        lr=lr,
        schedule=lambda update: rate_by_share(update / num_updates, 0.0),
        weight_decay=weight_decay,
        generators=[generator],
        report_progress=lambda share: report_progress("pretraining", share),
        checkpoint=checkpoint,
        should_stop=should_stop,
    )


@torch.no_grad()
def cross_entropy(model: LanguageModel, windows: Windows, batch: int) -> tuple[float, int]:
    """Mean cross-entropy in nats per token, and the number of scored tokens.

    Raises:
        DivergedError: If the cross-entropy is not finite.
    """
    device = model.positions.weight.device
    windows = windows.to(device)
    total = torch.zeros((), dtype=torch.float64, device=device)
    num_scored = torch.zeros((), dtype=torch.int64, device=device)
    model.eval()
    for index in torch.split(torch.arange(len(windows), device=device), batch):
        symbols, targets = windows.take(index)
        num_here = (targets >= 0).sum()
        total += model.loss(symbols, targets).double() * num_here
        num_scored += num_here
    value = (total / num_scored).item()
    if not math.isfinite(value):
        raise DivergedError(f"the cross-entropy of the held-out text is {value}")
    return value, int(num_scored)


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed the global generators for dropout, and restore their state afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


@contextmanager
def _threads(preset: Preset) -> Iterator[None]:
    """Use one thread for a reduced preset: more are not faster, and results do not depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if preset.is_reduced else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
