"""Files of a run that were edited by hand: refused with what accepts them, and taken by it."""

import re
import shutil

import pytest

from ecsuite.games.runs.run_folder import RunFolder

PLOT = ("--plot", "a.svg")


def replaced(pattern, by):
    return lambda text: re.sub(pattern, by, text, count=1)


@pytest.mark.parametrize(
    ("edit", "name", "line"),
    [
        (replaced("seed: 1", "seed: 2"), "config.yaml", ("evaluate", "run", "--device", "cpu")),
        (replaced('"vocab_size": 5', '"vocab_size": 9'), "metadata.json", ("score", "run", "--metrics", "elcc")),
        (lambda text: "".join(text.splitlines(True)[::-1]), "corpus.jsonl", ("score", "run", "--metrics", "elcc")),
        (replaced(r'"accuracy": 0\.', '"accuracy": 0.9'), "log.jsonl", ("show", "run", "--measure", "loss", *PLOT)),
        (replaced(r'"value": [\d.]+', '"value": 1.5'), "scores.json", ("compare", "table", "run")),
    ],
    ids=["config", "metadata", "corpus", "log", "scores"],
)  # fmt: skip
def test_an_edit_is_refused_until_accepted(ecsuite, whole, tmp_path, edit, name, line):
    shutil.copytree(whole, tmp_path / "run")
    assert ecsuite("score", "run", "--metrics", "elcc")[0] == 0
    assert ecsuite("verify", "run", "--accept") == (0, "run: nothing was edited\n", "")
    file = tmp_path / "run" / name
    before = file.read_text()
    file.write_text(edit(before))
    assert file.read_text() != before
    code, out, err = ecsuite(*line)
    assert (code, out) == (3, "")
    assert err.startswith(f"run/{name}: damaged or edited ")
    assert err.endswith(" with ecsuite verify run --accept\n")
    assert ecsuite("verify", "run", "--accept") == (0, f"run: accepted {name}\n", "")
    assert ecsuite(*line)[0] == 0
    assert RunFolder(tmp_path / "run").accept_edits() == []


def test_a_folder_without_checksums_is_refused(ecsuite):
    code, out, err = ecsuite("verify", ".", "--accept")
    assert (code, out) == (2, "") and err.startswith(".: expected a run folder, a corpus")


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("corpus.jsonl", "\n", "\n[1, \n", "corpus.jsonl:2: expected "),
        ("metadata.json", '"eos": 0', '"eos": -3', 'metadata.json: "eos" is -3: damaged, or of a newer version'),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_not_accepted(ecsuite, whole, tmp_path, name, old, new, said):
    shutil.copytree(whole, tmp_path / "run")
    file = tmp_path / "run" / name
    edited = file.read_text().replace(old, new, 1)
    file.write_text(edited)
    code, out, err = ecsuite("verify", "run", "--accept")
    assert (code, out) == (2, "") and err.startswith(f"run: nothing was accepted: {said}")
    assert file.read_text() == edited and ecsuite("score", "run")[0] in (2, 3)
