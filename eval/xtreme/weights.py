"""Weights of backbones, and vocabularies with their embeddings, as arrays of results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save
from tokenizers import Tokenizer
from torch import Tensor

from ecsuite.eval.models import TransformerSizes
from ecsuite.eval.models.backbones import BACKBONES, Backbone, TrainableBackbone
from ecsuite.eval.models.training import Machine
from ecsuite.eval.models.vocabulary import SubWords, subwords_of
from ecsuite.eval.xtreme.published_model import PublishedModel
from ecsuite.jobs.job import Result

EMBEDDING, TOKENIZER = "embedding", "tokenizer"
"""Names of the embedding and of the tokenizer beside the weights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Architecture:
    """A backbone without its weights."""

    kind: str
    """A name in `BACKBONES`."""
    sizes: TransformerSizes
    """Its sizes."""

    def build(self, generator: torch.Generator) -> TrainableBackbone:
        """A backbone with initial weights, and the embedding of a single symbol."""
        return BACKBONES[self.kind](self.sizes, generator)


def backbone_arrays(backbone: Backbone) -> bytes:
    """The weights of a backbone without its embedding."""
    return save(_weights(backbone))


def text_arrays(backbone: Backbone, sub_words: SubWords, *, with_backbone: bool) -> bytes:
    """A vocabulary with its embedding, and the other weights of the backbone if these were trained, too."""
    embedding = {EMBEDDING: backbone.embedding.weight.detach().cpu().contiguous()}
    weights = _weights(backbone) if with_backbone else {}
    return save(weights | embedding, {TOKENIZER: sub_words.tokenizer.to_str()})


def load_backbone(pretrained: Result, architecture: Architecture) -> TrainableBackbone:
    """The backbone of `backbone_arrays`, with the embedding of a single symbol."""
    assert pretrained.arrays is not None
    backbone = architecture.build(torch.Generator().manual_seed(0))
    backbone.load_state_dict(load_file(pretrained.arrays), strict=False)
    return backbone


def prepared(
    model: PublishedModel | None,
    pretrained: Result | None,
    texts: Mapping[str, Result],
    architecture: Architecture | None,
    machine: Machine,
) -> tuple[Backbone, Callable[[str], SubWords]]:
    """A backbone, and the function that gives it the embedding of a language and returns the vocabulary.

    Args:
        model: A published model, which keeps its embedding and its vocabulary; None for one of the architecture.
        pretrained: A result with the arrays of `backbone_arrays`.
        texts: By language, a result with the arrays of `text_arrays`.
        architecture: Of the backbone that was pretrained.
        machine: Where the backbone computes.

    Raises:
        ConfigError: If the model cannot be loaded, or its files have changed.
    """
    if model is not None:
        published = model.load().to(machine.place)
        published.products = machine.dtype
        return published, lambda language: published.sub_words
    assert pretrained is not None and architecture is not None
    backbone = load_backbone(pretrained, architecture)
    backbone.products = machine.dtype

    def load_vocabulary(language: str) -> SubWords:
        arrays = texts[language].arrays
        assert arrays is not None
        weights = load_file(arrays)
        embedding = weights.pop(EMBEDDING)
        if weights:
            backbone.load_state_dict(weights, strict=False)
        backbone.set_embedding(embedding)
        backbone.to(machine.place)
        with safe_open(arrays, framework="pt") as opened:
            return subwords_of(Tokenizer.from_str(opened.metadata()[TOKENIZER]))

    return backbone, load_vocabulary


def _weights(backbone: Backbone) -> dict[str, Tensor]:
    return {name: weight.detach().cpu().contiguous() for name, weight in backbone.without_embedding().items()}
