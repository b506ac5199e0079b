"""Reads predictions and labels in the format of the benchmark's own program.

A folder has one subfolder per task with one file per language: `test-de.tsv`, for questions `test-de.json`, optionally
compressed (`.xz`, `.gz`). Pairs: one label per line. Tagging: one tag per line, an empty line between sentences.
Tatoeba: the row of the translation of each sentence, from 0. BUCC: lines of two names separated by a tab. Questions:
labels are SQuAD's JSON, predictions are a JSON object of answers by question id.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ecsuite.eval.xtreme.scoring.pair_files import LABELS
from ecsuite.eval.xtreme.scoring.scoring import MINED
from ecsuite.eval.xtreme.scoring.tagged_files import blocks
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.formats.stored_text import ENDINGS, read_lines, read_text
from ecsuite.formats.strict_json import parse_json
from ecsuite.runtime.errors import ConfigError, shown

NUMBER = "[0-9]{1,18}"
"""A row; Python refuses to read numbers of thousands of digits."""


def file_of(folder: Path, task: str, language: str) -> Path | None:
    """The file of a language, plain or compressed; None if there is none."""
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
            f"{folder / task / _name(task, language)}: no such file; "
            "`--languages available` scores the languages that have files"
        )
    return file


def read_submission(task: str, predictions: Path, labels: Path) -> tuple[Any, Any]:
    """Read predictions and labels of one language from their files, for `score_labels`.

    Raises:
        ConfigError: With file and line, if a file is malformed or the two do not match.
    """
    kind = TASKS[task].kind
    if kind == "questions":
        return _read_answers(predictions, labels)
    if kind == "tagging":
        return _read_tags(predictions, labels)
    if task == MINED:
        return _read_pairs(predictions), _read_pairs(labels)
    parse = _row if kind == "retrieval" else _label
    predicted, gold = _read_values(predictions, labels, parse)
    known = LABELS.get(task)
    if known and not set(known).intersection(
        predicted
    ):  # some may be other text, if a generative model predicted them
        raise ConfigError(
            f"{predictions}:1: expected labels such as {', '.join(known)}, got {shown(predicted[0])}"
        )
    return predicted, gold


def _name(task: str, language: str) -> str:
    return f"test-{language}.{'json' if TASKS[task].kind == 'questions' else 'tsv'}"


def _read_values(
    predictions: Path, labels: Path, parse: Callable[[str, str], Any]
) -> tuple[list[Any], list[Any]]:
    """One value per line of both files, the same number in each."""
    predicted, gold = (
        [parse(line, f"{file}:{number}") for number, line in enumerate(_lines(file), 1)]
        for file in (predictions, labels)
    )
    place = f"{predictions}:{min(len(predicted), len(gold)) + 1}"
    _require_as_many(place, len(predicted), labels, len(gold), "labels")
    return predicted, gold


def _label(line: str, place: str) -> str:
    if not line or "\t" in line:
        raise ConfigError(f"{place}: expected one label, got {shown(line)}")
    return line


def _row(line: str, place: str) -> int:
    if not re.fullmatch(NUMBER, line):
        raise ConfigError(f"{place}: expected the row of a sentence, 0 or above, got {shown(line)}")
    return int(line)


def _read_pairs(file: Path) -> frozenset[tuple[str, str]]:
    """Set of pairs of names."""
    pairs = []
    for number, line in enumerate(_lines(file), 1):
        names = line.split("\t")
        if len(names) != 2 or not all(names):
            raise ConfigError(f"{file}:{number}: expected two names separated by a tab, got {shown(line)}")
        pairs.append((names[0], names[1]))
    return frozenset(pairs)


def _read_tags(predictions: Path, labels: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Tags of the sentences of both files, of equal number and lengths."""
    predicted, gold = _sentences(predictions), _sentences(labels)
    for (line, tags), (gold_line, gold_tags) in zip(predicted, gold, strict=False):
        if len(tags) != len(gold_tags):
            raise ConfigError(
                f"{predictions}:{line}: expected a sentence of {len(gold_tags)} tags as at {labels}:{gold_line}, "
                f"got {len(tags)}"
            )
    after_last = predicted[-1][0] + len(predicted[-1][1]) + 1 if predicted else 1
    line = predicted[len(gold)][0] if len(predicted) > len(gold) else after_last
    _require_as_many(f"{predictions}:{line}", len(predicted), labels, len(gold), "sentences")
    return [tags for _, tags in predicted], [tags for _, tags in gold]


def _sentences(file: Path) -> list[tuple[int, list[str]]]:
    """First line number and tags of each sentence."""
    sentences = list(blocks(_lines(file)))
    for first, tags in sentences:
        for number, tag in enumerate(tags, first):
            if len(tag.split()) != 1:
                raise ConfigError(f"{file}:{number}: expected one tag, got {shown(tag)}")
    return sentences


def _require_as_many(place: str, num_predicted: int, labels: Path, num_right: int, things: str) -> None:
    """Raise an error if numbers differ; `place` is the first missing or surplus line."""
    if num_right == 0:
        raise ConfigError(f"{labels}: expected {things}, the file has none")
    if num_predicted != num_right:
        raise ConfigError(f"{place}: expected {num_right:,} {things} as in {labels}, got {num_predicted:,}")


def _lines(file: Path) -> list[str]:
    """Stripped lines, without empty ones at the end."""
    lines = [line.strip() for line in read_lines(file)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _read_answers(predictions: Path, labels: Path) -> tuple[dict[str, str], list[tuple[str, list[str]]]]:
    """Predicted answers by question id, and the correct answers of each question."""
    gold = _read_questions(labels)
    predicted = parse_json(read_text(predictions), predictions)
    if not isinstance(predicted, dict):
        raise ConfigError(f"{predictions}: expected a JSON object of answers by question id")
    for name, answer in predicted.items():
        if not isinstance(answer, str):
            raise ConfigError(
                f"{predictions}: question {name}: expected a string as answer, got {shown(answer)}"
            )
    unknown = predicted.keys() - {name for name, _ in gold}
    if unknown:
        raise ConfigError(
            f"{predictions}: {len(unknown):,} of {len(predicted):,} questions are not in {labels}, "
            f"such as {min(unknown)}"
        )
    return predicted, gold


def _read_questions(file: Path) -> list[tuple[str, list[str]]]:
    content = parse_json(read_text(file), file)
    place = "data"
    questions = []
    try:
        for number, article in enumerate(content["data"] if isinstance(content, dict) else content):
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
