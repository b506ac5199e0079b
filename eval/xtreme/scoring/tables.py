"""What all tables of scores share: columns that name a language, points, and numbers of languages."""

from collections.abc import Collection, Iterable

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.xtreme.scoring.task import Task
from ecsuite.tables.cells import Cell, number
from ecsuite.tables.table import Column, name_column

LANGUAGE_COLUMNS = (name_column("code", ""), Column("language"), Column("family"), Column("script"))
"""The columns of `language_cells`."""


def language_cells(code: str) -> tuple[str, str, str, str]:
    """Code, name, family and script; empty strings if unknown."""
    language = LANGUAGES.get(code)
    return (code, language.name, language.family, language.script) if language else (code, "", "", "")


def by_family(codes: Iterable[str]) -> list[str]:
    """Languages ordered by family."""
    return sorted(codes, key=lambda code: (language_cells(code)[2], code))


def points(value: float | None) -> Cell:
    """A score, 0 to 100."""
    return number(value, 1)


def num_languages(task: Task, codes: Collection[str]) -> str:
    """How many languages of a task were scored, such as 33 or 31/33."""
    whole = len(task.languages)
    return str(len(codes)) if set(codes) >= set(task.languages) else f"{len(codes)}/{whole}"
