"""Faults planted in the code at random, and how many of them the ordinary tests find (mutation testing).

    pip install coverage
    python benchmarks/planted_faults.py --record lines.db                    # which tests run which lines: 12 minutes
    python benchmarks/planted_faults.py --lines lines.db --folders people,jobs --number 12 --seed 7   # 5 s a fault
    python benchmarks/planted_faults.py --lines lines.db --list benchmarks/planted_faults.json        # the fixed list

A fault is one small change of a line that an ordinary test runs: another comparison, `and` for `or`, a condition turned
round, a number one larger, plus for minus, the branches of a conditional expression exchanged, a call left out. Each
is planted in a clone and tried with the tests that run its line, those first that run the fewest lines; `found` if one
of them fails. Some change nothing that can be seen (a bound that is never met, a cache): these are read by people.
`planted_faults.json` is a fixed list of 200 faults in all folders, to compare the tests of two commits.

The method: Jia and Harman 2011, "An analysis and survey of the development of mutation testing".
"""

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "agents,api.py,cli.py,commands,corpus.py,downloads,eval,files,formats,games,grammars,hub,jobs,language_models,"
    "parts,people,runtime,spaces,tables,testing"
)
MOST_TESTS, SECONDS = 150, 300
"""Tests that are tried for a fault, and how long; a fault that makes them wait is found."""
PYTEST = ("-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider")
SETTINGS = """[run]
dynamic_context = test_function
relative_files = true
source = .
omit =
    tests/*
    benchmarks/*
"""
OTHER: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
"""Replacement of each comparison."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """A changed line."""

    file: str
    line: int
    was: str
    becomes: str
    found_by: str | None = None
    """The first test that failed; None where none of them did."""


def changed(node: ast.AST) -> ast.AST | None:
    """Another expression or statement in the place of one; None where nothing is changed."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=comparators):
            return ast.Compare(left, [OTHER[type(op)]()], comparators)
        case ast.BoolOp(op=op, values=values):
            return ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
        case ast.Constant(value=int(value)):
            return ast.Constant(value + 1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return ast.BinOp(left, ast.Sub(), right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return ast.BinOp(left, ast.Add(), right)
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            return ast.IfExp(test, otherwise, body)
        case ast.Expr(value=ast.Call()):
            return ast.Pass()
    return None


def faults(file: str, text: str) -> Iterator[Fault]:
    """Every fault that can be planted within a line of a file."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        other = changed(node)
        if other is None or node.lineno != node.end_lineno:
            continue
        was = lines[node.lineno - 1]
        code = ast.unparse(other) if isinstance(other, ast.Pass) else f"({ast.unparse(other)})"
        head, tail = was.encode()[: node.col_offset], was.encode()[node.end_col_offset :]
        becomes = f"{head.decode()}{code}{tail.decode()}"
        yield Fault(file=file, line=node.lineno, was=was, becomes=becomes)


def record(lines: Path) -> int:
    """Run the ordinary tests, and write down which of them run which lines; returns the exit status of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "settings"
        settings.write_text(f"{SETTINGS}data_file = {lines.resolve()}\n")
        command = ["-m", "coverage", "run", f"--rcfile={settings}", *PYTEST[:3], "-n", "0", "--timeout=1800"]
        return subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode


def tests_of_lines(
    lines: Path, folders: Sequence[str]
) -> tuple[dict[tuple[str, int], list[str]], Counter[str]]:
    """For each line that is run, the tests that run it; and how many lines each test runs."""
    from coverage import CoverageData

    data, found, sizes = CoverageData(str(lines.resolve(strict=True))), {}, Counter[str]()
    data.read()
    for file in data.measured_files():
        is_asked = file.split("/")[0] in folders and file.endswith(".py")  # templates have lines too
        for line, tests in data.contexts_by_lineno(file).items():
            names = [test for test in tests if test]
            sizes.update(names)
            if names and is_asked:
                found[file, line] = names
    return found, sizes


def node_of(test: str) -> str | None:
    """`tests.games.test_x.TestY.test_z` as pytest calls it; None if there is none."""
    parts = test.split(".")
    for end in range(len(parts) - 1, 0, -1):
        file = "/".join(parts[:end]) + ".py"
        if (ROOT / file).exists():
            return f"{file}::{'::'.join(parts[end:])}"
    return None


def drawn(possible: Container[tuple[str, int]], files: Iterable[str], number: int, seed: int) -> list[Fault]:
    """Faults drawn at random from all files, on lines that a test runs."""
    planted = [fault for file in files for fault in faults(file, (ROOT / file).read_text())]
    planted = [fault for fault in planted if (fault.file, fault.line) in possible]
    return random.Random(seed).sample(planted, min(number, len(planted)))


def listed(path: Path) -> list[Fault]:
    """Faults of a fixed list, each at the nearest line of the same text; a changed line leaves its fault out."""
    found = []
    for fault in (Fault(**each) for each in json.loads(path.read_text())):
        file = ROOT / fault.file
        lines = file.read_text().split("\n") if file.exists() else []
        numbers = [number for number, line in enumerate(lines, 1) if line == fault.was]
        if numbers:
            nearest = min(numbers, key=lambda number: abs(number - fault.line))
            found.append(replace(fault, line=nearest, found_by=None))
        else:
            print(f"{fault.file}:{fault.line}: left out: the line has changed", file=sys.stderr)
    return found


def tried(fault: Fault, clone: Path, tests: Sequence[str]) -> Fault:
    """The fault, with the test that found it."""
    file = clone / fault.file
    text = file.read_text()
    lines = text.split("\n")
    lines[fault.line - 1] = fault.becomes
    file.write_text("\n".join(lines))
    environment = {
        **os.environ,
        "PYTHONPATH": str(clone.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    try:
        command = [sys.executable, *PYTEST, "--timeout=60", *tests]
        done = subprocess.run(
            command, cwd=clone, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return replace(fault, found_by="the tests did not end")
    finally:
        file.write_text(text)
    if done.returncode == 0:
        return fault
    named = (line.split()[1] for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR ")))
    return replace(fault, found_by=next(named, "pytest itself failed"))


def main() -> None:
    """Record, or plant and try."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="write which tests run which lines")
    parser.add_argument("--lines", type=Path, metavar="FILE", help="what --record wrote")
    parser.add_argument("--folders", default=FOLDERS, help="default: all")
    parser.add_argument("--number", type=int, default=10, help="faults that are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--list", type=Path, metavar="FILE", help="try the faults of this list, and draw none"
    )
    parser.add_argument("--draw", action="store_true", help="print the faults as a list, and try none")
    parser.add_argument("--json", action="store_true", help="print what was tried as JSON")
    asked = parser.parse_args()
    if asked.record is not None:
        sys.exit(record(asked.record))
    if asked.lines is None:
        parser.error("expected --record FILE, or --lines FILE")
    folders = asked.folders.split(",")
    try:
        tests, sizes = tests_of_lines(asked.lines, folders)
    except Exception as error:  # coverage's own are of many kinds
        parser.error(f"{asked.lines}: expected what --record wrote: {error}")
    for each in folders:
        if not any(file.split("/")[0] == each for file, _ in tests):
            parser.error(f"--folders: no test runs a line of {each}")
    try:
        planted = (
            drawn(tests, sorted({file for file, _ in tests}), asked.number, asked.seed)
            if asked.list is None
            else listed(asked.list)
        )
    except (OSError, ValueError, TypeError) as error:
        parser.error(f"--list: {error}")
    if asked.draw:
        print(json.dumps([asdict(fault) for fault in planted], indent=1))
        return
    done: list[Fault] = []
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "ecsuite"  # the name of the package, whatever this folder is called
        subprocess.run(["git", "clone", "-q", "--local", str(ROOT), str(clone)], check=True)
        for fault in planted:
            names = sorted(tests.get((fault.file, fault.line), ()), key=lambda test: (sizes[test], test))
            nodes = [node for node in map(node_of, names) if node is not None][:MOST_TESTS]
            found = tried(fault, clone, nodes) if nodes else fault
            done.append(found)
            print(f"{found.file}:{found.line}: {found.found_by or 'NOT FOUND'}", file=sys.stderr, flush=True)
    if asked.json:
        print(json.dumps([asdict(fault) for fault in done], indent=1))
    print(f"{sum(fault.found_by is not None for fault in done)} of {len(done)} found", file=sys.stderr)


if __name__ == "__main__":
    main()
