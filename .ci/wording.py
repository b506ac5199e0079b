"""Check the wording of docstrings, and that a class name names one class of the package.

Usage: `python .ci/wording.py [FOLDER ...]`, by default everything but `tests/`. Class names are compared in the
whole package. Prints a line for each fault and exits with 1 if there are any. The rules are in CONTRIBUTING.md under
"Wording".
"""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

OUTSIDE = (".ci", "benchmarks", "docs", "examples", "tests", "setup.py")
"""Folders and files that are not of the package."""
CHECKED = (".", ":!tests")
"""Git's paths of the files whose docstrings are checked by default."""
OPENINGS = ("Of", "Those", "That of", "The same", "What", "Where", "By", "As many", "Told", "Who", "Whose")
"""First words of docstrings that are understood only with their neighbours, or not at all."""


def main(paths: list[str]) -> int:
    """Print the faults of files; the exit status."""
    faults = []
    for file in python_files(paths or CHECKED):
        faults += [
            f"{file}:{line}: a docstring begins with {opening!r}: begin with a noun of the field or an imperative"
            for line, text in docstrings(parsed(file))
            for opening in OPENINGS
            if text.startswith(opening) and not text[len(opening) :][:1].isalnum()
        ]
    classes: defaultdict[str, list[str]] = defaultdict(list)
    for file in python_files(["."]):
        if file.parts[0] not in OUTSIDE:
            for node in parsed(file).body:
                if isinstance(node, ast.ClassDef):
                    classes[node.name].append(f"{file}:{node.lineno}")
    faults += [
        f"{positions[0]}: class {name} is also in {', '.join(positions[1:])}"
        for name, positions in sorted(classes.items())
        if len(positions) > 1
    ]
    print("\n".join(faults), end="\n" if faults else "")
    return int(bool(faults))


def python_files(paths: Iterable[str]) -> list[Path]:
    """The Python files of folders that Git tracks or would track."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", *paths]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    return [
        Path(line) for line in listed.stdout.splitlines() if line.endswith(".py") and Path(line).is_file()
    ]


@cache
def parsed(file: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(file.read_text(encoding="utf-8"))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of the docstrings of modules, classes and functions, and of the strings under fields."""
    for node in ast.walk(tree):
        for statement in (
            getattr(node, "body", None) or () if not isinstance(node, ast.Lambda | ast.IfExp) else ()
        ):
            if (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            ):
                yield statement.lineno, statement.value.value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
