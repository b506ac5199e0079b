"""The jobs of a study: pretrain a backbone, train it on texts of languages, and evaluate it on a task.

The arrays of results are weights of backbones, and vocabularies with their embeddings.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save
from tokenizers import Tokenizer
from torch import Tensor

from ecsuite.corpus import Corpus
from ecsuite.eval.models import TransformerSizes
from ecsuite.eval.models.backbones import (
    BACKBONES,
    Backbone,
    TrainableBackbone,
    initial_embedding,
    text_windows,
    train_language_model,
)
from ecsuite.eval.models.training import Machine, job_callbacks, training_resources
from ecsuite.eval.models.vocabulary import SubWords, first_bytes, subwords_of, train_subwords
from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xtreme.data import (
    CORPUS,
    HUMAN,
    RANDOM_INIT,
    SHUFFLED,
    ExampleSet,
    LanguageText,
    PublishedModel,
    source,
)
from ecsuite.eval.xtreme.presets import TextTraining, VocabularySizes, XtremePretraining
from ecsuite.eval.xtreme.scoring.task import ENGLISH
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.study import XtremeStudy
from ecsuite.eval.xtreme.transfer import TransferSetting, run_retrieval, run_task
from ecsuite.jobs.job import Context, Job, Outcome, Result, job_function

EMBEDDING, TOKENIZER = "embedding", "tokenizer"
"""Names of the embedding and of the tokenizer stored with the weights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Architecture:
    """A backbone without its weights."""

    kind: str
    """A name in `BACKBONES`."""
    sizes: TransformerSizes
    """Its sizes."""

    def build(self, generator: torch.Generator) -> TrainableBackbone:
        """A backbone with initial weights, and the embedding of a single symbol."""
        return BACKBONES[self.kind](self.sizes, generator)


def backbone_arrays(backbone: Backbone) -> bytes:
    """The weights of a backbone without its embedding."""
    return save(_weights(backbone))


def text_arrays(backbone: Backbone, sub_words: SubWords, *, with_backbone: bool) -> bytes:
    """A vocabulary with its embedding, and the other weights of the backbone if they were trained."""
    embedding = {EMBEDDING: backbone.embedding.weight.detach().cpu().contiguous()}
    weights = _weights(backbone) if with_backbone else {}
    return save(weights | embedding, {TOKENIZER: sub_words.tokenizer.to_str()})


def load_backbone(pretrained: Result, architecture: Architecture) -> TrainableBackbone:
    """The backbone of `backbone_arrays`, with the embedding of a single symbol."""
    assert pretrained.arrays is not None
    backbone = architecture.build(torch.Generator().manual_seed(0))
    backbone.load_state_dict(load_file(pretrained.arrays), strict=False)
    return backbone


def prepared(
    model: PublishedModel | None,
    pretrained: Result | None,
    texts: Mapping[str, Result],
    architecture: Architecture | None,
    machine: Machine,
) -> tuple[Backbone, Callable[[str], SubWords]]:
    """A backbone, and a function that sets its embedding for a language and returns the vocabulary.

    Args:
        model: A published model, with its own embedding and vocabulary; None: a backbone of the architecture.
        pretrained: A result with the arrays of `backbone_arrays`.
        texts: By language, a result with the arrays of `text_arrays`.
        architecture: Architecture of the pretrained backbone.
        machine: Device and precision of the backbone.

    Raises:
        ConfigError: If the model cannot be loaded, or its files have changed.
    """
    if model is not None:
        published = model.load().to(machine.place)
        published.products = machine.dtype
        return published, lambda language: published.sub_words
    assert pretrained is not None and architecture is not None
    backbone = load_backbone(pretrained, architecture)
    backbone.products = machine.dtype

    def load_vocabulary(language: str) -> SubWords:
        arrays = texts[language].arrays
        assert arrays is not None
        weights = load_file(arrays)
        embedding = weights.pop(EMBEDDING)
        if weights:
            backbone.load_state_dict(weights, strict=False)
        backbone.set_embedding(embedding)
        backbone.to(machine.place)
        with safe_open(arrays, framework="pt") as opened:
            return subwords_of(Tokenizer.from_str(opened.metadata()[TOKENIZER]))

    return backbone, load_vocabulary


def _weights(backbone: Backbone) -> dict[str, Tensor]:
    return {name: weight.detach().cpu().contiguous() for name, weight in backbone.without_embedding().items()}


EXAMPLE_TOKENS = 200
"""Cost of an example of a task, in training tokens; only used to estimate the remaining time."""
MANY_TRAINED, MANY_TESTED = 10_000, 1_000
"""Assumed numbers of examples in unlimited sets, and of sentences in retrieval, for the remaining time."""
Name = tuple[str, int, str, str]
"""Backbone, seed, task, and the training language, or for retrieval the language compared with English."""


@job_function(
    version=1,
    work=lambda *, pretraining, **_: 1.0 if pretraining is None else pretraining.tokens * pretraining.epochs,
    label=lambda *, name, seed, **_: f"pretraining, {name}, seed {seed}",
    resources=training_resources,
)
def pretrain(
    *,
    name: str,
    corpus: Corpus | None,
    text: TextFile | None,
    architecture: Architecture,
    pretraining: XtremePretraining | None,
    seed: int,
    machine: Machine,
    context: Context,
) -> Outcome:
    """Initialise a backbone, and pretrain it.

    The data are from the source `name` (`data.py`), built from the corpus or the text; without `pretraining` the
    initial weights are returned. `seed` seeds weights, data, order and dropout.

    Returns:
        `repeats`, passes over the data per epoch, and `parameters`, the number of weights without embedding; the arrays
        are these weights.

    Raises:
        ConfigError: If the text cannot be read.
        DivergedError: If the loss or the weights are not finite.
        Stopped: If the training was asked to stop.
    """
    generator, sizes, repeats = torch.Generator().manual_seed(seed), architecture.sizes, 0.0
    with machine.computing(seed):
        backbone = architecture.build(generator)
        if pretraining is not None:
            data = source(name, corpus, text, sizes, pretraining, seed)
            # The last symbol is the mask symbol of an encoder.
            backbone.set_embedding(initial_embedding(data.vocab_size + 1, sizes.width, generator))
            backbone = backbone.to(machine.place)
            backbone.products = machine.dtype
            train_language_model(
                backbone,
                data.windows.symbols[:, : sizes.context],
                mask_symbol=data.vocab_size,
                num_epochs=pretraining.epochs,
                batch=pretraining.batch,
                lr=pretraining.lr,
                parameters=backbone.parameters(),
                generator=generator,
                callbacks=job_callbacks(context, name),
            )
            repeats = data.repeats
        arrays = backbone_arrays(backbone)
    parameters = sum(weight.numel() for weight in backbone.without_embedding().values())
    return Outcome(value={"repeats": repeats, "parameters": parameters}, arrays=arrays)


@job_function(
    version=1,
    work=lambda *, training, texts, **_: 1.0 if training is None else training.tokens * len(texts),
    label=lambda *, texts, **inputs: f"text of {_joined(texts)}, {_backbone_name(**inputs)}",
    resources=training_resources,
)
def train_on_text(
    *,
    pretrained: Result,
    texts: tuple[LanguageText, ...],
    architecture: Architecture,
    vocabulary: VocabularySizes,
    training: TextTraining | None,
    seed: int,
    machine: Machine,
    context: Context,
) -> Outcome:
    """Train a vocabulary of some languages, and the pretrained backbone or its embedding on their texts.

    Without `training`, backbone and initial embedding do not change. `seed` seeds embedding, order and dropout.

    Returns:
        `repeats`, passes over each text; the arrays are the vocabulary with its embedding, and the backbone if it was
        trained.

    Raises:
        ConfigError: If a text has changed.
        DivergedError: If the loss or the weights are not finite.
        Stopped: If the training was asked to stop.
    """
    generator, sizes = torch.Generator().manual_seed(seed), architecture.sizes
    lines = [text.read() for text in texts]
    sub_words = train_subwords(
        chain.from_iterable(first_bytes(each, vocabulary.num_bytes) for each in lines), vocabulary.size
    )
    repeats: list[float] = []
    with machine.computing(seed):
        backbone = load_backbone(pretrained, architecture)
        backbone.set_embedding(initial_embedding(sub_words.size, sizes.width, generator))
        backbone = backbone.to(machine.place)
        backbone.products = machine.dtype
        if training is not None:
            windows, repeats = text_windows(sub_words, lines, training.tokens, sizes.context)
            trained = backbone if training.trains_backbone else backbone.embedding
            train_language_model(
                backbone,
                windows,
                mask_symbol=sub_words.mask,
                num_epochs=1,
                batch=training.batch,
                lr=training.lr,
                parameters=trained.parameters(),
                generator=generator,
                callbacks=job_callbacks(context, f"text of {_joined(texts)}"),
            )
        with_backbone = training is not None and training.trains_backbone
        arrays = text_arrays(backbone, sub_words, with_backbone=with_backbone)
    by_language = {text.language: number for text, number in zip(texts, repeats, strict=False)}
    return Outcome(value={"repeats": by_language}, arrays=arrays)


def _cost_of_a_task(
    *,
    setting: TransferSetting,
    training: ExampleSet | None,
    tests: Sequence[ExampleSet],
    also: Sequence[ExampleSet] = (),
    **_: Any,
) -> float:
    num_trained = 0 if training is None else (1 + len(also)) * (setting.max_train or MANY_TRAINED)
    return EXAMPLE_TOKENS * (num_trained + (setting.max_test or MANY_TESTED) * len(tests))


@job_function(
    version=1,
    work=_cost_of_a_task,
    label=lambda *, training, tests, **inputs: (
        f"{tests[0].task} in {(training or tests[0]).language}, {_backbone_name(**inputs)}"
    ),
    resources=training_resources,
)
def evaluate(
    *,
    model: PublishedModel | None,
    pretrained: Result | None,
    texts: Mapping[str, Result],
    architecture: Architecture | None,
    setting: TransferSetting,
    training: ExampleSet | None,
    tests: tuple[ExampleSet, ...],
    threshold: ExampleSet | None,
    seed: int | None,
    machine: Machine,
    context: Context,
    also: tuple[ExampleSet, ...] = (),
    keeps_predictions: bool = False,
) -> dict[str, Any]:
    """Fine-tune a backbone (see `prepared`) on a task in one language, and test it in others: see `run_task`.

    Retrieval has no training examples and no seed: it compares the states of the sentences of one test set, see
    `run_retrieval`. `seed` seeds the head, dropout and the order of the examples.

    Returns:
        `learnt_from`, the name of the training data, and `by_language`, with `split`, `metrics` and, with
        `keeps_predictions`, `predictions` by language.

    Raises:
        ConfigError: If the model cannot be loaded, or data have changed.
        DivergedError: If the loss or the weights are not finite.
        Stopped: If the training was asked to stop.
    """
    with machine.computing(seed or 0):
        backbone, load_vocabulary = prepared(model, pretrained, texts, architecture, machine)
        if training is not None:
            assert seed is not None
            generator = torch.Generator().manual_seed(seed)
            value = run_task(backbone, load_vocabulary, setting, training, tests, generator, context, also)
        else:
            [test] = tests
            scored = run_retrieval(backbone, load_vocabulary, setting.tuning, test, threshold)
            value = {"learnt_from": None, "by_language": {test.language: scored}}
            context.report_progress(f"{test.task} in {test.language}", 1.0)
    for scored in value["by_language"].values():
        if not keeps_predictions:
            del scored["predictions"]
    return value


def plan(study: XtremeStudy) -> dict[Name, Job]:
    """The jobs of the tasks of a study; all other jobs are inputs of them."""
    preset, zero_shot, named = study.preset, study.protocol.is_zero_shot, dict[Name, Job]()
    limits = [each for each in (preset.max_train, study.protocol.max_train) if each is not None]
    max_train = min(limits, default=None)
    swaps_embedding = zero_shot and not study.protocol.shares_vocabulary
    for name in study.bodies:
        for seed in study.seeds:
            inputs, texts = _trained(study, name, seed)
            for part, task, language in study.examples:
                if part != ("test" if TASKS[task].kind == "retrieval" else "train"):
                    continue
                training = study.examples.get(("train", task, language))
                more: dict[str, Any] = {}  # absent unless needed, as inputs are the job's key
                if study.predictions is not None and name == study.bodies[0]:
                    more["keeps_predictions"] = True
                if training is not None and study.protocol.is_joint:
                    first, *also = (
                        study.examples[each] for each in study.examples if each[:2] == (part, task)
                    )
                    if first != training:
                        continue
                    more["also"] = tuple(also)
                tests_all = training is not None and (zero_shot or study.protocol.is_joint)
                tested = study.tested[task] if tests_all else (language,)
                tuning = preset.tuning[TASKS[task].kind]
                setting = TransferSetting(task=task, tuning=tuning)
                if training is not None:
                    setting = replace(
                        setting,
                        scope=preset.scope,
                        max_train=max_train,
                        max_test=preset.max_test,
                        swaps_embedding=swaps_embedding,
                    )
                read = (language if training is not None else ENGLISH, *tested)
                named[name, seed, task, language] = Job(
                    evaluate,
                    **inputs,
                    texts={each: texts[each] for each in read if each in texts},
                    setting=setting,
                    training=training,
                    tests=tuple(study.examples["test", task, each] for each in tested),
                    threshold=study.examples.get(("dev", task, language)),
                    seed=None if training is None else seed,
                    **more,
                )
    return named


def _trained(study: XtremeStudy, name: str, seed: int) -> tuple[dict[str, Any], dict[str, Job]]:
    """The inputs of all tasks of a backbone, and its training job on text by language."""
    preset, rules = study.preset, study.protocol
    if study.model is not None:
        return {"model": study.model, "pretrained": None, "architecture": None, "machine": study.machine}, {}
    common = {"architecture": Architecture(kind=study.body, sizes=preset.backbone), "machine": study.machine}
    pretrained = Job(
        pretrain,
        name=name,
        corpus=study.corpus if name in (CORPUS, SHUFFLED) else None,
        text=study.human if name == HUMAN else None,
        pretraining=None if name == RANDOM_INIT else preset.pretraining,
        seed=seed,
        **common,
    )
    training = preset.text if rules.text_trains_backbone else preset.embedding
    texts: dict[str, Job] = {}
    languages = tuple(study.texts)
    for group in [languages] if rules.shares_vocabulary else [(each,) for each in languages]:
        job = Job(
            train_on_text,
            pretrained=pretrained,
            texts=tuple(study.texts[language] for language in group),
            vocabulary=preset.vocabulary,
            training=training if rules.learns_text else None,
            seed=seed,
            **common,
        )
        texts |= dict.fromkeys(group, job)
    return {"model": None, "pretrained": pretrained, **common}, texts


def _backbone_name(*, pretrained: Job | None, seed: int | None = None, **_: Any) -> str:
    """Display name of the backbone of a job, with its seed."""
    if pretrained is not None:
        return f"{pretrained.inputs['name']}, seed {pretrained.inputs['seed']}"
    return "published model" if seed is None else f"published model, seed {seed}"


def _joined(texts: Sequence[LanguageText]) -> str:
    return "+".join(text.language for text in texts)
