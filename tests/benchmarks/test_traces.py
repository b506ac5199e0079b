import json
import subprocess
import sys
from pathlib import Path

import ecsuite

SCRIPT = Path(ecsuite.__file__).parent / "benchmarks" / "traces.py"
PACKAGE = {
    "__init__.py": "",
    "cli.py": '''
import sys, threading
from ecsuite.other import Counter, decorated

def main():
    """A docstring of
    two lines."""
    if sys.argv[1] != "score":
        sys.exit(2)
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    list(each + 1 for each in numbers())
    [decorated() for _ in range(3)]

def in_thread():
    double = lambda number: 2 * number
    return double(1), Counter().count

def numbers():
    yield from (1, 2)

def unused():
    pass
''',
    "other.py": '''
import functools

class Counter:
    @property
    def count(self):
        """Number of them."""
        return 1

@functools.lru_cache
def decorated():

    text = "a"

    return text
''',
}


def counted(folder, *options):
    (folder / "package").mkdir()
    for name, text in PACKAGE.items():
        (folder / "package" / name).write_text(text)
    command = [sys.executable, SCRIPT, "--package", folder / "package", "--json", folder / "counts.json"]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    file = folder / "counts.json"
    return done, json.loads(file.read_text()) if file.exists() else None


def test_counts_of_a_known_package_in_all_threads(tmp_path):
    done, document = counted(tmp_path, "--rows", "score,compare")
    assert done.returncode == 0, done.stderr
    header, score, compare = done.stdout.splitlines()
    title = "score corpus --metrics topsim,cbm"
    counts = {row["name"].removeprefix(f"{title}: "): row["values"] for row in document["rows"]}
    # main, in_thread, numbers (resumed twice more), count, and decorated, which is cached
    assert counts == {"functions": [5], "files": [2], "calls": [7], "lambdas": [1], "median": [2], "longest": [7]}
    assert header.split()[:6] == list(counts) and score.split()[-1] == "cli.py:main"
    assert "compare a b" in compare and "not measured: " in compare
    assert document["faults"].keys() == {"compare a b"} and document["longest"] == {title: "cli.py:main"}


def test_an_unknown_row_is_refused_with_the_names_of_all(tmp_path):
    done, document = counted(tmp_path, "--rows", "scores")
    assert (done.returncode, document) == (2, None)
    assert "--rows scores: expected names of score, compare" in done.stderr
