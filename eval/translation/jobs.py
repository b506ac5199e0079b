"""The jobs of the translation experiment: pretrain on the corpus, fine-tune on pairs, translate and score."""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save
from tokenizers import Tokenizer
from torch import Tensor

from ecsuite.corpus import Corpus
from ecsuite.eval.models import EncoderDecoderSizes
from ecsuite.eval.models.data import dense, repeat
from ecsuite.eval.models.encoder_decoder import (
    EMBEDDING,
    NUM_SPECIAL,
    BlockBatches,
    PairBatches,
    Specials,
    build,
    cross_entropy,
    freeze,
    num_trainable,
    train_encoder_decoder,
    with_new_embedding,
)
from ecsuite.eval.models.training import Machine, job_callbacks, training_resources
from ecsuite.eval.translation.encoding import held_out_pairs, learn, training_pairs
from ecsuite.eval.translation.pairs import PairFile
from ecsuite.eval.translation.presets import Decoding, Optimisation, Pretraining, Tuning
from ecsuite.eval.translation.scoring import score_translations
from ecsuite.eval.translation.scoring import translate as translate_sentences
from ecsuite.eval.translation.study import Study
from ecsuite.jobs.job import Context, Job, Outcome, Result, job_function

TRANSLATION_TOKENS = 25
"""Cost of translating one sentence with a beam of width 1, in training tokens; only for the time left."""
RANDOM_STATE, TOKENIZER = "random_state", "tokenizer"
"""Names of the state of torch's generator, and of the tokenizer, beside the weights."""


@job_function(
    version=1,
    work=lambda *, pretraining, **_: pretraining.tokens * pretraining.epochs,
    label=lambda *, seed, **_: f"pretraining, seed {seed}",
    resources=training_resources,
)
def pretrain(
    *,
    corpus: Corpus,
    model: EncoderDecoderSizes,
    pretraining: Pretraining,
    optimisation: Optimisation,
    seed: int,
    machine: Machine,
    context: Context,
) -> Outcome:
    """Train a new model to restore the corpus.

    Returns:
        `repeats`, passes over the corpus per epoch; the weights and the state of torch's generator as arrays.
    """
    with machine.computing(seed):
        rng = np.random.default_rng([seed, 0])
        symbols, num_types = dense(repeat(corpus.messages, pretraining.tokens, rng))
        # The vocabulary size is the paper's, or larger if the corpus needs more.
        vocab_size = max(model.vocab_size, num_types + NUM_SPECIAL)
        learner = build(model, vocab_size).to(machine.place)
        num_blocks = max(1, len(symbols) // pretraining.block)
        blocks = symbols[: num_blocks * pretraining.block].reshape(num_blocks, pretraining.block)
        train_encoder_decoder(
            learner,
            BlockBatches(blocks, optimisation.batch, Specials.of(vocab_size), rng),
            blocks.size * pretraining.epochs,
            lr=pretraining.lr,
            **_training(optimisation, machine, context, "pretraining"),
        )
        arrays = save(_parameters(learner) | {RANDOM_STATE: torch.get_rng_state()})
    return Outcome(value={"repeats": pretraining.tokens / len(corpus.messages.values)}, arrays=arrays)


@job_function(
    version=1,
    work=lambda *, tuning, **_: tuning.tokens * tuning.epochs,
    label=lambda *, seed, **_: f"fine-tuning, seed {seed}",
    resources=training_resources,
)
def tune(
    *,
    pretrained: Result | None,
    pairs: PairFile,
    model: EncoderDecoderSizes,
    tuning: Tuning,
    optimisation: Optimisation,
    longest: int,
    test_batch: int,
    seed: int,
    machine: Machine,
    context: Context,
) -> Outcome:
    """Give a pretrained model, or a new one, a new embedding, and fine-tune it on sentence pairs.

    Returns:
        `cross_entropy` on the validation pairs, `num_parameters`, `num_trainable`, `passes` over the training pairs,
        `num_train` and `num_too_long`; the weights as arrays, with the tokenizer.
    """
    split, special = pairs.split(), Specials.of(model.vocab_size)
    tokenizer = learn(split.train, model.vocab_size)
    training, num_too_long = training_pairs(
        tokenizer, split.train, longest=longest, num_tokens=tuning.tokens, special=special
    )
    valid = held_out_pairs(tokenizer, split.valid, longest=longest, special=special)
    num_tokens = tuning.tokens * tuning.epochs
    with machine.computing(seed):
        learner = with_new_embedding(_initial(pretrained, model), model).to(machine.place)
        if tuning.is_frozen:
            freeze(learner)
        torch.manual_seed(seed)
        train_encoder_decoder(
            learner,
            PairBatches(training, optimisation.batch, special, np.random.default_rng([seed, 1])),
            num_tokens,
            lr=tuning.lr,
            **_training(optimisation, machine, context, "fine-tuning"),
        )
        value = {
            "cross_entropy": cross_entropy(learner, valid, test_batch, special, machine.precision),
            "num_parameters": sum(parameter.numel() for parameter in learner.parameters()),
            "num_trainable": num_trainable(learner),
            "passes": num_tokens / sum(map(len, training.sources)),
            "num_train": len(training.sources),
            "num_too_long": num_too_long,
        }
        arrays = save(_parameters(learner), {TOKENIZER: tokenizer.to_str()})
    return Outcome(value=value, arrays=arrays)


@job_function(
    version=1,
    work=lambda *, beam, pairs, **_: TRANSLATION_TOKENS * pairs.num_test * beam,
    label=lambda *, beam, seed, **_: f"translating, beam {beam}, seed {seed}",
    resources=training_resources,
)
def translate(
    *,
    tuned: Result,
    pairs: PairFile,
    model: EncoderDecoderSizes,
    decoding: Decoding,
    longest: int,
    beam: int,
    seed: int,
    machine: Machine,
    context: Context,
) -> dict[str, Any]:
    """Translate the test pairs, and score the translations.

    Returns:
        The fields of `BeamScore`, and `translations`, a list of source, target and translation of each pair.
    """
    assert tuned.arrays is not None
    with safe_open(tuned.arrays, framework="pt") as opened:
        tokenizer = Tokenizer.from_str(opened.metadata()[TOKENIZER])
    test = pairs.split().test
    encoded = held_out_pairs(tokenizer, test, longest=longest, special=Specials.of(model.vocab_size))
    with machine.computing(seed):
        learner = build(model, model.vocab_size)
        _load(learner, load_file(tuned.arrays))
        translations, ended = translate_sentences(
            learner.to(machine.place),
            tokenizer,
            encoded.sources,
            decoding,
            vocab_size=model.vocab_size,
            beam=beam,
            precision=machine.precision,
            report_progress=lambda share: context.report_progress(f"beam {beam}", share),
        )
    score = score_translations(translations, [pair.target for pair in test], ended)
    rows = [[*pair, translation] for pair, translation in zip(test, translations, strict=True)]
    return {**asdict(score), "translations": rows}


def plan(study: Study) -> dict[int, Job]:
    """The jobs of a study: translations by beam width."""
    preset = study.preset
    common: dict[str, Any] = {
        "model": preset.model,
        "seed": study.seed,
        "machine": study.machine,
    }
    pretrained = None
    if study.corpus is not None:
        pretrained = Job(
            pretrain,
            corpus=study.corpus,
            pretraining=preset.pretraining,
            optimisation=preset.optimisation,
            **common,
        )
    tuned = Job(
        tune,
        pretrained=pretrained,
        pairs=study.pairs,
        tuning=study.tuning,
        optimisation=preset.optimisation,
        longest=preset.longest,
        test_batch=preset.decoding.batch,
        **common,
    )
    return {
        beam: Job(
            translate,
            tuned=tuned,
            pairs=study.pairs,
            decoding=preset.decoding,
            longest=preset.longest,
            beam=beam,
            **common,
        )
        for beam in preset.beams
    }


def _training(optimisation: Optimisation, machine: Machine, context: Context, label: str) -> dict[str, Any]:
    """What every training is given."""
    return {
        "warmup": optimisation.warmup,
        "weight_decay": optimisation.weight_decay,
        "precision": machine.precision,
        "callbacks": job_callbacks(context, label),
    }


def _initial(pretrained: Result | None, model: EncoderDecoderSizes) -> Any:
    """The pretrained model, or one with initial weights."""
    if pretrained is None:
        return build(model, model.vocab_size)
    assert pretrained.arrays is not None
    weights = load_file(pretrained.arrays)
    learner = build(model, len(weights[EMBEDDING]))
    _load(learner, weights)
    # The new embedding is drawn from the numbers that follow those of pretraining.
    torch.set_rng_state(weights[RANDOM_STATE])
    return learner


def _parameters(model: Any) -> dict[str, Tensor]:
    """The parameters of a model, tied ones once."""
    return {name: each.detach().cpu().contiguous() for name, each in model.named_parameters()}


@torch.no_grad()
def _load(model: Any, weights: dict[str, Tensor]) -> None:
    """Give a model the parameters of `_parameters`."""
    for name, parameter in model.named_parameters():
        parameter.copy_(weights[name])
