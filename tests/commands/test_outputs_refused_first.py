"""A file that can't be written is refused before anything is printed or computed, also where permissions allow it.

In /proc nobody makes a file, root included.
"""

import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a /proc on Linux")


@pytest.fixture
def folder(tmp_path, small_files):
    """Two corpora beside the files of small runs."""
    for name, lines in {"one": "0 1\n1 0\n1 1\n0 0\n", "other": "1 1\n0 0\n0 1\n1 0\n"}.items():
        (tmp_path / f"{name}.txt").write_text(lines)
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "show one.txt --plot /proc/x.png",
        "score one.txt --plot /proc/x.png",
        "score one.txt --plot /proc/pictures",
        "score one.txt --out /proc/x.json",
        "score one.txt --out one.txt/x.json",
        "score one.txt --out " + "x" * 250 + ".json",
        "compare one.txt other.txt --plot /proc/x.png",
        "compare one.txt other.txt --out /proc/x.csv",
        "icy --model fc1l --save-corpora /proc/corpora",
        "verify one.txt --out /proc/x.json",
        "report one.txt --out /proc/x.html",
        "methods finished --out /proc/x.md",
        "methods finished --bib /proc/x.bib",
        "evaluate finished --keep interactions --out /proc/x.parquet",
    ],
)
def test_it_is_refused_in_a_line(ecsuite, folder, line):
    before = sorted(folder.rglob("*"))
    code, out, err = ecsuite(*line.split())
    assert (code, out) == (2, "") and len(err.splitlines()) == 1, err
    assert sorted(folder.rglob("*")) == before
