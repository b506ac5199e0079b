"""Of a society, messages say who speaks."""

from itertools import product

from ecsuite.corpus import Corpus
from ecsuite.eval.views.figures.language_page import LanguagePage
from ecsuite.eval.views.language import LanguageView, example_table


def society(num_attributes, speakers=("ann", "bob")):
    meanings = list(product(range(3), repeat=num_attributes))
    messages = [[9 * who + value for value in meaning] for who in range(2) for meaning in meanings]
    spoken_by = [speaker for speaker in speakers for _ in meanings]
    return Corpus(messages, meanings=meanings * 2, columns={"speaker": spoken_by})


def test_lists_of_messages_have_all_speakers():
    language = LanguageView(society(3))
    assert set(example_table(language).to_frame()["speaker"]) == {"ann", "bob"}
    drawn = LanguagePage(language).columns()[-1]
    assert drawn.heading == "speaker" and set(drawn.texts) == {"ann", "bob"}
