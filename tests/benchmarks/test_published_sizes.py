import json
import sys
from pathlib import Path

import published_sizes as script
import pytest

from ecsuite.parts.config import shipped_configs

OPTIONS = json.loads((Path(__file__).parents[1] / "contracts" / "command_options.json").read_text())


def test_every_step_is_a_line_of_the_present_commands():
    names = [step.name for step in script.steps()]
    assert len(names) == len(set(names)) > 30
    studies = {f"paper/{name}" for name in shipped_configs("paper")}
    for step in script.steps():
        command, first, *words = step.line.split()
        options = OPTIONS.get(f"{command} {first}", OPTIONS[command]).split()
        assert {word for word in words if word.startswith("--")} <= {*options}, step.line
        if command in ("train-game", "cbm", "icy"):
            assert first in {*shipped_configs(), *studies}, step.line


def test_a_step_that_is_asked_to_stop_is_gone_on_with(tmp_path, monkeypatch, capsys):
    codes, called = iter([0, script.PREEMPTED, 0, 0, 0]), []
    monkeypatch.setattr(script, "run", lambda words, seconds: called.append(words[3:]) or next(codes))
    script.main(["disc", "--folder", str(tmp_path), "--data", str(tmp_path)])
    assert [words[:2] for words in called] == [["train-game", "disc_small"], ["train-game", "disc_large"]]
    assert f"disc_small-danish: left out: no folder {tmp_path / 'text'}" in capsys.readouterr().out
    (tmp_path / "text").mkdir()
    script.main(["disc_large", "--folder", str(tmp_path), "--data", str(tmp_path)])
    assert [words[1] for words in called[2:]] == ["disc_large", *2 * [f"{tmp_path}/runs/disc_large"]]
    assert ["--out", f"{tmp_path}/disc_large-danish.json", "--cache", f"{tmp_path}/cache"] == called[3][-4:]
    done = json.loads((tmp_path / "done.json").read_text())
    assert all("date" in done[name] for name in ("disc_small", "disc_large", "disc_large-danish"))
    script.main(["paren", "--folder", str(tmp_path), "--data", str(tmp_path), "--minutes", "0"])
    assert "paren_synth-danish: next; run this again to continue" in capsys.readouterr().out


@pytest.mark.parametrize(("code", "expected"), [("import sys; sys.exit(3)", 3), ("import time; time.sleep(60)", 75)])
def test_a_command_ends_by_itself_or_is_asked_to(code, expected):
    assert script.run([sys.executable, "-S", "-c", code], 60 if expected == 3 else 0.1) == expected
