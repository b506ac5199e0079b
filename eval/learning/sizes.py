"""What the models must be told: their sizes. The benchmarks' presets have these fields, among others."""

from typing import Protocol


class TransformerSizes(Protocol):
    """Of a decoder, or of an encoder."""

    @property
    def num_layers(self) -> int:
        """Transformer layers."""

    @property
    def width(self) -> int:
        """Width of the hidden states."""

    @property
    def num_heads(self) -> int:
        """Attention heads in a layer."""

    @property
    def dropout(self) -> float:
        """Of embeddings, attention and what each layer adds, 0 to 1."""

    @property
    def context(self) -> int:
        """Positions that the model has."""


class EncoderDecoderSizes(Protocol):
    """Of a model with an encoder and a decoder of the same sizes."""

    @property
    def num_layers(self) -> int:
        """Layers of the encoder, and of the decoder."""

    @property
    def width(self) -> int:
        """Width of the hidden states."""

    @property
    def num_heads(self) -> int:
        """Attention heads in a layer."""

    @property
    def feed_forward(self) -> int:
        """Width inside the feed-forward networks."""

    @property
    def max_positions(self) -> int:
        """Positions that the model has."""

    @property
    def dropout(self) -> float:
        """Share of activations that training drops, 0 to 1."""

    @property
    def vocab_size(self) -> int:
        """Rows of the embedding, the special symbols included."""
