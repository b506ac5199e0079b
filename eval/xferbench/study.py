"""What is asked: the corpora to pretrain on, the target texts, and how much is computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ecsuite.corpus import Corpus
from ecsuite.eval.models.training import Machine
from ecsuite.eval.xferbench.presets import Preset
from ecsuite.eval.xferbench.protocols import PROTOCOLS
from ecsuite.eval.xferbench.texts import ArtificialText, Text, TextFile
from ecsuite.runtime.errors import ConfigError, look_up

LARGEST_SEED = 2**32 - 1
"""A seed is the upper half of the 64-bit seed of fine-tuning; the lower half is of the text."""

Corpora = Corpus | None | Mapping[int, Corpus | None]
"""A corpus, None (no pretraining), or one of these for each seed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """One source of corpora, its targets and seeds; made by `make_study`."""

    corpora: Mapping[int, Corpus | None]
    """By seed, the corpus to pretrain on; None: no pretraining."""
    texts: tuple[Text, ...]
    """The target languages."""
    preset: Preset
    """How much compute."""
    protocol: str
    """A name in `PROTOCOLS`."""
    machine: Machine
    """What computes."""

    @property
    def is_embedded(self) -> bool:
        """Whether the targets are the artificial languages."""
        return all(isinstance(text, ArtificialText) for text in self.texts)


def make_study(
    corpus: Corpora,
    texts: Sequence[Text],
    preset: Preset,
    seeds: Sequence[int],
    *,
    protocol: str = "strict",
    device: str = "auto",
) -> Study:
    """Check and resolve what is asked.

    Args:
        corpus: Corpus to pretrain on, or a corpus for each seed; None for the baseline without pretraining.
        texts: The target languages.
        preset: How much compute.
        seeds: Seeds of initial weights, dropout and the order of the data.
        protocol: A name in `PROTOCOLS`.
        device: `auto`, `cpu`, `cuda` or `mps`.

    Raises:
        ConfigError: If a seed is not usable, a name is unknown, a text cannot be read or is empty, or a corpus does not
            fit the protocol.
    """
    for seed in seeds:
        if not 0 <= seed <= LARGEST_SEED:
            raise ConfigError(f"XferBench: expected a seed from 0 to {LARGEST_SEED}, got {seed}")
    rules = look_up("protocol", protocol, PROTOCOLS)
    corpora = {seed: corpus[seed] if isinstance(corpus, Mapping) else corpus for seed in seeds}
    for each in {id(each): each for each in corpora.values()}.values():
        if each is not None and len(each.messages.values):
            rules.require_fitting(each, preset)
    return Study(
        corpora=corpora,
        texts=tuple(text.identified() if isinstance(text, TextFile) else text for text in texts),
        preset=preset,
        protocol=protocol,
        machine=Machine.chosen(device, preset.precision, is_reduced=preset.is_reduced),
    )
