"""What files say of where they come from."""

import json
import shutil
import subprocess

import pytest

from ecsuite.runtime import provenance
from ecsuite.runtime.provenance import checkout_commit, processor

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_the_one_that_git_names(tmp_path):
    def git(*words, folder="repository"):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        line = ["git", "-C", tmp_path / folder, *who, *words]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()

    repository, linked = tmp_path / "repository", tmp_path / "linked"
    repository.mkdir()
    git("init", "-q", "-b", "main")
    assert checkout_commit(repository) is None  # no commit yet
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("worktree", "add", "-q", "-b", "feature/linked", linked)
    git("commit", "-q", "--allow-empty", "-m", "second", folder="linked")
    first, second = git("rev-parse", "main"), git("rev-parse", "feature/linked")
    for _ in range(2):
        assert (checkout_commit(repository), checkout_commit(linked)) == (first, second)
        git("pack-refs", "--all")
    git("checkout", "-q", "--detach", second)
    assert checkout_commit(repository) == second


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
        ("[", None),
        (None, None),
    ],
)
def test_the_commit_of_an_installation(tmp_path, monkeypatch, noted, commit):
    class Installed:
        def locate_file(self, name):
            return tmp_path / name

        def read_text(self, name):
            return noted

    monkeypatch.setattr(provenance, "distribution", lambda name: Installed())
    assert provenance._installed_commit(tmp_path / "ecsuite") == commit
    assert provenance._installed_commit(tmp_path / "elsewhere") is None


def test_the_processor_has_a_name_on_one_line():
    assert processor() and processor() == processor().strip() and "\n" not in processor()
