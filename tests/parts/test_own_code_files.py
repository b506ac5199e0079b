"""The user's files that a part imports: which they are, how they are loaded, and that a change of one is seen."""

import os
import py_compile
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from ecsuite.parts import own_code
from ecsuite.parts.own_code import files_of
from ecsuite.runtime.errors import PartError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_code, "_trusted", set())
    return tmp_path


def write(**files):
    """Write files; `__` in a name is a slash."""
    for name, code in files.items():
        file = Path(f"{name.replace('__', '/')}.py" if name != "package" else "package/__init__.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code)


def load(kind):
    own_code.trust([kind])
    return own_code.named(kind)


def test_a_file_alone_has_its_own_checksum():
    write(own="import random, numpy, ecsuite.parts.config\n")
    files = files_of("./own.py")
    assert (files.module, list(files.files), files.imported()) == ("own", ["own"], [])


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "lines",
    [
        "import helper\nvalue = helper.value",
        "from helper import value",
        "from .helper import value",
        "from . import helper\nvalue = helper.value",
        "import more.inner\nvalue = more.inner.value",
        "import more.inner as other\nvalue = other.value",
        "from more import inner\nvalue = inner.value",
        "from more.inner import value",
    ],
)
@pytest.mark.parametrize("is_late", [False, True], ids=["at_the_top", "in_a_function"])
def test_what_a_file_imports_belongs_to_it(lines, is_late):
    lines = lines.replace("\n", "; ")
    write(
        own=f"def own(): {lines}; return value\n" if is_late else f"{lines}\ndef own(): return value\n",
        helper="value = 1\n",
        more__inner="value = 1\n",
    )
    assert load("./own.py:own")() == 1
    assert len(files_of("./own.py").imported()) == 1
    before = own_code.checksum("./own.py")
    write(helper="value = 2\n", more__inner="value = 2\n")
    assert own_code.checksum("./own.py") != before
    with pytest.raises(own_code.UntrustedError):
        own_code.named("./own.py:own")
    assert load("./own.py:own")() == 2


def test_files_of_a_package_import_each_other():
    write(
        package="from .numbers import one\n",
        package__numbers="one = 1\n",
        package__own="from .numbers import one\nfrom . import one as same\nclass Own: value = one + same\n",
    )
    assert load("./package/own.py:Own").value == 2
    assert load("package.own:Own").value == 2
    assert files_of("package/own.py").imported() == ["package/__init__.py", "package/numbers.py"]


def test_two_parts_may_import_files_of_the_same_name():
    for number in (1, 2):
        write(
            **{
                f"part{number}__own": "from helper import value\nclass Own: value = value\n",
                f"part{number}__helper": f"value = {number}\n",
            }
        )
    assert [load(f"./part{number}/own.py:Own").value for number in (1, 2)] == [1, 2]


def test_installed_packages_and_modules_of_python_are_no_files_of_the_users(folder):
    write(own="import statistics, numpy, ecsuite.parts.config\n", statistics="raise SystemExit\n")
    (folder / "numpy").mkdir()  # a folder of data
    assert files_of("./own.py").imported() == []


def test_a_file_beside_the_part_is_taken_before_an_installed_package():
    write(own="import filelock\nclass Own: value = filelock.value\n", filelock="value = 3\n")
    assert load("./own.py:Own").value == 3


def test_modules_of_the_current_folder_are_found_from_files_below():
    write(parts__own="from common import value\nclass Own: value = value\n", common="value = 4\n")
    assert load("./parts/own.py:Own").value == 4
    assert files_of("parts/own.py").imported() == ["./common.py"]


def test_files_that_import_each_other():
    write(own="import helper\nclass Own: pass\n", helper="import own\nvalue = 1\n")
    assert load("./own.py:Own").__name__ == "Own"


@pytest.mark.parametrize(
    ("helper", "message"),
    [
        ("1 / 0\n", "./helper.py:1: ZeroDivisionError: division by zero"),
        ("def x(:\n", "./helper.py:1: invalid syntax"),
        ("from . import gone\n", "./helper.py:1: ImportError: cannot import name 'gone'"),
        ("import gone_from_here\n", "./helper.py:1: ModuleNotFoundError: No module named 'gone_from_here'"),
        ("from .gone import x\n", "./helper.py:1: ModuleNotFoundError: No module named 'gone'"),
        ("raise SystemExit(3)\n", "./helper.py:1: SystemExit: 3"),
    ],
)
def test_a_mistake_in_an_imported_file_names_that_file(helper, message):
    write(own="import helper\nclass Own: pass\n", helper=helper)
    with pytest.raises(PartError) as caught:
        load("./own.py:Own")
    assert str(caught.value).startswith(message)


def test_the_copies_are_the_same_part(folder):
    write(
        package="",
        package__numbers="one = 1\n",
        package__own="import package.numbers, helper, other.deep\nfrom . import numbers\n"
        "class Own: value = helper.two\n",
        package__helper="two = 2\n",
        other__deep="three = 3\n",
    )
    files = files_of("package/own.py")
    assert set(files.copies()) == {
        "package/own.py", "package/__init__.py", "package/numbers.py", "helper.py", "other/deep.py",
    }  # fmt: skip
    for place, content in files.copies().items():
        copy = folder / "copies" / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
    assert own_code.checksum("copies/package/own.py") == own_code.checksum("package/own.py")
    assert load("copies/package/own.py:Own").value == 2


def test_a_module_in_folders_without_files_of_their_own():
    write(
        lab__parts__own="from lab.parts.helper import value\nclass Own: value = value\n",
        lab__parts__helper="value = 5\n",
    )
    assert load("lab.parts.own:Own").value == 5


def test_bytecode_beside_a_file_is_not_run(folder):
    """It is not covered by the checksum, whatever lies in a folder of somebody else."""
    write(own="import helper\nclass Own: value = helper.value\n", helper="value = 1\n")
    file, times = folder / "helper.py", (1, 1)
    file.write_text("value = 2\n")
    os.utime(file, times)
    py_compile.compile("helper.py")
    file.write_text("value = 1\n")
    os.utime(file, times)
    assert load("./own.py:Own").value == 1


def test_a_module_that_a_finder_of_an_installed_package_finds(folder, monkeypatch):
    """As of a package that was installed by `pip install -e`."""
    write(
        src__lab__own="from .helper import value\nclass Own: value = value\n", src__lab__helper="value = 6\n"
    )

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return PathFinder.find_spec(name, [str(folder / "src")]) if name == "lab" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert load("lab.own:Own").value == 6


def test_a_module_of_an_installed_package_is_imported_as_python_knows_it(folder, monkeypatch):
    write(**{"venv__site-packages__installed_for_a_test__own": "class Own: pass\n"})
    monkeypatch.syspath_prepend(folder / "venv" / "site-packages")
    with pytest.raises(own_code.UntrustedError):
        own_code.named("installed_for_a_test.own:Own")
    assert load("installed_for_a_test.own:Own").__module__ == "installed_for_a_test.own"
