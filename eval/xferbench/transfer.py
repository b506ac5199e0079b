"""XferBench: how well a language model that was pretrained on a corpus transfers to other languages.

Boldt & Mortensen (2024), section 3.2: pretrain a causal language model on the corpus, give it new embeddings, fine-tune
it on each target language, and measure its cross-entropy on held-out text; the score is the mean over the targets.
"""

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.config import look_up
from ecsuite.corpus import Corpus
from ecsuite.devices import choose_device, choose_precision
from ecsuite.eval.metrics.score import Options, Score, no_progress, signature
from ecsuite.eval.xferbench.presets import PRESETS, Preset
from ecsuite.eval.xferbench.protocols import PROTOCOLS
from ecsuite.eval.xferbench.stages import VERSION, check_seeds, pretrain, stage_key, tune_and_test
from ecsuite.eval.xferbench.texts import Text, choose_texts, fingerprint
from ecsuite.jobs.runner import Job, JobRunner

ABOUT = "transfer to human languages, lower is better"
ABOUT_EMBEDDED = "transfer to human-like languages, lower is better"
REDUCED = "nats per BPE token at a reduced size; not comparable with published XferBench scores"

Corpora = Corpus | None | Mapping[int, Corpus | None]
"""A corpus, None (no pretraining), or one of these for each seed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """Result of one corpus."""

    by_target: tuple[dict[str, float], ...]
    """For each seed, the cross-entropy on the held-out text of each target, nats per token."""
    repeats: float
    """Passes over the corpus per epoch of pretraining."""
    text_repeats: dict[str, float]
    """Passes over each text per epoch of fine-tuning; more than 1 if the text was too short."""
    test_tokens: dict[str, int]
    """Number of scored held-out tokens, by target."""
    parameters: int
    """Number of parameters without symbol embeddings."""

    @property
    def means(self) -> list[float]:
        """The XferBench score of each seed."""
        return [float(np.mean(list(values.values()))) for values in self.by_target]


def xferbench(corpus: Corpus, options: Options) -> list[Score]:
    """Score a corpus by XferBench at a preset.

    The score is the mean over targets and seeds. It has no interval over the targets, because their levels differ;
    `ecsuite compare` computes intervals of differences.

    Raises:
        ConfigError: If the preset, the protocol or the device is unknown, or the texts cannot be used.
    """
    preset = look_up("preset", options.preset, PRESETS)
    look_up("protocol", options.protocol, PROTOCOLS)
    if len(corpus.messages.values) == 0:
        reason = "the corpus has no symbols to learn from"
        return [score_of(None, preset, choose_texts(options.targets, preset), options, reason=reason)]
    return [score_source(corpus, options)]


def score_source(corpus: Corpora, options: Options) -> Score:
    """Score a corpus, a corpus for each seed, or, for None, the model without pretraining."""
    preset = look_up("preset", options.preset, PRESETS)
    texts = choose_texts(options.targets, preset)
    seeds = range(options.seed, options.seed + options.num_seeds)
    result = transfer(
        corpus,
        texts,
        preset,
        seeds,
        protocol=options.protocol,
        device=options.device,
        folder=options.cache,
        num_workers=options.num_workers,
        progress=options.progress,
    )
    return score_of(result, preset, texts, options)


def score_of(
    result: Transfer | None,
    preset: Preset,
    texts: Sequence[Text],
    options: Options,
    reason: str | None = None,
) -> Score:
    """The score of a result, with its signature and details."""
    protocol = PROTOCOLS[options.protocol]
    device = choose_device(options.device)
    seeds = range(options.seed, options.seed + options.num_seeds)
    line = signature(
        "xferbench",
        VERSION,
        preset=preset.name,
        protocol=protocol.name,
        targets=fingerprint(texts) if options.targets else "embedded",
        seeds=f"{seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else seeds[0],
        precision=_precision(preset, device.type),
    )
    details: dict[str, Any] = {"preset": preset.name, "protocol": protocol.name}
    details |= {"note": REDUCED} if preset.is_reduced else {}
    details |= {"warning": protocol.warning} if protocol.warning else {}
    value = None
    if result is not None:
        value = float(np.mean(result.means))
        details |= {
            "by_target": {
                name: float(np.mean([values[name] for values in result.by_target]))
                for name in result.by_target[0]
            },
            "by_seed": [
                {"seed": seed, "value": mean, "by_target": values}
                for seed, mean, values in zip(seeds, result.means, result.by_target, strict=True)
            ],
            "repeats": round(result.repeats, 4),
            "pretrain_tokens": preset.pretrain_tokens * preset.pretrain_epochs,
            "tune_tokens": preset.tune_tokens * preset.tune_epochs,
            "test_tokens": result.test_tokens,
            "parameters": result.parameters,
        }
        repeated = {name: round(times, 4) for name, times in result.text_repeats.items() if times > 1}
        details |= {"text_repeats": repeated} if repeated else {}
        if preset.reference and not options.targets:
            details["reference"] = dict(preset.reference)
    about = ABOUT if options.targets else ABOUT_EMBEDDED
    return Score(name="xferbench", value=value, reason=reason, about=about, signature=line, details=details)


def transfer(
    corpus: Corpora,
    texts: Sequence[Text],
    preset: Preset,
    seeds: Sequence[int],
    *,
    protocol: str = "strict",
    device: str = "auto",
    folder: Path | None = None,
    num_workers: int = 1,
    progress: Callable[[str, float, float], None] = no_progress,
) -> Transfer:
    """Pretrain once per seed, then fine-tune and test on each text.

    Args:
        corpus: Corpus to pretrain on, or a corpus for each seed; None for the baseline without pretraining.
        texts: The target languages.
        preset: Sizes.
        seeds: Seeds of initial weights, dropout and the order of the data.
        protocol: A name in `PROTOCOLS`.
        device: `auto`, `cpu` or `cuda`.
        folder: Cache folder: the result of every stage is saved under a hash of everything that can change it, and is
            not computed again. None caches nothing.
        num_workers: Number of processes on a CPU with a reduced preset; otherwise one is used.
        progress: Called with a label, the work done and the total.

    Raises:
        ConfigError: If a seed is too large.
        DivergedError: If a loss, the weights or a cross-entropy are not finite.
    """
    check_seeds(seeds)
    place = choose_device(device).type
    precision = _precision(preset, place)
    with ExitStack() as stack:
        cache = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workers = num_workers if place == "cpu" and preset.is_reduced else 1
        settings = {"preset": preset, "protocol": protocol, "device": place, "precision": precision}
        pretraining, weights_files = [], []
        for seed in seeds:
            drawn = corpus[seed] if isinstance(corpus, Mapping) else corpus
            key = stage_key(preset, protocol, seed, place, precision) | {"corpus": digest(drawn)}
            weights_file = (
                cache / "bodies" / f"{Job(function=pretrain, inputs={}, key=key).digest}.safetensors"
            )
            inputs = {**settings, "corpus": drawn, "seed": seed, "file": weights_file}
            pretraining.append(Job(function=pretrain, inputs=inputs, key=key))
            weights_files.append(weights_file)
        runner = stack.enter_context(JobRunner(num_workers=workers, folder=cache, progress=progress))
        pretrained = runner.run(pretraining)
        for job, weights_file, result in zip(pretraining, weights_files, pretrained, strict=True):
            if not _is_complete(weights_file, result["sha256"]):
                JobRunner(num_workers=1, folder=None, progress=progress).run([job])
        tuning = [
            Job(
                function=tune_and_test,
                inputs={
                    **settings,
                    "file": weights_file,
                    "text": text,
                    "seed": seed,
                    "tokens": cache / "tokens",
                },
                key=stage_key(preset, protocol, seed, place, precision)
                | {"body": result["sha256"], "text": [text.name, text.digest]},
            )
            for seed, weights_file, result in zip(seeds, weights_files, pretrained, strict=True)
            for text in texts
        ]
        tuned = runner.run(tuning)
    rows = [tuned[start : start + len(texts)] for start in range(0, len(tuned), len(texts))]
    names = [text.name for text in texts]
    return Transfer(
        by_target=tuple(
            {name: one["cross_entropy"] for name, one in zip(names, row, strict=True)} for row in rows
        ),
        repeats=pretrained[0]["repeats"],
        text_repeats={name: one["repeats"] for name, one in zip(names, rows[0], strict=True)},
        test_tokens={name: one["test_tokens"] for name, one in zip(names, rows[0], strict=True)},
        parameters=pretrained[0]["parameters"],
    )


def digest(corpus: Corpus | None) -> str:
    """A hash of the messages."""
    if corpus is None:
        return "nothing"
    content = hashlib.sha256(corpus.messages.offsets.astype(np.int64).tobytes())
    content.update(corpus.messages.values.astype(np.int64).tobytes())
    content.update(b"named" if corpus.symbol_names else b"ids")
    return content.hexdigest()


def _is_complete(file: Path, sha256: str) -> bool:
    """Whether the weights file of a cached result exists and is undamaged."""
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == sha256


def _precision(preset: Preset, device: str) -> str:
    """Precision of matrix products on a device: bf16 or fp32."""
    import torch

    return choose_precision(preset.precision, torch.device(device))
