"""Of a society, messages say who speaks."""

from itertools import product

import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.views.figures.language_page import LanguagePage
from ecsuite.eval.views.language import LanguageView, example_table, grid_table
from ecsuite.eval.views.scorecard import score_corpus


def society(num_attributes, speakers=("ann", "bob")):
    meanings = list(product(range(3), repeat=num_attributes))
    messages = [[9 * who + value for value in meaning] for who in range(2) for meaning in meanings]
    spoken_by = [speaker for speaker in speakers for _ in meanings]
    return Corpus(messages, meanings=meanings * 2, columns={"speaker": spoken_by})


def test_the_ten_messages_of_scores():
    card = score_corpus(society(2), ["posdis"])
    assert {sample.speaker for sample in card.samples} == {"ann", "bob"}
    assert "  speaker bob: 2 2 → 11 11" in str(card)
    assert card.to_json()["samples"][0]["speaker"] == "ann"


@pytest.mark.parametrize("columns", [{}, {"speaker": ["ann"] * 18}], ids=["unknown", "one"])
def test_one_speaker_is_not_named(columns):
    corpus = society(2)
    corpus = Corpus(corpus.messages, meanings=corpus.meanings, columns=columns)
    assert {sample.speaker for sample in score_corpus(corpus, ["posdis"]).samples} == {None}
    assert len(example_table(LanguageView(corpus)).columns) == 2
    assert LanguageView(corpus).grid.speaker == ""


def test_a_grid_is_of_one_speaker():
    language = LanguageView(society(2))
    assert {language.speakers[index] for index in language.grid.indices.ravel()} == {"ann"}
    assert grid_table(language).columns[0].heading == "attribute0, attribute1, speaker ann"


def test_lists_of_messages_have_all_speakers():
    language = LanguageView(society(3))
    assert set(example_table(language).to_frame()["speaker"]) == {"ann", "bob"}
    drawn = LanguagePage(language).columns()[-1]
    assert drawn.heading == "speaker" and set(drawn.texts) == {"ann", "bob"}
