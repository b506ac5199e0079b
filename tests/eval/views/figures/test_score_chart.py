"""The picture of a scorecard: scores by question with their chance levels, and what is left out."""

import numpy as np
from figure_texts import assert_readable, texts

from ecsuite.corpus import Corpus
from ecsuite.eval.views.figures import intervals
from ecsuite.eval.views.scorecard import score_corpus


def test_scores_are_drawn_beside_chance(monkeypatch):
    caught = []
    monkeypatch.setattr(intervals, "save", lambda figure, *paths: caught.append(figure))
    meanings = np.stack(np.divmod(np.arange(25), 5), axis=1)
    card = score_corpus(
        Corpus(np.add(meanings, [1, 6]).tolist(), meanings=meanings), ["topsim", "posdis", "conflict_count"]
    )
    intervals.draw_scores(card.scores, card.conclusions, "mine: scores", "a.svg")
    shown, _ = texts(caught[0])
    assert caught[0].get_suptitle() == "mine: scores\nin other units, not drawn: conflict_count"
    assert {"Is it compositional?", "topsim ↑", "1.000  above chance", "score"} <= set(shown)
    assert_readable(caught[0])


def test_a_corpus_without_scores_to_draw_gives_an_empty_picture(tmp_path):
    card = score_corpus(Corpus([[1], [2]]), ["elcc"])
    intervals.draw_scores(card.scores, card.conclusions, "mine", tmp_path / "a.svg")
    assert "<dc:title>mine</dc:title>" in (tmp_path / "a.svg").read_text()
