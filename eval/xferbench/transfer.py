"""XferBench: what a language model gains for other languages by learning the corpus first.

Boldt & Mortensen (2024), section 3.2: pretrain a causal language model on the corpus, give it new
embeddings, tune it on each target language, and measure its cross-entropy on held-out text; the score is
the mean over the targets. Everything is a pure function of its arguments: one target's tuning neither sees
nor disturbs another's.
"""

import copy
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.agents.precision import choose_device, routed_products
from ecsuite.config import look_up
from ecsuite.corpus import Corpus
from ecsuite.eval.score import Options, Score, no_progress, signature
from ecsuite.eval.xferbench.data import batches, dense, repeat, windows
from ecsuite.eval.xferbench.model import LanguageModel
from ecsuite.eval.xferbench.presets import PRESETS, Preset
from ecsuite.eval.xferbench.targets import Target, Text, embedded_texts, fingerprint, prepare, read_texts

VERSION = 1
ABOUT = "transfer to human-like languages, lower is better"
NOTE = "nats per BPE token at a reduced size; not comparable with published XferBench scores"

Advance = Callable[[int], None]
"""Told after every step how many tokens it took."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """What one corpus came to."""

    by_target: dict[str, float]
    """Cross-entropy on each target's held-out text, nats per token."""
    num_parameters: int
    """Parameters of the model without its embeddings of symbols."""

    @property
    def mean(self) -> float:
        """The XferBench score."""
        return float(np.mean(list(self.by_target.values())))


def xferbench(corpus: Corpus, options: Options) -> list[Score]:
    """Score a corpus by XferBench at a preset.

    Symbols are taken as said, EOS included, and numbered densely; messages are concatenated in random
    order, again and again until the preset's token count is reached. There is no confidence interval: one
    seed says nothing about the noise between seeds, and the targets differ in level, not by chance.

    Raises:
        ValueError: If the preset or the device is unknown, or the folder of targets cannot be used.
    """
    preset = look_up("preset", options.preset, PRESETS)
    texts = read_texts(options.targets) if options.targets else embedded_texts(preset)
    details: dict[str, Any] = {"preset": preset.name, "note": NOTE}
    value, reason = None, None
    if len(corpus.messages.values) == 0:
        reason = "the corpus has no symbols to learn from"
    else:
        result = transfer(
            corpus, texts, preset, options.seed, device=options.device, progress=options.progress
        )
        value = result.mean
        details |= {
            "by_target": result.by_target,
            "repeats": round(preset.pretrain_tokens / len(corpus.messages.values), 4),
            "pretrain_tokens": preset.pretrain_tokens * preset.pretrain_epochs,
            "tune_tokens": preset.tune_tokens * preset.tune_epochs,
            "test_tokens": preset.test_tokens,
            "parameters": result.num_parameters,
        }
        if preset.reference and not options.targets:
            details["reference"] = dict(preset.reference)
    line = signature(
        "xferbench",
        VERSION,
        preset=preset.name,
        targets=fingerprint(texts) if options.targets else "embedded",
        seed=options.seed,
        precision="tf32" if choose_device(options.device).type == "cuda" else "fp32",
    )
    return [Score(name="xferbench", value=value, reason=reason, about=ABOUT, signature=line, details=details)]


def transfer(
    corpus: Corpus | None,
    texts: Sequence[Text],
    preset: Preset,
    seed: int,
    *,
    device: str = "auto",
    progress: Callable[[str, float, float], None] = no_progress,
) -> Transfer:
    """Pretrain once, then tune and test on each text.

    Args:
        corpus: What to pretrain on; None for the baseline without pretraining.
        texts: The target languages.
        preset: Sizes.
        seed: Of initial weights and of the order of the data.
        device: `auto`, `cpu` or `cuda`.
        progress: Told the tokens done and to do.
    """
    place = choose_device(device)
    pretrain_total = preset.pretrain_tokens * preset.pretrain_epochs if corpus else 0
    tune_total = preset.tune_tokens * preset.tune_epochs
    total = pretrain_total + tune_total * len(texts)

    def reporter(label: str, done: int) -> Advance:
        def advance(num_tokens: int) -> None:
            nonlocal done
            done += num_tokens
            progress(label, min(done, total), total)

        progress(label, done, total)
        return advance

    with routed_products(place), torch.random.fork_rng(devices=[]):
        base = pretrain(corpus, preset, seed, place, reporter("xferbench: pretraining", 0))
        by_target = {}
        for index, text in enumerate(texts):
            advance = reporter(f"xferbench: {text.name}", pretrain_total + index * tune_total)
            by_target[text.name] = tune_and_test(base, prepare(text, preset), preset, seed, advance)
    num_parameters = sum(parameter.numel() for parameter in base.parameters()) - base.embedding.weight.numel()
    progress("xferbench", total, total)
    return Transfer(by_target=by_target, num_parameters=num_parameters)


def pretrain(
    corpus: Corpus | None, preset: Preset, seed: int, device: torch.device, advance: Advance
) -> LanguageModel:
    """Train a new model on the corpus; with no corpus, leave it as it is born."""
    generator = torch.Generator().manual_seed(seed)
    if corpus is None:
        return LanguageModel(1, preset, generator).to(device)
    stream = repeat(corpus.messages, preset.pretrain_tokens + 1, np.random.default_rng(seed))
    symbols, num_types = dense(stream)
    model = LanguageModel(num_types, preset, generator).to(device)
    train(model, windows(symbols, preset.context), preset.pretrain_epochs, preset, generator, advance)
    return model


def tune_and_test(base: LanguageModel, target: Target, preset: Preset, seed: int, advance: Advance) -> float:
    """Cross-entropy on a target's held-out tokens of a copy of `base`, tuned with new embeddings."""
    name = hashlib.blake2b(target.name.encode(), digest_size=4).digest()
    generator = torch.Generator().manual_seed((seed << 32) + int.from_bytes(name))
    model = copy.deepcopy(base)
    model.reset_embedding(target.vocab_size, generator)
    train(model, windows(target.tune, preset.context), preset.tune_epochs, preset, generator, advance)
    return cross_entropy(model, windows(target.test, preset.context), preset.batch)


def train(
    model: LanguageModel,
    data: Tensor,
    num_epochs: int,
    preset: Preset,
    generator: torch.Generator,
    advance: Advance,
) -> None:
    """Train a model in place: AdamW, linear decay to 0, gradients clipped to norm 1.

    Args:
        model: The model.
        data: Windows, shape (num_windows, context + 1).
        num_epochs: Passes over them.
        preset: Batch size and optimiser settings.
        generator: Draws the order of the windows.
        advance: Told the tokens of each step.

    Raises:
        ArithmeticError: If the loss is not finite; the weights are then those of the step before.
    """
    device = model.mask.device
    num_steps = num_epochs * -(-len(data) // preset.batch)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=preset.lr, weight_decay=preset.weight_decay, fused=True
    )
    for step, batch in enumerate(batches(data, preset.batch, num_epochs, generator)):
        optimizer.param_groups[0]["lr"] = preset.lr * (1 - step / num_steps)
        symbols = batch.to(device)
        loss = model.loss(symbols[:, :-1], symbols[:, 1:])
        if not torch.isfinite(loss):
            raise ArithmeticError(f"the loss is {loss.item()} at step {step + 1} of {num_steps}")
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        advance(batch.shape[0] * (batch.shape[1] - 1))


@torch.no_grad()
def cross_entropy(model: LanguageModel, data: Tensor, batch: int) -> float:
    """Mean cross-entropy in nats per token over windows, shape (num_windows, context + 1)."""
    device = model.mask.device
    total = 0.0
    for rows in torch.split(data, batch):
        symbols = rows.to(device)
        total += model.loss(symbols[:, :-1], symbols[:, 1:]).item() * len(rows)
    return total / len(data)
