import os
import py_compile
from pathlib import Path

import pytest

from ecsuite.agents.registry import SENDERS
from ecsuite.parts import own_code
from ecsuite.parts.own_code import files_of


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_code, "_trusted", set())


def write(**files):
    for name, code in files.items():
        file = Path(f"{name.replace('__', '/')}.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code)


def load(kind):
    own_code.trust([kind])
    return own_code.named(kind)


def test_only_what_was_named_is_imported():
    write(own="raise SystemExit\n", own__mine="raise SystemExit\n")
    Path("own/__init__.py").write_text("raise SystemExit\n")
    for kind in ("./own.py:Mine", "own/mine.py:Mine", "own.mine:Mine"):
        with pytest.raises(own_code.UntrustedError, match="code from a file, which is not run unasked"):
            SENDERS.load(kind)


def test_modules_of_the_current_folder_are_found_from_files_below():
    write(parts__own="from common import value\nclass Own: value = value\n", common="value = 4\n")
    assert load("./parts/own.py:Own").value == 4
    assert files_of("parts/own.py").imported() == ["./common.py"]


@pytest.mark.parametrize(
    "line", ["import helper", "from . import helper", "from .helper import value", "import more.inner"]
)
def test_what_a_file_imports_belongs_to_it(line):
    value = {"from .helper import value": "value", "import more.inner": "more.inner.value"}.get(line, "helper.value")
    write(own=f"{line}\ndef own(): return {value}\n", helper="value = 1\n", more__inner="value = 1\n")
    assert load("./own.py:own")() == 1 and len(files_of("./own.py").imported()) == 1
    before = own_code.checksum("./own.py")
    write(helper="value = 2\n", more__inner="value = 2\n")
    assert own_code.checksum("./own.py") != before
    with pytest.raises(own_code.UntrustedError):
        own_code.named("./own.py:own")
    assert load("./own.py:own")() == 2


def test_bytecode_beside_a_file_is_not_run():
    """It is not covered by the checksum, whatever lies in a folder of somebody else."""
    write(own="import helper\nclass Own: value = helper.value\n", helper="value = 2\n")
    os.utime("helper.py", (1, 1))
    py_compile.compile("helper.py")
    write(helper="value = 1\n")
    os.utime("helper.py", (1, 1))
    assert load("./own.py:Own").value == 1
