"""The jobs of XferBench: tokenise a text, pretrain on a corpus, fine-tune on the text and test on its held-out part."""

import hashlib
from typing import Any

import torch
from safetensors.torch import load_file, save

from ecsuite.corpus import Corpus
from ecsuite.eval.models.data import Target, Windows
from ecsuite.eval.models.gpt2 import LanguageModel
from ecsuite.eval.models.training import Machine, job_callbacks, training_resources
from ecsuite.eval.xferbench.presets import Pretraining, TextSizes, Tuning
from ecsuite.eval.xferbench.protocols import PROTOCOLS
from ecsuite.eval.xferbench.study import Study
from ecsuite.eval.xferbench.texts import Text
from ecsuite.eval.xferbench.training import cross_entropy, train
from ecsuite.eval.xferbench.traits import XFERBENCH
from ecsuite.jobs.job import Context, Job, Outcome, Result, job_function

VERSION = XFERBENCH.version
BYTES_PER_UNIT = 20
"""Bytes of text that are tokenised in the time of a token of training; only for the time left."""


@job_function(
    version=VERSION,
    work=lambda *, sizes, **_: sizes.bpe_bytes / BYTES_PER_UNIT,
    label=lambda *, text, **_: f"tokens of {text.name}",
    comes_first=True,  # so that what is wrong in a text is told before the training
)
def tokenise(*, text: Text, sizes: TextSizes, protocol: str, context: Context) -> Outcome:
    """Make the fine-tuning and test data of a text by a protocol.

    Returns:
        `vocab_size`; `repeats`, passes over the text per epoch; and the settings of both `windows`. The arrays are the
        symbols of the windows.

    Raises:
        ConfigError: If the text is too short, or cannot be read.
    """
    context.report_progress(f"tokens of {text.name}", 0.0)
    target = PROTOCOLS[protocol].target(text, sizes)
    windows = {"tune": target.tune, "test": target.test}
    value = {
        "vocab_size": target.vocab_size,
        "repeats": target.repeats,
        "windows": {
            name: {"num_context": each.num_context, "ignored": each.ignored} for name, each in windows.items()
        },
    }
    return Outcome(
        value=value, arrays=save({name: each.symbols.contiguous() for name, each in windows.items()})
    )


@job_function(
    version=VERSION,
    work=lambda *, corpus, sizes, **_: (
        0.0 if corpus is None else sizes.pretrain_tokens * sizes.pretrain_epochs
    ),
    label=lambda *, seed, **_: f"pretraining, seed {seed}",
    resources=training_resources,
)
def pretrain(
    *,
    corpus: Corpus | None,
    sizes: Pretraining,
    protocol: str,
    seed: int,
    machine: Machine,
    context: Context,
) -> Outcome:
    """Train a new model on a corpus; without a corpus, its weights are the initial ones.

    Returns:
        `repeats`, passes over the corpus per epoch; and `parameters`, the number of parameters without symbol
        embeddings, which are the arrays. With `not_compiled`, why, if a model was to be compiled and could not be.

    Raises:
        ConfigError: If the corpus does not fit the protocol.
        DivergedError: If the loss or the weights are not finite.
    """
    rules, not_compiled = PROTOCOLS[protocol], None
    generator = torch.Generator().manual_seed(seed)
    with machine.computing(seed):
        if corpus is None:
            model, repeats = LanguageModel(1, sizes, generator), 0.0
        else:
            source = rules.source(corpus, sizes, seed)
            model, repeats = (
                LanguageModel(source.vocab_size, sizes, generator).to(machine.place),
                source.repeats,
            )
            model.products = machine.dtype
            not_compiled = train(
                model,
                source.windows,
                num_epochs=sizes.pretrain_epochs,
                batch=sizes.batch,
                lr=sizes.lr,
                weight_decay=rules.weight_decay,
                generator=generator,
                callbacks=job_callbacks(context, f"pretraining, seed {seed}"),
            )
    weights = {
        name: weight.cpu() for name, weight in model.state_dict().items() if name != "embedding.weight"
    }
    parameters = sum(weight.numel() for weight in weights.values())
    value = {"repeats": repeats, "parameters": parameters} | _reason(not_compiled)
    return Outcome(value=value, arrays=save(weights))


def _reason(not_compiled: str | None) -> dict[str, str]:
    return {} if not_compiled is None else {"not_compiled": not_compiled}


def _cost_of_tuning(*, tokens: Job, sizes: Tuning, **_: Any) -> float:
    # A test has no backward pass, and its windows overlap by half.
    text: TextSizes = tokens.inputs["sizes"]
    return text.tune_tokens * sizes.tune_epochs + text.test_tokens * 2 / 3


@job_function(
    version=VERSION,
    work=_cost_of_tuning,
    label=lambda *, text, seed, **_: f"{text}, seed {seed}",
    resources=training_resources,
)
def tune_and_test(
    *,
    pretrained: Result,
    tokens: Result,
    text: str,
    sizes: Tuning,
    weight_decay: float,
    seed: int,
    machine: Machine,
    context: Context,
) -> dict[str, Any]:
    """Give a pretrained model new embeddings, fine-tune it on a text, and test it on held-out text.

    Args:
        pretrained: The result of `pretrain`.
        tokens: The result of `tokenise`.
        text: The name of the text; a part of the seed.
        sizes: Sizes of the model and of the training.
        weight_decay: Weight decay of AdamW.
        seed: Seed of the new embeddings, of the order of the data, and of dropout.
        machine: What computes.
        context: See `Context`.

    Returns:
        `cross_entropy`, nats per token; `test_tokens`, the number of scored tokens; and `repeats`, passes over the text
        per epoch of fine-tuning. With `not_compiled` as in `pretrain`.

    Raises:
        DivergedError: If the loss, the weights or the cross-entropy are not finite.
    """
    target = read_target(tokens)
    assert pretrained.arrays is not None
    own_seed = (seed << 32) + int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())
    generator = torch.Generator().manual_seed(own_seed)
    with machine.computing(own_seed):
        model = LanguageModel(1, sizes, generator)
        embedding = {"embedding.weight": model.embedding.weight.detach()}
        model.load_state_dict(load_file(pretrained.arrays) | embedding)
        model.reset_embedding(target.vocab_size, generator)
        model = model.to(machine.place)
        model.products = machine.dtype
        not_compiled = train(
            model,
            target.tune,
            num_epochs=sizes.tune_epochs,
            batch=sizes.batch,
            lr=sizes.tune_lr,
            weight_decay=weight_decay,
            generator=generator,
            callbacks=job_callbacks(context, f"{text}, seed {seed}"),
        )
        value, num_scored = cross_entropy(model, target.test, sizes.batch)
    found = {"cross_entropy": value, "test_tokens": num_scored, "repeats": target.repeats}
    return found | _reason(not_compiled)


def read_target(tokens: Result) -> Target:
    """The data of a target language from the result of `tokenise`."""
    assert tokens.arrays is not None
    symbols = load_file(tokens.arrays)
    windows = {
        name: Windows(symbols=symbols[name], **settings) for name, settings in tokens.value["windows"].items()
    }
    return Target(vocab_size=tokens.value["vocab_size"], repeats=tokens.value["repeats"], **windows)


def plan(study: Study) -> dict[tuple[int] | tuple[int, str], Job]:
    """The jobs of a study: pretraining by seed, fine-tuning with a test by seed and text."""
    preset = study.preset
    tokens = {
        text.name: Job(tokenise, text=text, sizes=preset.part(TextSizes), protocol=study.protocol)
        for text in study.texts
    }
    jobs: dict[tuple[int] | tuple[int, str], Job] = {}
    for seed, corpus in study.corpora.items():
        jobs[seed,] = Job(
            pretrain,
            corpus=corpus,
            sizes=preset.part(Pretraining),
            protocol=study.protocol,
            seed=seed,
            machine=study.machine,
        )
        for name in tokens:
            jobs[seed, name] = Job(
                tune_and_test,
                pretrained=jobs[seed,],
                tokens=tokens[name],
                text=name,
                sizes=preset.part(Tuning),
                weight_decay=PROTOCOLS[study.protocol].weight_decay,
                seed=seed,
                machine=study.machine,
            )
    return jobs
