"""ICY trains a sender and a receiver of a user's own file."""

import json

import pytest

from ecsuite.agents.spec import parse_agent
from ecsuite.parts import own_code
from ecsuite.runtime.errors import ConfigError

SMALL = ("--grammar", "perm", "--num-attributes", "2", "--num-values", "3", "--seeds", "1", "--target", "0.6")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("role", "workers"), [("sender", 1), ("receiver", 1), pytest.param("sender", 2, marks=pytest.mark.slow)]
)
def test_an_agent_of_ones_own_is_trained(ecsuite, tmp_path, role, workers):
    assert ecsuite("new", role, "own.py")[0] == 0
    line = (
        "icy",
        "--role",
        role,
        "--model",
        "./own.py:Own,width=32",
        *SMALL,
        "--workers",
        str(workers),
        "--json",
    )
    code, out, err = ecsuite(*line)
    assert code == 0, err
    (row,) = json.loads(out)["rows"]
    digest = own_code.checksum("own.py")[:12]
    assert row["model"] == f"./own.py:Own@{digest},width=32"
    assert f"|{role}:./own.py:Own@{digest},width=32|" in row["signature"]
    assert all(run["reached"] for cell in row["cells"] for run in cell["runs"])


def test_a_changed_file_is_another_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("first = 1\n")
    name = str(parse_agent("sender", "./own.py:Own,width=3,depth=2"))
    assert name == f"./own.py:Own@{own_code.checksum('own.py')[:12]},depth=2,width=3"
    assert str(parse_agent("sender", name)) == name
    (tmp_path / "own.py").write_text("second = 2\n")
    assert str(parse_agent("sender", "./own.py:Own,width=3,depth=2")) != name
    with pytest.raises(
        ConfigError, match=r"own.py:Own: its file has changed: expected a SHA-256 that begins with"
    ):
        parse_agent("sender", name)
