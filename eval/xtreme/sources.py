"""Pretraining data: the evaluated corpus and its controls."""

from dataclasses import replace

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.models import TransformerSizes
from ecsuite.eval.models.data import PretrainingData
from ecsuite.eval.xferbench import strict
from ecsuite.eval.xferbench.presets import MINI, Preset
from ecsuite.eval.xferbench.sources import tokens_of
from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xtreme.presets import Pretraining
from ecsuite.grammars.baselines import zipf_parentheses
from ecsuite.runtime.ragged import Ragged

CORPUS = "corpus"
"""The evaluated corpus; the others are its controls."""
RANDOM_INIT = "random init"
"""No pretraining: randomly initialised weights."""
PARENTHESES = "parentheses"
"""Nested pairs of symbols whose frequencies follow Zipf-Mandelbrot's law."""
SHUFFLED = "shuffled corpus"
"""The corpus's symbols in random order, in messages of the same lengths."""
HUMAN = "human text"
"""A text in a human language (`--human`)."""


def source(
    name: str,
    corpus: Corpus | None,
    text: TextFile | None,
    sizes: TransformerSizes,
    pretraining: Pretraining,
    seed: int,
) -> PretrainingData:
    """The pretraining data of a backbone, as windows of XferBench's protocol `strict`.

    Args:
        name: One of those above except `RANDOM_INIT`.
        corpus: The evaluated corpus, for itself and shuffled.
        text: The text of `HUMAN`.
        sizes: Sizes of the backbone.
        pretraining: Sizes of the data.
        seed: Seed of generated corpora, and of the order of the messages.
    """
    preset = _sizes_of_xferbench(sizes, pretraining)
    return strict.source(_corpus(name, corpus, text, preset, seed), preset, seed)


def _corpus(name: str, corpus: Corpus | None, text: TextFile | None, preset: Preset, seed: int) -> Corpus:
    rng = np.random.default_rng(seed)
    if name == PARENTHESES:
        return zipf_parentheses(preset.pretrain_tokens, rng, num_types=preset.vocab_size)
    if name == HUMAN:
        assert text is not None
        return tokens_of(text, preset)
    assert corpus is not None
    if name == CORPUS:
        return corpus
    messages = Ragged(offsets=corpus.messages.offsets, values=rng.permutation(corpus.messages.values))
    return Corpus(messages=messages, symbol_names=corpus.symbol_names)


def _sizes_of_xferbench(sizes: TransformerSizes, pretraining: Pretraining) -> Preset:
    """The same sizes as a preset of XferBench; symbols are numbered by occurrence."""
    return replace(
        MINI,
        context=sizes.context,
        vocab_size=pretraining.num_types,
        pretrain_vocabulary="occurring",
        pretrain_tokens=pretraining.tokens,
        bpe_bytes=pretraining.text_bytes,
    )
