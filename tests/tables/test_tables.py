"""Tables in all forms: names of users stay their text, figures stay whole, and values keep their precision."""

# ruff: noqa: RUF001 - the characters are meant
import csv
import html
import io
import re
import shutil
import subprocess

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import COUNTED, estimate, number, text
from ecsuite.tables.forms import print_on_terminal
from ecsuite.tables.table import Table, name_column, number_column, row_of

HOSTILE = (
    "x[gru]", "x[/gru]", "[bold]x[/bold]", r"$\a_b%&#{}~^\`", "$x$", "<b>x</b>", "&amp;", "a|b", "a\\|b", "=1+1",
    "@SUM(A1)", "-2+3", "+1", "two\nlines", "\r\x1b[31mred", "\u202eevil", "*a* _b_ **c** __d__ `e` ~~f~~",
    "[a](http://b)", "![a](b)", "# a", "1. a", "- a", "> a", "[*]", "*", "a--b---c", "''x''", "``x``", "?`!`", "<<x>>",
    ",,x", '"x"', "%", "\\\\", "\\end{tabular}", "snake_case_name", "_a_", "1_000", "a  b", "-", ".", "\x00", "a\tb",
)  # fmt: skip
"""Names with what a form of a table, a terminal or a spreadsheet could read."""


def table_of(*names, **settings):
    rows = [row_of(text(name), number(0.25, 2)) for name in names]
    columns = (name_column("name", heading=names[0] if names else None), number_column("value"))
    return Table(columns=columns, rows=rows, **settings)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_name_stays_its_text_in_every_form(name):
    shown = printable(name)
    table = table_of(name, title=name, notes=[name])
    lines = str(table).splitlines()
    assert lines[0] == shown.rstrip() and lines[-1] == shown
    assert lines[1].startswith(shown) and lines[3].startswith(shown)
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(table.markdown())
    for form, texts in ((page, plain(page)), (table.html(), plain(table.html()))):
        assert texts == [" ".join(shown.split())] * 2 + [
            "value",
            " ".join(shown.split()),
            "0.25",
            " ".join(shown.split()),
        ]
        tags = set(re.findall(r"<(\w+)", form))
        assert tags <= {"p", "strong", "div", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    [head, cells] = csv.reader(io.StringIO(table.csv()))
    assert head == ["name", "value"] and cells == [("'" if name[0] in "=+-@" else "") + shown, "0.25"]
    assert table.to_frame().iloc[0].tolist() == [name, 0.25]


def plain(page):
    texts = re.split(r"\s*<[^>]*>\s*", page)
    return [" ".join(html.unescape(each).split()) for each in texts if each.strip()]


def test_latex_has_no_commands_of_names():
    escaped = table_of(*HOSTILE).latex()
    body = [line for line in escaped.splitlines() if not line.startswith("%")]
    assert all(re.search(r"(?<!\\)%", line) is None for line in body)
    assert [line.count(" & ") for line in body[4:-2]] == [1] * len(HOSTILE)
    for words in (r"snake\_case\_name", r"x{[}gru{]}", r"\textbackslash{}end\{tabular\}"):
        assert words in escaped


needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


@needs_latex
@pytest.mark.slow
@pytest.mark.parametrize("number_of_copies", [1, 3])
def test_latex_of_any_names_compiles(tmp_path, number_of_copies):
    accents = ("naïve café", "Łódź", "± … → ↑ ↓ ≥ ≤ × ² ρ")
    table = table_of(*HOSTILE * number_of_copies, *accents, title="% \\end{document}", notes=["\\undefined"])
    document = [r"\documentclass{article}", r"\usepackage[T1]{fontenc}", r"\usepackage{booktabs,longtable}"]
    document += [r"\begin{document}", table.latex(), r"\end{document}"]
    (tmp_path / "a.tex").write_text("\n".join(document))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    if shutil.which("pdftotext"):
        command = ["pdftotext", "-layout", "a.pdf", "-"]
        page = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
        names = ("x[gru]", "<b>x</b>", "a|b", "=1+1", "# a", "\\end{tabular}", "[a](http://b)", "naïve café")
        assert all(name in page for name in names)


def results(num_figures=12, name="a source with a long name"):
    columns = (
        name_column("source"), *(number_column(f"figure_{place}", parts=COUNTED) for place in range(num_figures)),
    )  # fmt: skip
    cells = [estimate(0.12345678901 + place, 0.05, 3, num_values=4) for place in range(num_figures)]
    return Table(columns=columns, rows=[row_of(text(name), *cells)])


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_on_a_terminal_figures_are_whole_and_go_on_below(width):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, force_jupyter=False, color_system=None)
    print_on_terminal(console, [results()])
    printed = console.file.getvalue()
    assert max(map(len, printed.splitlines())) <= width
    for place in range(12):
        assert f"{place}.123 ± 0.050" in printed
    assert printed.count("source") >= 2 and "…" not in printed
