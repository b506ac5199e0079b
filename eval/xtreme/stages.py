"""The three stages, each a pure function whose result can be kept: raise a body, learn texts, do a task."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save
from tokenizers import Tokenizer
from torch import Tensor

from ecsuite.corpus import Corpus, write_atomically
from ecsuite.devices import PRECISIONS, routed_products
from ecsuite.eval.learning.bpe import first_bytes
from ecsuite.eval.learning.encoders import BACKBONES, PublishedBackbone, TrainableBackbone, initial_embedding
from ecsuite.eval.learning.language_modelling import text_windows, train_language_model
from ecsuite.eval.learning.vocabulary import SubWords, subwords_of, train_subwords
from ecsuite.eval.xferbench import strict
from ecsuite.eval.xtreme.presets import Preset
from ecsuite.eval.xtreme.protocols import PROTOCOLS
from ecsuite.eval.xtreme.sources import source
from ecsuite.eval.xtreme.task import Trial, do_task
from ecsuite.eval.xtreme.texts import language_text
from ecsuite.jobs.runner import ProgressCallback

VERSION = 1
"""Raised whenever the same input would give another result."""


def pretrain_backbone(
    name: str,
    corpus: Corpus | None,
    text: Path | None,
    kind: str,
    preset: Preset,
    seed: int,
    device: str,
    precision: str,
    file: Path,
    report_progress: ProgressCallback,
) -> dict[str, Any]:
    """Make a body, let it learn a source, and write it to `file` without its embedding.

    Returns:
        `repeats`, how often the source was read in an epoch; `parameters` of the body; and `sha256` of the file.
    """
    place = torch.device(device)
    generator = torch.Generator().manual_seed(seed)
    learnt = source(name, corpus, text, preset, seed)
    repeats = 0.0
    with _settings(place, precision, preset, seed):
        body = BACKBONES[kind](preset, generator)
        if learnt is not None:
            read = strict.source(learnt, preset.sizes, seed)
            # After the symbols of the corpus comes one that hides them from an encoder.
            body.set_embedding(initial_embedding(read.vocab_size + 1, preset.width, generator))
            body = body.to(place)
            body.products = PRECISIONS[precision]
            train_language_model(
                body,
                read.windows.symbols[:, : preset.context],
                mask_symbol=read.vocab_size,
                num_epochs=preset.pretrain_epochs,
                batch=preset.batch,
                lr=preset.pretrain_lr,
                parameters=body.parameters(),
                generator=generator,
                report_progress=lambda share: report_progress(name, share),
            )
            repeats = read.repeats
    weights = {key: weight.detach().cpu() for key, weight in body.without_embedding().items()}
    sha256 = _write(file, weights, {})
    return {"repeats": repeats, "parameters": sum(map(Tensor.numel, weights.values())), "sha256": sha256}


def learn_text(
    born: Path,
    kind: str,
    languages: tuple[str, ...],
    protocol: str,
    data: Path,
    texts: Path | None,
    preset: Preset,
    seed: int,
    device: str,
    precision: str,
    file: Path,
    report_progress: ProgressCallback,
) -> dict[str, Any]:
    """Give the body of `born` a vocabulary of some languages, let it learn their texts, and write it to `file`.

    Returns:
        `repeats`, how often each text was read; and `sha256` of the file.
    """
    rules = PROTOCOLS[protocol]
    place = torch.device(device)
    generator = torch.Generator().manual_seed(seed)
    lines = [language_text(language, data, texts).lines for language in languages]
    equal = chain.from_iterable(first_bytes(each, preset.vocab_bytes) for each in lines)
    sub_words = train_subwords(equal, preset.vocab_size)
    repeats: list[float] = []
    with _settings(place, precision, preset, seed):
        body = _initial_backbone(born, kind, preset)
        body.set_embedding(initial_embedding(sub_words.size, preset.width, generator))
        body = body.to(place)
        body.products = PRECISIONS[precision]
        if rules.learns_text:
            windows, repeats = text_windows(sub_words, lines, preset.text_tokens, preset.context)
            train_language_model(
                body,
                windows,
                mask_symbol=sub_words.mask,
                num_epochs=1,
                batch=preset.batch,
                lr=preset.text_lr if rules.text_tunes_body else preset.embedding_lr,
                parameters=body.parameters() if rules.text_tunes_body else body.embedding.parameters(),
                generator=generator,
                report_progress=lambda share: report_progress(f"text of {'+'.join(languages)}", share),
            )
    weights = body.without_embedding() if rules.learns_text and rules.text_tunes_body else {}
    kept = {name: weight.detach().cpu() for name, weight in weights.items()}
    embedding = {EMBEDDING: body.embedding.weight.detach().cpu()}
    sha256 = _write(file, kept | embedding, {TOKENIZER: sub_words.tokenizer.to_str()})
    return {"repeats": dict(zip(languages, repeats, strict=False)), "sha256": sha256}


def finetune_task(
    born: Path | None,
    model: str | None,
    learnt: Mapping[str, Path],
    kind: str,
    preset: Preset,
    trial: Trial,
    seed: int,
    device: str,
    precision: str,
    report_progress: ProgressCallback,
) -> dict[str, Any]:
    """Learn a task in one language, and be tested in others.

    Args:
        born: The body; None for a published one.
        model: The published one.
        learnt: By language, what was written by `learn_text`.
        kind: A name in `BACKBONES`.
        preset: Sizes.
        trial: What to learn and where to be tested.
        seed: Of the head, of dropout and of the order of the examples.
        device: Where.
        precision: bf16 or fp32.
        report_progress: Told the share that is done.

    Returns:
        By language, `split` and `metrics`; and `learnt_from`.
    """
    place = torch.device(device)
    with _settings(place, precision, preset, seed):
        if model is not None:
            body: PublishedBackbone | TrainableBackbone = PublishedBackbone(model).to(place)
        else:
            assert born is not None
            body = _initial_backbone(born, kind, preset)
        body.products = PRECISIONS[precision]

        def speak(language: str) -> SubWords:
            """Let the body read a language."""
            if isinstance(body, PublishedBackbone):
                return body.sub_words
            weights, metadata = _read(learnt[language])
            embedding = weights.pop(EMBEDDING)
            if weights:
                body.load_state_dict(weights, strict=False)
            body.set_embedding(embedding)
            body.to(place)
            return subwords_of(Tokenizer.from_str(metadata[TOKENIZER]))

        return do_task(body, speak, trial, preset, torch.Generator().manual_seed(seed), report_progress)


EMBEDDING, TOKENIZER = "embedding", "tokenizer"
"""Names in files."""


def _initial_backbone(file: Path, kind: str, preset: Preset) -> TrainableBackbone:
    """The body of a file."""
    body = BACKBONES[kind](preset, torch.Generator().manual_seed(0))
    weights, _ = _read(file)
    body.load_state_dict(weights, strict=False)
    return body


def _write(file: Path, weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    """Write a file of safetensors.

    Returns:
        Its SHA-256.
    """
    data = save({name: weight.contiguous() for name, weight in weights.items()}, dict(metadata))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, data)
    return hashlib.sha256(data).hexdigest()


def _read(file: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """What `_write` wrote."""
    with safe_open(file, framework="pt") as opened:
        names: Sequence[str] = opened.keys()
        return {name: opened.get_tensor(name) for name in names}, opened.metadata() or {}


@contextmanager
def _settings(device: torch.device, precision: str, preset: Preset, seed: int) -> Iterator[None]:
    """Products where they are fastest, dropout from a seed, one thread for small bodies, for as long as it takes."""
    threads = torch.get_num_threads()
    devices = [device] if device.type == "cuda" else []
    with routed_products(device, precision), torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        torch.set_num_threads(1 if preset.is_reduced else threads)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
