"""A table as CSV."""

import csv
import re
from io import StringIO

from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import Value
from ecsuite.tables.grid import Grid

FORMULA = re.compile(r"^\s*[=+\-@]")
"""How a text begins that a spreadsheet would take for a formula."""


def csv_text(table: Grid) -> str:
    """The table as CSV: numbers in full precision; an undefined one is an empty cell."""
    names, rows = table.records()
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_field, names))
    for row in rows:
        writer.writerow(map(_field, row))
    return file.getvalue()


def _field(value: Value) -> Value:
    """A value; before a text that a spreadsheet would take for a formula stands an apostrophe."""
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if FORMULA.match(shown) else shown
