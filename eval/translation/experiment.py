"""The translation experiment: pretrain on the corpus, fine-tune on pairs, translate, score."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from ecsuite.config import ConfigError, look_up
from ecsuite.corpus import Corpus, write_atomically
from ecsuite.devices import choose_device, choose_precision, routed_products
from ecsuite.eval.learning.bart import (
    Specials,
    build,
    freeze,
    num_trainable,
    require_packages,
    with_new_embedding,
)
from ecsuite.eval.learning.data import dense, repeat
from ecsuite.eval.learning.encoder_decoder import (
    BlockBatches,
    Encoded,
    PairBatches,
    cross_entropy,
    train_encoder_decoder,
)
from ecsuite.eval.metrics.score import no_progress, signature
from ecsuite.eval.translation.encoding import held_out_pairs, training_pairs
from ecsuite.eval.translation.pairs import Split, split_pairs
from ecsuite.eval.translation.presets import PRESETS
from ecsuite.eval.translation.result import TranslationResult
from ecsuite.eval.translation.scoring import (
    BeamScore,
    sacrebleu_signatures,
    score_translations,
    translate,
)
from ecsuite.eval.translation.stages import Progress, Run, fingerprint, load, save
from ecsuite.eval.translation.vocabulary import NUM_SPECIAL, learn
from ecsuite.file_formats import without_format

VERSION = 1
TRANSLATION_TOKENS = 25
"""Cost of translating one sentence with a beam of width 1, in training tokens, for progress reports."""


def translate_experiment(
    corpus: Corpus | None,
    pairs: Path,
    *,
    setting: str = "full",
    preset: str = "mini",
    seed: int = 0,
    device: str = "auto",
    progress: Progress = no_progress,
    out: Path | None = None,
) -> TranslationResult:
    """Measure how well a model that was pretrained on a corpus translates after fine-tuning.

    Args:
        corpus: Corpus to pretrain on; None for the baseline without pretraining.
        pairs: A file of sentence pairs, one per line: source, tab, target.
        setting: full, frozen or reduced.
        preset: Sizes; see `PRESETS`.
        seed: Seed of weights, noise, dropout and data order. The split of the pairs does not depend on it.
        device: `auto`, `cpu` or `cuda`.
        progress: Called with a label, the tokens done and their total.
        out: Cache folder for finished stages and translations, which the same call reuses.

    Raises:
        ConfigError: If packages are missing, a name is unknown, the pairs can't be used, or the corpus is empty.
    """
    require_packages()
    sizes = look_up("preset", preset, PRESETS)
    tuning = look_up("setting", setting, sizes.settings)
    place = choose_device(device)
    # On CPU, products of these widths gain nothing from bf16 (docs/translate.md).
    precision = choose_precision("auto", place) if place.type == "cuda" else "fp32"
    if corpus is not None and len(corpus.messages.values) == 0:
        raise ConfigError("the corpus has no symbols to learn from")
    split = split_pairs(pairs, sizes)
    line = signature(
        "translate",
        VERSION,
        preset=sizes.name,
        setting=setting,
        pairs=split.name,
        seed=seed,
        beams="+".join(map(str, sizes.beams)),
        precision=precision,
        **{name: each.replace("|", ",").replace(":", "=") for name, each in sacrebleu_signatures().items()},
    )
    run = Run(
        sizes=sizes,
        tuning=tuning,
        seed=seed,
        device=place,
        precision=precision,
        folder=out,
        progress=progress,
    )
    key = {"signature": line, "sizes": repr(sizes), "corpus": fingerprint(corpus)}
    cached = run.path("result", key, ".json")
    if cached is not None and cached.is_file():
        found = without_format("result", json.loads(cached.read_text()), cached)
        return replace(TranslationResult.from_dict(found), name=_name(corpus))
    devices = [torch.cuda.current_device()] if place.type == "cuda" else []
    with routed_products(place, precision), torch.random.fork_rng(devices=devices):
        result = _measure(run, corpus, split, line, key, setting)
    if cached is not None:
        write_atomically(cached, (json.dumps(result.as_dict(), indent=2, allow_nan=False) + "\n").encode())
    return result


def _measure(
    run: Run, corpus: Corpus | None, split: Split, line: str, key: Mapping[str, Any], setting: str
) -> TranslationResult:
    sizes, tuning = run.sizes, run.tuning
    special = Specials.of(sizes.vocab_size)
    tokenizer = learn(split.train, sizes.vocab_size)
    training, num_too_long = training_pairs(tokenizer, split, sizes, tuning, special)
    valid = held_out_pairs(tokenizer, split.valid, sizes, special)
    test = held_out_pairs(tokenizer, split.test, sizes, special)
    num_tuned = tuning.tokens * tuning.epochs
    num_pretrained = sizes.pretrain_tokens * sizes.pretrain_epochs if corpus is not None else 0
    run.total = num_pretrained + num_tuned + TRANSLATION_TOKENS * len(split.test) * sum(sizes.beams)

    tuned = run.path("tuned", key, ".safetensors")
    torch.manual_seed(run.seed)
    if tuned is not None and tuned.is_file():
        model = build(sizes, sizes.vocab_size)
        load(model, tuned)
        model.to(run.device)
        run.reporter("tuning")(num_pretrained + num_tuned)
    else:
        model = with_new_embedding(_pretrained(run, corpus).cpu(), sizes).to(run.device)
        if tuning.is_frozen:
            freeze(model)
        torch.manual_seed(run.seed)
        train_encoder_decoder(
            model,
            PairBatches(training, sizes.batch, special, np.random.default_rng([run.seed, 1])),
            num_tuned,
            lr=tuning.lr,
            warmup=sizes.warmup,
            weight_decay=sizes.weight_decay,
            precision=run.precision,
            report_progress=run.share_reporter("tuning", num_tuned),
        )
        save(model, tuned)
    if tuning.is_frozen:
        freeze(model)
    loss = cross_entropy(model, valid, sizes.test_batch, special, run.precision)
    beams = {
        beam: _score_beam(run, model, tokenizer, test, split, beam, run.path(f"beam{beam}", key, ".txt"))
        for beam in sizes.beams
    }
    run.progress("translate", run.total, run.total)
    return TranslationResult(
        name=_name(corpus),
        preset=sizes.name,
        setting=setting,
        seed=run.seed,
        is_pretrained=corpus is not None,
        beams=beams,
        cross_entropy=loss,
        num_parameters=sum(parameter.numel() for parameter in model.parameters()),
        num_trainable=num_trainable(model),
        repeats=sizes.pretrain_tokens / len(corpus.messages.values) if corpus is not None else None,
        passes=num_tuned / sum(map(len, training.sources)),
        num_train=len(training.sources),
        num_left_out=split.num_left_out + num_too_long,
        num_test=len(split.test),
        is_reduced=sizes.is_reduced,
        sacrebleu=sacrebleu_signatures(),
        signature=line,
    )


def _pretrained(run: Run, corpus: Corpus | None) -> Any:
    """A model pretrained to restore the corpus; without a corpus, with initial weights."""
    sizes = run.sizes
    if corpus is None:
        return build(sizes, sizes.vocab_size)
    key = {
        "version": VERSION,
        "holds": "random_state",  # which files of earlier versions lack
        "sizes": repr(replace(sizes, settings={})),  # not used in pretraining
        "corpus": fingerprint(corpus),
        "seed": run.seed,
        "precision": run.precision,
    }
    path = run.path("pretrained", key, ".safetensors")
    rng = np.random.default_rng([run.seed, 0])
    symbols, num_types = dense(repeat(corpus.messages, sizes.pretrain_tokens, rng))
    # The vocabulary size is the paper's, or larger if the corpus needs more.
    vocab_size = max(sizes.vocab_size, num_types + NUM_SPECIAL)
    model = build(sizes, vocab_size)
    if path is not None and path.is_file():
        # The new embedding is drawn from the same numbers as after pretraining, which has drawn its dropout.
        torch.set_rng_state(load(model, path)["random_state"])
        run.reporter("pretraining")(sizes.pretrain_tokens * sizes.pretrain_epochs)
        return model
    model.to(run.device)
    num_blocks = max(1, len(symbols) // sizes.block)
    blocks = symbols[: num_blocks * sizes.block].reshape(num_blocks, sizes.block)
    train_encoder_decoder(
        model,
        BlockBatches(blocks, sizes.batch, Specials.of(vocab_size), rng),
        blocks.size * sizes.pretrain_epochs,
        lr=sizes.pretrain_lr,
        warmup=sizes.warmup,
        weight_decay=sizes.weight_decay,
        precision=run.precision,
        report_progress=run.share_reporter("pretraining", sizes.pretrain_tokens * sizes.pretrain_epochs),
    )
    save(model, path, random_state=torch.get_rng_state())
    return model


def _score_beam(
    run: Run, model: Any, tokenizer: Tokenizer, test: Encoded, split: Split, beam: int, path: Path | None
) -> BeamScore:
    translations, ended = translate(
        model,
        tokenizer,
        test.sources,
        run.sizes,
        beam=beam,
        precision=run.precision,
        advance=run.reporter(f"beam {beam}", TRANSLATION_TOKENS * beam),
    )
    references = [pair.target for pair in split.test]
    if path is not None:
        rows = (
            f"{pair.source}\t{pair.target}\t{translation}\n"
            for pair, translation in zip(split.test, translations, strict=True)
        )
        write_atomically(path, "".join(rows).encode())
    return score_translations(translations, references, ended)


def _name(corpus: Corpus | None) -> str:
    """Name of a corpus in tables; results are joined with those of XferBench by name."""
    if corpus is None:
        return "no_pretrain"
    path = Path(str(corpus.metadata.get("source_path", "corpus")))
    return (path.parent.name if path.stem == "corpus" else path.name.split(".")[0]) or path.stem
