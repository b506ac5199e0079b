"""`ecsuite show`: languages and rounds, as text and as pictures."""

from pathlib import Path

import pytest


@pytest.fixture
def run(ecsuite):
    options = ["--epochs", "1", "--set", "training.num_examples=128", "--set", "evaluation.num_valid=64"]
    assert ecsuite("train-game", "disc_tiny", *options)[0] == 0
    return "runs/disc_tiny"


def test_a_run_is_shown_as_text_and_as_a_page(ecsuite, run):
    code, out, err = ecsuite("show", run, "--plot", "deep/page.svg")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "disc_tiny" and lines[1].startswith("accuracy ") and "(chance 25.0%)" in lines[1]
    assert lines[2] == "discrimination game, world attributes, channel gumbel, seed 1"
    assert "attribute0, attribute1" in out and "Most used symbols, by place" in out
    assert lines[-1] == "Picture: deep/page.svg" and len(lines) < 32
    first = Path("deep/page.svg").read_bytes()
    ecsuite("show", f"{run}/corpus.jsonl", "--plot", "deep/page.svg")
    assert Path("deep/page.svg").read_bytes() == first


def test_any_corpus_is_shown(ecsuite):
    Path("words.jsonl").write_text('"da bu"\n"da ki"\n"da bu"\n')
    code, out, err = ecsuite("show", "words.jsonl")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "words.jsonl" and "da bu" in out and "2  no concept in particular" in out


def test_a_run_without_a_corpus_says_how_to_go_on(ecsuite, run):
    Path(run, "corpus.jsonl").unlink()
    code, out, err = ecsuite("show", run)
    assert (code, out) == (2, "") and err.startswith(f"{run}: no corpus yet: ") and "--resume" in err


def test_the_name_of_a_game_shows_its_rounds(ecsuite):
    code, out, err = ecsuite("show", "disc_tiny")
    assert (code, err) == (0, "") and "round 2" in out
    code, out, err = ecsuite("show", "disk_tiny")
    assert (code, out) == (2, "") and "did you mean 'disc_tiny'?" in err


def test_own_objects_are_shown_by_their_names(ecsuite):
    Path("mine.csv").write_text("size,shape\nbig,star\nsmall,star\nbig,box\nsmall,box\n")
    code, out, err = ecsuite("show", "mine.csv", "--rounds", "1", "--plot", "mine.svg")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:3] == ["mine, train, seed 1", "", "round 1"]
    assert sorted(line.split(maxsplit=1)[1] for line in lines[3:7]) == [
        f"size={size}  shape={shape}" for size in ("big", "small") for shape in ("box", "star")
    ]
    assert "size=big" in Path("mine.svg").read_text()
