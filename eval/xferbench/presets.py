"""Presets of XferBench: sizes of the model, of the data and of the training."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, TypeVar

from ecsuite.downloads.languages import XFERBENCH_TARGETS


@dataclass(frozen=True, kw_only=True)
class WindowSize:
    """Size of the windows that models read; a token is a symbol of a corpus or a BPE token of a text."""

    context: int
    """Context length in tokens."""

    def num_windows(self, num_tokens: int) -> int:
        """Number of windows for `num_tokens` tokens, rounded up."""
        return -(-num_tokens // self.context)


@dataclass(frozen=True, kw_only=True)
class Model(WindowSize):
    """What pretraining and fine-tuning have in common."""

    num_layers: int
    """Transformer layers."""
    width: int
    """Width of the hidden states."""
    num_heads: int
    """Attention heads in a layer."""
    dropout: float
    """Dropout of embeddings, attention weights and residual branches."""
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
    languages: tuple[str, ...] = ()
    """Target languages; empty means the artificial ones, or all texts of a folder."""
    num_embedded: int = 0
    """Number of artificial target languages."""
    precision: Literal["fp32", "auto"]
    """Precision of matrix products: `auto` is bf16 on hardware with native bf16 products, else fp32."""
    reference: Mapping[str, float] = field(default_factory=dict)
    """Scores of reference sources on the artificial targets, for comparison: means of seeds 1, 2 and 3."""

    @property
    def is_reduced(self) -> bool:
        """Whether the model is smaller than the paper's, so that scores are not comparable with published ones."""
        return self.width != _FULL["width"]

    def part(self, kind: type[Part]) -> Part:
        """The fields that a job reads, so that the others are not in its key."""
        return kind(**{each.name: getattr(self, each.name) for each in fields(kind)})


_FULL = {
    "num_layers": 6, "width": 768, "num_heads": 6, "dropout": 0.1, "context": 256, "vocab_size": 30_000,
    "bpe_bytes": 32_000_000, "pretrain_tokens": 15_000_000, "pretrain_epochs": 5, "tune_tokens": 2_000_000,
    "tune_epochs": 10, "test_tokens": 1_000_000, "batch": 32, "lr": 1e-4, "tune_lr": 1e-4,
}  # fmt: skip
"""Boldt & Mortensen (2024), sections 3.2 and 3.3 and appendix A.1."""

FULL = Preset(
    name="full",
    about="the paper's benchmark, ten languages: 115 PFLOP, hours on a GPU of 2024",
    pretrain_vocabulary="whole",
    languages=XFERBENCH_TARGETS,
    precision="auto",
    **_FULL,  # type: ignore[arg-type]
)
DANISH = Preset(
    name="danish",
    about="the paper's benchmark with Danish only: a third of the cost",
    pretrain_vocabulary="whole",
    languages=("da",),
    precision="auto",
    **_FULL,  # type: ignore[arg-type]
)
MINI = Preset(
    name="mini",
    about="2 layers of width 64, two artificial languages: half a minute on a CPU, another scale (docs/mini.md)",
    num_layers=2,
    width=64,
    num_heads=2,
    dropout=0.0,
    context=64,
    vocab_size=1000,
    pretrain_vocabulary="occurring",
    bpe_bytes=1_000_000,
    pretrain_tokens=250_000,
    pretrain_epochs=2,
    tune_tokens=100_000,
    tune_epochs=3,
    test_tokens=25_000,
    num_embedded=2,
    batch=8,
    lr=6e-4,
    tune_lr=4e-4,
    precision="fp32",
    reference={"French text": 4.951, "Zipfian parentheses": 4.980, "nothing": 5.105, "uniform noise": 5.174},
)
NANO = Preset(
    name="nano",
    about="a smoke test that takes seconds",
    num_layers=2,
    width=32,
    num_heads=2,
    dropout=0.0,
    context=16,
    vocab_size=300,
    pretrain_vocabulary="occurring",
    bpe_bytes=1_000_000,
    pretrain_tokens=4_000,
    pretrain_epochs=1,
    tune_tokens=4_000,
    tune_epochs=1,
    test_tokens=500,
    num_embedded=2,
    batch=16,
    lr=1e-3,
    tune_lr=1e-3,
    precision="fp32",
)
PRESETS = {preset.name: preset for preset in (MINI, DANISH, FULL, NANO)}
"""Presets by name."""
