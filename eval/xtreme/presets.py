"""Presets: sizes of models, data and training. Protocols: training of a backbone before a task, and its languages."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ecsuite.eval.models import TrainingSizes, TransformerSizes
from ecsuite.eval.xtreme.scoring import TRANSLATED
from ecsuite.parts.config import read_presets

Scope = Literal["head", "all"]


@dataclass(frozen=True, kw_only=True)
class XtremePretraining(TrainingSizes):
    """Pretraining on the corpus or on the data of a control."""

    num_types: int
    """Distinct symbols, or size of the BPE vocabulary, of controls."""
    text_bytes: int = 1_000_000
    """Bytes of a human text from which its BPE vocabulary is trained."""
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
    """Maximum learning rate; it falls linearly to 0."""
    batch: int
    """Windows of the context's length per update."""
    trains_backbone: bool = True
    """Whether the backbone is trained, or the embedding only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class XtremeTuning:
    """Fine-tuning settings of a kind of task."""

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
class XtremePreset:
    """Sizes of backbones, of their training data, and of the tasks."""

    name: str
    """Name in signatures."""
    about: str
    """Description of one line."""
    backbone: TransformerSizes
    """Sizes of the backbone."""
    pretraining: XtremePretraining
    """Pretraining on a corpus."""
    vocabulary: VocabularySizes
    """Sizes of a human vocabulary."""
    text: TextTraining
    """Training on text, if the backbone is trained."""
    embedding_lr: float
    """Maximum learning rate of training on text, if only the embedding is trained."""
    scope: Scope
    """Scope of fine-tuning: the head only, on frozen states, or the backbone as well."""
    tuning: Mapping[str, XtremeTuning]
    """Fine-tuning settings by kind of task: pairs, tagging, questions and retrieval."""
    max_train: int | None
    """Number of training examples, taken from the start; None: all."""
    max_test: int | None
    """Number of test examples per language, taken from the start; None: all."""
    languages: tuple[str, ...]
    """Test languages in addition to English; empty: all languages of a task."""
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


PRESETS = read_presets(XtremePreset, __package__)
"""Presets by name: full has the benchmark's own settings, nano is a smoke test."""
FULL, MINI, NANO = (PRESETS[name] for name in ("full", "mini", "nano"))


@dataclass(frozen=True, kw_only=True, slots=True)
class XtremeProtocol:
    """One way of transferring a backbone to tasks in human languages."""

    name: str
    """The name in signatures."""
    about: str
    """Description of one line."""
    shares_vocabulary: bool
    """Whether all languages share one vocabulary and one embedding."""
    learns_text: bool
    """Whether there is training on text before the task."""
    text_trains_backbone: bool
    """Whether training on text updates the backbone, or the embedding only."""
    is_zero_shot: bool
    """Whether the task is trained in English only, or in each test language."""
    for_models: bool = False
    """Whether it also applies to published models, which have a vocabulary and are not trained on text."""
    tests_english: bool = True
    """Whether English is a test language."""
    is_joint: bool = False
    """Whether a task is trained once, on the examples of all languages."""
    max_train: int | None = None
    """Maximum training examples per language, in addition to the limit of the preset."""
    training_split: Literal["train", "translated_train"] = "train"
    """Training examples of the other languages: from the authors, or translated from English."""
    test_split: Literal["test", "translated_test", "pseudo_test"] = "test"
    """Test examples of the other languages: from the authors, translated to English, or translated from English."""

    @property
    def translation(self) -> str:
        """The machine-translated split; empty: no split is translated."""
        return next((each for each in (self.training_split, self.test_split) if each in TRANSLATED), "")

    @property
    def of_model(self) -> "XtremeProtocol":
        """The protocol for a published model."""
        return replace(
            self, shares_vocabulary=True, learns_text=False, text_trains_backbone=False, tests_english=True
        )


PROTOCOLS = read_presets(XtremeProtocol, __package__, "protocols.yaml")
"""Protocols by name."""
PUBLISHED = PROTOCOLS.pop("published")
"""The usual use of the benchmark, with `--model`."""
MODEL_PROTOCOLS = {
    PUBLISHED.name: PUBLISHED,
    **{name: each.of_model for name, each in PROTOCOLS.items() if each.for_models},
}
"""Protocols for a published model by name, the default first."""
