"""Presets of the transfer to XTREME: sizes of models, data and training."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ecsuite.eval.xferbench.presets import MINI as XFERBENCH
from ecsuite.eval.xferbench.presets import Preset as XferBench

Scope = Literal["head", "all"]


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
    num_layers: int
    """Transformer layers."""
    width: int
    """Width of the hidden states."""
    num_heads: int
    """Attention heads per layer."""
    dropout: float
    """Dropout of embeddings, attention and residual branches."""
    context: int
    """Positions of a backbone."""
    pretrain_tokens: int
    """Symbols of the corpus per epoch; the corpus is repeated or cut to this size."""
    pretrain_epochs: int
    """Epochs of pretraining."""
    pretrain_types: int
    """Distinct symbols, or size of the BPE vocabulary, of controls."""
    pretrain_lr: float
    """Initial learning rate of pretraining; it falls linearly to 0."""
    vocab_size: int
    """Sub-words of a human vocabulary."""
    vocab_bytes: int
    """Bytes of text per language from which a vocabulary is trained."""
    text_tokens: int
    """Sub-words of training text per language; the text is repeated or cut to this size."""
    text_lr: float
    """Initial learning rate of training on text, if the backbone is trained; it falls linearly to 0."""
    embedding_lr: float
    """Initial learning rate of training on text, if only the embedding is trained."""
    batch: int
    """Windows of `context` symbols per update, in pretraining and in training on text."""
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
    def sizes(self) -> XferBench:
        """The same sizes as a preset of XferBench, for its model and its protocol `strict`."""
        return replace(
            XFERBENCH,
            num_layers=self.num_layers,
            width=self.width,
            num_heads=self.num_heads,
            dropout=self.dropout,
            context=self.context,
            vocab_size=self.pretrain_types,
            pretrain_vocabulary="occurring",
            pretrain_tokens=self.pretrain_tokens,
        )


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
    num_layers=6,
    width=768,
    num_heads=6,
    dropout=0.1,
    context=384,
    pretrain_tokens=15_000_000,
    pretrain_epochs=5,
    pretrain_types=30_000,
    pretrain_lr=1e-4,
    vocab_size=30_000,
    vocab_bytes=20_000_000,
    text_tokens=20_000_000,
    text_lr=1e-4,
    embedding_lr=1e-3,
    batch=32,
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
    num_layers=2,
    width=128,
    num_heads=4,
    dropout=0.0,
    context=128,
    pretrain_tokens=1_000_000,
    pretrain_epochs=1,
    pretrain_types=2_000,
    pretrain_lr=1e-3,
    vocab_size=2_000,
    vocab_bytes=500_000,
    text_tokens=200_000,
    text_lr=1e-3,
    embedding_lr=3e-3,
    batch=8,
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
    width=32,
    num_heads=2,
    context=64,
    pretrain_tokens=4_000,
    pretrain_types=300,
    vocab_size=300,
    text_tokens=4_000,
    max_train=40,
    max_test=20,
    num_seeds=1,
)
PRESETS = {preset.name: preset for preset in (MINI, FULL, NANO)}
"""Presets by name."""
