"""Check the wording of docstrings, and that a class name names one class in each folder of the root.

Usage: `python .ci/wording.py [FOLDER ...]`, by default the folders of `CHECKED`. Prints a line for each fault and exits
with 1 if there are any. The rules are in CONTRIBUTING.md under "Wording".
"""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

CHECKED = (
    "agents", "commands", "eval", "files", "formats", "games", "hub", "jobs", "language_models", "parts",
    "people", "runtime", "tables", ".ci/wording.py", "benchmarks/traces.py",
)  # fmt: skip
"""Folders and files that are checked by default."""
OPENINGS = ("Of", "Those", "That of", "The same", "What", "Where", "By", "As many", "Told", "Who", "Whose")
"""First words of docstrings that are understood only with their neighbours, or not at all."""


def main(paths: list[str]) -> int:
    """Print the faults of files; the exit status."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *(paths or CHECKED)],
        capture_output=True,
        text=True,
        check=True,
    )
    files = [
        Path(line) for line in listed.stdout.splitlines() if line.endswith(".py") and Path(line).is_file()
    ]
    classes: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    faults = []
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        faults += [
            f"{file}:{line}: a docstring begins with {opening!r}: begin with a noun of the field or an imperative"
            for line, text in docstrings(tree)
            for opening in OPENINGS
            if text.startswith(opening) and not text[len(opening) :][:1].isalnum()
        ]
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                classes[file.parts[0], node.name].append(f"{file}:{node.lineno}")
    faults += [
        f"{positions[0]}: class {name} is also in {', '.join(positions[1:])}"
        for (_, name), positions in sorted(classes.items())
        if len(positions) > 1
    ]
    print("\n".join(faults), end="\n" if faults else "")
    return int(bool(faults))


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
