"""Lines of text files with columns, and what every submission is checked for; errors name file and line."""

from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from ecsuite.formats.stored_text import num_columns_in_words, read_lines
from ecsuite.runtime.errors import ConfigError, shown


def columns(line: str, place: str, numbers: Container[int], wanted: str) -> list[str]:
    """The columns of a line, which must be as many as one of `numbers`."""
    fields = line.split("\t")
    if len(fields) not in numbers:
        raise ConfigError(f"{place}: expected {wanted}, found {num_columns_in_words(len(fields))}")
    return fields


def one_of(label: str, labels: Sequence[str], place: str, name: str = "label") -> str:
    """The same label, which must be one of `labels`."""
    if label not in labels:
        raise ConfigError(f"{place}: {name} {shown(label)}; expected one of {', '.join(labels)}")
    return label


def blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Blocks of lines between blank lines, with the number of the first line, from 1."""
    block: list[str] = []
    for number, line in enumerate((*lines, ""), 1):
        if line and not line.isspace():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def stripped_lines(file: Path) -> list[str]:
    """Stripped lines, without empty ones at the end."""
    lines = [line.strip() for line in read_lines(file)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def read_values(
    predictions: Path, labels: Path, parse: Callable[[str, str], Any]
) -> tuple[list[Any], list[Any]]:
    """One value per line of both files, the same number in each; `parse` gets a line and its place."""
    predicted, gold = (
        [parse(line, f"{file}:{number}") for number, line in enumerate(stripped_lines(file), 1)]
        for file in (predictions, labels)
    )
    place = f"{predictions}:{min(len(predicted), len(gold)) + 1}"
    require_as_many(place, len(predicted), labels, len(gold), "labels")
    return predicted, gold


def require_as_many(place: str, num_predicted: int, labels: Path, num_right: int, things: str) -> None:
    """Raise an error if numbers differ; `place` is the first missing or surplus line."""
    if num_right == 0:
        raise ConfigError(f"{labels}: expected {things}, the file has none")
    if num_predicted != num_right:
        raise ConfigError(f"{place}: expected {num_right:,} {things} as in {labels}, got {num_predicted:,}")
