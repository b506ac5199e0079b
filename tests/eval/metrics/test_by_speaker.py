"""Corpora with several speakers: means of their scores, chance levels, signatures."""

from dataclasses import replace

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.computing import by_speaker
from ecsuite.eval.metrics.conclusions import conclusions, p_value
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.metrics.traits import Metric, Traits
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.runtime.ragged import Ragged


def scored(name, corpus):
    return by_speaker(find_metric(name), corpus, Options())


def random_corpus(seed, num_messages=120, num_speakers=4):
    rng = np.random.default_rng([77, seed])
    return Corpus(
        [rng.integers(0, 6, rng.integers(1, 7)).tolist() for _ in range(num_messages)],
        meanings=rng.integers(0, 4, (num_messages, 3)),
        columns={"speaker": rng.integers(0, num_speakers, num_messages)},
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["ami", "hce", "cbm", "zla"])
def test_random_languages_of_speakers_are_as_by_chance(name):
    """With the ends of each speaker's skewed level, 69 % of `ami` were below chance."""
    cards = [scored(name, random_corpus(seed)) for seed in range(12)]
    differing = [each.relation in ("above", "below") for card in cards for each in conclusions(card, 120)]
    assert sum(differing) <= 1


def test_a_mean_of_some_of_the_speakers_says_so():
    """Who always says the same has no topsim; the mean of the others is no mean over all."""
    corpus = random_corpus(0)
    who = corpus.columns["speaker"].tolist()
    messages = [[1] if speaker == 3 else row for row, speaker in zip(corpus.messages, who, strict=True)]
    card = score_corpus(replace(corpus, messages=Ragged.from_rows(messages)), ["topsim", "ami"])
    score = next(score for score in card.scores if score.name == "topsim")
    assert score.details["by_speaker"]["3"] is None is not score.value
    assert "has no score and is not in the mean: " in " ".join(card.full(200).split())
    assert "Means over some of the speakers: topsim (3 of 4)" in str(card)
    assert "Means over some" not in str(score_corpus(corpus, ["topsim"]))


def test_a_draw_is_the_mean_over_speakers():
    corpus = random_corpus(0)
    (score,) = scored("topsim", corpus)
    alone = [find_metric("topsim")(corpus.where("speaker", speaker), Options())[0] for speaker in range(4)]
    assert score.value == pytest.approx(np.mean([each.value for each in alone]))
    assert score.chance.draws == pytest.approx(np.mean([each.chance.draws for each in alone], axis=0))
    assert 0 < p_value(score) <= 1


def test_sizes_of_all_speakers_are_in_the_signature():
    rng = np.random.default_rng(0)
    corpus = Corpus(
        rng.integers(0, 5, (480, 3)).tolist(),
        meanings=rng.integers(0, 4, (480, 2)),
        columns={"speaker": np.repeat([0, 1, 2], [60, 120, 300])},
    )
    (score,) = scored("posdis", corpus)
    assert score.signature == "posdis|past_end:blank|eos:strip|n:60+120+300|v:3|speakers:3"
    equal = corpus.where("speaker", 2)
    halves = Corpus(equal.messages, meanings=equal.meanings, columns={"speaker": np.arange(300) % 2})
    assert "|n:150|" in scored("posdis", halves)[0].signature


def test_the_interval_of_a_mean_ends_where_the_score_does():
    """Of two speakers whose languages differ, Student's interval is several times as wide as the score's range."""
    meanings = [(a, b) for a in range(4) for b in range(4)]
    perfect, poor = [list(pair) for pair in meanings], [[a, 0] for a, _ in meanings]
    corpus = Corpus(
        [*perfect, *poor],
        meanings=np.array([*meanings, *meanings]),
        columns={"speaker": np.repeat([0, 1], 16)},
    )
    (score,) = scored("topsim", corpus)
    assert score.ci95[1] == 1 and score.ci95[0] < score.value < 1


@pytest.mark.parametrize("place", [0, 1], ids=["word_entropy", "concept_entropy"])
def test_the_interval_of_a_mean_ends_where_the_scores_of_these_corpora_do(place):
    """One speaker has a word for each of eight concepts, one draws words: bits from 0 to 3, or 2 of four words."""
    concepts = np.tile(np.arange(8), 8)
    words = np.concatenate([concepts[:32], np.random.default_rng(0).integers(0, 4, 32)])
    corpus = Corpus(
        words[:, None].tolist(), meanings=concepts[:, None], columns={"speaker": np.repeat([0, 1], 32)}
    )
    score = scored("word_entropy", corpus)[place]
    assert score.ci95 == (0.0, 3.0) and 0 < score.value < 3


def told(corpus, options):
    """A metric that says something of every speaker, and of some, and has no score of one."""
    speaker = corpus.columns["speaker"][0]
    details = {"note": "reduced"} | ({"warning": "left out: seed 1"} if speaker == "a" else {})
    value, reason = (None, "no symbols") if speaker == "c" else (1.0, None)
    return [Score(name="told", value=value, reason=reason, about="", signature="told|v:1", details=details)]


def test_what_is_said_of_the_score_of_a_speaker_is_said_of_the_mean():
    corpus = Corpus([[1], [2], [3]], columns={"speaker": np.array(["a", "b", "c"])})
    (score,) = by_speaker(Metric(told, (Traits(name="told"),)), corpus, Options())
    assert score.value == 1.0 and score.details["note"] == "reduced"
    warning = "speaker a: left out: seed 1; speaker c: has no score and is not in the mean: no symbols"
    assert score.details["warning"] == warning


def test_why_no_speaker_has_a_score_is_said_of_each():
    corpus = Corpus(
        [[1], [2], [3], [3]], meanings=[[0], [0], [0], [1]], columns={"speaker": np.array([*"aabb"])}
    )
    score = scored("ami", corpus)[0]
    assert score.reason.startswith("speaker a: no message occurs twice")
    assert "; speaker b: there is only one distinct message" in score.reason
