"""Tables in all forms: names of users stay their text, figures stay whole, and values keep their precision."""

# ruff: noqa: RUF001 - the characters are meant
import csv
import io
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from ecsuite.eval.results.sources import Source
from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import COUNTED, count, estimate, interval, nothing, number, p_value, percent, text
from ecsuite.tables.forms import Form, as_text, print_on_terminal, publish, rendered
from ecsuite.tables.markup import escaped as in_markdown
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

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


class Cells(HTMLParser):
    """The texts of the cells of an HTML table, and all tags in it."""

    def __init__(self, content):
        super().__init__(convert_charrefs=True)
        self.texts, self.tags, self.is_open = [], set(), False
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th", "caption", "p"):
            self.texts.append("")
            self.is_open = True

    def handle_endtag(self, tag):
        self.is_open = self.is_open and tag not in ("td", "th", "caption", "p")

    def handle_data(self, data):
        if self.is_open:
            self.texts[-1] += data


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_name_stays_its_text_in_every_form(name):
    shown = printable(name)
    table = table_of(name, title=name, notes=[name])
    lines = str(table).splitlines()
    assert lines[0] == shown.rstrip() and lines[-1] == shown
    assert lines[1].startswith(shown) and lines[3].startswith(shown)
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(table.markdown())
    plain = [" ".join(each.split()) for each in Cells(page).texts]
    words = " ".join(shown.split())
    assert plain == [words, words, "value", words, "0.25", words]
    assert Cells(page).tags == {"p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    found = Cells(table.html())
    assert [each.replace("\xa0", " ") for each in found.texts] == [
        shown,
        shown,
        "value",
        shown,
        "0.25",
        shown,
    ]
    assert found.tags == {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    [head, cells] = csv.reader(io.StringIO(table.csv()))
    assert head == ["name", "value"] and cells == [("'" if name[0] in "=+-@" else "") + shown, "0.25"]
    assert table.to_frame().iloc[0].tolist() == [name, 0.25]


def test_latex_has_no_commands_of_names():
    escaped = table_of(*HOSTILE).latex()
    body = [line for line in escaped.splitlines() if not line.startswith("%")]
    assert all(re.search(r"(?<!\\)%", line) is None for line in body)
    assert [line.count(" & ") for line in body[4:-2]] == [1] * len(HOSTILE)
    assert (
        r"snake\_case\_name" in escaped
        and r"x{[}gru{]}" in escaped
        and r"\textbackslash{}end\{tabular\}" in escaped
    )


needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


@needs_latex
@pytest.mark.slow
@pytest.mark.parametrize("number_of_copies", [1, 3])
def test_latex_of_any_names_compiles(tmp_path, number_of_copies):
    """Short tables and those that go on over pages; what stands on the page is the names."""
    accents = ("naïve café", "Łódź", "± … → ↑ ↓ ≥ ≤ × ² ρ")
    table = table_of(*HOSTILE * number_of_copies, *accents, title="% \\end{document}", notes=["\\undefined"])
    document = [r"\documentclass{article}", r"\usepackage[T1]{fontenc}", r"\usepackage{booktabs,longtable}"]
    document += [r"\begin{document}", table.latex(), r"\end{document}"]
    (tmp_path / "a.tex").write_text("\n".join(document))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    if shutil.which("pdftotext"):
        page = subprocess.run(
            ["pdftotext", "-layout", "a.pdf", "-"], cwd=tmp_path, capture_output=True, text=True
        )
        for name in (
            "x[gru]",
            "<b>x</b>",
            "a|b",
            "=1+1",
            "# a",
            "\\end{tabular}",
            "[a](http://b)",
            "naïve café",
        ):
            assert name in page.stdout


def results(num_figures=12, name="a source with a long name"):
    columns = (
        name_column("source"),
        *(number_column(f"figure_{place}", parts=COUNTED) for place in range(num_figures)),
    )
    cells = [estimate(0.12345678901 + place, 0.05, 3, num_values=4) for place in range(num_figures)]
    return Table(columns=columns, rows=[row_of(text(name), *cells)])


def test_nothing_is_cut_in_a_file(capsys):
    wide = results(name="x" * 150)
    publish([wide], Form.TEXT, ["a note of more than a hundred characters, " * 4])
    printed = capsys.readouterr().out
    assert "x" * 150 in printed and "…" not in printed and "11.123 ± 0.050" in printed
    assert len(printed.splitlines()) == 4


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_on_a_terminal_figures_are_whole_and_go_on_below(width):
    console = Console(
        file=io.StringIO(), width=width, force_terminal=True, force_jupyter=False, color_system=None
    )
    print_on_terminal(console, [results()])
    printed = console.file.getvalue()
    assert max(map(len, printed.splitlines())) <= width
    for place in range(12):
        assert f"{place}.123 ± 0.050" in printed
    assert printed.count("source") >= 2 and "…" not in printed


def test_sentences_go_on_below_and_names_are_folded():
    columns = (name_column("name"), Column("about", wraps=True), number_column("value"))
    table = Table(columns=columns, rows=[row_of("n" * 30, "some words " * 9, number(1.5, 1))])
    lines = as_text(table, width=50).splitlines()
    assert max(map(len, lines)) <= 50 and "".join(lines[2:]).count("n") == 30
    assert sum(line.count("some") for line in lines) == 9 and sum("1.5" in line for line in lines) == 1
    assert max(map(len, str(table).splitlines())) <= 100 and "n" * 30 in str(table)


def test_values_are_whole_and_bounds_have_columns_of_their_own():
    table = Table(
        columns=(
            name_column("name"),
            number_column("a", parts=COUNTED),
            number_column("b", parts=("low", "high")),
            number_column("p"),
            number_column("n"),
        ),
        rows=[
            row_of(
                "x",
                estimate(1 / 3, 0.1, 2, num_values=5),
                interval(0.5, (0.25, 0.75), 2),
                p_value(0.0004),
                12_345,
            ),
            row_of("y", estimate(None, None), interval(None, None), p_value(None), None),
        ],
    )
    [one, two] = csv.DictReader(io.StringIO(table.csv()))
    assert float(one["a"]) == 1 / 3 and float(one["a_low"]) == 1 / 3 - 0.1 and one["a_n"] == "5"
    assert [one["b_low"], one["b_high"], one["p"], one["n"]] == ["0.25", "0.75", "0.0004", "12345"]
    assert set(two.values()) == {"y", ""}
    frame = table.to_frame()
    assert list(frame.columns) == list(one) and frame["a"].isna().tolist() == [False, True]
    words = str(table).splitlines()[2].split("  ")
    assert [each.strip() for each in words if each.strip()] == [
        "x",
        "0.33 ± 0.10",
        "0.50 [0.25, 0.75]",
        "<.001",
        "12,345",
    ]


def test_numbers_are_written_in_one_way():
    assert [number(value).text for value in (0.12345, -0.0001, 25.313, 110.26, 7, True)] == [
        "0.123", "0.000", "25.31", "110.3", "7", "yes",
    ]  # fmt: skip
    assert number(1234.5, 1).text == "1,234.5" and count(110_000).text == "110,000"
    assert percent(0.2969).text == "29.7%" and percent(None).text == "-" == number(None).text
    assert [p_value(p).text for p in (0.0123, 0.00001, 1.0, None)] == [".012", "<.001", "1.000", ""]
    assert (
        estimate(0.297, 0.42, as_percent=True).text == "29.7% ± 42.0%"
        and estimate(0.5, None, 1).text == "0.5"
    )
    assert estimate(0.5, 0.1, 1, is_stacked=True).lines == ("0.5", "±0.1")


def test_what_repeats_is_shown_once_but_kept():
    columns = (name_column("game", merges=True), name_column("part", merges=True), number_column("value"))
    rows = [row_of("a", "x", 1), row_of("a", "x", 2), row_of("b", "x", 3)]
    table = Table(columns=columns, rows=rows)
    assert [line.split() for line in str(table).splitlines()[2:]] == [["a", "x", "1"], ["2"], ["b", "x", "3"]]
    assert table.csv().splitlines()[1:] == ["a,x,1", "a,x,2", "b,x,3"]


def test_roles_and_sections():
    columns = (name_column("name"), number_column("value"), Column("signature", is_shown=False))
    rows = [
        row_of("a", number(0.5, 1, role="best"), "s1", ends_section=True),
        row_of("b", number(-0.25, 2), "s2", role="dim"),
        row_of("c", nothing("none"), None),
    ]
    table = Table(columns=columns, rows=rows)
    assert "| a | **0.5** |\n| *b* | *-0.25* |\n| c | *none* |" in table.markdown()
    assert "a & \\textbf{0.5} \\\\\n\\addlinespace\n\\textit{b} & \\textit{$-$0.25} \\\\" in table.latex()
    assert "s1" not in str(table) + table.html() + table.latex() and table.csv().splitlines()[1] == "a,0.5,s1"


def test_a_table_without_rows_has_its_head():
    table = table_of(title="nothing")
    assert str(table).splitlines()[1].split() == ["name", "value"] and table.csv() == "name,value\n"
    assert r"\toprule" in table.latex() and table.to_frame().shape == (0, 2)
    with pytest.raises(ValueError, match="expected 2 cells in a row, got 1"):
        Table(columns=table.columns, rows=[row_of("a")])


def test_several_tables_have_an_empty_line_between_them():
    tables = [table_of("a"), table_of("b")]
    for form in Form:
        whole = rendered(tables, form, ["a note"])
        assert whole.startswith(rendered(tables[:1], form) + "\n")
        assert ("a note" in whole) is (form is not Form.CSV)


def test_in_a_notebook_a_table_is_shown_once(monkeypatch, capsys):
    """rich shows what is printed in a notebook itself, also what goes into a file."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    table = table_of("a")
    assert table._repr_html_().count("0.25") == 1 == str(table).count("0.25")
    assert capsys.readouterr().out == ""


def test_an_ampersand_is_escaped_in_markdown_only_where_an_entity_would_begin():
    assert in_markdown("Kingma & Ba 2015, R&D") == "Kingma & Ba 2015, R&D"
    assert in_markdown("&lt; &#60;") == "\\&lt; \\&#60;"


def test_lists_are_their_items_with_commas_between_them():
    assert text(["topsim", "posdis"]).text == text(["topsim", "posdis"]).value == "topsim, posdis"
    assert text([]).text == "[]" and text("[a]").text == "[a]"
    settings = {"evaluation.metrics": ["topsim", "posdis"]}
    source = Source(name="a", file=Path("a"), is_run=True, seed=1, settings=settings)
    assert source.title == "evaluation.metrics=topsim, posdis, seed 1"
