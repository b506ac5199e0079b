"""Interfaces of the model sizes. The presets of the benchmarks have these fields, among others."""

from typing import Protocol


class TransformerSizes(Protocol):
    """Sizes of a decoder or of an encoder."""

    @property
    def num_layers(self) -> int:
        """Number of transformer layers."""

    @property
    def width(self) -> int:
        """Width of the hidden states."""

    @property
    def num_heads(self) -> int:
        """Attention heads per layer."""

    @property
    def dropout(self) -> float:
        """Dropout rate of embeddings, attention and residual updates, 0 to 1."""

    @property
    def context(self) -> int:
        """Maximum number of positions."""


class EncoderDecoderSizes(Protocol):
    """Sizes of a model with an encoder and a decoder of the same sizes."""

    @property
    def num_layers(self) -> int:
        """Number of layers of the encoder and of the decoder, each."""

    @property
    def width(self) -> int:
        """Width of the hidden states."""

    @property
    def num_heads(self) -> int:
        """Attention heads per layer."""

    @property
    def feed_forward(self) -> int:
        """Width inside the feed-forward networks."""

    @property
    def max_positions(self) -> int:
        """Maximum number of positions."""

    @property
    def dropout(self) -> float:
        """Dropout rate, 0 to 1."""

    @property
    def vocab_size(self) -> int:
        """Rows of the embedding, including the special symbols."""
