"""`ecsuite show`: languages and rounds, as text and as pictures."""

from pathlib import Path

import pytest


@pytest.fixture
def run(ecsuite):
    options = ["--epochs", "1", "--set", "training.num_examples=128", "--set", "evaluation.num_valid=64"]
    assert ecsuite("train-game", "disc_tiny", *options)[0] == 0
    return "runs/disc_tiny"


def test_any_corpus_is_shown(ecsuite):
    Path("words.jsonl").write_text('"da bu"\n"da ki"\n"da bu"\n')
    code, out, err = ecsuite("show", "words.jsonl")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "words.jsonl" and "da bu" in out and "2  no concept in particular" in out


def test_a_run_without_a_corpus_says_how_to_go_on(ecsuite, run):
    Path(run, "corpus.jsonl").unlink()
    code, out, err = ecsuite("show", run)
    assert (code, out) == (2, "") and err.startswith(f"{run}: no corpus yet: ") and "--resume" in err
