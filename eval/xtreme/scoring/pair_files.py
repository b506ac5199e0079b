"""Pairs of sentences in columns: of XTREME (two sentences, a label), of XNLI, MultiNLI and PAWS-X (named columns).

XTREME wrote its files with Python's `csv`, which puts a field that holds a quotation mark in quotation marks and
doubles those inside; its own programs read them back without undoing that. Here it is undone: a field that begins and
ends with a quotation mark, and whose others are all doubled, is what it was before. A file that was written otherwise
loses by this only the outer marks of a sentence that is one quotation. In files with named columns marks are text.
"""

from collections.abc import Sequence
from pathlib import Path

from ecsuite.config import ConfigError
from ecsuite.eval.xtreme.scoring.examples import TextPair
from ecsuite.eval.xtreme.scoring.stored_text import num_columns_in_words, read_beginning, read_lines

LABELS: dict[str, tuple[str, ...]] = {
    "xnli": ("contradiction", "entailment", "neutral"),
    "pawsx": ("0", "1"),
}
"""By task; of pawsx 1 is a paraphrase."""

FIRST_COLUMNS = ("sentence1", "premise")
"""Names that the column of the first sentence has; of XNLI and PAWS-X, and of MultiNLI."""
SECOND_COLUMNS = ("sentence2", "hypo", "hypothesis")
LABEL_COLUMNS = ("gold_label", "label")
LANGUAGE_COLUMN = "language"
"""Of XNLI, whose files hold all languages."""

_OTHER_NAMES = {"contradictory": "contradiction"}
"""What XNLI's machine translations call a label."""
_NUM_BYTES_OF_BEGINNING = 1 << 16


def has_labels(path: Path) -> bool:
    """Whether the first line has more than two sentences, or names the column of a label; quick."""
    first = read_beginning(path, _NUM_BYTES_OF_BEGINNING).partition("\n")[0].split("\t")
    return len(first) == 3 or any(name in first for name in LABEL_COLUMNS)


def read_pairs(path: Path, labels: Sequence[str]) -> list[TextPair]:
    """Read lines `first<TAB>second<TAB>label`, or without the label where it is held back.

    Args:
        path: The file.
        labels: Which there may be.

    Raises:
        ConfigError: If the file cannot be read, a line has another number of columns than the first, or none of the
            labels.
    """
    pairs = []
    num_columns = 0
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split("\t")
        num_columns = num_columns or len(fields)
        if len(fields) != num_columns or num_columns not in (2, 3):
            wanted = (
                "two sentences alone, as in the first line"
                if num_columns == 2
                else "two sentences and a label"
            )
            raise ConfigError(
                f"{path}:{number}: expected {wanted}, found {num_columns_in_words(len(fields))}"
            )
        label = _label(fields[2], labels, path, number) if num_columns == 3 else None
        pairs.append(TextPair(first=_unquoted(fields[0]), second=_unquoted(fields[1]), label=label))
    return _some(pairs, path, "`first<TAB>second<TAB>label`")


def read_named_pairs(path: Path, labels: Sequence[str], language: str) -> list[TextPair]:
    """Read pairs from a file whose first line names the columns.

    Args:
        path: The file; columns that it may have besides are passed over.
        labels: Which there may be.
        language: Which rows to take where there is a column `language`.

    Raises:
        ConfigError: If the file cannot be read, lacks a column or rows of the language, or a row is not as the first
            line says.
    """
    lines = read_lines(path)
    names = lines[0].split("\t") if lines else []
    first, second, labelled = (
        _column(path, names, choices) for choices in (FIRST_COLUMNS, SECOND_COLUMNS, LABEL_COLUMNS)
    )
    spoken = names.index(LANGUAGE_COLUMN) if LANGUAGE_COLUMN in names else None
    pairs = []
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("\t")
        if len(fields) != len(names):
            raise ConfigError(
                f"{path}:{number}: expected {num_columns_in_words(len(names))}, found {len(fields)}"
            )
        if spoken is not None and fields[spoken] != language:
            continue
        label = _label(fields[labelled], labels, path, number)
        pairs.append(TextPair(first=fields[first].strip(), second=fields[second].strip(), label=label))
    return _some(pairs, path, f"rows in '{language}'")


def _some(pairs: list[TextPair], path: Path, wanted: str) -> list[TextPair]:
    if not pairs:
        raise ConfigError(f"{path}: no pair in it; expected {wanted}")
    return pairs


def _column(path: Path, names: Sequence[str], choices: Sequence[str]) -> int:
    for name in choices:
        if name in names:
            return names.index(name)
    raise ConfigError(f"{path}:1: expected a column named {' or '.join(choices)}, found {', '.join(names)}")


def _label(found: str, labels: Sequence[str], path: Path, number: int) -> str:
    label = _OTHER_NAMES.get(found.strip(), found.strip())
    if label not in labels:
        raise ConfigError(f"{path}:{number}: label '{label}'; expected one of {', '.join(labels)}")
    return label


def _unquoted(field: str) -> str:
    """A field as it was before `csv` quoted it, if it did."""
    if len(field) > 1 and field[0] == field[-1] == '"':
        inside = field[1:-1].replace('""', "\0")
        if '"' not in inside:
            field = inside.replace("\0", '"')
    return field.strip()
