"""How much compute the transfer to XTREME spends: one frozen record a preset."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ecsuite.eval.xferbench.presets import MINI as XFERBENCH
from ecsuite.eval.xferbench.presets import Preset as XferBench

Scope = Literal["head", "all"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """How a task is learnt."""

    lr: float
    """Learning rate of the first update after warming up; it falls linearly to 0."""
    epochs: int
    """Passes over the examples."""
    batch: int
    """Rows in an update."""
    context: int
    """Longest row, in sub-words; never more than the body reads."""
    weight_decay: float = 0.0
    """AdamW's."""
    warmup: int = 0
    """Updates over which the learning rate rises from 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """Sizes of bodies, of what they learn, and of the tasks."""

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
    """Positions that a body has."""
    pretrain_tokens: int
    """Symbols of the corpus that are read in an epoch: it is repeated or cut to this."""
    pretrain_epochs: int
    """Passes over them."""
    pretrain_types: int
    """Types of symbols, or of BPE, of controls."""
    pretrain_lr: float
    """Learning rate of the first update; it falls linearly to 0."""
    vocab_size: int
    """Sub-words of a vocabulary."""
    vocab_bytes: int
    """How much text of each language a vocabulary is learnt from."""
    text_tokens: int
    """Sub-words of each language's text that are read in all: it is repeated or cut to this."""
    text_lr: float
    """Learning rate of the first update, where the body learns texts; it falls linearly to 0."""
    embedding_lr: float
    """The same where the embedding alone does."""
    batch: int
    """Windows of `context` symbols in an update, of the corpus and of texts."""
    scope: Scope
    """What a task tunes: the head alone, on states as they are, or the body as well."""
    tuning: Mapping[str, Tuning]
    """By task."""
    max_train: int | None
    """The first so many examples are learnt from; None is all."""
    max_test: int | None
    """The first so many examples of each language are tested; None is all."""
    languages: tuple[str, ...]
    """To transfer to; none is all that a task has."""
    num_seeds: int
    """If not asked for otherwise."""
    precision: Literal["fp32", "auto"]
    """Of products: `auto` takes bf16 where the hardware multiplies it natively."""
    is_reduced: bool
    """Whether its scores are below what the benchmark's settings give."""

    @property
    def sizes(self) -> XferBench:
        """The sizes of the body and of its corpus, as XferBench's model and its protocol `strict` read them."""
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
    about="XferBench's model and the benchmark's own tuning (mBERT's): days on a GPU",
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
    about="2 layers of 128, heads alone tuned, three languages: minutes on a CPU, another scale",
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
    about="seconds; only shows that everything runs",
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
"""By name."""
