"""What ships: the package list equals the tree, and nothing that loads or runs foreign code is in the source."""

import ast
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import ecsuite

ROOT = Path(ecsuite.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOT_SHIPPED = ("tests", "benchmarks", "build", "dist", "runs")
SOURCES = [
    file
    for file in sorted(ROOT.rglob("*.py"))
    if not any(part in NOT_SHIPPED or part.startswith(".") for part in file.relative_to(ROOT).parts)
]


def test_the_package_list_equals_the_tree():
    folders = {file.parent.relative_to(ROOT) for file in SOURCES}
    found = {".".join(["ecsuite", *folder.parts]) for folder in folders}
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])
    assert all((ROOT / folder / "__init__.py").exists() for folder in folders)


def test_no_stray_module_at_the_root():
    """Every Python file at the root ships as a module of the package."""
    assert {file.name for file in ROOT.glob("*.py")} == {
        "__init__.py", "cli.py", "config.py", "corpus.py", "file_formats.py",
    }  # fmt: skip


def test_no_module_at_the_root_hides_one_of_the_standard_library():
    names = {
        entry.stem for entry in ROOT.iterdir() if entry.suffix == ".py" or (entry / "__init__.py").exists()
    }
    assert not names & set(sys.stdlib_module_names)


FORBIDDEN = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_ATTRIBUTES = {
    ("yaml", "load"), ("yaml", "unsafe_load"), ("yaml", "full_load"), ("torch", "load"), ("torch", "save"),
    ("os", "system"),
}  # fmt: skip
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"}


def test_nothing_runs_or_unpickles_what_it_reads():
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text())):
            where = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN, where
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) not in FORBIDDEN_ATTRIBUTES, where
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant) and node.value.value is False, where
            if isinstance(node, ast.Import):
                assert not {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN_MODULES, where
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in FORBIDDEN_MODULES, where


FLOORS = ["file_formats", "config corpus", "formats", "agents", "games grammars", "eval", "cli"]
"""A file imports only from floors below its own, and from its own folder."""


def test_files_import_only_from_floors_below():
    floor_of = {name: number for number, names in enumerate(FLOORS) for name in names.split()}
    for file in SOURCES:
        own = file.relative_to(ROOT).parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        assert own in floor_of, f"{own} is on no floor"
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ecsuite."):
                other = node.module.split(".")[1]
                where = f"{file.relative_to(ROOT)}:{node.lineno} imports {node.module}"
                assert other == own or floor_of[other] < floor_of[own], where


def test_importing_the_command_line_imports_nothing_heavy():
    script = (
        "import sys, ecsuite.cli; print(*sorted({'torch', 'transformers', 'datasets'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_version_is_one():
    assert ecsuite.__version__ == PROJECT["project"]["version"] == metadata.version("ecsuite")
    assert all(hasattr(ecsuite, name) for name in ecsuite.__all__)


def test_shipped_data_are_in_the_package():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["ecsuite"]
    assert "configs/**/*.yaml" in patterns and "py.typed" in patterns
    assert (ROOT / "py.typed").exists() and list((ROOT / "configs").glob("*.yaml"))


def test_constraints_pin_every_dependency():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower() for line in lines if "==" in line}
    needed = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["data"]]
    assert {name.split(">=")[0].lower() for name in needed} <= pinned
