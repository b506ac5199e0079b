"""Files of a run that were edited by hand: refused with what accepts them, and taken by it."""

import json
import shutil

import pytest

from ecsuite.games.runs.run_folder import RunFolder


def edit_config(folder):
    text = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(text.replace("seed: 1", "seed: 2"))


def edit_metadata(folder):
    metadata = json.loads((folder / "metadata.json").read_bytes())
    (folder / "metadata.json").write_text(json.dumps(metadata | {"vocab_size": 9}))


def edit_corpus(folder):
    lines = (folder / "corpus.jsonl").read_text().splitlines(keepends=True)
    (folder / "corpus.jsonl").write_text("".join(lines[::-1]))


def edit_log(folder):
    text = (folder / "log.jsonl").read_text()
    (folder / "log.jsonl").write_text(text.replace('"accuracy": 0.', '"accuracy": 0.9', 1))


def edit_scores(folder):
    data = json.loads((folder / "scores.json").read_bytes())
    data["scores"][0]["value"] = 1.5
    (folder / "scores.json").write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("edit", "name", "line"),
    [
        (edit_config, "config.yaml", ("evaluate", "run", "--device", "cpu")),
        (edit_metadata, "metadata.json", ("score", "run", "--metrics", "elcc")),
        (edit_corpus, "corpus.jsonl", ("score", "run", "--metrics", "elcc")),
        (edit_log, "log.jsonl", ("show", "run", "--measure", "loss", "--plot", "a.svg")),
        (edit_scores, "scores.json", ("compare", "table", "run")),
    ],
)
def test_an_edit_is_refused_until_accepted(ecsuite, whole, tmp_path, edit, name, line):
    shutil.copytree(whole, tmp_path / "run")
    assert ecsuite("score", "run", "--metrics", "elcc")[0] == 0
    assert ecsuite("verify", "run", "--accept") == (0, "run: nothing was edited\n", "")
    edit(tmp_path / "run")
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
