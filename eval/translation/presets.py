"""Presets of the translation experiment; their sizes are in `presets.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass

from ecsuite.eval.models import EncoderDecoderSizes, TrainingSizes
from ecsuite.parts.config import read_presets


@dataclass(frozen=True, kw_only=True, slots=True)
class Optimisation:
    """Settings of pretraining and fine-tuning."""

    batch: int
    """Batch size in blocks or pairs."""
    warmup: float
    """Fraction of the training with linear warmup of the learning rate; the paper uses no warmup."""
    weight_decay: float = 0.01
    """Weight decay of AdamW on matrices; biases and norms do not decay."""


@dataclass(frozen=True, kw_only=True)
class TranslationPretraining(TrainingSizes):
    """Pretraining on the corpus."""

    block: int
    """Symbols per block."""


@dataclass(frozen=True, kw_only=True)
class TranslationTuning(TrainingSizes):
    """One setting of the paper for fine-tuning on pairs; `tokens` counts source tokens."""

    is_frozen: bool = False
    """Whether only the embedding of symbols is trained."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoding:
    """Settings of beam search."""

    num_new_tokens: int
    """Maximum number of tokens of a translation."""
    batch: int = 64
    """Sentences per batch, also for cross-entropy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationPreset:
    """Sizes of the model, of the data and of the training."""

    name: str
    """The name in signatures."""
    is_reduced: bool
    """Whether it is smaller than the paper's, so that its scores are not comparable with published ones."""
    model: EncoderDecoderSizes
    """Sizes of the model."""
    optimisation: Optimisation
    """Settings of both trainings."""
    pretraining: TranslationPretraining
    """Pretraining on the corpus."""
    settings: Mapping[str, TranslationTuning]
    """Settings of fine-tuning: full, frozen and reduced."""
    longest: int
    """Maximum tokens of a sentence with its end: longer training pairs are left out, longer test sources truncated."""
    num_valid: int
    """Maximum number of validation pairs, on which cross-entropy is measured."""
    num_test: int
    """Maximum number of test pairs, which are translated."""
    decoding: Decoding
    """Settings of beam search on the test pairs."""
    beams: tuple[int, ...] = (1, 3, 5)
    """Beam widths; scores are means over them."""


PRESETS = read_presets(TranslationPreset, __package__)
"""Presets by name: full is the paper's size, nano a smoke test."""
FULL, MINI, NANO = (PRESETS[name] for name in ("full", "mini", "nano"))
SETTINGS = ("full", "frozen", "reduced")
"""The paper's three settings of fine-tuning."""
