"""Presets of the transfer to XTREME: sizes of models, data and training."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

Scope = Literal["head", "all"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BackboneSizes:
    """Sizes of a backbone."""

    num_layers: int
    """Transformer layers."""
    width: int
    """Width of the hidden states."""
    num_heads: int
    """Attention heads per layer."""
    dropout: float
    """Dropout of embeddings, attention and residual branches."""
    context: int
    """Positions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pretraining:
    """Pretraining on the corpus or on the data of a control."""

    tokens: int
    """Symbols per epoch; the corpus is repeated or cut to this size."""
    epochs: int
    """Epochs."""
    num_types: int
    """Distinct symbols, or size of the BPE vocabulary, of controls."""
    text_bytes: int = 1_000_000
    """Bytes of a human text from which its BPE vocabulary is trained."""
    lr: float
    """Highest learning rate; it falls linearly to 0."""
    batch: int
    """Windows of the context's length per update."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VocabularySizes:
    """Sizes of a human vocabulary."""

    size: int
    """Sub-words."""
    num_bytes: int
    """Bytes of text per language from which it is trained."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextTraining:
    """Training on texts of languages."""

    tokens: int
    """Sub-words per language; the text is repeated or cut to this size."""
    lr: float
    """Highest learning rate; it falls linearly to 0."""
    batch: int
    """Windows of the context's length per update."""
    trains_backbone: bool = True
    """Whether the backbone is trained, or the embedding only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """Fine-tuning settings of a task."""

    lr: float
    """Learning rate after the warm-up; it falls linearly to 0."""
    epochs: int
    """Epochs over the training examples."""
    batch: int
    """Rows per update."""
    context: int
    """Maximum row length in sub-words; also limited by the context of the backbone."""
    weight_decay: float = 0.0
    """Weight decay of AdamW."""
    warmup: int = 0
    """Warm-up updates, over which the learning rate rises from 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """Sizes of backbones, of their training data, and of the tasks."""

    name: str
    """Name in signatures."""
    about: str
    """Description of one line."""
    backbone: BackboneSizes
    """Sizes of the backbone."""
    pretraining: Pretraining
    """Pretraining on a corpus."""
    vocabulary: VocabularySizes
    """Sizes of a human vocabulary."""
    text: TextTraining
    """Training on text, if the backbone is trained."""
    embedding_lr: float
    """Highest learning rate of training on text, if only the embedding is trained."""
    scope: Scope
    """What fine-tuning trains: the head only, on frozen states, or the backbone as well."""
    tuning: Mapping[str, Tuning]
    """Fine-tuning settings by task."""
    max_train: int | None
    """Number of training examples, the first ones; None is all."""
    max_test: int | None
    """Number of test examples per language, the first ones; None is all."""
    languages: tuple[str, ...]
    """Test languages beside English; empty is all languages of a task."""
    num_seeds: int
    """Default number of seeds."""
    precision: Literal["fp32", "auto"]
    """Precision of matrix products; `auto` is bf16 on hardware with native support."""
    is_reduced: bool
    """Whether the sizes are below the benchmark's own settings."""

    @property
    def embedding(self) -> TextTraining:
        """Training on text, if only the embedding is trained."""
        return replace(self.text, lr=self.embedding_lr, trains_backbone=False)


_KINDS = {
    "pairs": ("xnli", "pawsx"),
    "tagging": ("udpos", "panx"),
    "questions": ("xquad", "mlqa", "tydiqa"),
    "retrieval": ("bucc2018", "tatoeba"),
}


def _by_task(**by_kind: Tuning) -> dict[str, Tuning]:
    return {task: by_kind[kind] for kind, tasks in _KINDS.items() for task in tasks}


FULL = Preset(
    name="full",
    about="XferBench's model, the benchmark's own fine-tuning settings (mBERT); days on a GPU",
    backbone=BackboneSizes(num_layers=6, width=768, num_heads=6, dropout=0.1, context=384),
    pretraining=Pretraining(tokens=15_000_000, epochs=5, num_types=30_000, lr=1e-4, batch=32),
    vocabulary=VocabularySizes(size=30_000, num_bytes=20_000_000),
    text=TextTraining(tokens=20_000_000, lr=1e-4, batch=32),
    embedding_lr=1e-3,
    scope="all",
    tuning=_by_task(
        pairs=Tuning(lr=2e-5, epochs=5, batch=32, context=128),
        tagging=Tuning(lr=2e-5, epochs=10, batch=32, context=128),
        questions=Tuning(lr=3e-5, epochs=3, batch=32, context=384, weight_decay=1e-4, warmup=500),
        retrieval=Tuning(lr=0.0, epochs=0, batch=100, context=384),
    ),
    max_train=None,
    max_test=None,
    languages=(),
    num_seeds=5,
    precision="auto",
    is_reduced=False,
)
MINI = Preset(
    name="mini",
    about="2 layers of width 128, only heads trained, three languages; minutes on a CPU; not comparable with full",
    backbone=BackboneSizes(num_layers=2, width=128, num_heads=4, dropout=0.0, context=128),
    pretraining=Pretraining(tokens=1_000_000, epochs=1, num_types=2_000, lr=1e-3, batch=8),
    vocabulary=VocabularySizes(size=2_000, num_bytes=500_000),
    text=TextTraining(tokens=200_000, lr=1e-3, batch=8),
    embedding_lr=3e-3,
    scope="head",
    tuning=_by_task(
        pairs=Tuning(lr=3e-3, epochs=5, batch=32, context=128),
        tagging=Tuning(lr=3e-3, epochs=5, batch=32, context=128),
        questions=Tuning(lr=3e-3, epochs=3, batch=32, context=128),
        retrieval=Tuning(lr=0.0, epochs=0, batch=100, context=128),
    ),
    max_train=1_000,
    max_test=500,
    languages=("eu", "id", "ru"),
    num_seeds=3,
    precision="fp32",
    is_reduced=True,
)
NANO = replace(
    MINI,
    name="nano",
    about="a smoke test that takes seconds; scores mean nothing",
    backbone=replace(MINI.backbone, width=32, num_heads=2, context=64),
    pretraining=replace(MINI.pretraining, tokens=4_000, num_types=300),
    vocabulary=replace(MINI.vocabulary, size=300),
    text=replace(MINI.text, tokens=4_000),
    max_train=40,
    max_test=20,
    num_seeds=1,
)
PRESETS = {preset.name: preset for preset in (MINI, FULL, NANO)}
"""Presets by name."""
