"""What all stages of an experiment share: sizes, place, progress, and the folder where finished stages are kept."""

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

from ecsuite.config import DamagedError
from ecsuite.corpus import Corpus
from ecsuite.eval.learning.training import Advance
from ecsuite.eval.translation.presets import Preset, Tuning

Progress = Callable[[str, float, float], None]


@dataclass(kw_only=True, slots=True)
class Run:
    """What all stages need."""

    sizes: Preset
    """How large everything is."""
    tuning: Tuning
    """The setting."""
    seed: int
    """Of weights, noise, dropout and orders."""
    device: torch.device
    """Where the model is."""
    precision: str
    """bf16 or fp32."""
    folder: Path | None
    """Where finished stages are kept; None keeps none."""
    progress: Progress
    """Told the tokens done and to do."""
    done: float = 0.0
    """Tokens done."""
    total: float = 1.0
    """Tokens to do, translations counted as tokens."""

    def reporter(self, label: str, weight: float = 1.0) -> Advance:
        """A function that adds to what is done and says so."""

        def advance(number: int) -> None:
            self.done += number * weight
            self.progress(f"translate: {label}", min(self.done, self.total), self.total)

        return advance

    def path(self, stage: str, key: Mapping[str, Any], suffix: str) -> Path | None:
        """Where a stage's result is kept, by everything that can change it."""
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.blake2b(json.dumps(key, sort_keys=True).encode(), digest_size=8).hexdigest()
        return self.folder / f"{stage}-{digest}{suffix}"


def fingerprint(corpus: Corpus | None) -> str:
    """What a corpus says, as a short hash."""
    if corpus is None:
        return "none"
    content = hashlib.blake2b(digest_size=16)
    for array in (corpus.messages.values, corpus.messages.offsets):
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()


def save(model: Any, path: Path | None) -> None:
    """Keep a model's parameters, tied ones once, if there is a folder for them."""
    if path is not None:
        temporary = path.with_suffix(".part")
        save_file(
            {name: each.detach().cpu().contiguous() for name, each in model.named_parameters()}, temporary
        )
        temporary.replace(path)


@torch.no_grad()
def load(model: Any, path: Path) -> None:
    """Give a model the parameters that were kept.

    Raises:
        DamagedError: If the file can't be read.
    """
    try:
        kept = load_file(path)
    except SafetensorError as error:
        raise DamagedError(f"{path}: cannot be read ({error}); delete it, and it is made anew") from None
    for name, parameter in model.named_parameters():
        parameter.copy_(kept[name])
