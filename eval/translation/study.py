"""What is asked: how well a model translates that was pretrained on a corpus."""

from dataclasses import dataclass
from pathlib import Path

from ecsuite.corpus import Corpus
from ecsuite.eval.learning.bart import require_packages
from ecsuite.eval.learning.machine import Machine
from ecsuite.eval.metrics.score import signature
from ecsuite.eval.results.files import source_name
from ecsuite.eval.translation.encoding import require_short_pairs
from ecsuite.eval.translation.pairs import PairFile, split_pairs
from ecsuite.eval.translation.presets import PRESETS, Preset, Tuning
from ecsuite.eval.translation.scoring import lacks_four_words, sacrebleu_signatures
from ecsuite.runtime.devices import choose_device
from ecsuite.runtime.errors import ConfigError, look_up

VERSION = 1
"""Increased whenever the same study would have other scores."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """One corpus, setting and seed; made by `make_study`."""

    name: str
    """Name of the source, as in XferBench tables: the folder or file of the corpus, or no_pretrain."""
    corpus: Corpus | None
    """Corpus to pretrain on; None for the baseline without pretraining."""
    pairs: PairFile
    """The sentence pairs."""
    num_tested: int
    """Number of test pairs."""
    num_left_out: int
    """Number of pairs left out of training because they share a sentence with a held-out pair."""
    lacks_four_words: bool = False
    """Whether no test pair has a target of four words, which BLEU needs."""
    setting: str
    """full, frozen or reduced."""
    preset: Preset
    """How much compute."""
    seed: int
    """Seed of weights, noise, dropout and data order. The split of the pairs does not depend on it."""
    machine: Machine
    """What computes."""

    @property
    def tuning(self) -> Tuning:
        """The setting of fine-tuning."""
        return self.preset.settings[self.setting]

    @property
    def signature(self) -> str:
        """Everything except the corpus that can change the scores."""
        return signature(
            "translate",
            VERSION,
            preset=self.preset.name,
            setting=self.setting,
            pairs=f"{self.pairs.path.name}#{self.pairs.digest}",
            seed=self.seed,
            beams="+".join(map(str, self.preset.beams)),
            precision=self.machine.precision,
            **{
                name: each.replace("|", ",").replace(":", "=")
                for name, each in sacrebleu_signatures().items()
            },
        )


def make_study(
    corpus: Corpus | None,
    pairs: Path,
    *,
    setting: str = "full",
    preset: str = "mini",
    seed: int = 0,
    device: str = "auto",
) -> Study:
    """Check and resolve what is asked.

    Args:
        corpus: Corpus to pretrain on; None for the baseline without pretraining.
        pairs: A file of sentence pairs, one per line: source, tab, target.
        setting: full, frozen or reduced.
        preset: A name in `PRESETS`.
        seed: See `Study`.
        device: `auto`, `cpu`, `cuda` or `mps`.

    Raises:
        ConfigError: If packages are missing, a name is unknown, the pairs can't be used, or the corpus is empty.
    """
    require_packages()
    sizes = look_up("preset", preset, PRESETS)
    look_up("setting", setting, sizes.settings)
    if corpus is not None and len(corpus.messages.values) == 0:
        raise ConfigError("the corpus has no symbols to learn from")
    split = split_pairs(pairs, sizes.num_valid, sizes.num_test)
    try:
        require_short_pairs(split.train, longest=sizes.longest, vocab_size=sizes.model.vocab_size)
    except ConfigError as error:
        raise ConfigError(f"{pairs}: {error}") from None
    return Study(
        # Results are joined with those of XferBench by name.
        name="no_pretrain"
        if corpus is None
        else source_name(str(corpus.metadata.get("source_path", "corpus"))),
        corpus=corpus,
        pairs=PairFile(
            path=pairs.resolve(), num_valid=sizes.num_valid, num_test=sizes.num_test, digest=split.digest
        ),
        num_tested=len(split.test),
        num_left_out=split.num_left_out,
        lacks_four_words=lacks_four_words([target for _, target in split.test]),
        setting=setting,
        preset=sizes,
        seed=seed,
        # On CPU, products of these widths gain nothing from bf16 (docs/xtreme.md).
        machine=Machine.chosen(
            device,
            "auto" if choose_device(device).type == "cuda" else "fp32",
            is_reduced=sizes.is_reduced,
        ),
    )
