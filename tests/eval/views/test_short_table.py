"""The table at a glance: at most 30 lines of 80 columns, for every kind of corpus and of terminal."""

import io
import json
import random
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.conclusions import limits_of
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.formats import read_corpus
from ecsuite.runtime.ragged import Ragged

XFERBENCH = Score(
    name="xferbench",
    value=5.06,
    about="transfer",
    signature="xferbench|passes:1|v:1",
    details={
        "note": "reduced",
        "reference": {"French text": 4.951, "uniform noise": 5.174},
        "warning": "left out: fr: the text of it ends before the words that are asked for are read; left out: eu",
    },
)


def lines_of(card, width=80, encoding="utf-8"):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    Console(file=stream, width=width).print(card.short_table())
    stream.flush()
    return stream.buffer.getvalue().decode(encoding).splitlines()


@pytest.fixture(scope="module")
def cards(tmp_path_factory):
    """Scorecards of the five kinds of corpora, from what the commands write."""
    from typer.testing import CliRunner

    from ecsuite.cli import app

    folder = tmp_path_factory.mktemp("corpora")
    make = {
        "run": "train-game disc_tiny --epochs 1 --set training.num_examples=256 --set evaluation.corpus_size=250",
        "grammar": "grammar shufdet --num-attributes 2 --num-values 4",
        "baseline": "grammar zipf_parentheses --num-symbols 3000 --vocab-size 100",
        "sets": "train-game thing_gs --epochs 1 --set training.num_examples=64 --set evaluation.corpus_size=60",
    }
    for name, command in make.items():
        done = CliRunner().invoke(app, [*command.split(), "--out", str(folder / name)])
        assert done.exit_code == 0, done.output
    rng = random.Random(0)
    messages = [" ".join(rng.choices(["da", "bu", "ki"], k=rng.randint(2, 6))) for _ in range(210)]
    (folder / "foreign.jsonl").write_text("".join(json.dumps(each) + "\n" for each in messages))
    quick = [name for name in ("elcc", "cbm", "topsim", "posdis", "bosdis", "context_independence", "word_entropy",
                               "has", "zla", "ami", "ncnpmi", "hce")]  # fmt: skip
    return {name: score_corpus(read_corpus(folder / name), quick) for name in (*make, "foreign.jsonl")}


def test_mini_says_that_it_does_not_rank_games(cards):
    mini = structs.replace(XFERBENCH, signature="xferbench|preset:mini|protocol:strict|v:3")
    lines = lines_of(replace(cards["grammar"], scores=(mini,)))
    place = next(number for number, line in enumerate(lines) if "for comparison" in line)
    assert lines[place + 1] == "    mini ranks classes of corpora; for games: mini-3m, danish (39 PFLOP, GPU)"
    assert len(lines[place + 1]) <= 80
    both = lines_of(replace(cards["grammar"], scores=(*cards["grammar"].scores, mini)))
    assert lines[place + 1] in both and len(both) <= 30
    for signature in ("xferbench|preset:danish|v:3", "other|preset:mini|v:1", "xferbench|v:1"):
        other = structs.replace(XFERBENCH, signature=signature)
        assert not any("games" in line for line in lines_of(replace(cards["grammar"], scores=(other,))))
    full = structs.replace(mini, details=dict(mini.details) | {"limits": limits_of(mini.signature)})
    assert "danish (39 PFLOP" in " ".join(replace(cards["grammar"], scores=(full,)).full().split())


def test_every_message_empty_is_said():
    lines = lines_of(score_corpus(Corpus([[], [], []]), ["elcc", "has"]))
    assert lines[-1] == "Every message is empty, so no score is defined."


def test_what_is_cut_says_so():
    messages, meanings = [[0, 1], [1, 0], [0, 0], [1, 1]] * 10, [[a, b] for a in (0, 1) for b in (0, 1)] * 10
    card = score_corpus(Corpus(messages, meanings=np.array(meanings)), ["zla"])
    for encoding, end in (("utf-8", "…"), ("ascii", "~")):
        line = next(line for line in lines_of(card, encoding=encoding) if "zla_messages" in line)
        assert line.endswith(f"the same f{end}") and len(line) == 80


@pytest.mark.parametrize("each", [1, 4])
def test_that_messages_of_an_episode_are_no_independent_ones_is_said(each):
    columns = {"episode": np.arange(300) // each}
    training = {"step": 5, "num_steps": 10, "reward": 0.5}
    corpus = Corpus(
        messages=Ragged.from_rows([[1], [2]] * 150), columns=columns, metadata={"training": training}
    )
    lines = lines_of(score_corpus(corpus, ["elcc"]))
    assert any("assume that messages of an episode are independent" in line for line in lines) == (each > 1)
    assert "(trained 5 of 10 steps)" in lines[0] and any("not over seeds" in line for line in lines)
