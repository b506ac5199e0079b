"""Models that learn a corpus, their data and their training, independent of benchmarks; this file has their sizes."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LayerSizes:
    """Sizes of all transformers."""

    num_layers: int
    """Number of layers, per stack in a model with an encoder and a decoder."""
    width: int
    """Width of the hidden states."""
    num_heads: int
    """Attention heads in a layer."""
    dropout: float
    """Dropout of embeddings, attention and residual branches, 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class TransformerSizes(LayerSizes):
    """Sizes of a decoder or of an encoder."""

    context: int
    """Maximum number of positions: symbols of a corpus or tokens of a text."""


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderSizes(LayerSizes):
    """Sizes of a model with an encoder and a decoder of the same sizes."""

    feed_forward: int
    """Width inside the feed-forward networks."""
    max_positions: int
    """Maximum number of positions, at least the lengths of blocks and sentences."""
    vocab_size: int
    """Rows of the embedding, including the special symbols."""


@dataclass(frozen=True, kw_only=True)
class TrainingSizes:
    """Sizes of a training."""

    tokens: int
    """Symbols of a corpus, or tokens of a text, per epoch: the data are repeated or cut to this size."""
    epochs: int
    """Epochs."""
    lr: float
    """Maximum learning rate; it falls linearly to 0."""
