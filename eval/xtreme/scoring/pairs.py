"""Pairs, a label per pair of sentences: XTREME's columns, and files with named columns (XNLI, MultiNLI, PAWS-X).

XTREME wrote its files with Python's `csv`, which quotes a field that contains a quotation mark and doubles the marks
inside; its own programs do not undo that on reading. Here it is undone: a field is unquoted if it begins and ends with
a quotation mark and all others are doubled. In files written without quoting, only a sentence that is one quotation
loses its outer marks. In files with named columns, quotation marks are text.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.eval.xtreme.scoring.examples import TextPair
from ecsuite.eval.xtreme.scoring.rows_of_text import columns, one_of, read_values
from ecsuite.eval.xtreme.scoring.task import Predict, Task, most_frequent
from ecsuite.formats.stored_text import num_columns_in_words, read_beginning, read_lines
from ecsuite.runtime.errors import ConfigError, shown

FIRST_COLUMNS = ("sentence1", "premise")
"""Names of the column of the first sentence: in XNLI and PAWS-X, and in MultiNLI."""
SECOND_COLUMNS = ("sentence2", "hypo", "hypothesis")
LABEL_COLUMNS = ("gold_label", "label")
LANGUAGE_COLUMN = "language"
"""Column of XNLI, whose files contain all languages."""

_OTHER_NAMES = {"contradictory": "contradiction"}
"""Label names in XNLI's machine translations."""
_NUM_HEADER_BYTES = 1 << 16


def has_labels(path: Path) -> bool:
    """Whether the first line has a third column, or names a label column; fast."""
    first = read_beginning(path, _NUM_HEADER_BYTES).partition("\n")[0].split("\t")
    return len(first) == 3 or any(name in first for name in LABEL_COLUMNS)


def read_pairs(path: Path, labels: Sequence[str]) -> list[TextPair]:
    """Read lines `first<TAB>second<TAB>label`, or without the label if it is withheld.

    Args:
        path: The file.
        labels: The valid labels.

    Raises:
        ConfigError: If the file cannot be read, a line has a different number of columns than the first, or an
            invalid label.
    """
    pairs = []
    lines = read_lines(path)
    is_withheld = bool(lines) and lines[0].count("\t") == 1
    wanted = (
        "two sentences without label, as in the first line" if is_withheld else "two sentences and a label"
    )
    for number, line in enumerate(lines, 1):
        place = f"{path}:{number}"
        first, second, *rest = columns(line, place, (2 if is_withheld else 3,), wanted)
        label = _label(rest[0], labels, place) if rest else None
        pairs.append(TextPair(first=_unquoted(first), second=_unquoted(second), label=label))
    return _require_pairs(pairs, path, "`first<TAB>second<TAB>label`")


def read_named_pairs(path: Path, labels: Sequence[str], language: str) -> list[TextPair]:
    """Read pairs from a file whose first line names the columns.

    Args:
        path: The file; other columns are ignored.
        labels: The valid labels.
        language: Language of the rows to read, if there is a column `language`.

    Raises:
        ConfigError: If the file cannot be read, lacks a column or rows of the language, or a row does not match the
            first line.
    """
    lines = read_lines(path)
    names = lines[0].split("\t") if lines else []
    first, second, labelled = (
        _column(path, names, choices) for choices in (FIRST_COLUMNS, SECOND_COLUMNS, LABEL_COLUMNS)
    )
    pairs = []
    for number, line in enumerate(lines[1:], 2):
        place = f"{path}:{number}"
        fields = columns(line, place, (len(names),), num_columns_in_words(len(names)))
        if dict(zip(names, fields, strict=True)).get(LANGUAGE_COLUMN, language) == language:
            label = _label(fields[labelled], labels, place)
            pairs.append(TextPair(first=fields[first].strip(), second=fields[second].strip(), label=label))
    return _require_pairs(pairs, path, f"rows in '{language}'")


def _require_pairs(pairs: list[TextPair], path: Path, wanted: str) -> list[TextPair]:
    if not pairs:
        raise ConfigError(f"{path}: expected {wanted}, found no pair")
    return pairs


def _column(path: Path, names: Sequence[str], choices: Sequence[str]) -> int:
    for name in choices:
        if name in names:
            return names.index(name)
    raise ConfigError(
        f"{path}:1: expected a column named {' or '.join(choices)}, found {', '.join(names)[:200]}"
    )


def _label(stored: str, labels: Sequence[str], place: str) -> str:
    return one_of(_OTHER_NAMES.get(stored.strip(), stored.strip()), labels, place)


def _unquoted(field: str) -> str:
    """A field without the quoting of `csv`, if it is quoted."""
    if len(field) > 1 and field[0] == field[-1] == '"':
        inside = field[1:-1].replace('""', "\0")
        if '"' not in inside:
            field = inside.replace("\0", '"')
    return field.strip()


def _majority(task: Task, folder: Path) -> Predict:
    """The most frequent label in English."""
    _, labels = task.english_examples(folder)
    label = most_frequent(labels)
    return lambda examples: [label] * len(examples)


def share_right(predictions: Sequence[Any], labels: Sequence[Any]) -> dict[str, float]:
    """The share of predictions that are equal to their labels."""
    return {"accuracy": sum(map(operator.eq, predictions, labels)) / len(labels) * 100}


@dataclass(frozen=True, kw_only=True)
class Pairs(Task):
    """A label per pair."""

    kind = "pairs"
    group = "classification"
    metrics = ("accuracy",)
    main = ("accuracy",)
    baselines = {"majority": _majority}  # noqa: RUF012

    choices: tuple[str, ...]
    """The valid labels."""

    def _read(self, form: str, paths: Sequence[Path], language: str) -> list[TextPair]:
        if form == "pairs":
            return read_pairs(paths[0], self.choices)
        return read_named_pairs(paths[0], self.choices, language)

    def _is_labelled(self, form: str, path: Path) -> bool:
        return has_labels(path)

    def labels(self, examples: Sequence[TextPair]) -> Any:
        """The label of each pair."""
        return self._given([example.label for example in examples])

    def choices_in(self, examples: Sequence[TextPair]) -> tuple[str, ...]:
        """The labels that occur."""
        return tuple(sorted({example.label for example in examples if example.label is not None}))

    def constant(self, labels: Any) -> Any:
        """The most frequent label."""
        return [most_frequent(labels)] * len(labels)

    def _metrics(self, language: str, predictions: Any, labels: Any) -> dict[str, float]:
        return share_right(predictions, labels)

    def read_submission(self, predictions: Path, labels: Path) -> tuple[Any, Any]:
        """One label per line; some predictions may be other text, if a generative model predicted them."""
        predicted, gold = read_values(predictions, labels, _one_label)
        if not set(self.choices).intersection(predicted):
            raise ConfigError(
                f"{predictions}:1: expected labels such as {', '.join(self.choices)}, got {shown(predicted[0])}"
            )
        return predicted, gold


def _one_label(line: str, place: str) -> str:
    if not line or "\t" in line:
        raise ConfigError(f"{place}: expected one label, got {shown(line)}")
    return line
