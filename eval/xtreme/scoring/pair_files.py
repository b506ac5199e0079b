"""Reads pairs of sentences: XTREME's columns (two sentences, a label), and named columns (XNLI, MultiNLI, PAWS-X).

XTREME wrote its files with Python's `csv`, which quotes a field that contains a quotation mark and doubles the marks
inside; its own programs do not undo that on reading. Here it is undone: a field is unquoted if it begins and ends with
a quotation mark and all others are doubled. In files written without quoting, only a sentence that is one quotation
loses its outer marks. In files with named columns, quotation marks are text.
"""

from collections.abc import Sequence
from pathlib import Path

from ecsuite.eval.xtreme.scoring.examples import TextPair
from ecsuite.formats.stored_text import num_columns_in_words, read_beginning, read_lines
from ecsuite.runtime.errors import ConfigError, shown

LABELS: dict[str, tuple[str, ...]] = {
    "xnli": ("contradiction", "entailment", "neutral"),
    "pawsx": ("0", "1"),
}
"""Labels by task; in pawsx, 1 is a paraphrase."""

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
    num_columns = 0
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split("\t")
        num_columns = num_columns or len(fields)
        if len(fields) != num_columns or num_columns not in (2, 3):
            wanted = (
                "two sentences without label, as in the first line"
                if num_columns == 2
                else "two sentences and a label"
            )
            raise ConfigError(
                f"{path}:{number}: expected {wanted}, found {num_columns_in_words(len(fields))}"
            )
        label = _label(fields[2], labels, path, number) if num_columns == 3 else None
        pairs.append(TextPair(first=_unquoted(fields[0]), second=_unquoted(fields[1]), label=label))
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
    language_column = names.index(LANGUAGE_COLUMN) if LANGUAGE_COLUMN in names else None
    pairs = []
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("\t")
        if len(fields) != len(names):
            raise ConfigError(
                f"{path}:{number}: expected {num_columns_in_words(len(names))}, found {len(fields)}"
            )
        if language_column is not None and fields[language_column] != language:
            continue
        label = _label(fields[labelled], labels, path, number)
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


def _label(found: str, labels: Sequence[str], path: Path, number: int) -> str:
    label = _OTHER_NAMES.get(found.strip(), found.strip())
    if label not in labels:
        raise ConfigError(f"{path}:{number}: label {shown(label)}; expected one of {', '.join(labels)}")
    return label


def _unquoted(field: str) -> str:
    """A field without the quoting of `csv`, if it is quoted."""
    if len(field) > 1 and field[0] == field[-1] == '"':
        inside = field[1:-1].replace('""', "\0")
        if '"' not in inside:
            field = inside.replace("\0", '"')
    return field.strip()
