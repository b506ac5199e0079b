"""Baselines: predictions for hand-made examples, and scores of the lexicon on the full data."""

import json

import pytest

from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def run(tmp_path):
    """Predictions of a baseline and their metrics."""

    def run(task, language, baseline=""):
        predict = TASKS[task].fit_baseline(tmp_path, baseline)
        examples = TASKS[task].read(tmp_path, language, TASKS[task].scored_split(tmp_path, language))
        predicted = predict(examples)
        return predicted, TASKS[task].score(language, predicted, TASKS[task].labels(examples))

    return run


def columns(text):
    return "".join("\t".join(word.split("/")) + "\n" if word != "|" else "\n" for word in text.split())


def test_the_lexicon_is_of_train_or_else_of_dev(store, run):
    store("udpos/dev-en.tsv", columns("a/DET a/NOUN"))
    assert run("udpos", "en", "majority")[0] == [("DET", "DET")]
    store("udpos/train-en.tsv", "One\ntwo\n")
    assert run("udpos", "en", "majority")[0] == [("DET", "DET")]
    store("udpos/train-en.tsv", columns("a/DET b/NOUN c/NOUN"))
    assert run("udpos", "en", "majority")[0] == [("NOUN", "NOUN")]
    words = "The/DET dog/NOUN run/NOUN | run/VERB run/VERB 5/NUM cat/NOUN dog/NOUN"
    store("udpos/train-en.tsv", columns(words))
    store("udpos/test-xx.tsv", columns("THE/DET run/VERB | 12/NUM ٣/NUM hund/NOUN 3a/X"))
    assert run("udpos", "xx")[0] == [("DET", "VERB"), ("NUM", "NUM", "NOUN", "NOUN")]


@pytest.mark.parametrize(
    ("name", "text", "task", "message"),
    [
        ("udpos/train-en.tsv", "a\tBAD\n", "udpos", "train-en.tsv:1: tag 'BAD'; expected one of "),
        ("udpos/dev-en.tsv", "One\ntwo\n", "udpos", ": expected labels of udpos in 'en' (dev), found none"),
        ("pawsx/dev-en.tsv", "a\tb\n", "pawsx", ": expected labels of pawsx in 'en' (dev), found none"),
    ],
)
def test_english_that_cannot_be_learnt_from_is_an_error(store, tmp_path, name, text, task, message):
    store("udpos/dev-en.tsv", columns("a/DET"))
    store(name, text)
    with pytest.raises(ConfigError) as error:
        TASKS[task].fit_baseline(tmp_path)
    assert message in str(error.value)


def test_answers_are_sentences(store, run):
    questions = [
        {"id": "q", "question": "Whom did Bob meet?", "answers": [{"text": "Ada", "answer_start": 0}]},
        {"id": "r", "question": "?", "answers": [{"text": "He is old.", "answer_start": 32}]},
    ]
    context = "Ada lives in Oslo. Bob met Ada! He is old."
    data = {"data": [{"paragraphs": [{"context": context, "qas": questions}]}]}
    store("xquad/xquad.es.json", json.dumps(data))
    assert run("xquad", "es")[0] == {"q": "Bob met Ada!", "r": "Ada lives in Oslo."}
    assert run("xquad", "es", "first sentence")[0] == {"q": "Ada lives in Oslo.", "r": "Ada lives in Oslo."}


LEXICON = {
    "en": 84.8, "kk": 35.4, "he": 30.6, "id": 27.8, "eu": 26.7, "fa": 13.8, "zh": 5.3, "ur": 3.0, "ja": 1.4,
}  # fmt: skip
"""F1 on the available test sets, computed by an independent program (reference/xtreme.md, section 0)."""


@pytest.mark.slow
def test_the_lexicon_against_an_independent_program(data):
    predict = TASKS["udpos"].fit_baseline(data)
    for language, expected in LEXICON.items():
        examples = TASKS["udpos"].read(data, language, TASKS["udpos"].scored_split(data, language))
        found = TASKS["udpos"].score(language, predict(examples), TASKS["udpos"].labels(examples))["f1"]
        assert round(found, 1) == expected, language
