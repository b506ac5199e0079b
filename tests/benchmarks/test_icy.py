from importlib import util
from pathlib import Path

import ecsuite
from ecsuite.eval.views.console import Report

SCRIPT = Path(ecsuite.__file__).parent / "benchmarks" / "icy.py"


def test_the_time_of_a_row_is_printed_with_every_table(monkeypatch, capsys):
    spec = util.spec_from_file_location("benchmark_of_icy", SCRIPT)
    script = util.module_from_spec(spec)
    spec.loader.exec_module(script)
    found = Report(tables=["a table", "another"], notes=(), data={})
    monkeypatch.setattr(script.Icy, "measure", lambda *_, **__: None)
    monkeypatch.setattr(script.Icy, "report", lambda *_, **__: found)
    monkeypatch.setattr("sys.argv", ["icy.py", "--row", "fc1l", "--workers", "1"])
    script.main()
    first, *tables = capsys.readouterr().out.splitlines()
    assert first.startswith("fc1l: a row of seed 123 with 1 processes: ")
    assert tables == ["a table", "another"]
