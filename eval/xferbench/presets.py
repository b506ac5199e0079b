"""Presets, protocols and baselines of XferBench by name; has no slow imports."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from msgspec import Meta

from ecsuite.eval.metrics.traits import Traits
from ecsuite.eval.models import TransformerSizes
from ecsuite.parts.config import read_presets
from ecsuite.parts.registry import Registry

if TYPE_CHECKING:
    from ecsuite.corpus import Corpus
    from ecsuite.eval.models.data import PretrainingData, Target


@dataclass(frozen=True, kw_only=True)
class WindowSize:
    """Size of the windows that models read; a token is a symbol of a corpus or a BPE token of a text."""

    context: int
    """Context length in tokens."""

    def num_windows(self, num_tokens: int) -> int:
        """Number of windows for `num_tokens` tokens, rounded up."""
        return -(-num_tokens // self.context)


@dataclass(frozen=True, kw_only=True)
class Model(TransformerSizes, WindowSize):
    """Sizes that pretraining and fine-tuning share."""

    batch: int
    """Batch size in windows of `context` tokens."""


@dataclass(frozen=True, kw_only=True)
class XferBenchPretraining(Model):
    """Sizes of pretraining."""

    vocab_size: int
    """Size of each target's BPE vocabulary, and of the pretraining vocabulary if it is `whole`."""
    pretrain_vocabulary: Literal["occurring", "whole"]
    """Vocabulary of pretraining: the symbols that occur, or all `vocab_size` as in the paper."""
    pretrain_tokens: int
    """Pretraining tokens per epoch, rounded up to whole windows: the corpus is repeated or truncated to this size."""
    pretrain_epochs: int
    """Epochs of pretraining."""
    lr: float
    """Initial learning rate of pretraining, with linear decay to 0."""


@dataclass(frozen=True, kw_only=True)
class TextSizes(WindowSize):
    """Sizes of a tokenised text."""

    vocab_size: int
    """Size of the BPE vocabulary, including the end token in the authors' protocols."""
    bpe_bytes: int
    """Bytes of fine-tuning text that BPE is trained on."""
    tune_tokens: int
    """Fine-tuning tokens of each target per epoch, rounded up to whole windows."""
    test_tokens: int
    """Maximum number of held-out tokens of each target that are scored."""


@dataclass(frozen=True, kw_only=True)
class XferBenchTuning(Model):
    """Sizes of fine-tuning and of the test; the tokenised text determines the numbers of tokens."""

    tune_epochs: int
    """Epochs of fine-tuning."""
    tune_lr: float
    """Initial learning rate of fine-tuning, with linear decay to 0."""


Part = TypeVar("Part", XferBenchPretraining, TextSizes, XferBenchTuning)


@dataclass(frozen=True, kw_only=True)
class XferBenchPreset(XferBenchPretraining, TextSizes, XferBenchTuning):
    """Sizes of the model, of the data and of the training."""

    name: str
    """The name in signatures."""
    about: str
    """One-line description."""
    is_reduced: bool
    """Whether the model is smaller than the paper's, so that scores are not comparable with published ones."""
    languages: tuple[str, ...] = ()
    """Target languages; empty: the artificial languages, or all texts of a folder."""
    num_embedded: int = 0
    """Number of artificial target languages."""
    precision: Literal["fp32", "auto"]
    """Precision of matrix products: `auto` is bf16 on hardware with native bf16 products, else fp32."""
    reference: Mapping[str, float] = field(default_factory=dict)
    """Scores of reference sources on the artificial targets, for comparison: means of seeds 1, 2 and 3."""

    def part(self, kind: type[Part]) -> Part:
        """The fields that a kind of job reads, so that its key does not depend on other fields."""
        return kind(**{each.name: getattr(self, each.name) for each in fields(kind)})


PRESETS = read_presets(XferBenchPreset, __package__)
"""Presets by name."""
FULL, DANISH, MINI, NANO = (PRESETS[name] for name in ("full", "danish", "mini", "nano"))


@dataclass(frozen=True, kw_only=True, slots=True)
class XferBenchProtocol:
    """Rules for the data of XferBench."""

    name: str
    """The name in signatures."""
    about: str
    """One-line description."""
    source: "Callable[[Corpus, XferBenchPretraining, int], PretrainingData]"
    """Makes pretraining data from a corpus and a seed."""
    require_fitting: "Callable[[Corpus, XferBenchPretraining], None]"
    """Raises `ConfigError` if the symbols or the size of a corpus do not fit the sizes of pretraining."""
    target: "Callable[[Any, TextSizes], Target]"
    """Makes fine-tuning and test data from a text."""
    weight_decay: float
    """Weight decay of AdamW."""
    warning: str | None = None
    """Warning shown with its scores."""


def _imported_later(name: str, **options: Any) -> Callable[..., Any]:
    """A function of `protocols.py` with options, imported when it is called, as importing torch takes a second."""

    def function(*arguments: Any) -> Any:
        return getattr(import_module("ecsuite.eval.xferbench.protocols"), name)(*arguments, **options)

    return function


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        XferBenchProtocol(
            name="strict",
            about="as the paper describes: fine-tuning and test data are disjoint, each held-out token is scored once",
            source=_imported_later("strict_source"),
            require_fitting=_imported_later("require_strict"),
            target=_imported_later("strict_target"),
            weight_decay=0.01,
        ),
        XferBenchProtocol(
            name="published-2024",
            about="as the authors' program of September 2024, which made the published tables",
            source=_imported_later("program_source"),
            require_fitting=_imported_later("require_program"),
            target=_imported_later("program_target"),
            weight_decay=0.0,
            warning="fine-tuning and test data overlap, untrained end tokens are scored, as for the published tables",
        ),
        XferBenchProtocol(
            name="head-2024-12",
            about="as the authors' program since December 2024, which fine-tunes on its test data",
            source=_imported_later("program_source", shuffled=True),
            require_fitting=_imported_later("require_program"),
            target=_imported_later("program_target", shuffled=True),
            weight_decay=0.0,
            warning="the fine-tuning data contain the whole test set: only demonstrates this leak, do not report",
        ),
    )
}
"""Protocols by name; a signature names its protocol."""


SOURCES = Registry(
    word="baseline",
    parts={
        "paren_synth": (
            "ecsuite.eval.xferbench.texts:paren_synth",
            "Nested pairs of symbols whose frequencies follow Zipf-Mandelbrot's law.",
        ),
        "paren_real": (
            "ecsuite.eval.xferbench.texts:paren_real",
            "Nested pairs of symbols with the frequencies of the words of a text (--text).",
        ),
        "random": (
            "ecsuite.eval.xferbench.texts:random",
            "Symbols drawn independently and uniformly.",
        ),
        "no_pretrain": (
            "ecsuite.eval.xferbench.texts:no_pretrain",
            "No corpus: the model is fine-tuned from its initial weights.",
        ),
        "human": (
            "ecsuite.eval.xferbench.texts:human",
            "BPE tokens of a human language (--text), a message per line.",
        ),
    },
)
"""Baselines by name: functions of `BaselineSettings`; a result of None means no pretraining."""


@dataclass(frozen=True, kw_only=True, slots=True)
class XferBenchOptions:
    """Options of XferBench; the signature has the options that change the score."""

    preset: Annotated[str, Meta(description="mini, mini-3m, danish, full")] = "mini"
    """Size: model, data and training steps."""
    protocol: Annotated[str, Meta(description="strict, published-2024, head-2024-12")] = "strict"
    """strict, or a protocol of the authors' program."""
    num_seeds: Annotated[int, Meta(ge=1, le=10_000)] = 1
    """Number of runs, with consecutive seeds that start at the seed of scoring."""
    targets: Annotated[str, Meta(description="a folder")] = ""
    """Folder of target texts (da.txt.gz, ...); empty: the texts of the preset."""


USUAL = XferBenchOptions()

XFERBENCH = Traits(
    name="xferbench",
    about="transfer to human languages, lower is better",
    title="XferBench: cross-entropy of human text after pretraining on the corpus",
    high="below a reference source of its preset: the corpus helps more than that; nats per token",
    question="transfer",
    direction="lower",
    version=4,
    chance="training",
    trains=True,
    names_options=False,
    options=XferBenchOptions,
    keeps_work=True,
    details={
        "by_target": "nats per token, by target language",
        "reference": "score of a reference source",
        "repeats": "passes over the corpus per epoch of pretraining",
        "text_repeats": "passes over this target's text per epoch",
    },
)
"""Jobs have this version, too. The signature states the effect of corpus size as `passes`."""
