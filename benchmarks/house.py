"""Count the lines of the package by folder, with the share of docstrings: `python benchmarks/house.py [COMMIT]`.

Counted are the Python files that git tracks, without tests/ and benchmarks/, in a commit or in the working
tree. Docstrings of modules, classes and functions, and strings below attributes are counted.
"""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_COUNTED = ("tests/", "benchmarks/")


def sources(commit: str | None) -> dict[str, str]:
    """The content of each Python file by its name."""
    listing = ["ls-files"] if commit is None else ["ls-tree", "-r", "--name-only", commit]
    names = [
        name
        for name in _git(*listing).splitlines()
        if name.endswith(".py") and not name.startswith(NOT_COUNTED)
    ]
    if commit is None:
        return {name: (ROOT / name).read_text() for name in names if (ROOT / name).is_file()}
    return {name: _git("show", f"{commit}:{name}") for name in names}


def docstring_lines(text: str) -> int:
    """Lines of the strings of a module that are statements of their own."""
    strings = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in strings)


def main() -> None:
    """Print a line for each folder, and the sum."""
    lines, docs, files = Counter[str](), Counter[str](), Counter[str]()
    for name, text in sources(sys.argv[1] if len(sys.argv) > 1 else None).items():
        parent = Path(name).parent
        folder = "/".join(parent.parts[:2]) or "the root"
        lines[folder] += text.count("\n")
        docs[folder] += docstring_lines(text)
        files[folder] += 1
    print(f"{'folder':24}{'files':>7}{'lines':>9}{'docstrings':>12}")
    for folder in sorted(lines):
        print(f"{folder:24}{files[folder]:7}{lines[folder]:9,}{docs[folder] / max(lines[folder], 1):12.0%}")
    print(f"{'all':24}{files.total():7}{lines.total():9,}{docs.total() / lines.total():12.0%}")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
