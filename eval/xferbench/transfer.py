"""XferBench: what a language model gains for other languages by learning the corpus first.

Boldt & Mortensen (2024), section 3.2: pretrain a causal language model on the corpus, give it new embeddings, tune it
on each target language, and measure its cross-entropy on held-out text; the score is the mean over the targets.
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
from ecsuite.eval.xferbench.stages import VERSION, pretrain, stage_key, tune_and_test
from ecsuite.eval.xferbench.texts import Text, choose_texts, fingerprint
from ecsuite.jobs.runner import Job, JobRunner

ABOUT = "transfer to human languages, lower is better"
ABOUT_EMBEDDED = "transfer to human-like languages, lower is better"
REDUCED = "nats per BPE token at a reduced size; not comparable with published XferBench scores"

Corpora = Corpus | None | Mapping[int, Corpus | None]
"""A corpus, nothing, or what each seed draws."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """What one corpus came to."""

    by_target: tuple[dict[str, float], ...]
    """For each seed, the cross-entropy on each target's held-out text, nats per token."""
    repeats: float
    """How often the corpus was read in an epoch of pretraining."""
    text_repeats: dict[str, float]
    """How often each text was read in an epoch of tuning; over 1, it was too short."""
    test_tokens: dict[str, int]
    """Held-out tokens scored, by target."""
    parameters: int
    """Parameters of the model without its embeddings of symbols."""

    @property
    def means(self) -> list[float]:
        """The XferBench score of each seed."""
        return [float(np.mean(list(values.values()))) for values in self.by_target]


def xferbench(corpus: Corpus, options: Options) -> list[Score]:
    """Score a corpus by XferBench at a preset.

    The score is the mean over targets and seeds. An interval over the targets would say nothing: they differ in level.
    `ecsuite compare` has intervals, of differences.

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
    """Score a corpus, or a new one for each seed, or, with None, the model without pretraining."""
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
    """A result with its signature and all that is needed to read it."""
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
    """Pretrain once a seed, then tune and test on each text.

    Args:
        corpus: What to pretrain on, or for each seed what is drawn with it; None for the baseline without pretraining.
        texts: The target languages.
        preset: Sizes.
        seeds: Of initial weights, of dropout and of the order of the data.
        protocol: A name in `PROTOCOLS`.
        device: `auto`, `cpu` or `cuda`.
        folder: Where the result of every stage is kept, by the hash of all that can change it: what is there is not
            computed again. None keeps nothing.
        num_workers: Processes, where the device is a CPU and the preset a reduced one.
        progress: Told the work done and to do.
    """
    place = choose_device(device).type
    precision = _precision(preset, place)
    with ExitStack() as stack:
        kept = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workers = num_workers if place == "cpu" and preset.is_reduced else 1
        settings = {"preset": preset, "protocol": protocol, "device": place, "precision": precision}
        pretraining, bodies = [], []
        for seed in seeds:
            drawn = corpus[seed] if isinstance(corpus, Mapping) else corpus
            key = stage_key(preset, protocol, seed, place, precision) | {"corpus": digest(drawn)}
            body = kept / "bodies" / f"{Job(function=pretrain, inputs={}, key=key).digest}.safetensors"
            inputs = {**settings, "corpus": drawn, "seed": seed, "file": body}
            pretraining.append(Job(function=pretrain, inputs=inputs, key=key))
            bodies.append(body)
        work = stack.enter_context(JobRunner(num_workers=workers, folder=kept, progress=progress))
        made = work.run(pretraining)
        for job, body, born in zip(pretraining, bodies, made, strict=True):
            if not _is_whole(body, born["sha256"]):
                JobRunner(num_workers=1, folder=None, progress=progress).run([job])
        tuning = [
            Job(
                function=tune_and_test,
                inputs={**settings, "file": body, "text": text, "seed": seed, "tokens": kept / "tokens"},
                key=stage_key(preset, protocol, seed, place, precision)
                | {"body": born["sha256"], "text": [text.name, text.digest]},
            )
            for seed, body, born in zip(seeds, bodies, made, strict=True)
            for text in texts
        ]
        tuned = work.run(tuning)
    rows = [tuned[start : start + len(texts)] for start in range(0, len(tuned), len(texts))]
    names = [text.name for text in texts]
    return Transfer(
        by_target=tuple(
            {name: one["cross_entropy"] for name, one in zip(names, row, strict=True)} for row in rows
        ),
        repeats=made[0]["repeats"],
        text_repeats={name: one["repeats"] for name, one in zip(names, rows[0], strict=True)},
        test_tokens={name: one["test_tokens"] for name, one in zip(names, rows[0], strict=True)},
        parameters=made[0]["parameters"],
    )


def digest(corpus: Corpus | None) -> str:
    """A hash of what was said."""
    if corpus is None:
        return "nothing"
    content = hashlib.sha256(corpus.messages.offsets.astype(np.int64).tobytes())
    content.update(corpus.messages.values.astype(np.int64).tobytes())
    content.update(b"named" if corpus.symbol_names else b"ids")
    return content.hexdigest()


def _is_whole(file: Path, sha256: str) -> bool:
    """Whether the weights that a kept result speaks of are still there."""
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == sha256


def _precision(preset: Preset, device: str) -> str:
    """bf16 or fp32."""
    import torch

    return choose_precision(preset.precision, torch.device(device))
