"""One task: learnt in one language, tested in others."""

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
from ecsuite.eval.xtreme.retrieval import PUBLISHED_POOLING, Embedded, Floats, embed, retrieve
from ecsuite.eval.xtreme.scoring.reading import read_examples
from ecsuite.eval.xtreme.scoring.scoring import MINED, score_predictions
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.texts import ENGLISH, labels_in, tested_examples, training_examples
from ecsuite.eval.xtreme.tuning import scores_of, tune
from ecsuite.jobs.runner import ProgressCallback

KINDS: dict[str, ModuleType] = {"tagging": tagging, "pairs": pairs, "questions": questions}
"""By the kind of a task, what makes rows of its examples and predictions of scores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """What to learn and where to be tested."""

    data: Path
    """The folder of the tasks."""
    task: str
    """A name in `TASKS`."""
    learnt_in: str
    """The language of the examples to learn from."""
    tested_in: tuple[str, ...]
    """The languages to be tested in."""
    is_zero_shot: bool
    """Whether the languages of the test have no examples to learn from."""
    swaps_embedding: bool
    """Whether each language has its own embedding, so that another one is put in for the test."""


def do_task(
    body: Backbone,
    speak: Callable[[str], SubWords],
    trial: Trial,
    preset: Preset,
    generator: torch.Generator,
    report_progress: ProgressCallback,
) -> dict[str, Any]:
    """Tune a head, and the body if the preset says so, and score what they predict.

    Args:
        body: Reads.
        speak: Lets the body read a language.
        trial: What to learn and where to be tested.
        preset: How.
        generator: Draws the head, and the order of the examples.
        report_progress: Told the share that is done.

    Returns:
        `learnt_from`, a name for people, or None; and `by_language`, with `split` and `metrics` of each.
    """
    task = TASKS[trial.task]
    if task.kind == "retrieval":
        return _retrieve(body, speak, trial, preset, report_progress)
    kind, tuning = KINDS[task.kind], preset.tuning[trial.task]
    context = min(tuning.context, body.context)
    sub_words = speak(trial.learnt_in)
    name, examples = training_examples(
        trial.data, trial.task, trial.learnt_in, is_zero_shot=trial.is_zero_shot
    )
    examples = examples[: preset.max_train]
    labels = labels_in(trial.task, examples)
    prepared = kind.prepare(examples, sub_words, context, body.is_bidirectional, labels)
    head: Head
    head = LabelHead(body.width, len(labels), generator) if labels else SpanHead(body.width, generator)
    head = head.to(body.embedding.weight.device)
    through_body = preset.scope == "all"
    tuned = list(head.parameters())
    if through_body:
        # An embedding that will be replaced is not tuned, so that others fit as well (Artetxe et al. 2020).
        tuned += list(body.without_embedding().values()) if trial.swaps_embedding else list(body.parameters())

    def told(share: float) -> None:
        report_progress(f"{trial.task} in {trial.learnt_in}", 0.8 * share)

    tune(
        body,
        head,
        prepared.rows,
        tuning,
        tuned,
        through_body=through_body,
        generator=generator,
        report_progress=told,
    )
    found: dict[str, Any] = {}
    spoken = trial.learnt_in
    for number, language in enumerate(trial.tested_in):
        if trial.swaps_embedding and language != spoken:
            sub_words, spoken = speak(language), language
        split, asked = tested_examples(trial.data, trial.task, language, is_zero_shot=trial.is_zero_shot)
        asked = asked[: preset.max_test]
        prepared = kind.prepare(asked, sub_words, context, body.is_bidirectional, labels)
        said = kind.predictions(scores_of(body, head, prepared.rows), prepared)
        metrics = score_predictions(trial.task, language, said, asked)
        found[language] = {"split": split, "metrics": metrics}
        report_progress(f"{trial.task} in {language}", 0.8 + 0.2 * (number + 1) / len(trial.tested_in))
    return {"learnt_from": name, "by_language": found}


def _retrieve(
    body: Backbone,
    speak: Callable[[str], SubWords],
    trial: Trial,
    preset: Preset,
    report_progress: ProgressCallback,
) -> dict[str, Any]:
    """Find translations by the states of sentences, without learning anything."""
    found: dict[str, Any] = {}
    device = body.embedding.weight.device
    tuning, pooling = preset.tuning[trial.task], PUBLISHED_POOLING[trial.task]
    if pooling == "first" and not body.is_bidirectional:
        pooling = "last"
    for number, language in enumerate(trial.tested_in):
        split, asked = tested_examples(trial.data, trial.task, language, is_zero_shot=True)
        known = asked
        if trial.task == MINED:
            known = read_examples(trial.data, trial.task, language, "dev")
            split += ", its threshold from itself" if split == "dev" else ""

        def embedded(sentences: Sequence[str], spoken: str) -> Floats:
            return embed(
                body,
                speak(spoken),
                sentences,
                tuning.batch,
                device,
                pooling=pooling,
                states=body.retrieval_states,
                context=tuning.context,
            )

        # Of Tatoeba the English sentences are looked for in the other language; of BUCC it is the other way round.
        sides = (ENGLISH, language) if trial.task != MINED else (language, ENGLISH)
        both = [
            Embedded(
                bitext=bitext,
                sources=embedded(bitext.sources, sides[0]),
                targets=embedded(bitext.targets, sides[1]),
            )
            for bitext in (asked, known)[: 1 + (trial.task == MINED)]
        ]
        metrics = score_predictions(trial.task, language, retrieve(trial.task, *both), asked)
        found[language] = {"split": split, "metrics": metrics}
        report_progress(f"{trial.task} in {language}", (number + 1) / len(trial.tested_in))
    return {"learnt_from": None, "by_language": found}
