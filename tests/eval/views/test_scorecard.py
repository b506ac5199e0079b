"""The scorecard: selection of metrics, its output, and no NaN for any corpus."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from ecsuite.corpus import Corpus
from ecsuite.eval.views.scorecard import score_corpus
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


def text(card, width):
    return card.full(width)


def test_unknown_metric():
    message = r"unknown metric 'topsm'; did you mean 'topsim'\? choices: topsim, "
    with pytest.raises(ValueError, match=message):
        score_corpus(small_corpus(), ["elcc", "topsm"])


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
