"""The three stages, each a pure function with a cacheable result: pretraining, training on text, fine-tuning."""

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
from ecsuite.eval.xtreme.task import TransferSetting, run_task
from ecsuite.eval.xtreme.texts import language_text
from ecsuite.jobs.runner import ProgressCallback

VERSION = 1
"""Incremented whenever the same input would give a different result."""


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
    """Initialise a backbone, pretrain it, and write its weights without the embedding to `file`.

    Returns:
        `repeats`, passes over the pretraining data per epoch; `parameters`, their number; and `sha256` of the file.
    """
    torch_device = torch.device(device)
    generator = torch.Generator().manual_seed(seed)
    pretraining_corpus = source(name, corpus, text, preset, seed)
    repeats = 0.0
    with _settings(torch_device, precision, preset, seed):
        backbone = BACKBONES[kind](preset, generator)
        if pretraining_corpus is not None:
            encoded = strict.source(pretraining_corpus, preset.sizes, seed)
            # The last symbol is the mask symbol of an encoder.
            backbone.set_embedding(initial_embedding(encoded.vocab_size + 1, preset.width, generator))
            backbone = backbone.to(torch_device)
            backbone.products = PRECISIONS[precision]
            train_language_model(
                backbone,
                encoded.windows.symbols[:, : preset.context],
                mask_symbol=encoded.vocab_size,
                num_epochs=preset.pretrain_epochs,
                batch=preset.batch,
                lr=preset.pretrain_lr,
                parameters=backbone.parameters(),
                generator=generator,
                report_progress=lambda share: report_progress(name, share),
            )
            repeats = encoded.repeats
    weights = {key: weight.detach().cpu() for key, weight in backbone.without_embedding().items()}
    sha256 = _write(file, weights, {})
    return {"repeats": repeats, "parameters": sum(map(Tensor.numel, weights.values())), "sha256": sha256}


def train_on_text(
    backbone_file: Path,
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
    """Train a vocabulary of some languages and a backbone on their texts, as the protocol says; write them to `file`.

    Returns:
        `repeats`, the passes over each text; and `sha256` of the file.
    """
    rules = PROTOCOLS[protocol]
    torch_device = torch.device(device)
    generator = torch.Generator().manual_seed(seed)
    lines = [language_text(language, data, texts).lines for language in languages]
    samples = chain.from_iterable(first_bytes(each, preset.vocab_bytes) for each in lines)
    sub_words = train_subwords(samples, preset.vocab_size)
    repeats: list[float] = []
    with _settings(torch_device, precision, preset, seed):
        backbone = _initial_backbone(backbone_file, kind, preset)
        backbone.set_embedding(initial_embedding(sub_words.size, preset.width, generator))
        backbone = backbone.to(torch_device)
        backbone.products = PRECISIONS[precision]
        if rules.learns_text:
            windows, repeats = text_windows(sub_words, lines, preset.text_tokens, preset.context)
            train_language_model(
                backbone,
                windows,
                mask_symbol=sub_words.mask,
                num_epochs=1,
                batch=preset.batch,
                lr=preset.text_lr if rules.text_trains_backbone else preset.embedding_lr,
                parameters=backbone.parameters()
                if rules.text_trains_backbone
                else backbone.embedding.parameters(),
                generator=generator,
                report_progress=lambda share: report_progress(f"text of {'+'.join(languages)}", share),
            )
    weights = backbone.without_embedding() if rules.learns_text and rules.text_trains_backbone else {}
    backbone_weights = {name: weight.detach().cpu() for name, weight in weights.items()}
    embedding = {EMBEDDING: backbone.embedding.weight.detach().cpu()}
    sha256 = _write(file, backbone_weights | embedding, {TOKENIZER: sub_words.tokenizer.to_str()})
    return {"repeats": dict(zip(languages, repeats, strict=False)), "sha256": sha256}


def finetune_task(
    backbone_file: Path | None,
    model: str | None,
    text_files: Mapping[str, Path],
    kind: str,
    preset: Preset,
    setting: TransferSetting,
    seed: int,
    device: str,
    precision: str,
    report_progress: ProgressCallback,
) -> dict[str, Any]:
    """Fine-tune on a task in one language and evaluate in others.

    Args:
        backbone_file: Weights from `pretrain_backbone`; None for a published model.
        model: Name or folder of a published model; None for a backbone file.
        text_files: Weights and vocabularies from `train_on_text`, by language.
        kind: A name in `BACKBONES`.
        preset: Model and training sizes.
        setting: The task, its languages and its data.
        seed: Seed of the head, dropout and the order of the examples.
        device: `cpu` or `cuda`.
        precision: `bf16` or `fp32`.
        report_progress: Called with a label and the share that is done, 0 to 1.

    Returns:
        `by_language`, with `split` and `metrics` of each; and `learnt_from`, the name of the training data.
    """
    torch_device = torch.device(device)
    with _settings(torch_device, precision, preset, seed):
        if model is not None:
            backbone: PublishedBackbone | TrainableBackbone = PublishedBackbone(model).to(torch_device)
        else:
            assert backbone_file is not None
            backbone = _initial_backbone(backbone_file, kind, preset)
        backbone.products = PRECISIONS[precision]

        def prepare_vocabulary(language: str) -> SubWords:
            """Load the embedding and the weights of a language into the backbone; return its vocabulary."""
            if isinstance(backbone, PublishedBackbone):
                return backbone.sub_words
            weights, metadata = _read(text_files[language])
            embedding = weights.pop(EMBEDDING)
            if weights:
                backbone.load_state_dict(weights, strict=False)
            backbone.set_embedding(embedding)
            backbone.to(torch_device)
            return subwords_of(Tokenizer.from_str(metadata[TOKENIZER]))

        return run_task(
            backbone,
            prepare_vocabulary,
            setting,
            preset,
            torch.Generator().manual_seed(seed),
            report_progress,
        )


EMBEDDING, TOKENIZER = "embedding", "tokenizer"
"""Names of the embedding and of the tokenizer in weight files."""


def _initial_backbone(file: Path, kind: str, preset: Preset) -> TrainableBackbone:
    """The backbone with the weights of a file."""
    backbone = BACKBONES[kind](preset, torch.Generator().manual_seed(0))
    weights, _ = _read(file)
    backbone.load_state_dict(weights, strict=False)
    return backbone


def _write(file: Path, weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    """Write weights to a safetensors file.

    Returns:
        SHA-256 of the file.
    """
    data = save({name: weight.contiguous() for name, weight in weights.items()}, dict(metadata))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, data)
    return hashlib.sha256(data).hexdigest()


def _read(file: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Weights and metadata of a file written by `_write`."""
    with safe_open(file, framework="pt") as opened:
        names: Sequence[str] = opened.keys()
        return {name: opened.get_tensor(name) for name in names}, opened.metadata() or {}


@contextmanager
def _settings(device: torch.device, precision: str, preset: Preset, seed: int) -> Iterator[None]:
    """Set matrix-product precision, the dropout seed, and one thread for reduced presets; restore them afterwards."""
    threads = torch.get_num_threads()
    devices = [device] if device.type == "cuda" else []
    with routed_products(device, precision), torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        torch.set_num_threads(1 if preset.is_reduced else threads)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
