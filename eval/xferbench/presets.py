"""How much compute XferBench spends: one frozen record a preset."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """Sizes of the model, of the data and of the training; a token is a symbol, or a unit of BPE in texts."""

    name: str
    """The name in signatures."""
    num_layers: int
    """Transformer layers."""
    width: int
    """Width of the hidden states."""
    num_heads: int
    """Attention heads in a layer."""
    context: int
    """Positions the model sees."""
    bpe_size: int
    """Size of each target's BPE vocabulary."""
    pretrain_tokens: int
    """Tokens to pretrain on in an epoch: the corpus is repeated or truncated to this."""
    pretrain_epochs: int
    """Passes over them."""
    tune_tokens: int
    """Tokens of each target to tune on in an epoch."""
    tune_epochs: int
    """Passes over them."""
    test_tokens: int
    """Held-out tokens of each target that are scored."""
    num_targets: int
    """How many of the embedded targets are used (a folder's texts are always all used)."""
    batch: int
    """Windows of `context` tokens in a batch."""
    lr: float
    """Learning rate of the first step of pretraining and of tuning; it falls linearly to 0."""
    weight_decay: float
    """AdamW's weight decay."""
    reference: Mapping[str, float] = field(default_factory=dict)
    """What known sources score with the embedded targets, to read a score against: means of seeds 0, 1 and 2."""


MINI = Preset(
    name="mini",
    num_layers=2,
    width=128,
    num_heads=4,
    context=64,
    bpe_size=1000,
    pretrain_tokens=500_000,
    pretrain_epochs=2,
    tune_tokens=200_000,
    tune_epochs=3,
    test_tokens=25_000,
    num_targets=4,
    batch=32,
    lr=1e-3,
    weight_decay=0.01,
    reference={"French text": 4.275, "Zipfian parentheses": 4.353, "nothing": 4.388, "uniform noise": 4.632},
)
NANO = Preset(
    name="nano",
    num_layers=2,
    width=32,
    num_heads=2,
    context=16,
    bpe_size=300,
    pretrain_tokens=4_000,
    pretrain_epochs=1,
    tune_tokens=4_000,
    tune_epochs=1,
    test_tokens=500,
    num_targets=2,
    batch=16,
    lr=1e-3,
    weight_decay=0.01,
)
PRESETS = {preset.name: preset for preset in (MINI, NANO)}
"""By name; `nano` only shows that everything runs."""
