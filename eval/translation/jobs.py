"""The translation experiment as jobs: pretrain on the corpus, fine-tune on pairs, translate and score.

`make_study` validates the arguments, and `plan` turns a study into jobs.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file, save
from tokenizers import Tokenizer
from torch import Tensor

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Signature
from ecsuite.eval.models import EncoderDecoderSizes
from ecsuite.eval.models.data import dense, repeat
from ecsuite.eval.models.encoder_decoder import (
    EMBEDDING,
    NUM_SPECIAL,
    BlockBatches,
    PairBatches,
    Specials,
    autocast,
    build,
    cross_entropy,
    freeze,
    num_trainable,
    padded,
    require_packages,
    train_encoder_decoder,
    with_new_embedding,
)
from ecsuite.eval.models.training import Machine, job_callbacks, training_resources
from ecsuite.eval.results.files import source_name
from ecsuite.eval.translation.pairs import (
    PairFile,
    decode,
    held_out_pairs,
    learn,
    require_short_pairs,
    split_pairs,
    training_pairs,
)
from ecsuite.eval.translation.presets import (
    PRESETS,
    Decoding,
    Optimisation,
    TranslationPreset,
    TranslationPretraining,
    TranslationTuning,
)
from ecsuite.jobs.job import Context, Job, Outcome, Result, job_function
from ecsuite.runtime.devices import choose_device
from ecsuite.runtime.errors import ConfigError, look_up

VERSION = 1
"""Increased whenever the same study would give different scores."""


@dataclass(frozen=True, kw_only=True)
class TranslationStudy:
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
    preset: TranslationPreset
    """Sizes of the model, of the data and of the training."""
    seed: int
    """Seed of weights, noise, dropout and data order. The split of the pairs does not depend on it."""
    machine: Machine
    """Device and precision."""

    @property
    def tuning(self) -> TranslationTuning:
        """The setting of fine-tuning."""
        return self.preset.settings[self.setting]

    @property
    def signature(self) -> str:
        """Everything except the corpus that can change the scores."""
        return Signature.of(
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
) -> TranslationStudy:
    """Validate the arguments, and read and split the pairs.

    Args:
        corpus: Corpus to pretrain on; None for the baseline without pretraining.
        pairs: A file of sentence pairs, one per line: source, tab, target.
        setting: full, frozen or reduced.
        preset: A name in `PRESETS`.
        seed: See `TranslationStudy`.
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
    return TranslationStudy(
        # Results are matched with XferBench results by name.
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
        # On CPU, products of these widths gain nothing from bf16 (docs/evidence/mini.md).
        machine=Machine.chosen(
            device,
            "auto" if choose_device(device).type == "cuda" else "fp32",
            is_reduced=sizes.is_reduced,
        ),
    )


TRANSLATION_TOKENS = 25
"""Cost of translating a sentence with beam width 1, in training tokens; only for the remaining time."""
RANDOM_STATE, TOKENIZER = "random_state", "tokenizer"
"""Names of the state of torch's generator, and of the tokenizer, stored with the weights."""


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
    pretraining: TranslationPretraining,
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
    tuning: TranslationTuning,
    optimisation: Optimisation,
    longest: int,
    test_batch: int,
    seed: int,
    machine: Machine,
    context: Context,
) -> Outcome:
    """Set a new embedding in a pretrained or new model, and fine-tune it on sentence pairs.

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


def plan(study: TranslationStudy) -> dict[int, Job]:
    """The jobs of a study: translations by beam width."""
    preset = study.preset
    common: dict[str, Any] = {"model": preset.model, "seed": study.seed, "machine": study.machine}
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
    return {
        "warmup": optimisation.warmup,
        "weight_decay": optimisation.weight_decay,
        "precision": machine.precision,
        "callbacks": job_callbacks(context, label),
    }


def _initial(pretrained: Result | None, model: EncoderDecoderSizes) -> Any:
    if pretrained is None:
        return build(model, model.vocab_size)
    assert pretrained.arrays is not None
    weights = load_file(pretrained.arrays)
    learner = build(model, len(weights[EMBEDDING]))
    _load(learner, weights)
    # The random numbers of the new embedding continue those of pretraining.
    torch.set_rng_state(weights[RANDOM_STATE])
    return learner


def _parameters(model: Any) -> dict[str, Tensor]:
    """The parameters of a model, without repeats of tied parameters."""
    return {name: each.detach().cpu().contiguous() for name, each in model.named_parameters()}


@torch.no_grad()
def _load(model: Any, weights: dict[str, Tensor]) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(weights[name])


@dataclass(frozen=True, kw_only=True, slots=True)
class BeamScore:
    """Scores of the translations of one beam width."""

    chrf: float
    """chrF, 0 to 100."""
    bleu: float
    """BLEU, 0 to 100."""
    length_ratio: float
    """Number of words of the translations divided by the number of words of the references."""
    ended: float
    """Fraction of translations that ended with the end token, 0 to 1."""


@torch.inference_mode()
def translate_sentences(
    model: Any,
    tokenizer: Tokenizer,
    sources: Sequence[NDArray[np.int64]],
    decoding: Decoding,
    *,
    vocab_size: int,
    beam: int,
    precision: str,
    report_progress: Callable[[float], None],
) -> tuple[list[str], float]:
    """Translate sentences.

    Args:
        model: A fine-tuned model.
        tokenizer: BPE of both languages.
        sources: Token ids with end tokens.
        decoding: Lengths and batch size.
        vocab_size: Rows of the embedding, including the special ids.
        beam: Beam width; 1 is greedy decoding.
        precision: bf16 or fp32.
        report_progress: Called after every batch with the fraction that is translated, 0 to 1.

    Returns:
        The translations in the order of the sources, and the fraction that ended with the end token.
    """
    from transformers import GenerationConfig

    special = Specials.of(vocab_size)
    settings = GenerationConfig(
        max_new_tokens=decoding.num_new_tokens,
        num_beams=beam,
        do_sample=False,
        bos_token_id=special.start,
        decoder_start_token_id=special.start,
        eos_token_id=special.end,
        pad_token_id=special.pad,
    )
    model.eval()
    device = next(model.parameters()).device
    # Sentences are batched by length, longest first, so that insufficient memory shows in the first batch.
    order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))
    translations, num_ended = [""] * len(sources), 0
    for begin in range(0, len(order), decoding.batch):
        chosen = order[begin : begin + decoding.batch]
        inputs = torch.from_numpy(padded([sources[index] for index in chosen], special.pad)).to(device)
        with autocast(device, precision):
            generated = model.generate(
                input_ids=inputs, attention_mask=(inputs != special.pad).long(), generation_config=settings
            )
        for index, row in zip(chosen, generated[:, 1:].cpu().numpy(), strict=True):  # without the start token
            translations[index], has_ended = decode(tokenizer, row, special.end)
            num_ended += has_ended
        report_progress((begin + len(chosen)) / len(order))
    return translations, num_ended / len(sources)


def score_translations(translations: Sequence[str], references: Sequence[str], ended: float) -> BeamScore:
    """Score translations by sacrebleu's chrF and BLEU with their default settings, as the paper does."""
    chrf, bleu = (metric.corpus_score(translations, [references]) for metric in _metrics().values())
    return BeamScore(
        chrf=chrf.score, bleu=bleu.score, length_ratio=bleu.sys_len / max(1, bleu.ref_len), ended=ended
    )


def lacks_four_words(references: Sequence[str]) -> bool:
    """Whether no reference has four words, so that BLEU, a mean over sequences of one to four words, is 0."""
    return bool(_metrics()["bleu"].corpus_score(references, [references]).totals[3] == 0)


def sacrebleu_signatures() -> dict[str, str]:
    """The signatures of chrF and BLEU by sacrebleu."""
    signatures = {}
    for name, metric in _metrics().items():
        metric.corpus_score(["a"], [["a"]])  # the signature has the number of references, known after a call
        signatures[name] = str(metric.get_signature())
    return signatures


def _metrics() -> dict[str, Any]:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return {"chrf": CHRF(), "bleu": BLEU()}
