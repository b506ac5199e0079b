"""The cells of tables: a value, its displayed text and its role; number formats.

The displayed text is literal: no form of a table reads markup from it. Control characters and changes of direction are
shown by their numbers, as in `printable`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ecsuite.runtime.printable import printable

Value = str | int | float | bool | None
"""Value of a cell in CSV and frames."""
Role = Literal["", "best", "dim", "good", "bad", "warning", "heading"]
"""Role of a cell: best of its column; less important; a good, a bad, a doubtful outcome; a heading."""
UNDEFINED = "-"
"""Text of a cell without a value."""
INTERVAL = ("low", "high")
"""Parts of a value with an interval."""
COUNTED = (*INTERVAL, "n")
"""Parts of a mean with an interval, and the number of its values."""
MARKS: Mapping[str | None, str] = {None: "", "lower": "≥", "upper": "≤", "none": "?"}
"""Marks of values that bound the true ones; ?: neither from below nor from above."""
OF_MARKS = "≥, ≤, ?: bounds of the true value"
"""Note below the title of a figure that has marks."""
FEWEST = 3
"""Minimum number of values for an interval of their mean."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A cell of a table."""

    value: Value = None
    """Value in full precision; None: undefined, or empty."""
    lines: tuple[str, ...] = ()
    """Lines of text; forms other than text have all of it in one line."""
    role: Role = ""
    """Role of the cell."""
    parts: Mapping[str, Value] = field(default_factory=dict)
    """Further values of CSV and frames, such as the bounds of an interval, by the names in `Column.parts`."""
    colours: tuple[tuple[int, int, str], ...] = ()
    """Parts of the first line with a colour on a terminal: begin, end, style of rich."""

    @property
    def text(self) -> str:
        """Text in one line."""
        return " ".join(
            line.replace("±", "± ", 1) if line[:1] == "±" else line for line in self.lines if line
        )


def text(value: object, *, role: Role = "", shown: object = None) -> Cell:
    """A text, such as a name.

    Args:
        value: The text; values other than texts, numbers and None are converted, see `value_text`.
        role: Role of the cell.
        shown: Displayed text, if it differs.
    """
    kept: Value = value if isinstance(value, str | int | float | None) else value_text(value)
    return Cell(value=kept, lines=(printable(kept if shown is None else shown),), role=role)


def value_text(value: object) -> str:
    """A value of a setting as text: a list as its items with commas between them."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) and value else str(value)


def lines(*texts: object, role: Role = "") -> Cell:
    """Texts below each other."""
    shown = tuple(map(printable, texts))
    return Cell(value=" ".join(shown), lines=shown, role=role)


def nothing(shown: str = "", *, role: Role = "dim") -> Cell:
    """A cell without a value, with a displayed word."""
    return Cell(lines=(printable(shown),), role=role)


def count(value: int | None, *, role: Role = "") -> Cell:
    """An integer with thousands: 110,000."""
    return nothing(UNDEFINED) if value is None else Cell(value=value, lines=(f"{value:,}",), role=role)


def number(value: float | None, digits: int | None = None, *, role: Role = "", is_bare: bool = False) -> Cell:
    """A number.

    Args:
        value: The number; None: undefined.
        digits: Decimals; None: see `short`.
        role: Role of the cell.
        is_bare: Whether to omit the zero before the point and marks of thousands, to save space.
    """
    if value is None:
        return nothing(UNDEFINED)
    shown = short(value) if digits is None else decimals(value, digits)
    if is_bare:
        shown = shown.replace(",", "").replace("0.", ".", 1 if abs(value) < 1 else 0)
    return Cell(value=value, lines=(shown,), role=role)


def percent(share: float | None, digits: int = 1, *, role: Role = "") -> Cell:
    """A share as percent: 29.7%."""
    if share is None:
        return nothing(UNDEFINED)
    return Cell(value=share, lines=(f"{share:.{digits}%}",), role=role)


def p_value(value: float | None, *, role: Role = "") -> Cell:
    """A p-value: .012, or <.001; empty without a test."""
    return nothing() if value is None else Cell(value=value, lines=(p_text(value),), role=role)


def interval(
    value: float | None,
    bounds: tuple[float, float] | None,
    digits: int | None = None,
    *,
    role: Role = "",
    is_stacked: bool = False,
) -> Cell:
    """A value with an interval: 0.412 [0.380, 0.443].

    Args:
        value: The value; None: undefined.
        bounds: The interval; None: no interval.
        digits: Decimals; None: see `short`.
        role: Role of the cell.
        is_stacked: Whether text has the interval below the value.
    """
    cell = number(value, digits, role=role)
    if value is None or bounds is None:
        return cell
    low, high = (short(bound) if digits is None else decimals(bound, digits) for bound in bounds)
    parts = dict(zip(INTERVAL, bounds, strict=True))
    return _with_line(cell, f"[{low}, {high}]", parts, is_stacked=is_stacked)


def estimate(
    mean: float | None,
    half_width: float | None,
    digits: int | None = None,
    *,
    num_values: int | None = None,
    limits: tuple[float, float] | None = None,
    as_percent: bool = False,
    role: Role = "",
    is_bare: bool = False,
    is_stacked: bool = False,
) -> Cell:
    """A mean with half of its 95 % interval: 0.412 ± 0.031; an interval cut at `limits` has its ends: 0.9 [0.7, 1].

    Args:
        mean: The mean; None: undefined.
        half_width: Half of the interval; None: no interval.
        digits: Decimals; None: see `short`.
        num_values: Number of values of the mean; None: not shown.
        limits: Least and greatest possible value; None: unlimited.
        as_percent: Whether shares are shown as percent.
        role: Role of the cell.
        is_bare: See `number`.
        is_stacked: Whether text has the interval below the mean.
    """
    cell = percent(mean, role=role) if as_percent else number(mean, digits, role=role, is_bare=is_bare)
    parts: dict[str, Value] = {} if num_values is None else {"n": num_values}
    if mean is None or half_width is None:
        return Cell(value=cell.value, lines=cell.lines, role=cell.role, parts=parts)
    low, high = limits or (-math.inf, math.inf)
    ends = max(low, mean - half_width), min(high, mean + half_width)
    texts = [
        percent(each).text if as_percent else number(each, digits, is_bare=is_bare).text
        for each in (half_width, *ends)
    ]
    is_cut = mean - half_width < low or mean + half_width > high
    line = f"[{texts[1]}, {texts[2]}]" if is_cut else f"±{texts[0]}" if is_stacked else f"± {texts[0]}"
    return _with_line(cell, line, dict(zip(INTERVAL, ends, strict=True)) | parts, is_stacked=is_stacked)


def of_some(cell: Cell, num_values: int, num_all: int) -> Cell:
    """A mean of a part of the values, with their number: 0.412 ± 0.031 (n = 3)."""
    if not 0 < num_values < num_all:
        return cell
    return replace(cell, lines=(f"{cell.text} (n = {num_values})",))


def bounded(cell: Cell, bound: str | None) -> Cell:
    """A value with the mark of its bound: ≥20.0 ± 1.2."""
    return replace(cell, lines=(f"{MARKS[bound]}{cell.lines[0]}", *cell.lines[1:])) if bound else cell


def _with_line(cell: Cell, line: str, parts: Mapping[str, Value], *, is_stacked: bool) -> Cell:
    """A cell with a further text, and the number of its values."""
    shown = (*cell.lines, line) if is_stacked else (f"{cell.text} {line}",)
    return Cell(value=cell.value, lines=shown, role=cell.role, parts=parts)


def short(value: float | int | bool) -> str:
    """A number in short form: 0.127, 25.31, 110,000, yes."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return decimals(value, 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1)


def decimals(value: float, digits: int) -> str:
    """A number with a fixed number of decimals and marks of thousands; zero has no minus sign."""
    return f"{round(value, digits) + 0.0:,.{digits}f}"


def p_text(value: float | None) -> str:
    """A p-value as text: .012, <.001; empty without a test."""
    if value is None:
        return ""
    is_near = 0.0495 <= value < 0.05  # as clear as it is called: .0496, not .050
    return "<.001" if value < 0.001 else f"{value:.{4 if is_near else 3}f}".removeprefix("0")


def p_words(value: float) -> str:
    """A p-value in a sentence: p .012, p < .001."""
    return f"p {p_text(value)}".replace("<", "< ")
