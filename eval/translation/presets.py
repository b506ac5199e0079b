"""Presets of the translation experiment: sizes of model, data and training, and the paper's settings."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSizes:
    """Sizes of the model."""

    num_layers: int
    """Number of layers of the encoder, and of the decoder."""
    width: int
    """Width of the hidden states."""
    num_heads: int
    """Attention heads in a layer."""
    feed_forward: int
    """Width inside the feed-forward networks."""
    max_positions: int
    """Number of position embeddings, at least the lengths of blocks and sentences."""
    dropout: float
    """Dropout probability after each sublayer and on the embeddings."""
    vocab_size: int
    """Rows of the embedding, including the five special ids."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Optimisation:
    """Settings of every training."""

    batch: int
    """Batch size in blocks or pairs."""
    warmup: float
    """Fraction of the training with linear warmup of the learning rate; the paper has none."""
    weight_decay: float = 0.01
    """Weight decay of AdamW on matrices; biases and norms have none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pretraining:
    """Pretraining on the corpus."""

    block: int
    """Symbols per block."""
    tokens: int
    """Symbols per epoch: the corpus is repeated or truncated to this."""
    epochs: int
    """Epochs."""
    lr: float
    """Maximum learning rate, with linear decay to 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """One setting of the paper for fine-tuning on pairs."""

    lr: float
    """Maximum learning rate, with linear decay to 0."""
    tokens: int
    """Source tokens per epoch; the pairs are repeated if they have fewer."""
    epochs: int
    """Epochs of fine-tuning."""
    is_frozen: bool = False
    """Whether only the embedding of symbols is trained."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoding:
    """How sentences are translated."""

    num_new_tokens: int
    """Maximum number of tokens of a translation."""
    batch: int = 64
    """Sentences per batch, also for cross-entropy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """How much compute an experiment takes."""

    name: str
    """The name in signatures."""
    is_reduced: bool
    """Whether it is smaller than the paper's, so that its scores are not comparable with published ones."""
    model: ModelSizes
    """Sizes of the model."""
    optimisation: Optimisation
    """Settings of pretraining and fine-tuning."""
    pretraining: Pretraining
    """Pretraining on the corpus."""
    settings: Mapping[str, Tuning]
    """Settings of fine-tuning: full, frozen and reduced."""
    longest: int
    """Maximum tokens of a sentence with its end: longer training pairs are left out, longer test sources truncated."""
    num_valid: int
    """Maximum number of validation pairs, on which cross-entropy is measured."""
    num_test: int
    """Maximum number of test pairs, which are translated."""
    decoding: Decoding
    """How they are translated."""
    beams: tuple[int, ...] = (1, 3, 5)
    """Beam widths; scores are means over them."""


FULL = Preset(
    name="full",
    is_reduced=False,
    model=ModelSizes(
        num_layers=6,
        width=512,
        num_heads=8,
        feed_forward=2048,
        max_positions=512,
        dropout=0.1,
        vocab_size=30_000,
    ),
    optimisation=Optimisation(batch=32, warmup=0.0),
    pretraining=Pretraining(block=256, tokens=100_000_000, epochs=5, lr=1e-4),
    settings={
        "full": Tuning(lr=2e-4, tokens=50_000_000, epochs=3),
        "frozen": Tuning(lr=2e-4, tokens=50_000_000, epochs=3, is_frozen=True),
        "reduced": Tuning(lr=2e-5, tokens=10_000_000, epochs=3),
    },
    longest=256,
    num_valid=1000,
    num_test=5000,
    decoding=Decoding(num_new_tokens=128),
)
"""The paper's sizes, appendix A.2."""
MINI = Preset(
    name="mini",
    is_reduced=True,
    model=ModelSizes(
        num_layers=2,
        width=128,
        num_heads=4,
        feed_forward=512,
        max_positions=128,
        dropout=0.1,
        vocab_size=1000,
    ),
    optimisation=Optimisation(batch=16, warmup=0.2),
    pretraining=Pretraining(block=64, tokens=250_000, epochs=1, lr=1.5e-3),
    settings={
        "full": Tuning(lr=1.5e-3, tokens=300_000, epochs=1),
        "frozen": Tuning(lr=1.5e-3, tokens=300_000, epochs=1, is_frozen=True),
        "reduced": Tuning(lr=7.5e-4, tokens=150_000, epochs=1),
    },
    longest=64,
    num_valid=50,
    num_test=150,
    decoding=Decoding(num_new_tokens=64, batch=150),
)
NANO = Preset(
    name="nano",
    is_reduced=True,
    model=ModelSizes(
        num_layers=1,
        width=32,
        num_heads=2,
        feed_forward=64,
        max_positions=32,
        dropout=0.0,
        vocab_size=300,
    ),
    optimisation=Optimisation(batch=16, warmup=0.0),
    pretraining=Pretraining(block=16, tokens=2_000, epochs=1, lr=1e-3),
    settings={
        "full": Tuning(lr=1e-3, tokens=1_000, epochs=1),
        "frozen": Tuning(lr=1e-3, tokens=1_000, epochs=1, is_frozen=True),
        "reduced": Tuning(lr=1e-4, tokens=500, epochs=1),
    },
    longest=32,
    num_valid=8,
    num_test=8,
    decoding=Decoding(num_new_tokens=8),
)
PRESETS = {preset.name: preset for preset in (FULL, MINI, NANO)}
"""Presets by name; `nano` is a smoke test."""
SETTINGS = ("full", "frozen", "reduced")
"""The paper's three settings of fine-tuning."""
