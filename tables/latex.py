r"""A table in LaTeX, for the package booktabs: a `tabular` without a float, or a `longtable` if it has many rows.

It compiles with any engine: Latin letters with accents need `\usepackage[T1]{fontenc}` of pdfLaTeX, other scripts need
LuaLaTeX or XeLaTeX, as a comment notes. The float around it has caption and label.
"""

# ruff: noqa: RUF001 - the characters are meant
import re
from collections.abc import Mapping, Sequence

from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import UNDEFINED, Cell, Role
from ecsuite.tables.grid import Column, Grid

LONG = 45
"""Maximum rows of a `tabular`; longer tables are a `longtable`, which spans pages."""
WIDE = 45
"""Maximum characters of a sentence on one line."""
LINE = 90
"""Characters per line of an article."""
MACROS: Mapping[Role, str] = {"best": "textbf", "heading": "textbf", "dim": "textit"}
"""Macro around a cell by its role."""
SPECIAL: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    **{character: rf"\{character}" for character in "_%&#${}"},
    # What tables of results have beside ASCII, in fonts of any encoding.
    "±": r"$\pm$",
    "…": r"\dots{}",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
    "−": r"$-$",
    "·": r"$\cdot$",
    "²": r"$^2$",
    "³": r"$^3$",
    "ρ": r"$\rho$",
    "η": r"$\eta$",
    "°": r"$^\circ$",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "\u00a0": "~",
    "\u00ad": r"\-",
}
"""Escapes of characters that are special in LaTeX, or have no letter."""
LIGATURES = re.compile(r"(?<=[-'`,?!])(?=[-'`,])")
"""Separator of characters that LaTeX would set as a ligature."""
MINUS = re.compile(r"(?<![\w.])-(?=[\d.])")
"""The sign of a number."""
LATIN = re.compile(r"[\u00a1-\u017f]")
"""Letters of pdfLaTeX in the encoding T1."""
OTHER = re.compile(r"[^\x00-\u017f]")
"""Letters outside of the encoding T1."""


def latex(table: Grid) -> str:
    """The table in LaTeX; title and notes are comments before and after it."""
    columns, grid = table.shown()
    is_long = len(table.rows) > LONG
    headings = _line([escaped(each.heading_text) for each in columns])
    top = [r"\toprule", headings, r"\midrule"] if table.has_headings else [r"\toprule"]
    body: list[str] = []
    for place, (row, cells) in enumerate(zip(table.rows, grid, strict=True)):
        body.append(_line([_cell(cell, row.role_of(cell)) for cell in cells]))
        if row.ends_section and place + 1 < len(table.rows):
            body.append(r"\addlinespace")
    kind = "longtable" if is_long else "tabular"
    sides = "".join(_sides(columns, grid))
    head = [*top, *([r"\endhead"] if is_long else [])]
    lines = [rf"\begin{{{kind}}}{{{sides}}}", *head, *body, r"\bottomrule", rf"\end{{{kind}}}"]
    content = "\n".join(lines)
    title = [f"% {printable(table.title)}"] if table.title else []
    notes = [f"% {printable(note)}" for note in table.notes]
    packages = [r"\usepackage{booktabs}", *([r"\usepackage{longtable}"] if is_long else [])]
    packages += [r"\usepackage{array}"] if "arraybackslash" in content else []
    return "\n".join([*title, preamble(content, packages), content, *notes, ""])


def preamble(content: str, packages: Sequence[str] = ()) -> str:
    """A comment with the requirements of the document; empty without any.

    Args:
        content: The table in LaTeX.
        packages: Packages that are always required.
    """
    packages = [*packages]
    packages += [r"\usepackage[T1]{fontenc}"] if LATIN.search(content) else []
    engine = "; compile it with LuaLaTeX or XeLaTeX" if OTHER.search(content) else ""
    needs = " ".join(packages) + engine
    return f"% needs {needs.removeprefix('; ')}" if needs else ""


def _sides(columns: Sequence[Column], grid: Sequence[Sequence[Cell]]) -> list[str]:
    """Alignment of each column; long sentences are wrapped in the remaining width."""
    longest = [max((len(cells[place].text) for cells in grid), default=0) for place in range(len(columns))]
    wide = [column.wraps and number > WIDE for column, number in zip(columns, longest, strict=True)]
    others = sum(number + 2 for number, is_wide in zip(longest, wide, strict=True) if not is_wide)
    share = max(0.2, (1 - others / LINE) / max(1, sum(wide)))
    return [
        rf">{{\raggedright\arraybackslash}}p{{{share:.2f}\linewidth}}" if is_wide else column.align[0]
        for column, is_wide in zip(columns, wide, strict=True)
    ]


def _line(texts: Sequence[str]) -> str:
    return " & ".join(texts) + r" \\"


def _cell(cell: Cell, role: Role) -> str:
    is_number = isinstance(cell.value, int | float)
    shown = escaped(cell.text.strip(), is_number=is_number)
    return rf"\{MACROS[role]}{{{shown}}}" if role in MACROS and shown and shown != UNDEFINED else shown


def escaped(text: str, *, is_number: bool = False) -> str:
    """Escape a text for LaTeX."""
    text = LIGATURES.sub("\0", printable(text))
    if is_number:
        text = MINUS.sub("−", text)
    return "".join(SPECIAL.get(character, character) for character in text).replace("\0", "{}")
