import json

import pytest

from ecsuite.runtime import provenance
from ecsuite.runtime.provenance import checkout_commit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("head", ["", "ref: refs/heads/none", "ref: refs/heads/.invalid", "1234", "\0"])
def test_a_commit_that_is_not_known_is_absent(tmp_path, head):
    assert checkout_commit(tmp_path) is None
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(f"{head}\n")
    assert checkout_commit(tmp_path) is None


@pytest.mark.parametrize(
    ("noted", "commit"),
    [
        (json.dumps({"vcs_info": {"vcs": "git", "commit_id": COMMIT}}), COMMIT),
        (json.dumps({"vcs_info": {"vcs": "git", "commit_id": 3}}), None),
        (json.dumps({"dir_info": {}}), None),
        ("[", None), (None, None),
    ],
)  # fmt: skip
def test_the_commit_of_an_installation(tmp_path, monkeypatch, noted, commit):
    class Installed:
        def locate_file(self, name):
            return tmp_path / name

        def read_text(self, name):
            return noted

    monkeypatch.setattr(provenance, "distribution", lambda name: Installed())
    assert provenance._installed_commit(tmp_path / "ecsuite") == commit
    assert provenance._installed_commit(tmp_path / "elsewhere") is None
