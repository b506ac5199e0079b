"""Scripts of benchmarks run to their end."""

import runpy
from pathlib import Path

import ecsuite
from ecsuite.eval.icy import measuring
from ecsuite.eval.reports.console import Report

SCRIPT = Path(ecsuite.__file__).parent / "benchmarks" / "icy.py"


def test_the_time_of_a_row_is_printed_with_every_table(monkeypatch, capsys):
    report = Report(tables=["a table", "another"], notes=(), data={})
    monkeypatch.setattr(measuring, "measure", lambda *_, **__: report)
    monkeypatch.setattr("sys.argv", ["icy.py", "--row", "fc1l", "--workers", "1"])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    first, *tables = capsys.readouterr().out.splitlines()
    assert first.startswith("fc1l: a row of seed 123 with 1 processes: ")
    assert tables == ["a table", "another"]
