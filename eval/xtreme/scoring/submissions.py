"""Reads predictions and labels from folders as the benchmark's own program takes them.

A folder has a folder for each task with a file for each language, `test-de.tsv`, of questions `test-de.json`; any of
them may be packed (`.xz`, `.gz`). Pairs: a label a line. Tagging: a tag a line, an empty line between sentences.
Tatoeba: for each sentence the row of its translation, from 0. BUCC: lines of two names with a tab between. Questions:
the labels are SQuAD's JSON, predictions an object of answers by the question's name.
"""

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from ecsuite.config import ConfigError
from ecsuite.eval.xtreme.scoring.pair_files import LABELS
from ecsuite.eval.xtreme.scoring.scoring import MINED
from ecsuite.eval.xtreme.scoring.stored_text import ENDINGS, read_lines, read_text
from ecsuite.eval.xtreme.scoring.tasks import TASKS

Sentences = list[tuple[int, list[str]]]
"""The tags of each sentence, and the line at which it begins."""


def file_of(folder: Path, task: str, language: str) -> Path | None:
    """The file of a language, packed or not; None where there is none."""
    plain = folder / task / _name(task, language)
    files = (plain.with_name(plain.name + ending) for ending in ENDINGS)
    return next((file for file in files if file.is_file()), None)


def require_file(folder: Path, task: str, language: str) -> Path:
    """The file of a language.

    Raises:
        ConfigError: If there is none.
    """
    file = file_of(folder, task, language)
    if file is None:
        raise ConfigError(
            f"{folder / task / _name(task, language)} is not there; "
            "`--languages available` scores the languages that are"
        )
    return file


def read_submission(task: str, predictions: Path, labels: Path) -> tuple[Any, Any]:
    """Read what was predicted and what is right, of one language.

    Args:
        task: The task's name.
        predictions: The file of predictions.
        labels: The file of labels.

    Returns:
        Both as `score_labels` takes them.

    Raises:
        ConfigError: With file and line, if a file is malformed or the two do not belong together.
    """
    kind = TASKS[task].kind
    if kind == "questions":
        return _read_answers(predictions, labels)
    if kind == "tagging":
        return _read_tags(predictions, labels)
    if task == MINED:
        return _read_pairs(predictions), _read_pairs(labels)
    parse = _row if kind == "retrieval" else _label
    predicted, right = _read_values(predictions, labels, parse)
    known = LABELS.get(task)
    if known and not set(known).intersection(predicted):  # some may be no labels, where a generator said them
        raise ConfigError(
            f"{predictions}:1: expected labels such as {', '.join(known)}, got {predicted[0]!r}"
        )
    return predicted, right


def _name(task: str, language: str) -> str:
    return f"test-{language}.{'json' if TASKS[task].kind == 'questions' else 'tsv'}"


def _read_values(
    predictions: Path, labels: Path, parse: Callable[[str, str], Any]
) -> tuple[list[Any], list[Any]]:
    """A value a line of either file, and as many of them."""
    predicted, right = (
        [parse(line, f"{file}:{number}") for number, line in enumerate(_lines(file), 1)]
        for file in (predictions, labels)
    )
    place = f"{predictions}:{min(len(predicted), len(right)) + 1}"
    _require_as_many(place, len(predicted), labels, len(right), "labels")
    return predicted, right


def _label(line: str, place: str) -> str:
    if not line or "\t" in line:
        raise ConfigError(f"{place}: expected one label, got {line!r}")
    return line


def _row(line: str, place: str) -> int:
    if not (line.isascii() and line.isdigit()):
        raise ConfigError(f"{place}: expected the row of a sentence, 0 or above, got {line!r}")
    return int(line)


def _read_pairs(file: Path) -> frozenset[tuple[str, str]]:
    """Pairs of names, in any order; one that is there twice counts once."""
    pairs = []
    for number, line in enumerate(_lines(file), 1):
        names = line.split("\t")
        if len(names) != 2 or not all(names):
            raise ConfigError(f"{file}:{number}: expected two names with a tab between, got {line!r}")
        pairs.append((names[0], names[1]))
    return frozenset(pairs)


def _read_tags(predictions: Path, labels: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Tags of as many sentences, each as long."""
    predicted, right = _sentences(predictions), _sentences(labels)
    for (line, tags), (gold_line, gold_tags) in zip(predicted, right, strict=False):
        if len(tags) != len(gold_tags):
            raise ConfigError(
                f"{predictions}:{line}: expected a sentence of {len(gold_tags)} tags as at {labels}:{gold_line}, "
                f"got {len(tags)}"
            )
    after_last = predicted[-1][0] + len(predicted[-1][1]) + 1 if predicted else 1
    line = predicted[len(right)][0] if len(predicted) > len(right) else after_last
    _require_as_many(f"{predictions}:{line}", len(predicted), labels, len(right), "sentences")
    return [tags for _, tags in predicted], [tags for _, tags in right]


def _sentences(file: Path) -> Sentences:
    sentences = []
    numbered = enumerate(_lines(file), 1)
    for is_sentence, lines in groupby(numbered, key=lambda entry: entry[1] != ""):
        if not is_sentence:
            continue
        first, *others = lines
        tags = [first[1], *(line for _, line in others)]
        wrong = next((row for row, tag in enumerate(tags) if len(tag.split()) != 1), None)
        if wrong is not None:
            raise ConfigError(
                f"{file}:{first[0] + wrong}: expected a tag and nothing else, got {tags[wrong]!r}"
            )
        sentences.append((first[0], tags))
    return sentences


def _require_as_many(place: str, num_predicted: int, labels: Path, num_right: int, things: str) -> None:
    """Refuse numbers that differ; `place` is where the first thing is missing, or too much."""
    if num_right == 0:
        raise ConfigError(f"{labels}: expected {things}, the file has none")
    if num_predicted != num_right:
        raise ConfigError(f"{place}: expected {num_right:,} {things} as in {labels}, got {num_predicted:,}")


def _lines(file: Path) -> list[str]:
    """Lines without space around them; empty ones at the end are left out."""
    lines = [line.strip() for line in read_lines(file)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _read_answers(predictions: Path, labels: Path) -> tuple[dict[str, str], list[tuple[str, list[str]]]]:
    """Answers by question, and the right answers of each question."""
    right = _read_questions(labels)
    predicted = _read_json(predictions)
    if not isinstance(predicted, dict):
        raise ConfigError(f"{predictions}: expected an object of answers by question")
    for name, answer in predicted.items():
        if not isinstance(answer, str):
            raise ConfigError(
                f"{predictions}: question {name}: expected a text as the answer, got {answer!r}"
            )
    unknown = predicted.keys() - {name for name, _ in right}
    if unknown:
        raise ConfigError(
            f"{predictions}: {len(unknown):,} of {len(predicted):,} questions are not in {labels}, "
            f"such as {min(unknown)}"
        )
    return predicted, right


def _read_questions(file: Path) -> list[tuple[str, list[str]]]:
    tree = _read_json(file)
    place = "data"
    questions = []
    try:
        for number, article in enumerate(tree["data"] if isinstance(tree, dict) else tree):
            place = f"data[{number}]"
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    place = f"question {question['id']}"
                    answers = [answer["text"] for answer in question["answers"]]
                    if not answers or not all(isinstance(answer, str) for answer in answers):
                        raise ConfigError(f"{file}: {place}: expected at least one answer with a text")
                    questions.append((str(question["id"]), answers))
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{file}: {place}: expected SQuAD's keys: {error}") from None
    if not questions:
        raise ConfigError(f"{file}: expected questions, the file has none")
    return questions


def _read_json(file: Path) -> Any:
    try:
        return json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{file}:{error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise ConfigError(f"{file}: not questions or answers: nested too deeply") from None
