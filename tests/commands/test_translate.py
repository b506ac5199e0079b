"""The command: results, JSON, and one line for each mistake."""

import json

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def pairs(tmp_path):
    letters = np.random.default_rng(0).choice(list("abcdefgh"), (60, 4))
    (tmp_path / "pairs.tsv").write_text(
        "".join(f"{' '.join(row)}\t{' '.join(row[::-1])}\n" for row in letters)
    )


def test_the_baseline_and_a_corpus(ecsuite, as_json, tmp_path):
    (tmp_path / "parrots").mkdir()
    (tmp_path / "parrots" / "corpus.jsonl").write_text("[1, 2, 3]\n[3, 2]\n")
    line = ("translate", "--pairs", "pairs.tsv", "--preset", "nano", "--workers", "1", "--device", "cpu")
    code, out, _ = ecsuite(*line, "parrots", "--out", "new/result.json")
    assert code == 0
    assert "parrots: translation, preset nano, setting full, seed 0; corpus repeated 400 times" in out
    data = json.loads((tmp_path / "new" / "result.json").read_text())
    assert (data["name"], data["is_pretrained"]) == ("parrots", True)
    assert len(as_json(*line, "parrots", "--plan")["jobs"]) == 3
    baseline = as_json(*line, "--setting", "frozen")
    assert (baseline["name"], baseline["setting"]) == ("no_pretrain", "frozen")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--setting", "ful"), "unknown setting 'ful'; did you mean 'full'?"),
        (("--preset", "minni"), "unknown preset 'minni'; did you mean 'mini'?"),
        (("--pairs", "none.tsv"), "none.tsv: no such file of sentence pairs"),
    ],
)
def test_what_is_refused_leaves_no_folder(ecsuite, tmp_path, options, message):
    pairs = () if "--pairs" in options else ("--pairs", "pairs.tsv")
    code, out, err = ecsuite("translate", *pairs, *options, "--out", "new/a.json")
    assert (code, out) == (2, "") and err.startswith(message) and err.count("\n") == 1
    assert not (tmp_path / "new").exists() and not (tmp_path / "runs").exists()


def test_pairs_that_are_all_too_long_are_told_before_the_pretraining(ecsuite, tmp_path):
    (tmp_path / "corpus.jsonl").write_text("[1, 2]\n" * 20)
    (tmp_path / "long.tsv").write_text("".join(f"{'x ' * 90}{n}\t{'y ' * 90}{n}\n" for n in range(40)))
    code, out, err = ecsuite("translate", "corpus.jsonl", "--pairs", "long.tsv", "--preset", "nano")
    assert (code, out) == (2, "")
    assert err == "long.tsv: expected pairs of at most 32 tokens, found only longer pairs\n"
    assert not (tmp_path / "runs").exists()
