from pathlib import Path

import pytest

from ecsuite.parts import own_code
from ecsuite.parts.own_code import files_of


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_code, "_trusted", set())
    return tmp_path


def write(**files):
    for name, code in files.items():
        file = Path(f"{name.replace('__', '/')}.py" if name != "package" else "package/__init__.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code)


def load(kind):
    own_code.trust([kind])
    return own_code.named(kind)


def test_modules_of_the_current_folder_are_found_from_files_below():
    write(parts__own="from common import value\nclass Own: value = value\n", common="value = 4\n")
    assert load("./parts/own.py:Own").value == 4
    assert files_of("parts/own.py").imported() == ["./common.py"]
