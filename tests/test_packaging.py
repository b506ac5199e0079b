import ast
import functools
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import metadata
from pathlib import Path

from setuptools import find_packages

import ecsuite

ROOT = Path(ecsuite.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOT_SHIPPED = ("tests", "benchmarks", "docs", "examples", "build", "dist", "runs")
SOURCES = [
    file for file in sorted(ROOT.rglob("*.py")) if file.relative_to(ROOT).parts[0] not in (
        *NOT_SHIPPED, "setup.py",
    ) and not any(part.startswith(".") for part in file.relative_to(ROOT).parts)
]  # fmt: skip


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements in a node of a syntax tree, with what they are in, but no expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


def test_the_packages_that_are_found_are_those_of_the_tree():
    folders = {file.parent.relative_to(ROOT) for file in SOURCES}
    assert {".".join(folder.parts) for folder in folders} - {""} == set(find_packages(str(ROOT)))
    assert all((ROOT / folder / "__init__.py").exists() for folder in folders)


def test_the_root_is_as_agreed_and_hides_nothing_of_the_standard_library():
    files = {file.stem for file in ROOT.glob("*.py")}
    assert files == {"__init__", "__main__", "api", "cli", "corpus", "version", "setup"}
    agreed = ("pyproject.toml", "games", "grammars", "agents", "eval", "cli.py", "tests", "configs")
    assert [name for name in agreed if not (ROOT / name).exists()] == []
    packages = {entry.name for entry in ROOT.iterdir() if (entry / "__init__.py").exists()}
    assert not (files | packages) & set(sys.stdlib_module_names)


USERS_CODE = ROOT / "parts" / "own_code.py"
FORBIDDEN = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_ATTRIBUTES = {
    ("yaml", "load"), ("yaml", "unsafe_load"), ("yaml", "full_load"), ("torch", "load"), ("torch", "save"),
    ("os", "system"),
}  # fmt: skip
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"}


def test_nothing_runs_or_unpickles_what_it_reads():
    attributes = [rf"{of}[\s\\)]*\.[\s\\]*{name}" for of, name in FORBIDDEN_ATTRIBUTES]
    calls = [rf"{name}[\s\\)]*\(" for name in FORBIDDEN]
    any_name = re.compile(rf"\b({'|'.join([*attributes, *calls, *FORBIDDEN_MODULES, 'allow_pickle'])})")
    for file in SOURCES:
        if not any_name.search(file.read_text()):
            continue
        place = file.relative_to(ROOT)
        for node in ast.walk(ast.parse(file.read_text())):
            where = f"{place}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and file != USERS_CODE:
                assert node.func.id not in FORBIDDEN, where
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) not in FORBIDDEN_ATTRIBUTES, where
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant) and node.value.value is False, where
            if isinstance(node, ast.Import):
                assert not {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN_MODULES, where
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in FORBIDDEN_MODULES, where


FLOORS = """version | files runtime | tables | parts corpus | agents formats eval.statistics jobs language_models
| spaces grammars games.config games.participants | games.channels games.worlds | games.tasks
| games.environments games.players | games.engine | games.plays | games.runs | games.training games.pictures
| eval.counts | eval.models | eval.metrics | eval.results | eval.views.figures.canvas | eval.views.language
| eval.views.figures | eval.views | eval.run_metrics | downloads
| eval.experiments eval.views.html eval.icy.fast eval.icy eval.xferbench eval.translation eval.xtreme.scoring
  eval.xtreme eval.results.verification eval.views.methods people
| eval.experiments.claims | hub testing | commands | api cli | __main__""".split("|")
"""Parts by floor, from the ground up. A file imports from its own part and from floors below; within a floor, parts
import each other in one direction."""
FLOOR_OF = {part: number for number, parts in enumerate(FLOORS) for part in parts.split()}


def part_of(module: str) -> str | None:
    """The part that a module is of: the longest name of a part that its own begins with."""
    return max((part for part in FLOOR_OF if f"{module}.".startswith(f"{part}.")), key=len, default=None)


@functools.cache
def imports() -> list[tuple[str, str, str]]:
    """Pairs of modules of which the first imports the second, without `ecsuite.`, and the place."""
    modules, found = {*map(module_of, SOURCES)}, []
    for file in SOURCES:
        own = module_of(file)
        for node in statements(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ecsuite."):
                where = f"{file.relative_to(ROOT)}:{node.lineno}"
                module = node.module.removeprefix("ecsuite.")
                for alias in node.names:
                    full = f"{module}.{alias.name}"
                    found.append((own, full if full in modules else module, where))
    return found


def test_every_folder_is_in_the_table_of_contributing():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text[text.index("| part | what is in it |") : text.index("Some questions")]
    folders = (package.replace(".", "/") for package in {*find_packages(str(ROOT))} - {"eval", "games"})
    for folder in (*folders, "configs", "docs", "examples", "benchmarks", "tests"):
        parent, _, own = folder.rpartition("/")
        assert f"`{folder}/`" in table or (f"`{parent}/` with" in table and f"`{own}/`" in table), folder


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_every_module_is_of_a_part():
    modules = {".".join(file.relative_to(ROOT).with_suffix("").parts) for file in SOURCES}
    assert {
        module for module in modules if part_of(module) is None
    } == {"__init__", "eval.__init__", "games.__init__"}  # fmt: skip


def test_files_import_only_from_floors_below():
    between = set()
    for own, other, where in imports():
        first, second = part_of(own), part_of(other)
        if first is not None and second is not None and first != second:
            between.add((first, second))
            assert FLOOR_OF[second] <= FLOOR_OF[first], f"{where}: {first} imports {second} from above"
    assert not [pair for pair in between if pair[::-1] in between]


MODULE_NAME = re.compile(r"ecsuite(\.\w+)+(:\w+)?")
NAMED_FROM_BELOW = {
    "eval.metrics": ("eval.run_metrics", "eval.xferbench"),
    "games.config": tuple(part for part in FLOOR_OF if part.startswith("games.")),
}
"""Parts whose registry names classes of parts above; it imports nothing until somebody asks for one by name."""


def test_files_name_modules_of_floors_below_only():
    for file in SOURCES:
        own = part_of(".".join(file.relative_to(ROOT).with_suffix("").parts))
        if "ecsuite." not in (text := file.read_text()) or own is None:
            continue
        for node in ast.walk(ast.parse(text)):
            name = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if MODULE_NAME.fullmatch(name):
                named = part_of(name.removeprefix("ecsuite.").partition(":")[0])
                is_below = named is None or FLOOR_OF[named] <= FLOOR_OF[own]
                assert is_below or named in NAMED_FROM_BELOW.get(own, ()), f"{file}:{node.lineno}: {name}"


def test_no_module_imports_itself_through_others():
    graph = {}
    for own, other, _ in imports():
        graph.setdefault(own, set()).add(other)
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules


def test_importing_the_command_line_imports_nothing_heavy():
    heavy = {"torch", "transformers", "datasets", "ecsuite.eval.icy.protocol"}
    script = f"import sys, ecsuite.cli; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_version_is_one():
    assert ecsuite.__version__ == PROJECT["project"]["version"] == metadata.version("ecsuite")
    assert f"\nversion: {ecsuite.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert all(hasattr(ecsuite, name) for name in ecsuite.__all__)


def test_shipped_data_are_in_the_package():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["ecsuite"]
    shipped = {file for pattern in patterns for file in ROOT.glob(pattern)}
    folders = [ROOT / name for name in ("commands", "configs", "downloads", "eval", "people")]
    needed = {ROOT / "py.typed", *(file for folder in folders for file in folder.rglob("*.yaml"))}
    needed |= {ROOT / "eval/experiments/claims/verdicts.json", ROOT / "eval/views/methods/methods.txt"}
    for place in ("commands/templates", "eval/views/html/templates", "language_models/prompts"):
        needed |= set((ROOT / place).iterdir())
    needed |= {file for file in (ROOT / "people" / "pages").rglob("*") if file.is_file()}
    assert shipped == needed
    names = "citations presets protocols published published_scores tasks typologies"
    assert {file.stem for file in (ROOT / "eval").rglob("*.yaml")} == set(names.split())


def test_constraints_pin_every_dependency():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower() for line in lines if "==" in line}
    needed = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["data"]]
    assert {name.split(">=")[0].lower() for name in needed} <= pinned


CODE = re.compile(r"(?:import \w|from [\w.]+ import |class \w+.*:|def \w+\(|[\w.]+ = [\w.]+\(|[\w.]+\([^)]*\)\s*$)")


def broken_examples(doc: str, indent: int = 0) -> list[str]:
    """Lines of examples in a docstring, which itself is indented, that are not indented more, or do not parse."""
    lines = [line.removeprefix(" " * indent) for line in doc.split("\n")]
    found = [line for line in lines[1:] if CODE.match(line)]
    indented = "\n".join(line if line.startswith("    ") or not line else "\0" for line in lines)
    for block in map(textwrap.dedent, re.split(r"\0\n?", indented)):
        if re.match(r"\n*(import|from|class|def|@)\b", block):
            try:
                ast.parse(block)
            except SyntaxError:
                found.append(block.strip().split("\n")[0])
    return found


def test_examples_in_docstrings_are_indented_and_parse():
    assert broken_examples("One.\n\n    import a\n    class A:\n        b = 1\n") == []
    assert broken_examples("One.\n\n    class A:\n    b = 1\n") == ["class A:"]
    assert broken_examples("One.\n\nimport a\na.b(1)\n") == ["import a", "a.b(1)"]
    wrong = {}
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                value = node.value.value
                if isinstance(value, str) and (found := broken_examples(value, node.col_offset)):
                    wrong[f"{file.relative_to(ROOT)}:{node.lineno}"] = found
    assert wrong == {}


INSTALLERS = re.compile(
    r"(?:\buvx|\bpipx (?:run|install)|\buv (?:add|tool (?:run|install))|\bpip install)((?: [^ `]+){1,9})"
)
WITH_VALUES = ("-c", "-r", "--constraint", "--requirement", "--python", "--target", "--with", "--index-url")


def named_packages(text: str) -> list[str]:
    found = []
    for match in INSTALLERS.finditer(re.sub(r"[\s\\]+", " ", text)):
        words = match[1].split()
        for option in ("--from", "-e"):
            if option in words:
                words = words[words.index(option) + 1 :][:1]
        is_value = False
        for word in words:
            plain = word.strip("\"'`()")
            if not is_value and not plain.startswith("-"):
                found.append(plain)
            is_value = plain in WITH_VALUES
    return found


def test_nothing_installs_this_package_by_a_name_that_is_not_published():
    assert named_packages("`uvx ecsuite train-game`")[0] == "ecsuite"
    assert named_packages("(`pip install -q -c c.txt\n'ecsuite[a]'`)") == ["ecsuite[a]"]
    assert named_packages("`uvx --from . ecsuite x`, `pip install -c c.txt -e '.[a]'`") == [".", ".[a]"]
    kinds = (".md", ".py", ".ipynb", ".yaml", ".yml", ".txt", ".toml", ".html", ".js", ".cff", "")
    named = {}
    for folder, folders, files in os.walk(ROOT):
        kept = (".ci", ".github")
        folders[:] = [each for each in folders if each in kept or not each.startswith((".", "__"))]
        if Path(folder) == ROOT:
            folders[:] = [each for each in folders if each not in ("build", "dist", "runs")]
        for file in (Path(folder) / name for name in files):
            if file.suffix in kinds and file.name not in ("CHANGELOG.md", Path(__file__).name):
                text = file.read_bytes().decode(errors="replace")
                ours = [each for each in named_packages(text) if re.match(r"ecsuite(?![\w./-])", each)]
                if ours:
                    named[str(file.relative_to(ROOT))] = ours
    assert named == {}
