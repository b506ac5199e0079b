"""XferBench as jobs: tokenise a text, pretrain on a corpus, fine-tune on the text and test on its held-out part.

`make_study` validates the arguments, and `plan` turns a study into jobs.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from ecsuite.corpus import Corpus
from ecsuite.eval.models import training
from ecsuite.eval.models.data import Target, Windows, shuffled
from ecsuite.eval.models.gpt2 import LanguageModel, compile_if_wide
from ecsuite.eval.models.training import (
    NO_CALLBACKS,
    Callbacks,
    Machine,
    job_callbacks,
    rate_by_share,
    training_resources,
)
from ecsuite.eval.xferbench.presets import (
    PROTOCOLS,
    XFERBENCH,
    TextSizes,
    XferBenchPreset,
    XferBenchPretraining,
    XferBenchTuning,
)
from ecsuite.eval.xferbench.texts import ArtificialText, Text, TextFile
from ecsuite.jobs.job import Context, Job, Outcome, Result, job_function
from ecsuite.runtime.errors import ConfigError, DivergedError, look_up
from ecsuite.runtime.graphs import Outputs
from ecsuite.runtime.recording import Recorded

LARGEST_SEED = 2**32 - 1
"""A seed is the upper half of the 64-bit seed of fine-tuning; the lower half is of the text."""

Corpora = Corpus | None | Mapping[int, Corpus | None]
"""A corpus or None (no pretraining), for all seeds or by seed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class XferBenchStudy:
    """One source of corpora, its targets and seeds; made by `make_study`."""

    corpora: Mapping[int, Corpus | None]
    """The corpus to pretrain on, by seed; None: no pretraining."""
    texts: tuple[Text, ...]
    """The target languages."""
    preset: XferBenchPreset
    """Sizes of the model, of the data and of the training."""
    protocol: str
    """A name in `PROTOCOLS`."""
    machine: Machine
    """Device and precision."""

    @property
    def is_embedded(self) -> bool:
        """Whether the targets are the artificial languages."""
        return all(isinstance(text, ArtificialText) for text in self.texts)


def make_study(
    corpus: Corpora,
    texts: Sequence[Text],
    preset: XferBenchPreset,
    seeds: Sequence[int],
    *,
    protocol: str = "strict",
    device: str = "auto",
) -> XferBenchStudy:
    """Validate the arguments, and identify the texts by their content.

    Args:
        corpus: Corpus to pretrain on, or a corpus for each seed; None for the baseline without pretraining.
        texts: The target languages.
        preset: Sizes of the model, of the data and of the training.
        seeds: Seeds of initial weights, dropout and the order of the data.
        protocol: A name in `PROTOCOLS`.
        device: `auto`, `cpu`, `cuda` or `mps`.

    Raises:
        ConfigError: If a seed is not usable, a name is unknown, a text cannot be read or is empty, or a corpus does not
            fit the protocol.
    """
    for seed in seeds:
        if not 0 <= seed <= LARGEST_SEED:
            raise ConfigError(f"XferBench: expected a seed from 0 to {LARGEST_SEED}, got {seed}")
    rules = look_up("protocol", protocol, PROTOCOLS)
    corpora = {seed: corpus[seed] if isinstance(corpus, Mapping) else corpus for seed in seeds}
    for each in {id(each): each for each in corpora.values()}.values():
        if each is not None and len(each.messages.values):
            rules.require_fitting(each, preset)
    return XferBenchStudy(
        corpora=corpora,
        texts=tuple(text.identified() if isinstance(text, TextFile) else text for text in texts),
        preset=preset,
        protocol=protocol,
        machine=Machine.chosen(device, preset.precision, is_reduced=preset.is_reduced),
    )


VERSION = XFERBENCH.version
TOKENS_PER_UNIT = 25
"""Training tokens of a small model in the time of one example of a game, the unit of work of trainings of games; only
used to order jobs and to estimate the remaining time."""
BYTES_PER_UNIT = 20 * TOKENS_PER_UNIT
"""Bytes of text tokenised in the same time."""


@job_function(
    version=VERSION,
    work=lambda *, sizes, **_: sizes.bpe_bytes / BYTES_PER_UNIT,
    label=lambda *, text, **_: f"tokens of {text.name}",
    comes_first=True,  # so that errors in a text are raised before the training
)
def tokenise(*, text: Text, sizes: TextSizes, protocol: str, context: Context) -> Outcome:
    """Make the fine-tuning and test data of a text by a protocol.

    Returns:
        `vocab_size`; `repeats`, passes over the text per epoch; and the settings of both `windows`. The arrays are the
        symbols of the windows.

    Raises:
        ConfigError: If the text is too short, or cannot be read.
    """
    context.report_progress(f"tokens of {text.name}", 0.0)
    target = PROTOCOLS[protocol].target(text, sizes)
    windows = {"tune": target.tune, "test": target.test}
    value = {
        "vocab_size": target.vocab_size,
        "repeats": target.repeats,
        "windows": {
            name: {"num_context": each.num_context, "ignored": each.ignored} for name, each in windows.items()
        },
    }
    return Outcome(
        value=value, arrays=save({name: each.symbols.contiguous() for name, each in windows.items()})
    )


@job_function(
    version=VERSION,
    work=lambda *, corpus, sizes, **_: (
        0.0 if corpus is None else sizes.pretrain_tokens * sizes.pretrain_epochs / TOKENS_PER_UNIT
    ),
    label=lambda *, seed, **_: f"pretraining, seed {seed}",
    resources=training_resources,
)
def pretrain(
    *,
    corpus: Corpus | None,
    sizes: XferBenchPretraining,
    protocol: str,
    seed: int,
    machine: Machine,
    context: Context,
) -> Outcome:
    """Train a new model on a corpus; without a corpus, return the initial weights.

    Returns:
        `repeats`, passes over the corpus per epoch; `parameters`, the number of parameters without symbol embeddings;
        and, if compilation failed, the reason in `not_compiled`. The arrays are these parameters.

    Raises:
        ConfigError: If the corpus does not fit the protocol.
        DivergedError: If the loss or the weights are not finite.
    """
    rules, not_compiled = PROTOCOLS[protocol], None
    generator = torch.Generator().manual_seed(seed)
    with machine.computing(seed):
        if corpus is None:
            model, repeats = LanguageModel(1, sizes, generator), 0.0
        else:
            source = rules.source(corpus, sizes, seed)
            model, repeats = (
                LanguageModel(source.vocab_size, sizes, generator).to(machine.place),
                source.repeats,
            )
            model.products = machine.dtype
            not_compiled = train(
                model,
                source.windows,
                num_epochs=sizes.pretrain_epochs,
                batch=sizes.batch,
                lr=sizes.lr,
                weight_decay=rules.weight_decay,
                generator=generator,
                callbacks=job_callbacks(context, f"pretraining, seed {seed}"),
            )
    weights = {
        name: weight.cpu() for name, weight in model.state_dict().items() if name != "embedding.weight"
    }
    parameters = sum(weight.numel() for weight in weights.values())
    value = {"repeats": repeats, "parameters": parameters} | _reason(not_compiled)
    return Outcome(value=value, arrays=save(weights))


def _reason(not_compiled: str | None) -> dict[str, str]:
    return {} if not_compiled is None else {"not_compiled": not_compiled}


def _cost_of_tuning(*, tokens: Job, sizes: XferBenchTuning, **_: Any) -> float:
    # Tests have no backward pass, and their windows overlap by half.
    text: TextSizes = tokens.inputs["sizes"]
    return (text.tune_tokens * sizes.tune_epochs + text.test_tokens * 2 / 3) / TOKENS_PER_UNIT


@job_function(
    version=VERSION,
    work=_cost_of_tuning,
    label=lambda *, text, seed, **_: f"{text}, seed {seed}",
    resources=training_resources,
)
def tune_and_test(
    *,
    pretrained: Result,
    tokens: Result,
    text: str,
    sizes: XferBenchTuning,
    weight_decay: float,
    seed: int,
    machine: Machine,
    context: Context,
) -> dict[str, Any]:
    """Give a pretrained model new embeddings, fine-tune it on a text, and test it on held-out text.

    Args:
        pretrained: The result of `pretrain`.
        tokens: The result of `tokenise`.
        text: The name of the text; a part of the seed.
        sizes: Sizes of the model and of the training.
        weight_decay: Weight decay of AdamW.
        seed: Seed of the new embeddings, of the order of the data, and of dropout.
        machine: Device and precision.
        context: See `Context`.

    Returns:
        `cross_entropy`, nats per token; `test_tokens`, the number of scored tokens; and `repeats`, passes over the text
        per epoch of fine-tuning; and `not_compiled`, see `pretrain`.

    Raises:
        DivergedError: If the loss, the weights or the cross-entropy are not finite.
    """
    target = _read_target(tokens)
    assert pretrained.arrays is not None
    own_seed = (seed << 32) + int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())
    generator = torch.Generator().manual_seed(own_seed)
    with machine.computing(own_seed):
        model = LanguageModel(1, sizes, generator)
        embedding = {"embedding.weight": model.embedding.weight.detach()}
        model.load_state_dict(load_file(pretrained.arrays) | embedding)
        model.reset_embedding(target.vocab_size, generator)
        model = model.to(machine.place)
        model.products = machine.dtype
        not_compiled = train(
            model,
            target.tune,
            num_epochs=sizes.tune_epochs,
            batch=sizes.batch,
            lr=sizes.tune_lr,
            weight_decay=weight_decay,
            generator=generator,
            callbacks=job_callbacks(context, f"{text}, seed {seed}"),
        )
        value, num_scored = cross_entropy(model, target.test, sizes.batch)
    figures = {"cross_entropy": value, "test_tokens": num_scored, "repeats": target.repeats}
    return figures | _reason(not_compiled)


def _read_target(tokens: Result) -> Target:
    assert tokens.arrays is not None
    symbols = load_file(tokens.arrays)
    windows = {
        name: Windows(symbols=symbols[name], **settings) for name, settings in tokens.value["windows"].items()
    }
    return Target(vocab_size=tokens.value["vocab_size"], repeats=tokens.value["repeats"], **windows)


def plan(study: XferBenchStudy) -> dict[tuple[int] | tuple[int, str], Job]:
    """The jobs of a study: pretraining by seed, fine-tuning with a test by seed and text."""
    preset = study.preset
    tokens = {
        text.name: Job(tokenise, text=text, sizes=preset.part(TextSizes), protocol=study.protocol)
        for text in study.texts
    }
    jobs: dict[tuple[int] | tuple[int, str], Job] = {}
    for seed, corpus in study.corpora.items():
        jobs[seed,] = Job(
            pretrain,
            corpus=corpus,
            sizes=preset.part(XferBenchPretraining),
            protocol=study.protocol,
            seed=seed,
            machine=study.machine,
        )
        for name in tokens:
            jobs[seed, name] = Job(
                tune_and_test,
                pretrained=jobs[seed,],
                tokens=tokens[name],
                text=name,
                sizes=preset.part(XferBenchTuning),
                weight_decay=PROTOCOLS[study.protocol].weight_decay,
                seed=seed,
                machine=study.machine,
            )
    return jobs


def train(
    model: LanguageModel,
    windows: Windows,
    *,
    num_epochs: int,
    batch: int,
    lr: float,
    weight_decay: float,
    generator: torch.Generator,
    callbacks: Callbacks = NO_CALLBACKS,
) -> str | None:
    """Train a model in place: AdamW, linear decay to 0, gradients clipped to norm 1; see `models.training.train`.

    Args:
        model: The model.
        windows: Training windows.
        num_epochs: Passes over the windows.
        batch: Batch size in windows.
        lr: Learning rate of the first update.
        weight_decay: Weight decay of AdamW.
        generator: Draws the order of the windows.
        callbacks: See `Callbacks`.

    Returns:
        Reason if the compilation failed; None if the model was compiled, or is too small to benefit.
    """
    device = model.positions.weight.device
    windows = windows.to(device)
    num_updates = num_epochs * -(-len(windows) // batch)
    model.train()
    everything = torch.arange(len(windows), device=device)
    not_compiled = compile_if_wide(
        model,
        model.positions.embedding_dim,
        device,
        [
            partial(_loss_of, model, windows, everything[:size])
            for size in {batch, len(windows) % batch or batch}
        ],
    )
    training.train(
        list(model.parameters()),
        lambda: shuffled(len(windows), batch, generator, device),
        lambda index: [index],
        partial(_loss_of, model, windows),
        total=num_updates,
        lr=lr,
        schedule=lambda update: rate_by_share(update / num_updates, 0.0),
        weight_decay=weight_decay,
        generators=[generator],
        is_compiled=model.compiled_loss is not None,
        callbacks=callbacks,
    )
    return not_compiled


def _loss_of(model: LanguageModel, windows: Windows, index: Tensor) -> Tensor:
    return model.loss(*windows.take(index))


@torch.no_grad()
def cross_entropy(model: LanguageModel, windows: Windows, batch: int) -> tuple[float, int]:
    """Mean cross-entropy in nats per token, and the number of scored tokens.

    Raises:
        DivergedError: If the cross-entropy is not finite.
    """
    device = model.positions.weight.device
    windows = windows.to(device)
    model.eval()
    losses, counts, recorded = [], [], Recorded()

    def scored(index: Tensor) -> Outputs:
        symbols, targets = windows.take(index)
        return {"loss": model.loss(symbols, targets), "count": (targets >= 0).sum()}, ()

    for index in torch.split(torch.arange(len(windows), device=device), batch):
        figures, _ = recorded(len(index), scored, [index]) if index.is_cuda else scored(index)
        losses.append(figures["loss"])
        counts.append(figures["count"])
    numbers = torch.stack(counts).tolist()
    # Summed in 64 bits on the CPU, since MPS has none.
    total = 0.0
    for loss, number in zip(torch.stack(losses).tolist(), numbers, strict=True):
        total += loss * number
    num_scored = sum(numbers)
    value = total / num_scored if num_scored else math.nan
    if not math.isfinite(value):
        raise DivergedError(f"the cross-entropy of the held-out text is {value}")
    return value, num_scored
