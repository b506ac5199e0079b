"""Pretraining data: the evaluated corpus and its controls."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.xferbench.sources import Request, human
from ecsuite.eval.xtreme.presets import Preset
from ecsuite.grammars.baselines import zipf_parentheses

CORPUS, RANDOM_INIT, PARENTHESES, SHUFFLED, HUMAN = (
    "corpus",
    "random init",
    "parentheses",
    "shuffled corpus",
    "human text",
)
ABOUT: Mapping[str, str] = {
    CORPUS: "the evaluated corpus",
    RANDOM_INIT: "no pretraining: randomly initialised weights",
    PARENTHESES: "nested pairs of symbols whose frequencies follow Zipf-Mandelbrot's law",
    SHUFFLED: "the corpus's symbols in random order, in messages of the same lengths",
    HUMAN: "a text in a human language (--human)",
}
"""Descriptions by name, the corpus first."""


def source(name: str, corpus: Corpus | None, text: Path | None, preset: Preset, seed: int) -> Corpus | None:
    """The pretraining corpus of a backbone; None for no pretraining.

    Args:
        name: One of `ABOUT`.
        corpus: The evaluated corpus.
        text: The text file of `HUMAN`.
        preset: Sizes of generated corpora.
        seed: Seed of generated corpora.
    """
    rng = np.random.default_rng(seed)
    if name == PARENTHESES:
        return zipf_parentheses(preset.pretrain_tokens, rng, num_types=preset.pretrain_types)
    if name == SHUFFLED:
        assert corpus is not None
        messages = Ragged(offsets=corpus.messages.offsets, values=rng.permutation(corpus.messages.values))
        return Corpus(messages=messages, symbol_names=corpus.symbol_names)
    if name == HUMAN:
        return human(Request(preset=preset.sizes, protocol="strict", seed=seed, text=text))
    return corpus if name == CORPUS else None
