"""Views of a language: examples, meanings as texts, grids, and the concepts that messages are used for."""

import csv
import json
import math
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from ecsuite.cli import app
from ecsuite.corpus import Corpus
from ecsuite.eval.views import language as languages
from ecsuite.eval.views.figures.language_page import LanguagePage
from ecsuite.eval.views.language import (
    LanguageView,
    example_indices,
    examples_of,
    heading,
    meaning_text,
    message_text,
    sparkline,
    thinned,
    tiles,
    within_their_range,
)
from ecsuite.formats import read_corpus
from ecsuite.runtime.ragged import Ragged

NAMES = ("color=red", "color=blue", "shape=star", "shape=box", "shape=disc")


def two_attributes():
    """A symbol for the colour, then one for the shape; star and box have the same one."""
    pairs = [(color, shape) for color in range(2) for shape in range(3)]
    return Corpus(
        messages=Ragged.from_rows([[color + 1, 3 + shape // 2] for color, shape in pairs]),
        concepts=Ragged.from_rows([[color, 2 + shape] for color, shape in pairs]),
        concept_names=NAMES,
        metadata={"config": {"name": "game"}, "training": {"accuracy": 0.5, "step": 9}},
    )


def test_a_grid_has_every_combination():
    grid = LanguageView(two_attributes()).grid
    assert grid.attributes == ("color", "shape")
    assert grid.rows == ("red", "blue") and grid.columns == ("star", "box", "disc")
    assert grid.indices.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_what_messages_and_symbols_are_about():
    language = LanguageView(two_attributes())
    first, second = language.most_used_messages(9)
    assert [message_text(language.corpus, each.symbols) for each in (first, second)] == ["1 3", "2 3"]
    assert first.count == 2 and first.about_text == "color=red (100 %)"
    by_place = {(each.symbols, each.place): each.about_text for each in language.most_used_symbols(9)}
    assert by_place[(1,), 1] == "color=red (100 %)" and by_place[(4,), 2] == "shape=disc (100 %)"
    assert by_place[(3,), 2] == ""  # half of its uses are stars, half are boxes
    assert language.most_used_symbols(1)[0].symbols == (3,)


def test_words_that_are_used_often_may_be_about_several_concepts():
    meanings = np.arange(40)[:, None] % 4
    language = LanguageView(Corpus([[1 + index % 4 // 2] for index in range(40)], meanings=meanings))
    assert [each.about_text for each in language.most_used_messages(2)] == [
        "attribute0=0 (50 %), attribute0=1 (50 %)",
        "attribute0=2 (50 %), attribute0=3 (50 %)",
    ]
    assert not language.most_used_symbols(2), "messages of one symbol are shown once"


@pytest.mark.parametrize("number", [1, 7, 100, 300])
def test_samples_are_spread_over_different_meanings(number):
    meanings = np.stack(np.divmod(np.arange(256) // 2, 16), axis=1)  # each of 128 twice
    language = LanguageView(Corpus([[index] for index in range(256)], meanings=meanings))
    rows = language.examples(number)
    assert len(rows) == min(number, 128 if number < 256 else 256)
    assert number > 128 or len({language.meaning(index) for index in rows}) == number
    assert rows == sorted(rows) and (number < 7 or rows[-1] - rows[0] > 180)


def test_other_corpora_have_no_grid():
    unnamed = LanguageView(Corpus([[1], [2, 3], []]))
    assert unnamed.grid is None and unnamed.meaning(0) == "" and unnamed.examples(5) == [0, 1, 2]
    assert tiles(unnamed, ()).text == "(empty)" and unnamed.most_used_messages(3) == []
    features = LanguageView(Corpus([[1], [1]], meanings=np.ones((2, 2)) / 3))
    assert features.grid is None and features.most_used_messages(3)[0].about == ()
    many = Corpus([[1]] * 26, meanings=np.stack([np.arange(26), np.zeros(26, int)], axis=1))
    assert LanguageView(many).grid is None, "26 rows are shown as a table"


def test_titles_say_what_is_known(tmp_path):
    title, lines = heading(LanguageView(two_attributes()), tmp_path / "mine")
    assert title == "mine (game)"
    assert lines == ["accuracy 50.0% at step 9", "6 messages, 4 distinct; 4 symbols; mean length 2.0"]
    odd = Corpus([[1]], metadata={"config": "?", "training": [1], "chance": None})
    assert heading(LanguageView(odd), tmp_path / "mine")[0] == "mine"
    config = {"name": "a\x1b[31m", **{part: {"kind": "\x07"} for part in ("task", "world", "channel")}}
    hostile = Corpus([[1]], metadata={"config": config, "training": {"accuracy": 0.5, "step": "\x1b]0;x"}})
    title, lines = heading(LanguageView(hostile), tmp_path / "mine\x1b")
    assert "\\x1b" in title and all(text.isprintable() for text in (title, *lines))


def test_phrases_and_lines_of_characters():
    rules = Corpus(
        messages=Ragged.from_rows([[1]] * 4),
        concepts=Ragged.from_rows([[0, 2, 1], [3, 0, 1], [0, 1], []]),
        concept_names=("red", "circle", "or", "and"),
    )
    assert [meaning_text(rules, index) for index in range(4)] == [
        "red or circle",
        "red and circle",
        "red circle",
        "",
    ]
    assert sparkline([0.0, 0.5, 1.0, float("nan")], "abc") == "abc"


def test_curves_of_rewards_are_drawn_within_their_range():
    assert sparkline(within_their_range([-20.0, -14.0, -8.0, math.nan]), "abc") == "abc"
    assert within_their_range([3.0, 3.0]) == [0.0, 0.0]
    assert within_their_range([1.0, 2.0, math.inf, -math.inf]) == [0.0, 1.0, 1.0, 0.0]
    assert all(map(math.isnan, within_their_range([math.nan])))
    assert list(thinned(range(100), 3)) == [0, 50, 99] and list(thinned([7], 3)) == [7]


def test_of_a_large_corpus_messages_are_spread_evenly(monkeypatch, tmp_path):
    """Of ten million, each as a Python tuple, the page took gigabytes."""
    monkeypatch.setattr(languages, "MOST_MESSAGES", 10)
    meanings = [[number % 3] for number in range(100)]
    language = LanguageView(Corpus([[number % 7, number] for number in range(100)], meanings=meanings))
    assert [message[1] for message in language.messages] == [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]
    assert language.meaning(1) == "2"
    _, lines = heading(language, tmp_path)
    assert lines[-1] == "100 messages, 100 distinct; 100 symbols; mean length 2.0; 10 of them below"


def test_of_a_long_message_the_beginning_is_shown():
    """Of 200,000 symbols `show` took a minute."""
    language = LanguageView(Corpus([[1, 2] * 100, [2]]))
    assert tiles(language, language.messages[0]).lines[0] == " ".join(["1 2"] * 50) + " …"
    assert tiles(language, language.messages[1]).lines[0] == "2"


def test_frequent_and_rare_messages_are_examples():
    rows = [[1]] * 500 + [[2]] * 400 + [[value] for value in range(3, 200)] + [[200]]
    corpus = Corpus(rows)
    symbols = [rows[index][0] for index in example_indices(corpus, 10)]
    assert len(set(symbols)) == 10 and {1, 2, 200} <= set(symbols)
    assert set(example_indices(corpus, 10)) <= set(example_indices(corpus, 24))


def test_an_example_of_each_meaning_and_speaker_as_far_as_there_are_some():
    """A language of one message is shown with ten of its meanings."""
    meanings = np.arange(40)[:, None] % 20
    assert len({example.meaning for example in examples_of(Corpus([[1]] * 40, meanings=meanings))}) == 10
    corpus = Corpus([[1]] * 40, meanings=meanings * 0, columns={"speaker": ["ann"] * 39 + ["bob"]})
    assert {example.speaker for example in examples_of(corpus)} == {"ann", "bob"}


def corpus_file(folder, kind):
    """A file of 200 messages with meanings, and the options with which it is read."""
    random = np.random.default_rng(0)
    syllables = {"words": ["da", "bu", "ki", "lomo"], "letters": list("abcd"), "numbers": list("12345678")}[
        kind
    ]
    rows = [["message", "color", "shape"]]
    for _ in range(200):
        message = random.choice(syllables, random.integers(1, 5))
        rows.append(
            [
                ("" if kind == "letters" else " ").join(message),
                random.choice(["red", "blue"]),
                random.choice(list("abcdefghijklmnop")),
            ]
        )
    file = folder / f"{kind}.csv"
    file.write_text("".join(",".join(row) + "\n" for row in rows))
    return file, ["--split", "letters"] if kind == "letters" else []


@pytest.mark.parametrize("kind", ["words", "letters", "numbers"])
def test_commands_and_page_show_the_same_messages_in_the_same_form(kind, tmp_path):
    file, options = corpus_file(tmp_path, kind)

    def run(*arguments):
        done = CliRunner().invoke(app, [*map(str, arguments), *options])
        assert done.exit_code == 0, done.output
        return done.stdout

    samples = json.loads(run("score", file, "--metrics", "has", "--json"))["samples"]
    scored = [(sample["meaning"], sample["message"]) for sample in samples]
    assert len(scored) == 10 and all(meaning.startswith("color=") for meaning, _ in scored)
    line = r"  (color=\w+ shape=\w+) +→ (.+)"
    assert re.findall(line, run("score", file, "--metrics", "has")) == scored
    shown = list(csv.reader(run("show", file, "--as", "csv").splitlines()))
    start = shown.index(["message", "meaning"]) + 1
    assert [(meaning, message) for message, meaning in shown[start : start + 10]] == scored
    run("report", file, "--out", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    page = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])
    [corpus] = page["corpora"]
    rows = []
    for message, meaning, _ in corpus["rows"][:10]:
        symbols = " ".join(corpus["symbols"][str(symbol)][0] for symbol in corpus["messages"][message])
        names = " ".join(corpus["concepts"][concept] for concept in corpus["meanings"][meaning])
        rows.append((corpus["spelt"][meaning] or names, symbols))
    assert sorted(rows) == sorted(scored)
    view = LanguageView(read_corpus(file, split="letters" if kind == "letters" else "auto"))
    drawn = LanguagePage(view)
    assert {*scored} <= {(view.meaning(row), tiles(view, view.messages[row]).text) for row in drawn.rows}
