"""One task: fine-tuning in one language, evaluation in others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from ecsuite.eval.learning.encoders import Backbone
from ecsuite.eval.learning.vocabulary import SubWords
from ecsuite.eval.xtreme import pairs, questions, tagging
from ecsuite.eval.xtreme.heads import Head, LabelHead, SpanHead
from ecsuite.eval.xtreme.presets import Preset
from ecsuite.eval.xtreme.retrieval import PUBLISHED_POOLING, EmbeddedBitext, Floats, embed, retrieve
from ecsuite.eval.xtreme.scoring.reading import read_examples
from ecsuite.eval.xtreme.scoring.scoring import MINED, score_predictions
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.texts import ENGLISH, labels_in, tested_examples, training_examples
from ecsuite.eval.xtreme.tuning import finetune, logits_of
from ecsuite.jobs.runner import ProgressCallback

KINDS: dict[str, ModuleType] = {"tagging": tagging, "pairs": pairs, "questions": questions}
"""By kind of task, the module that turns examples into rows and logits into predictions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransferSetting:
    """A task with its training language and its test languages."""

    data: Path
    """The data folder of the tasks."""
    task: str
    """A name in `TASKS`."""
    train_language: str
    """Language of the training examples."""
    test_languages: tuple[str, ...]
    """Languages of the test examples."""
    is_zero_shot: bool
    """Whether only the training language has training examples."""
    swaps_embedding: bool
    """Whether each language has its own embedding, which replaces the current one before the test."""


def run_task(
    backbone: Backbone,
    prepare_vocabulary: Callable[[str], SubWords],
    setting: TransferSetting,
    preset: Preset,
    generator: torch.Generator,
    report_progress: ProgressCallback,
) -> dict[str, Any]:
    """Train a head, and the backbone if the preset says so, and score the predictions.

    Args:
        backbone: The model.
        prepare_vocabulary: Loads the embedding of a language into the backbone and returns its vocabulary.
        setting: The task, its languages and its data.
        preset: Model and training sizes.
        generator: Draws the head and the order of the examples.
        report_progress: Called with a label and the share that is done, 0 to 1.

    Returns:
        `learnt_from`, the name of the training data, or None; and `by_language`, with `split` and `metrics` of each.
    """
    task = TASKS[setting.task]
    if task.kind == "retrieval":
        return _retrieve(backbone, prepare_vocabulary, setting, preset, report_progress)
    kind, tuning = KINDS[task.kind], preset.tuning[setting.task]
    context = min(tuning.context, backbone.context)
    sub_words = prepare_vocabulary(setting.train_language)
    name, examples = training_examples(
        setting.data, setting.task, setting.train_language, is_zero_shot=setting.is_zero_shot
    )
    examples = examples[: preset.max_train]
    labels = labels_in(setting.task, examples)
    prepared = kind.prepare(examples, sub_words, context, backbone.is_bidirectional, labels)
    head: Head
    head = (
        LabelHead(backbone.width, len(labels), generator) if labels else SpanHead(backbone.width, generator)
    )
    head = head.to(backbone.embedding.weight.device)
    trains_backbone = preset.scope == "all"
    trained = list(head.parameters())
    if trains_backbone:
        # An embedding that will be replaced is not trained: the others must fit as well (Artetxe et al. 2020).
        weights = backbone.without_embedding().values() if setting.swaps_embedding else backbone.parameters()
        trained += list(weights)

    def report_training(share: float) -> None:
        report_progress(f"{setting.task} in {setting.train_language}", 0.8 * share)

    finetune(
        backbone,
        head,
        prepared.rows,
        tuning,
        trained,
        trains_backbone=trains_backbone,
        generator=generator,
        report_progress=report_training,
    )
    by_language: dict[str, Any] = {}
    current_language = setting.train_language
    for number, language in enumerate(setting.test_languages):
        if setting.swaps_embedding and language != current_language:
            sub_words, current_language = prepare_vocabulary(language), language
        split, test_examples = tested_examples(
            setting.data, setting.task, language, is_zero_shot=setting.is_zero_shot
        )
        test_examples = test_examples[: preset.max_test]
        prepared = kind.prepare(test_examples, sub_words, context, backbone.is_bidirectional, labels)
        predicted = kind.predictions(logits_of(backbone, head, prepared.rows), prepared)
        metrics = score_predictions(setting.task, language, predicted, test_examples)
        by_language[language] = {"split": split, "metrics": metrics}
        report_progress(
            f"{setting.task} in {language}", 0.8 + 0.2 * (number + 1) / len(setting.test_languages)
        )
    return {"learnt_from": name, "by_language": by_language}


def _retrieve(
    backbone: Backbone,
    prepare_vocabulary: Callable[[str], SubWords],
    setting: TransferSetting,
    preset: Preset,
    report_progress: ProgressCallback,
) -> dict[str, Any]:
    """Find translations by the states of sentences, without training."""
    by_language: dict[str, Any] = {}
    tuning, pooling = preset.tuning[setting.task], PUBLISHED_POOLING[setting.task]
    if pooling == "first" and not backbone.is_bidirectional:
        pooling = "last"
    for number, language in enumerate(setting.test_languages):
        split, test_examples = tested_examples(setting.data, setting.task, language, is_zero_shot=True)
        threshold_examples = test_examples
        if setting.task == MINED:
            threshold_examples = read_examples(setting.data, setting.task, language, "dev")
            split += ", its threshold from itself" if split == "dev" else ""

        def embedded(sentences: Sequence[str], current_language: str) -> Floats:
            sub_words = prepare_vocabulary(current_language)
            return embed(
                backbone,
                sub_words,
                sentences,
                tuning.batch,
                backbone.embedding.weight.device,  # to which `prepare_vocabulary` moves it
                pooling=pooling,
                states=backbone.retrieval_states,
                context=tuning.context,
            )

        # Tatoeba's queries are the English sentences; BUCC's are those of the other language.
        languages = (ENGLISH, language) if setting.task != MINED else (language, ENGLISH)
        bitexts = [
            EmbeddedBitext(
                bitext=bitext,
                sources=embedded(bitext.sources, languages[0]),
                targets=embedded(bitext.targets, languages[1]),
            )
            for bitext in (test_examples, threshold_examples)[: 1 + (setting.task == MINED)]
        ]
        metrics = score_predictions(setting.task, language, retrieve(setting.task, *bitexts), test_examples)
        by_language[language] = {"split": split, "metrics": metrics}
        report_progress(f"{setting.task} in {language}", (number + 1) / len(setting.test_languages))
    return {"learnt_from": None, "by_language": by_language}
