"""The jobs of a backbone's tasks: fine-tune it and test it, or compare the states of sentences."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ecsuite.eval.learning.encoders import Backbone
from ecsuite.eval.learning.machine import Machine, training_resources
from ecsuite.eval.learning.vocabulary import SubWords
from ecsuite.eval.xtreme.presets import Tuning
from ecsuite.eval.xtreme.published_model import PublishedModel
from ecsuite.eval.xtreme.retrieval import run_retrieval
from ecsuite.eval.xtreme.splits import ExampleSet
from ecsuite.eval.xtreme.task import TransferSetting, run_task
from ecsuite.eval.xtreme.weights import Architecture, load_backbone, vocabulary_loader
from ecsuite.jobs.job import Context, Job, Result, job_function

EXAMPLE_TOKENS = 200
"""Cost of an example of a task, in training tokens; only for the time left."""
MANY_TRAINED, MANY_TESTED = 10_000, 1_000
"""Numbers of examples of sets without a limit, and of sentences of retrieval; only for the time left."""


def backbone_name(*, pretrained: Job | None, seed: int | None = None, **_: Any) -> str:
    """The backbone of a job and its seed, for people."""
    if pretrained is not None:
        return f"{pretrained.inputs['name']}, seed {pretrained.inputs['seed']}"
    return "published model" if seed is None else f"published model, seed {seed}"


def _cost_of_a_task(*, setting: TransferSetting, tests: Sequence[ExampleSet], **_: Any) -> float:
    num_tested = (setting.max_test or MANY_TESTED) * len(tests)
    return EXAMPLE_TOKENS * ((setting.max_train or MANY_TRAINED) + num_tested)


@job_function(
    version=1,
    work=_cost_of_a_task,
    label=lambda *, setting, training, **inputs: (
        f"{setting.task} in {training.language}, {backbone_name(**inputs)}"
    ),
    resources=training_resources,
)
def finetune(
    *,
    model: PublishedModel | None,
    pretrained: Result | None,
    texts: Mapping[str, Result],
    architecture: Architecture | None,
    setting: TransferSetting,
    training: ExampleSet,
    tests: tuple[ExampleSet, ...],
    seed: int,
    machine: Machine,
    context: Context,
) -> dict[str, Any]:
    """Fine-tune a backbone (see `_prepared`) on a task in one language, and test it in others: see `run_task`.

    The seed is that of the head, of dropout and of the order of the examples.

    Raises:
        ConfigError: If the model cannot be loaded, or data have changed.
        DivergedError: If the loss or the weights are not finite.
        Stopped: If the training was asked to stop.
    """
    with machine.computing(seed):
        backbone, load_vocabulary = _prepared(model, pretrained, texts, architecture, machine)
        generator = torch.Generator().manual_seed(seed)
        return run_task(backbone, load_vocabulary, setting, training, tests, generator, context)


@job_function(
    version=1,
    work=lambda **_: EXAMPLE_TOKENS * MANY_TESTED,
    label=lambda *, test, **inputs: f"{test.task} in {test.language}, {backbone_name(**inputs)}",
    resources=training_resources,
)
def retrieve(
    *,
    model: PublishedModel | None,
    pretrained: Result | None,
    texts: Mapping[str, Result],
    architecture: Architecture | None,
    tuning: Tuning,
    test: ExampleSet,
    threshold: ExampleSet | None,
    machine: Machine,
    context: Context,
) -> dict[str, Any]:
    """Find translations by the states of a backbone (see `_prepared`), without training: see `run_retrieval`.

    The result is as that of `finetune`, with None as `learnt_from`.

    Raises:
        ConfigError: If the model cannot be loaded, or data have changed.
    """
    with machine.computing(seed=0):  # nothing is drawn
        backbone, load_vocabulary = _prepared(model, pretrained, texts, architecture, machine)
        found = run_retrieval(backbone, load_vocabulary, tuning, test, threshold)
    context.report_progress(f"{test.task} in {test.language}", 1.0)
    return {"learnt_from": None, "by_language": {test.language: found}}


def _prepared(
    model: PublishedModel | None,
    pretrained: Result | None,
    texts: Mapping[str, Result],
    architecture: Architecture | None,
    machine: Machine,
) -> tuple[Backbone, Callable[[str], SubWords]]:
    """A backbone, and the function that gives it the embedding of a language and returns the vocabulary.

    It is a published model, or of an architecture with the results of `pretrain` and, by language, of `train_on_text`.
    """
    backbone: Backbone
    if model is not None:
        backbone = model.load().to(machine.place)
    else:
        assert pretrained is not None and architecture is not None
        backbone = load_backbone(pretrained, architecture)
    backbone.products = machine.dtype
    return backbone, vocabulary_loader(backbone, texts, machine.place)
