"""Output of commands: progress with the remaining time, JSON, output files."""

import json
from pathlib import Path

import pytest

from ecsuite.eval.views import console as reporting
from ecsuite.eval.views.console import Report, Reporter
from ecsuite.files.atomic_files import prepare_output_file
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.forms import Form
from ecsuite.tables.table import Column, Table, row_of


def test_progress_estimates_from_where_the_work_began(monkeypatch, capsys):
    """The remaining time of a resumed run is estimated from its own steps only, after 5 % of these."""
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr(reporting.time, "monotonic", lambda: next(clock))
    with Reporter() as reporter:
        for done in (900, 902, 910):
            reporter.progress("epoch 10/10", done, 1000)
        reporter.progress("other work", 1, 4)
        reporter.progress("other work", 2, 4)
        reporter.note("a note")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        " 90%  epoch 10/10",
        " 91%  3:45 left  epoch 10/10",
        " 50%  0:40 left  other work",
        "a note",
    ]


def test_a_report_is_tables_and_notes_or_json(capsys, tmp_path):
    drawn = []
    report = Report(
        tables=[Table(columns=[Column(name)], rows=[row_of(name)]) for name in ("one", "two")],
        notes=("a note",),
        data={"a": 1.5, "ä": None},
        draw=drawn.append,
    )
    report.publish(out=tmp_path / "a.csv", picture=None, as_json=False)
    assert capsys.readouterr().out.splitlines() == ["one", "───", "one", "", "two", "───", "two", "a note"]
    report.publish(out=None, picture=None, as_json=False, form=Form.CSV)
    assert capsys.readouterr().out == "one\none\n\ntwo\ntwo\n" == (tmp_path / "a.csv").read_text()
    report.publish(out=tmp_path / "a.json", picture=tmp_path / "a.png", as_json=True)
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "a.json").read_text() and json.loads(printed) == {
        "format": 1,
        "a": 1.5,
        "ä": None,
    }
    assert drawn == [tmp_path / "a.png"]


def test_output_folders_are_created_before_the_work(tmp_path):
    prepare_output_file(tmp_path / "a" / "b" / "c.json")
    assert (tmp_path / "a" / "b").is_dir()
    with pytest.raises(ConfigError, match="b: expected a file name, got a folder"):
        prepare_output_file(tmp_path / "a" / "b")


@pytest.mark.parametrize(
    ("error", "expected_err"),
    [
        (
            KeyboardInterrupt,
            "stopped; finished jobs are stored in runs; run the same command to resume\n",
        ),
        (ConfigError, ""),
        (SystemExit, ""),
    ],
)
def test_an_interrupt_names_the_cache_folder(capsys, error, expected_err, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error), Reporter(cache_dir=Path("runs")):
        raise error
    assert capsys.readouterr() == ("", "")  # nothing is kept where there is no folder
    Path("runs").mkdir()
    with pytest.raises(error), Reporter(cache_dir=Path("runs")):
        raise error
    assert capsys.readouterr() == ("", expected_err)
    with pytest.raises(KeyboardInterrupt), Reporter():
        raise KeyboardInterrupt
    assert capsys.readouterr() == ("", "")
