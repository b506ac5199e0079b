import json
import subprocess
import sys
from pathlib import Path

import planted_faults

import ecsuite

SCRIPT = Path(ecsuite.__file__).parent / "benchmarks" / "compare.py"


def compared(folder, before, after):
    """Exit code and lines, of rows as (name, unit, values, higher is better)."""
    keys = ("name", "unit", "values", "higher_is_better")
    for name, rows in (("before", before), ("after", after)):
        document = {"machine": "one", "date": "2026-01-01", "versions": {}}
        document["rows"] = [dict(zip(keys, row, strict=True)) for row in rows]
        (folder / name).write_text(json.dumps(document))
    command = [sys.executable, SCRIPT, folder / "before", folder / "after"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_rows_that_are_slower_by_five_per_cent_are_flagged(tmp_path):
    before = [("time", "s", [1.0, 2.0], False), ("rate", "1/s", [10.0], True), ("gone", "s", [1.0], False)]
    after = [("time", "s", [9.0, 1.04], False), ("rate", "1/s", [9.6, 9.9], True)]
    code, lines, err = compared(tmp_path, before, after)
    assert (code, err) == (0, "") and "WORSE" not in "".join(lines)
    assert lines[-1].split() == ["gone", "only", "before"]
    after = [("time", "s", [1.06], False), ("rate", "1/s", [9.4], True)]
    code, lines, err = compared(tmp_path, before, after)
    assert code == 1 and [line.endswith("WORSE") for line in lines] == [True, True, False]
    assert err == "2 of 2 rows are worse by 5% or more\n"
    code, _, err = compared(tmp_path, before[:1], after[1:])
    assert (code, err) == (1, "no row is in both files\n")


def becomes(text):
    return [fault.becomes for fault in planted_faults.faults("a.py", text)]


def test_each_kind_of_fault():
    assert becomes("é = a < b") == ["é = (a <= b)"]
    assert becomes("x = a and b") == ["x = (a or b)"]
    assert becomes("x = not a") == ["x = (a)"]
    assert sorted(becomes("x = a - 1")) == ["x = (a + 1)", "x = a - (2)"]
    assert becomes("x = True") == ["x = (False)"]
    assert becomes("x = a if b else c") == ["x = (c if b else a)"]
    assert becomes("if a:\n    go()") == ["    pass"]
    assert becomes("x = 'text' * y") == []


def test_a_test_by_the_name_that_pytest_has_for_it():
    name = "tests.benchmarks.test_compare.test_each_kind_of_fault"
    assert planted_faults.node_of(name) == "tests/benchmarks/test_compare.py::test_each_kind_of_fault"
    assert planted_faults.node_of("no.such.test") is None
