"""How much compute XferBench spends: one frozen record a preset."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ecsuite.downloads.languages import XFERBENCH_TARGETS


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """Sizes of the model, of the data and of the training; a token is a symbol, or a unit of BPE in texts."""

    name: str
    """The name in signatures."""
    about: str
    """A line for people."""
    num_layers: int
    """Transformer layers."""
    width: int
    """Width of the hidden states."""
    num_heads: int
    """Attention heads in a layer."""
    dropout: float
    """Of embeddings, attention and what each layer adds."""
    context: int
    """Positions the model sees."""
    vocab_size: int
    """Size of each target's BPE vocabulary."""
    pretrain_vocabulary: Literal["occurring", "whole"]
    """Whether the model is pretrained over the symbols that occur, or over all `vocab_size` as the paper has it."""
    bpe_bytes: int
    """How much tuning text BPE is trained on."""
    pretrain_tokens: int
    """Tokens to pretrain on in an epoch, rounded up to whole windows: the corpus is repeated or cut to this."""
    pretrain_epochs: int
    """Passes over them."""
    tune_tokens: int
    """Tokens of each target to tune on in an epoch, rounded up likewise."""
    tune_epochs: int
    """Passes over them."""
    test_tokens: int
    """Held-out tokens of each target that are scored, at most."""
    languages: tuple[str, ...] = ()
    """The targets; none means the embedded ones, or all texts of a folder."""
    num_embedded: int = 0
    """How many of the embedded targets are used."""
    batch: int
    """Windows of `context` tokens in a batch."""
    lr: float
    """Learning rate of the first step of pretraining; it falls linearly to 0."""
    tune_lr: float
    """The same of tuning."""
    precision: Literal["fp32", "auto"]
    """Of products: `auto` takes bf16 where the hardware multiplies it natively."""
    reference: Mapping[str, float] = field(default_factory=dict)
    """What known sources score with the embedded targets, to read a score against: means of seeds 1, 2 and 3."""

    @property
    def is_reduced(self) -> bool:
        """Whether its scores are on another scale than the benchmark's."""
        return self.width != _FULL["width"]

    def num_windows(self, num_tokens: int) -> int:
        """Windows that so many tokens fill, the last one rounded up."""
        return -(-num_tokens // self.context)


_FULL = {
    "num_layers": 6, "width": 768, "num_heads": 6, "dropout": 0.1, "context": 256, "vocab_size": 30_000,
    "bpe_bytes": 32_000_000, "pretrain_tokens": 15_000_000, "pretrain_epochs": 5, "tune_tokens": 2_000_000,
    "tune_epochs": 10, "test_tokens": 1_000_000, "batch": 32, "lr": 1e-4, "tune_lr": 1e-4,
}  # fmt: skip
"""Boldt & Mortensen (2024), sections 3.2 and 3.3 and appendix A.1."""

FULL = Preset(
    name="full",
    about="the paper's benchmark, ten languages: 115 PFLOP, hours on a GPU of its day",
    pretrain_vocabulary="whole",
    languages=XFERBENCH_TARGETS,
    precision="auto",
    **_FULL,  # type: ignore[arg-type]
)
DANISH = Preset(
    name="danish",
    about="the paper's benchmark with Danish alone: a third of the cost",
    pretrain_vocabulary="whole",
    languages=("da",),
    precision="auto",
    **_FULL,  # type: ignore[arg-type]
)
MINI = Preset(
    name="mini",
    about="2 layers of 64 on two embedded languages: half a minute on a CPU, another scale (docs/mini.md)",
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
    about="seconds; only shows that everything runs",
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
"""By name."""
