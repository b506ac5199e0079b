"""A task with a head: fine-tuning in one language, evaluation in others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ecsuite.eval.models.backbones import Backbone
from ecsuite.eval.models.training import job_callbacks
from ecsuite.eval.models.vocabulary import SubWords
from ecsuite.eval.xtreme.heads import LabelHead, SpanHead
from ecsuite.eval.xtreme.labels import pair_rows, predicted_labels, predicted_tags, tagging_rows
from ecsuite.eval.xtreme.presets import Scope, Tuning
from ecsuite.eval.xtreme.questions import predicted_answers, question_rows
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.splits import ExampleSet
from ecsuite.eval.xtreme.tuning import finetune, logits_of
from ecsuite.jobs.job import Context

KINDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "tagging": (tagging_rows, predicted_tags),
    "pairs": (pair_rows, predicted_labels),
    "questions": (question_rows, predicted_answers),
}
"""By kind of task, what turns examples into rows, and logits of these rows into predictions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransferSetting:
    """How a backbone is fine-tuned on a task; of retrieval, only the first two are read."""

    task: str
    """A name in `TASKS`."""
    tuning: Tuning
    """Learning rate, epochs and so on."""
    scope: Scope = "head"
    """What is trained: the head only, on frozen states, or the backbone as well."""
    max_train: int | None = None
    """Number of training examples, the first ones; None is all."""
    max_test: int | None = None
    """Number of test examples per language, the first ones; None is all."""
    swaps_embedding: bool = False
    """Whether each language has its own embedding, which replaces the current one before the test."""


def run_task(
    backbone: Backbone,
    load_vocabulary: Callable[[str], SubWords],
    setting: TransferSetting,
    training: ExampleSet,
    tests: Sequence[ExampleSet],
    generator: torch.Generator,
    context: Context,
) -> dict[str, Any]:
    """Train a head, and the backbone if the setting says so, and score the predictions.

    Args:
        backbone: The model.
        load_vocabulary: Gives the backbone the embedding of a language, and returns its vocabulary.
        setting: How the task is learnt.
        training: The training examples.
        tests: The test examples, a language each.
        generator: Draws the head and the order of the examples.
        context: See `Context`.

    Returns:
        `learnt_from`, the name of the training data; and `by_language`, with `split` and `metrics` of each.

    Raises:
        DivergedError: If the loss or the weights are not finite.
        Stopped: If the training was asked to stop.
    """
    task = TASKS[setting.task]
    prepare, predict = KINDS[task.kind]
    row_length = min(setting.tuning.context, backbone.context)
    sub_words = load_vocabulary(training.language)
    name, examples = training.read()
    examples = examples[: setting.max_train]
    labels = task.choices_in(examples)
    prepared = prepare(examples, sub_words, row_length, backbone.is_bidirectional, labels)
    head = (LabelHead if labels else SpanHead)(backbone.width, len(labels) or 2, generator)
    head = head.to(backbone.embedding.weight.device)
    # An embedding that will be replaced is not trained: the others must fit as well (Artetxe et al. 2020).
    weights = backbone.without_embedding().values() if setting.swaps_embedding else backbone.parameters()
    finetune(
        backbone,
        head,
        prepared.rows,
        setting.tuning,
        [*head.parameters(), *(weights if setting.scope == "all" else ())],
        trains_backbone=setting.scope == "all",
        generator=generator,
        callbacks=job_callbacks(context, f"{setting.task} in {training.language}", share=0.8),
    )
    by_language: dict[str, Any] = {}
    current_language = training.language
    for number, test in enumerate(tests, start=1):
        if setting.swaps_embedding and test.language != current_language:
            sub_words, current_language = load_vocabulary(test.language), test.language
        split, examples = test.read()
        examples = examples[: setting.max_test]
        prepared = prepare(examples, sub_words, row_length, backbone.is_bidirectional, labels)
        predicted = predict(logits_of(backbone, head, prepared.rows), prepared)
        metrics = task.score(test.language, predicted, task.labels(examples))
        by_language[test.language] = {"split": split, "metrics": metrics}
        context.report_progress(f"{setting.task} in {test.language}", 0.8 + 0.2 * number / len(tests))
    return {"learnt_from": name, "by_language": by_language}
