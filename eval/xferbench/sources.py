"""Baseline corpora of the paper (section 4.2), in the size that a preset needs; `registry.SOURCES` names them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.xferbench.presets import Preset
from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.grammars.baselines import text_parentheses, uniform_noise, zipf_parentheses
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged

PROGRAM_OPEN_PROBABILITY = 0.5
"""Probability that the authors' program opens a pair; the paper's source, and `strict`, have 0.4."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """Settings of a baseline corpus."""

    preset: Preset
    """Defines the numbers of symbols and of symbol types."""
    protocol: str
    """The authors' protocols use the probability of an opening parenthesis in their program."""
    seed: int
    """Seed of random draws."""
    text: Path | None
    """A text file, for sources that need one."""


def paren_synth(request: Request) -> Corpus:
    """Nested pairs of symbols whose frequencies follow Zipf-Mandelbrot's law."""
    is_strict = request.protocol == "strict"
    return _draw(
        zipf_parentheses, request, **({} if is_strict else {"open_probability": PROGRAM_OPEN_PROBABILITY})
    )


def paren_real(request: Request) -> Corpus:
    """Nested pairs of symbols with the frequencies of the words of a text (--text)."""
    return _draw(text_parentheses, request, text=_required("paren_real", request))


def random(request: Request) -> Corpus:
    """Symbols drawn independently and uniformly."""
    return _draw(uniform_noise, request)


def no_pretrain(request: Request) -> None:
    """No corpus: the model is fine-tuned from its initial weights."""
    return None


def human(request: Request) -> Corpus:
    """BPE tokens of a human language (--text), a message per line."""
    path = _required("human", request)
    return tokens_of(TextFile(path.name, path), request.preset)


def tokens_of(text: TextFile, preset: Preset) -> Corpus:
    """BPE tokens of a text in a human language, a message per line, as many as pretraining reads.

    Raises:
        ConfigError: If it can't be read, has changed, or is empty.
    """
    from ecsuite.eval.models.vocabulary import encode, train_bpe  # most sources need no tokeniser
    from ecsuite.eval.xferbench.strict import shuffled

    lines = shuffled(text.documents())
    if not lines:
        raise ConfigError(f"{text.path}: expected text, found none")
    tokenizer = train_bpe(lines, preset.vocab_size, preset.bpe_bytes)
    rows: list[list[int]] = []
    num_tokens = 0
    for row in encode(tokenizer, lines):
        rows.append(row)
        num_tokens += len(row)
        if num_tokens > preset.pretrain_tokens:
            break
    names = tuple(str(tokenizer.id_to_token(token)) for token in range(tokenizer.get_vocab_size()))
    return Corpus(messages=Ragged.from_rows(rows), symbol_names=names)


def _draw(baseline: Callable[..., Corpus], request: Request, **options: Any) -> Corpus:
    preset, rng = request.preset, np.random.default_rng(request.seed)
    return baseline(preset.pretrain_tokens, rng, num_types=preset.vocab_size - 10, **options)


def _required(name: str, request: Request) -> Path:
    if request.text is None:
        raise ConfigError(f"{name} needs a text: give --text FILE, such as fr.txt.gz")
    return request.text
