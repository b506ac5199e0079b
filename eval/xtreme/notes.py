"""Notes on what a study computed: sizes, training data, and labels that are missing."""

from collections.abc import Mapping

from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.splits import ENGLISH
from ecsuite.eval.xtreme.study import Study


def study_notes(study: Study, learnt_from: Mapping[str, Mapping[str, str | None]]) -> list[str]:
    """Notes for readers of the scores.

    Args:
        study: What was asked.
        learnt_from: The name of the training data, by task and language.
    """
    preset = study.preset
    lines = []
    if preset.is_reduced:
        limits = f"at most {preset.max_train:,} training and {preset.max_test:,} test examples per language"
        trained = (
            "only heads trained, on frozen states"
            if preset.scope == "head"
            else "heads and backbones trained"
        )
        lines.append(f"Preset {preset.name}: not the benchmark's settings; {limits}; {trained}.")
    for task, parts in learnt_from.items():
        unusual = {language: part for language, part in parts.items() if part not in (None, "train")}
        if unusual:
            parts_by_language = ", ".join(f"{language} {part}" for language, part in unusual.items())
            lines.append(f"{TASKS[task].title} was trained on: {parts_by_language}.")
    if study.protocol.learns_text and all(text.folder is None for text in study.texts.values()):
        lines.append("Training text: tagged sentences outside the test sets (choose another with --texts).")
    for task, languages in study.tested.items():
        requested = study.languages_asked or TASKS[task].languages
        missing = [one for one in requested if one not in languages and one != ENGLISH]
        if missing:
            lines.append(f"{TASKS[task].title}: no labels in {', '.join(missing)}.")
    left_out = [TASKS[task].title for task in study.tasks if task not in study.tested]
    if left_out:
        lines.append(f"Left out, as there are no labels: {', '.join(left_out)}.")
    return lines
