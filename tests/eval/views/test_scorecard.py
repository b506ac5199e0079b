"""The scorecard: metrics, the full table, the table at a glance, files of scores, and progress."""

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.conclusions import limits_of
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.comparison import ComparedScore
from ecsuite.eval.results.samples import Sample
from ecsuite.eval.views import comparison
from ecsuite.eval.views import console as reporting
from ecsuite.eval.views.console import Reporter
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.grammars import icy
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.ragged import Ragged


def small_corpus():
    """24 meanings of three attributes; messages with an irregularity and with EOS 0."""
    meanings = np.array([[a, b, c] for a in range(4) for b in range(3) for c in range(2)] * 2)
    rows = [[1 + a, 5 + b, *([9] if a == b else [8 + c]), 0, 7] for a, b, c in meanings.tolist()]
    return Corpus(
        messages=Ragged.from_rows([row if i % 5 else row[1:] for i, row in enumerate(rows)]),
        eos=0,
        meanings=meanings,
        concepts=Ragged.from_rows((meanings + np.array([0, 4, 7])).tolist()),
        concept_names=tuple(f"c{i}" for i in range(9)),
        metadata={"source_path": "small/corpus.jsonl", "eos_source": "declared", "config": {"seed": 1}},
    )


def test_what_is_empty_unknown_or_cut_is_said():
    message = r"unknown metric 'topsm'; did you mean 'topsim'\? choices: topsim, "
    with pytest.raises(ValueError, match=message):
        score_corpus(small_corpus(), ["elcc", "topsm"])
    lines = lines_of(score_corpus(Corpus([[], [], []]), ["elcc", "has"]))
    assert lines[-1] == "Every message is empty, so no score is defined."
    messages, meanings = [[0, 1], [1, 0], [0, 0], [1, 1]] * 10, [[a, b] for a in (0, 1) for b in (0, 1)] * 10
    card = score_corpus(Corpus(messages, meanings=np.array(meanings)), ["zla"])
    for encoding, end in (("utf-8", "…"), ("ascii", "~")):
        line = next(line for line in lines_of(card, encoding=encoding) if "zla_messages" in line)
        assert line.endswith(f"the same f{end}") and len(line) == 80
    meanings = [[a, b] for a in range(6) for b in range(6)]
    corpus = Corpus([[a, 10 + b] for a, b in meanings], meanings=meanings)
    lines = [line.split() for line in score_corpus(corpus, ["morphemes"]).full(160).splitlines()]
    assert ["5", "attribute0=5", "0.650", "6"] in lines
    assert ["[0:", "attribute0=0]", "[10:", "attribute1=0]", "attribute0=0", "attribute1=0"] in lines


@pytest.mark.parametrize(
    ("training", "shown"),
    [
        ({"step": 320, "num_steps": 341_800, "accuracy": 0.971, "stopped": "minutes"}, True),
        ({"step": 320, "num_steps": 341_800, "accuracy": float("nan")}, False),
        ({"step": "many", "num_steps": 1, "accuracy": 1.0}, False),
        ({"step": 1}, False),
        ("a lot", False),
        (None, False),
    ],
)
def test_how_far_training_came_is_shown_where_it_is_known(training, shown):
    corpus = Corpus(messages=Ragged.from_rows([[1], [2]]), metadata={"training": training})
    card = score_corpus(corpus, ["elcc"])
    json.dumps(card.to_json(), allow_nan=False)
    assert ("trained 320 of 341,800 steps, accuracy 97.1%" in card.full(120)) == shown


def test_in_a_notebook_scores_and_comparisons_are_shown_once(monkeypatch, capsys):
    """rich shows what is printed in a notebook itself, also what goes into a file."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    card = score_corpus(small_corpus(), ["topsim"])
    assert str(card).count("topsim ") == 1 == card._repr_html_().count("topsim ") and "topsim" in card.full()
    assert card.table()._repr_html_().count(">topsim<") == 1
    assert capsys.readouterr().out == ""


OWN = """
from ecsuite.eval.metrics.topsim import topsim as ours

def first(corpus):
    corpus.messages.values[:] = 0
    return 1.0

def topsim(corpus):
    return 0.5

def large(corpus):
    return 10**400

def wraps(corpus, options):
    return ours(corpus, options)
"""


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["./mine.py:first", "topsim"], "mine.py:5: ValueError: assignment destination is read-only"),
        (["./mine.py:topsim"], "topsim: a score of ecsuite has this name"),
        (["./mine.py:first", "./other.py:first"], "first: another metric has this name"),
        (["./mine.py:large"], "large: expected a finite number"),
    ],
)
def test_metrics_of_ones_own_leave_others_alone(ecsuite, names, message):
    Path("a.txt").write_text("1 2\n2 1\n1 1\n" * 5)
    for file in ("mine.py", "other.py"):
        Path(file).write_text(OWN)
    code, _, err = ecsuite("score", "a.txt", "--metrics", ",".join(names))
    assert code == 2 and message in err and err.count("\n") == 1
    code, _, err = ecsuite("score", "a.txt", "--metrics", "./mine.py:wraps,has")
    assert code == 0, err


@pytest.mark.parametrize("content", ["not JSON", "[" * 100_000, "1" * 401])
def test_a_scores_file_that_is_not_json_is_not_overwritten(ecsuite, tmp_path, content):
    """It may be somebody's work."""
    assert ecsuite("grammar", "perm", "--num-attributes", "2", "--num-values", "3", "--out", "run")[0] == 0
    (tmp_path / "run" / "scores.json").write_text(content)
    code, out, err = ecsuite("score", "run", "--metrics", "elcc")
    assert (code, out) == (2, "") and re.match(r"run/scores.json(:1)?: not JSON: ", err)
    assert (tmp_path / "run" / "scores.json").read_text() == content


def test_two_processes_lose_no_scores_of_each_other(tmp_path):
    program = """
import sys
from pathlib import Path
from ecsuite.eval.results.files import save_scores
own = sys.argv[1]
Path(own).touch()
while not (Path("a").exists() and Path("b").exists()):
    pass  # so that they write at the same time
for number in range(20):
    score = {"name": "cbm", "value": number, "signature": f"{own}{number}"}
    save_scores(Path("scores.json"), {"corpus": {"sha256": "a"}, "scores": [score]})
"""
    writers = [subprocess.Popen([sys.executable, "-c", program, own], cwd=tmp_path) for own in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    kept = json.loads((tmp_path / "scores.json").read_text())["scores"]
    expected = {f"{own}{number}" for own in "ab" for number in range(20)}
    assert {score["signature"] for score in kept} == expected


def test_progress_estimates_from_where_the_work_began(monkeypatch, capsys):
    """The remaining time of a resumed run is estimated from its own steps only, after 5 % of these."""
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr(reporting.time, "monotonic", lambda: next(clock))
    with Reporter() as reporter:
        for done in (900, 902, 910):
            reporter.progress("epoch 10/10", done, 1000)
        reporter.progress("other work", 1, 4)
        reporter.progress("other work", 2, 4)
        reporter.note("a note")
    shown = [" 90%  epoch 10/10", " 91%  3:45 left  epoch 10/10", " 50%  0:40 left  other work", "a note"]
    captured = capsys.readouterr()
    assert (captured.out, captured.err.splitlines()) == ("", shown)


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
def card():
    """The scorecard of a grammar."""
    corpus = icy.language("shufdet", Geometry(num_attributes=2, num_values=4), 0).corpus()
    names = "elcc cbm topsim posdis bosdis context_independence word_entropy has zla ami ncnpmi hce"
    return score_corpus(corpus, names.split())


def test_mini_says_that_it_does_not_rank_games(card):
    mini = structs.replace(XFERBENCH, signature="xferbench|preset:mini|protocol:strict|v:3")
    lines = lines_of(replace(card, scores=(mini,)))
    place = next(number for number, line in enumerate(lines) if "for comparison" in line)
    assert lines[place + 1] == "    mini ranks classes of corpora; for games: mini-3m, danish (39 PFLOP, GPU)"
    assert len(lines[place + 1]) <= 80
    both = lines_of(replace(card, scores=(*card.scores, mini)))
    assert lines[place + 1] in both and len(both) <= 30
    for signature in ("xferbench|preset:danish|v:3", "other|preset:mini|v:1", "xferbench|v:1"):
        other = structs.replace(XFERBENCH, signature=signature)
        assert not any("games" in line for line in lines_of(replace(card, scores=(other,))))
    full = structs.replace(mini, details=dict(mini.details) | {"limits": limits_of(mini.signature)})
    assert "danish (39 PFLOP" in " ".join(replace(card, scores=(full,)).full().split())


@pytest.mark.parametrize("each", [1, 4])
def test_that_messages_of_an_episode_are_no_independent_ones_is_said(each):
    columns = {"episode": np.arange(300) // each}
    training = {"step": 5, "num_steps": 10, "reward": 0.5}
    corpus = Corpus([[1], [2]] * 150, columns=columns, metadata={"training": training})
    lines = lines_of(score_corpus(corpus, ["elcc"]))
    assert any("assume that messages of an episode are independent" in line for line in lines) == (each > 1)
    assert "(trained 5 of 10 steps)" in lines[0] and any("not over seeds" in line for line in lines)


def test_one_score_of_many_sources_is_drawn_in_any_unit(monkeypatch):
    """Of several scores, those in other units are left out."""
    samples = {
        name: Sample(name=name, by_target=({"score": 5.0 + place},), seeds=(0,), signature="s", ci95=None)
        for place, name in enumerate("abcdefg")
    }
    score = ComparedScore(name="xferbench", direction=None, samples=samples, baseline=None, differences=())
    caught = []
    monkeypatch.setattr(comparison, "save", lambda figure, *paths: caught.append(figure))
    comparison.draw_comparison([score], "a.svg")
    assert caught[0].get_suptitle() == "7 sources compared"
