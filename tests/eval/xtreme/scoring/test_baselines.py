"""Baselines: predictions for hand-made examples, and scores of the lexicon on the full data."""

import json
from pathlib import Path

import pytest

from ecsuite.config import ConfigError
from ecsuite.eval.xtreme.scoring.baselines import BASELINES, baseline_predictions, score_baseline
from ecsuite.eval.xtreme.scoring.tasks import TASKS

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "xtreme"


@pytest.fixture
def store(tmp_path):
    def store(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    return store


def columns(text):
    return "".join("\t".join(word.split("/")) + "\n" if word != "|" else "\n" for word in text.split())


def test_the_lexicon_tags_words_numbers_and_unknown_words(store, tmp_path):
    store(
        "udpos/train-en.tsv", columns("The/DET dog/NOUN run/NOUN | run/VERB run/VERB 5/NUM cat/NOUN dog/NOUN")
    )
    store("udpos/test-xx.tsv", columns("THE/DET run/VERB | 12/NUM ٣/NUM hund/NOUN 3a/X"))
    assert baseline_predictions(tmp_path, "udpos", "xx") == [("DET", "VERB"), ("NUM", "NUM", "NOUN", "NOUN")]


def test_without_numbers_in_training_they_are_tagged_as_other_words(store, tmp_path):
    store("udpos/dev-en.tsv", columns("a/DET b/NOUN c/NOUN"))
    store("udpos/test-xx.tsv", columns("7/NUM"))
    assert baseline_predictions(tmp_path, "udpos", "xx") == [("NOUN",)]


def test_dev_is_used_if_train_is_missing(store, tmp_path):
    store("udpos/dev-en.tsv", columns("a/DET a/NOUN"))
    assert baseline_predictions(tmp_path, "udpos", "en", "majority") == [("DET", "DET")]
    store("udpos/train-en.tsv", columns("a/DET b/NOUN c/NOUN"))
    assert baseline_predictions(tmp_path, "udpos", "en", "majority") == [("NOUN", "NOUN")]


def test_a_damaged_train_file_is_an_error(store, tmp_path):
    store("udpos/dev-en.tsv", columns("a/DET"))
    store("udpos/train-en.tsv", columns("a/BAD"))
    with pytest.raises(ConfigError, match=r"train-en\.tsv:1: tag 'BAD'"):
        baseline_predictions(tmp_path, "udpos", "en")


def test_english_without_labels_is_an_error(store, tmp_path):
    store("udpos/train-en.tsv", "One\ntwo\n")
    store("udpos/test-xx.tsv", columns("a/DET"))
    with pytest.raises(ConfigError) as error:
        baseline_predictions(tmp_path, "udpos", "xx")
    assert str(error.value) == "expected tags of the English words One two …, found none"


def test_pairs_all_get_the_most_frequent_label(store, tmp_path):
    store("pawsx/train-en.tsv", "a\tb\t1\nc\td\t1\ne\tf\t0\n")
    store("pawsx/dev-de.tsv", "a\tb\t0\nc\td\t1\n")
    assert baseline_predictions(tmp_path, "pawsx", "de") == ["1", "1"]
    assert score_baseline(tmp_path, "pawsx") == {"de": {"accuracy": 50.0}}


CONTEXT = "Ada lives in Oslo. Bob met Ada! He is old."


def test_answers_are_sentences(store, tmp_path):
    questions = [
        {"id": "q", "question": "Whom did Bob meet?", "answers": [{"text": "Ada", "answer_start": 0}]},
        {"id": "r", "question": "?", "answers": [{"text": "He is old.", "answer_start": 32}]},
    ]
    article = {"data": [{"paragraphs": [{"context": CONTEXT, "qas": questions}]}]}
    store("xquad/xquad.es.json", json.dumps(article))
    assert baseline_predictions(tmp_path, "xquad", "es") == {"q": "Bob met Ada!", "r": "Ada lives in Oslo."}
    first = baseline_predictions(tmp_path, "xquad", "es", "first sentence")
    assert first == {"q": "Ada lives in Oslo.", "r": "Ada lives in Oslo."}


def test_translations_share_characters(store, tmp_path):
    store("tatoeba/tatoeba.nld-eng.eng", "Tom is in Boston.\nMary has 3 cats.\nWhy?\n")
    store("tatoeba/tatoeba.nld-eng.nld", "Tom is in Boston.\nMarie heeft 3 katten.\nWaarom?\n")
    assert baseline_predictions(tmp_path, "tatoeba", "nl") == [1, 0, 2]  # English sorted: Mary, Tom, Why
    assert score_baseline(tmp_path, "tatoeba") == {"nl": {"accuracy": 100.0}}
    assert score_baseline(tmp_path, "tatoeba", ["nl"], "first row") == {
        "nl": {"accuracy": pytest.approx(100 / 3)}
    }


def test_the_baseline_of_bucc_has_no_pairs(store, tmp_path):
    for ending, text in (("de", "de-1\ta\n"), ("en", "en-1\ta\n"), ("gold", "de-1\ten-1\n")):
        store(f"bucc2018/de-en.dev.{ending}", text)
    assert score_baseline(tmp_path, "bucc2018") == {"de": {"f1": 0.0, "precision": 0.0, "recall": 0.0}}


def test_missing_labels_are_an_error(store, tmp_path):
    store("pawsx/dev-en.tsv", "a\tb\t1\n")
    store("pawsx/test-de.tsv", "a\tb\n")
    with pytest.raises(ConfigError) as error:
        baseline_predictions(tmp_path, "pawsx", "de")
    assert str(error.value) == f"{tmp_path}: expected labels of pawsx in 'de' (test or dev), found none"


def test_unknown_baselines(tmp_path):
    with pytest.raises(ConfigError, match="unknown baseline 'lexikon'; did you mean 'lexicon'\\?"):
        baseline_predictions(tmp_path, "udpos", "en", "lexikon")
    with pytest.raises(ConfigError, match="unknown task 'udpso'; did you mean 'udpos'\\?"):
        score_baseline(tmp_path, "udpso")


def test_every_task_has_a_baseline():
    assert BASELINES.keys() == TASKS.keys()


LEXICON = {
    "en": 84.8,
    "kk": 35.4,
    "he": 30.6,
    "id": 27.8,
    "eu": 26.7,
    "fa": 13.8,
    "zh": 5.3,
    "ur": 3.0,
    "ja": 1.4,
}
"""F1 on the available test sets, computed by an independent program (reference/xtreme.md, section 0)."""


def test_the_lexicon_against_an_independent_program():
    if not DATA.is_dir():
        pytest.skip("shared/data/xtreme is not there")
    scores = score_baseline(DATA, "udpos", LEXICON)
    assert {language: round(metrics["f1"], 1) for language, metrics in scores.items()} == LEXICON
