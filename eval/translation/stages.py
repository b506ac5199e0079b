"""State shared by the stages of an experiment: sizes, device, progress, and the cache of finished stages."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from ecsuite.config import DamagedError
from ecsuite.corpus import Corpus
from ecsuite.eval.translation.presets import Preset, Tuning

Progress = Callable[[str, float, float], None]
Advance = Callable[[int], None]
"""Progress callback, called with the number of new units done."""


@dataclass(kw_only=True, slots=True)
class Run:
    """Settings and progress of a translation experiment."""

    sizes: Preset
    """Sizes of model, data and training."""
    tuning: Tuning
    """Setting of fine-tuning."""
    seed: int
    """Seed of weights, noise, dropout and data order."""
    device: torch.device
    """Device of the model."""
    precision: str
    """bf16 or fp32."""
    folder: Path | None
    """Cache folder of finished stages; None caches nothing."""
    progress: Progress
    """Called with a label, the tokens done and their total."""
    done: float = 0.0
    """Tokens done."""
    total: float = 1.0
    """Total number of tokens, with translations counted as tokens."""

    def reporter(self, label: str, weight: float = 1.0) -> Advance:
        """A function that adds to `done` and reports progress."""

        def advance(number: int) -> None:
            self.done += number * weight
            self.progress(f"translate: {label}", min(self.done, self.total), self.total)

        return advance

    def share_reporter(self, label: str, num_tokens: int) -> Callable[[float], None]:
        """A function that takes the share that is done of `num_tokens` more tokens, and reports progress."""
        before = self.done

        def report(share: float) -> None:
            self.done = before + share * num_tokens
            self.progress(f"translate: {label}", min(self.done, self.total), self.total)

        return report

    def path(self, stage: str, key: Mapping[str, Any], suffix: str) -> Path | None:
        """Cache file of a stage's result, named by a hash of everything that can change it; None without a folder."""
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.blake2b(json.dumps(key, sort_keys=True).encode(), digest_size=8).hexdigest()
        return self.folder / f"{stage}-{digest}{suffix}"


def fingerprint(corpus: Corpus | None) -> str:
    """A hash of the messages of a corpus."""
    if corpus is None:
        return "none"
    content = hashlib.blake2b(digest_size=16)
    for array in (corpus.messages.values, corpus.messages.offsets):
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()


def save(model: Any, path: Path | None, **others: Tensor) -> None:
    """Save a model's parameters, tied ones once, and other tensors; nothing if `path` is None."""
    if path is not None:
        temporary = path.with_suffix(".part")
        parameters = {name: each.detach().cpu().contiguous() for name, each in model.named_parameters()}
        save_file(parameters | others, temporary)
        temporary.replace(path)


@torch.no_grad()
def load(model: Any, path: Path) -> dict[str, Tensor]:
    """Load saved parameters into a model; return all tensors of the file.

    Raises:
        DamagedError: If the file can't be read.
    """
    try:
        saved = load_file(path)
    except SafetensorError as error:
        raise DamagedError(f"{path}: cannot be read ({error}); delete it, and it is computed again") from None
    for name, parameter in model.named_parameters():
        parameter.copy_(saved[name])
    return saved
