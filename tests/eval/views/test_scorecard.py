"""The scorecard: selection of metrics, its output, and no NaN for any corpus."""

import functools
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import DEFAULT_METRICS, METRICS, find_metric, topsim, tre
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.results.files import save_scores
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.ragged import Ragged

CORPUS_METRICS = list(DEFAULT_METRICS)


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


def text(card, width):
    return card.full(width)


def test_every_metric_loads_and_is_described():
    assert [find_metric(name).__name__ for name in METRICS.parts] == list(METRICS.parts)
    assert all(METRICS.lines().values())


def test_unknown_metric():
    message = r"unknown metric 'topsm'; did you mean 'topsim'\? choices: topsim, "
    with pytest.raises(ValueError, match=message):
        score_corpus(small_corpus(), ["elcc", "topsm"])


def test_json():
    data = json.loads(json.dumps(score_corpus(small_corpus(), ["topsim"]).to_json(), allow_nan=False))
    sizes = {"num_messages": 48, "num_empty": 0, "num_symbols": 134, "num_distinct_symbols": 9, "eos": 0}
    sizes |= {"num_distinct_messages": 27, "min_length": 2, "max_length": 3, "num_distinct_meanings": 24}
    about = {
        "source_path": "small/corpus.jsonl",
        "eos_source": "declared",
        "num_attributes": 3,
        "num_concepts": 9,
    }
    assert data["corpus"] == sizes | about
    assert [score["name"] for score in data["scores"]] == ["topsim"]
    corpus = Corpus(messages=Ragged.from_rows([[1, 0], [2, 0]]), eos=0, symbol_names=(".", "ba", "gu"))
    assert score_corpus(corpus, []).corpus["eos"] == "."


@functools.cache
def whole_card():
    """All metrics of the small corpus, computed by the first test that asks, with few draws."""
    return score_corpus(small_corpus(), CORPUS_METRICS)


@pytest.mark.parametrize("width", [80, 200])
def test_table(width):
    card = whole_card()
    shown = text(card, width)
    lines = shown.splitlines()
    assert lines[0] == "small/corpus.jsonl; 48 messages, 134 symbols, 9 distinct, EOS 0"
    assert all(len(line) <= width for line in lines)
    assert "…" not in shown.replace(" … ", "")  # nothing was cut off
    for score in card.scores:
        assert lines.count("  " + score.signature) == 1
        assert " ".join(score.name.split()[:1]) in shown
    assert "context_independence " in shown


def test_a_signature_is_whole_on_several_lines():
    lines = text(score_corpus(small_corpus(), ["topsim"]), 50).splitlines()
    signature = "topsim|dist:lev/mean|mdist:hamming|eos:strip|pairs:all|v:4"
    assert "".join(lines[-2:]).strip() == signature


def test_table_shows_the_chance_level_in_a_row():
    card = score_corpus(small_corpus(), ["posdis"])
    chance = card.scores[0].chance
    rows = [line for line in text(card, 100).splitlines() if "chance level" in line]
    figures = [f"{each:.4f}" for each in (chance.level, chance.low, chance.high)]
    number = len(chance.draws)
    expected = "chance level {} {} … {}".format(*figures) + f" p 0.000 by the tail; {number} shuffles"
    expected += f" of {chance.num_meanings} meanings;"
    assert [row.split()[: len(expected.split())] for row in rows] == [expected.split()]
    assert card.to_json()["scores"][0]["chance"]["level"] == chance.level
    [adjusted] = [line for line in text(card, 100).splitlines() if "adjusted for chance" in line]
    assert f"{(card['posdis'].value - chance.level) / (1 - chance.level):.4f}" in adjusted


def test_table_shows_the_draws_of_the_chance_level():
    found = Chance.from_permutations(
        [0.2, *[0.5] * 18, np.nan], seed=0, bounds=(0, 1), num_rows=1_000, compared=0.25
    )
    score = Score(name="some", value=0.1, about="a figure", signature="some|v:1", chance=found)
    shown = text(replace(score_corpus(small_corpus(), []), scores=(score,)), 120)
    assert "p 0.100 by ranks; 19 of 20 shuffles of 1,000 messages; unshuffled 0.2500" in shown


def test_table_shows_a_chance_level_without_a_p_value():
    found = Chance(kind="constant", level=0.5)
    score = Score(name="some", value=0.1, about="a figure", signature="some|v:1", chance=found)
    rows = text(replace(score_corpus(small_corpus(), []), scores=(score,)), 120).splitlines()
    assert ["chance", "level", "0.5000", "0.5000", "…", "0.5000"] in [row.split()[:6] for row in rows]


def test_square_brackets_in_a_path_are_no_markup():
    corpus = Corpus(messages=Ragged.from_rows([[1]]), metadata={"source_path": "[bold]a[/x]"})
    assert text(score_corpus(corpus, []), 80).startswith("[bold]a[/x]")


def test_table_shows_reasons():
    card = score_corpus(Corpus(messages=Ragged.from_rows([[1], [2]])), ["cbm"])
    assert "the corpus has no concepts" in text(card, 120)
    assert "none" in text(card, 120)


def test_progress_names_each_metric():
    seen = []
    score_corpus(small_corpus(), ["elcc", "ami"], runner=Runner(progress=lambda *step: seen.append(step)))
    assert seen == [("elcc", 0, 2), ("ami", 1, 2)]


def test_a_request_to_stop_ends_the_scores_before_the_next_metric():
    requests, seen = iter([None, "interrupt"]), []
    runner = Runner(progress=lambda *step: seen.append(step), should_stop=lambda: next(requests))
    with pytest.raises(KeyboardInterrupt):
        score_corpus(small_corpus(), ["elcc", "ami"], runner=runner)
    assert seen == [("elcc", 0, 2)]


@pytest.mark.parametrize("num_rows", [120, pytest.param(2_000, marks=pytest.mark.slow)])
def test_what_changes_a_value_changes_the_signature(num_rows, monkeypatch):
    """With more messages than some metrics take; for 120 messages these limits are lowered."""
    if num_rows == 120:
        monkeypatch.setattr(topsim, "NUM_ROWS_ALL_PAIRS", 60)
        monkeypatch.setattr(topsim, "NUM_SAMPLED_PAIRS", 2_000)
        monkeypatch.setattr(tre, "NUM_OBJECTS", 50)
    rng = np.random.default_rng(0)
    meanings = rng.integers(0, 4, (num_rows, 2))
    noise = rng.integers(9, 99, (num_rows, 2))
    corpus = Corpus(
        messages=Ragged.from_rows(np.where(rng.random((num_rows, 2)) < 0.5, meanings, noise)),
        meanings=meanings,
        concepts=Ragged.from_rows(meanings),
    )
    cards = [score_corpus(corpus, CORPUS_METRICS, Options(seed=seed)).scores for seed in (0, 1)]
    changed = [a.name for a, b in zip(*cards, strict=True) if a.value != b.value]
    assert changed == ["topsim", "tre7"]
    assert changed == [a.name for a, b in zip(*cards, strict=True) if a.signature != b.signature]


symbols = st.one_of(st.integers(0, 3), st.sampled_from([0, 2**31 - 1]))
numbers = st.one_of(st.floats(width=32), st.sampled_from([0.0, 1e308, -1e-320, float("nan")]))


@st.composite
def corpora(draw):
    """Small corpora with anything known or unknown."""
    num_rows = draw(st.integers(0, 7))
    width = draw(st.integers(0, 3))

    def table(values):
        return [draw(st.lists(values, min_size=width, max_size=width)) for _ in range(num_rows)]

    meanings = draw(st.sampled_from(["none", "integers", "strings", "features"]))
    shape = (num_rows, width)
    concepts = [draw(st.lists(st.integers(0, 3), max_size=3)) for _ in range(num_rows)]
    return Corpus(
        messages=Ragged.from_rows([draw(st.lists(symbols, max_size=5)) for _ in range(num_rows)]),
        eos=draw(st.sampled_from([None, 0, 77])),
        meanings={
            "none": lambda: None,
            "integers": lambda: np.array(table(st.integers(-2, 2)), np.int64).reshape(shape),
            "strings": lambda: np.array(table(st.sampled_from(["red", ""])), np.str_).reshape(shape),
            "features": lambda: np.array(table(numbers), np.float64).reshape(shape),
        }[meanings](),
        concepts=draw(st.sampled_from([None, Ragged.from_rows(concepts)])),
    )


@settings(max_examples=10, deadline=None)
@given(corpora())
def test_whatever_the_corpus_a_finite_value_or_a_reason(corpus):
    card = score_corpus(corpus, CORPUS_METRICS)
    json.dumps(card.to_json(), allow_nan=False)
    text(card, 80)
    assert len(card.scores) == 31
    for score in card.scores:
        assert (score.value is None) == (score.reason is not None)
        if score.ci95 is not None:
            assert score.ci95[0] <= score.ci95[1]


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
    assert ("trained 320 of 341,800 steps, accuracy 97.1%" in text(card, 120)) == shown


def test_with_xferbench_it_has_the_keys_of_the_authors_results():
    card = score_corpus(Corpus(messages=Ragged.from_rows([[1, 2, 0], [2, 1, 0]])), ["elcc"])
    assert set(card.to_json()) == {"format", "corpus", "samples", "scores"}
    details = {"by_target": {"da": 5.5, "eu": 6.5}}
    score = Score(name="xferbench", value=6.0, about="loss", signature="xferbench|v:1", details=details)
    data = replace(card, scores=(*card.scores, score)).to_json()
    assert (data["score"], data["by_target"]) == (6.0, details["by_target"])
    assert list(data["analysis"])[:2] == ["Token Count", "Line Count"] and len(data["analysis"]) == 13


def test_a_run_folder_keeps_scores_of_the_same_corpus(tmp_path):
    def card(sha256, value, line):
        score = {"name": "cbm", "value": value, "signature": line}
        return {"corpus": {"sha256": sha256}, "scores": [score]}

    file = tmp_path / "scores.json"
    for sha256, value, line in [("a", 1, "x"), ("a", 2, "y"), ("a", 3, "x")]:
        save_scores(file, card(sha256, value, line))
    assert [score["value"] for score in json.loads(file.read_text())["scores"]] == [3, 2]
    save_scores(file, card("b", 4, "x"))
    assert [score["value"] for score in json.loads(file.read_text())["scores"]] == [4]
    file.write_text("[]")
    save_scores(file, card("b", 5, "x"))
    assert [score["value"] for score in json.loads(file.read_text())["scores"]] == [5]


@pytest.mark.parametrize("content", ["not JSON", "[" * 100_000, "1" * 401])
def test_a_scores_file_that_is_not_json_is_refused_before_the_work(ecsuite, tmp_path, content):
    """It may be somebody's work, so it is not overwritten."""
    assert ecsuite("grammar", "perm", "--num-attributes", "2", "--num-values", "3", "--out", "run")[0] == 0
    (tmp_path / "run" / "scores.json").write_text(content)
    code, out, err = ecsuite("score", "run", "--metrics", "elcc")
    assert (code, out) == (2, "")
    assert re.match(r"run/scores.json(:1)?: not JSON: ", err) and err.count("\n") == 1
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
    commands = [[sys.executable, "-c", program, own] for own in "ab"]
    writers = [subprocess.Popen(command, cwd=tmp_path) for command in commands]
    assert [writer.wait() for writer in writers] == [0, 0]
    kept = json.loads((tmp_path / "scores.json").read_text())["scores"]
    assert {score["signature"] for score in kept} == {
        f"{own}{number}" for own in "ab" for number in range(20)
    }


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


def test_one_of_a_kind_is_told_in_the_singular():
    lines = str(score_corpus(Corpus([[1], [1]], meanings=[[0], [0]]), ["elcc"])).splitlines()
    assert lines[1:3] == [
        "2 messages (1 distinct) of 1 symbol; 1 distinct symbol; no EOS",
        "meanings of 1 attribute; 1 distinct",
    ]
