"""Notes about a table that becomes a corpus: missing cells, and numbers that are unlikely to be values."""

from collections.abc import Mapping, Sequence
from typing import Any

from ecsuite.formats.cells import are_numbers
from ecsuite.formats.table import RawTable
from ecsuite.runtime.ragged import Ragged

WORDS_FOR_NONE = {"NA", "N/A", "#N/A", "<NA>", "nan", "NaN", "None", "null", "NULL"}
"""Markers of missing values that programs write. They are read as values, which a note reports."""


def note_missing(
    table: RawTable, places: Sequence[int], what: str, notes: list[str], metadata: dict[str, Any]
) -> None:
    """Say what rows at some places lack, also in the metadata."""
    more = f", and {len(places) - 1:,} more values" if len(places) > 1 else ""
    metadata["missing"] = f"{table.place(min(places))} lacks {what}{more}"
    notes.append(
        f"{metadata['missing']}: --missing leave takes the complete rows, --missing value makes `missing` a value"
    )


def note_words_for_none(table: RawTable, roles: Mapping[str, str], notes: list[str]) -> None:
    """Say where a message, or a value of what was meant, is a word that programs write where there is none."""
    for name, role in roles.items():
        cells = table.columns[name]
        if role not in ("message", "attribute") or isinstance(cells, Ragged):
            continue
        if table.are_texts and WORDS_FOR_NONE.isdisjoint(cells):
            continue
        places = [
            place for place, cell in enumerate(cells) if isinstance(cell, str) and cell in WORDS_FOR_NONE
        ]
        if places:
            more = f" and {len(places) - 1:,} more rows" if len(places) > 1 else ""
            what = "a message" if role == "message" else "a value"
            notes.append(
                f"{table.place(places[0], name)}{more}: {cells[places[0]]} is {what} like others; "
                "an empty cell is none"
            )


def note_unknown(table: RawTable, roles: Mapping[str, str], notes: list[str]) -> None:
    """Say of which messages it is not known who said them."""
    for name, role in roles.items():
        if role == "speaker" and (lacking := table.missing(name)):
            more = f", and {len(lacking) - 1:,} more rows" if len(lacking) > 1 else ""
            notes.append(
                f"{table.place(lacking[0])} lacks a speaker{more}: scores of several speakers are without them"
            )


def note_numbers(table: RawTable, attributes: Mapping[str, Sequence[Any]], notes: list[str]) -> None:
    """Say where numbers are values that are written in several ways, or have a decimal comma."""
    written = [
        name
        for name in attributes
        if name in table.columns and has_spellings(table, name, table.values(name))
    ]
    if written:
        notes.append(
            f"{table.source}: {', '.join(written)}: numbers are written in several ways, such as 1.1 and 1.10, and "
            "each is a value of its own (--numeric features takes them as numbers)"
        )
    commas = [name for name in attributes if _has_decimal_commas(table, name)]
    if commas:
        notes.append(f"{table.source}: {', '.join(commas)}: a comma is that of a decimal, so 2,5 is 2.5")


def has_spellings(table: RawTable, name: str, numbers: Sequence[Any]) -> bool:
    """Whether a number is written in several ways, such as `1.1` and `1.10`, which are then values of their own."""
    cells = table.columns[name]
    if not table.are_texts or isinstance(cells, Ragged) or not are_numbers(numbers):
        return False
    return len(set(filter(None, cells))) > len({cell for cell in numbers if cell is not None})


def _has_decimal_commas(table: RawTable, name: str) -> bool:
    cells = table.columns.get(name, ())
    if isinstance(cells, Ragged) or not table.has_decimal_comma:
        return False
    return any("," in str(cell) for cell in cells) and are_numbers(table.values(name))
