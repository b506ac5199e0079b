import pytest

from ecsuite.agents.registry import SENDERS
from ecsuite.parts import own_code


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_code, "_trusted", set())
    return tmp_path


def test_only_what_was_named_is_imported(folder):
    (folder / "own").mkdir()
    for name in ("own.py", "own/__init__.py", "own/mine.py"):
        (folder / name).write_text("raise SystemExit\n")
    for kind in ("./own.py:Mine", "own/mine.py:Mine", "own.mine:Mine"):
        with pytest.raises(own_code.UntrustedError, match="code from a file, which is not run unasked"):
            SENDERS.load(kind)
