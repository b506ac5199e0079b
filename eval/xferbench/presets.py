"""Presets of XferBench; their sizes are in `presets.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, TypeVar

from ecsuite.eval.models import TransformerSizes
from ecsuite.parts.config import read_presets


@dataclass(frozen=True, kw_only=True)
class WindowSize:
    """Size of the windows that models read; a token is a symbol of a corpus or a BPE token of a text."""

    context: int
    """Context length in tokens."""

    def num_windows(self, num_tokens: int) -> int:
        """Number of windows for `num_tokens` tokens, rounded up."""
        return -(-num_tokens // self.context)


@dataclass(frozen=True, kw_only=True)
class Model(TransformerSizes, WindowSize):
    """What pretraining and fine-tuning have in common."""

    batch: int
    """Batch size in windows of `context` tokens."""


@dataclass(frozen=True, kw_only=True)
class Pretraining(Model):
    """What pretraining reads of a preset."""

    vocab_size: int
    """Size of each target's BPE vocabulary, and of a whole vocabulary of pretraining."""
    pretrain_vocabulary: Literal["occurring", "whole"]
    """Vocabulary of pretraining: the symbols that occur, or all `vocab_size` as in the paper."""
    pretrain_tokens: int
    """Pretraining tokens per epoch, rounded up to whole windows: the corpus is repeated or truncated to this."""
    pretrain_epochs: int
    """Epochs of pretraining."""
    lr: float
    """Initial learning rate of pretraining, with linear decay to 0."""


@dataclass(frozen=True, kw_only=True)
class TextSizes(WindowSize):
    """What tokenising a text reads of a preset."""

    vocab_size: int
    """See `Pretraining`."""
    bpe_bytes: int
    """Bytes of fine-tuning text that BPE is trained on."""
    tune_tokens: int
    """Fine-tuning tokens of each target per epoch, rounded up to whole windows."""
    test_tokens: int
    """Maximum number of held-out tokens of each target that are scored."""


@dataclass(frozen=True, kw_only=True)
class Tuning(Model):
    """What fine-tuning and the test read of a preset; the numbers of tokens are those of the tokenised text."""

    tune_epochs: int
    """Epochs of fine-tuning."""
    tune_lr: float
    """Initial learning rate of fine-tuning, with linear decay to 0."""


Part = TypeVar("Part", Pretraining, TextSizes, Tuning)


@dataclass(frozen=True, kw_only=True)
class Preset(Pretraining, TextSizes, Tuning):
    """Sizes of the model, of the data and of the training."""

    name: str
    """The name in signatures."""
    about: str
    """One-line description."""
    is_reduced: bool
    """Whether the model is smaller than the paper's, so that scores are not comparable with published ones."""
    languages: tuple[str, ...] = ()
    """Target languages; empty means the artificial ones, or all texts of a folder."""
    num_embedded: int = 0
    """Number of artificial target languages."""
    precision: Literal["fp32", "auto"]
    """Precision of matrix products: `auto` is bf16 on hardware with native bf16 products, else fp32."""
    reference: Mapping[str, float] = field(default_factory=dict)
    """Scores of reference sources on the artificial targets, for comparison: means of seeds 1, 2 and 3."""

    def part(self, kind: type[Part]) -> Part:
        """The fields that a job reads, so that the others are not in its key."""
        return kind(**{each.name: getattr(self, each.name) for each in fields(kind)})


PRESETS = read_presets(Preset, __package__)
"""Presets by name."""
FULL, DANISH, MINI, NANO = (PRESETS[name] for name in ("full", "danish", "mini", "nano"))
