"""Efficiency: languages whose place on the plane is known, what changes nothing, and what has no place."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

import ecsuite
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import information_bound as bounds
from ecsuite.eval.metrics.computing import by_speaker
from ecsuite.eval.metrics.efficiency import EfficiencyOptions, efficiency
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.traits import Metric
from ecsuite.runtime.errors import ConfigError
from languages import grid

ALL = grid(3, 3)
"""All pairs of two attributes of three values."""
SHARP = EfficiencyOptions(scale=0.1)
"""Meanings that are hardly confused, so that accuracy is complexity."""


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.setattr(bounds, "NUM_BETAS", 60)
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))


def scores(messages, meanings, own=SHARP, **columns):
    def with_own(corpus, options, *, runner):
        return efficiency(corpus, options, own, runner=runner)

    corpus = Corpus(np.asarray(messages).tolist(), meanings=np.asarray(meanings), columns=columns)
    found = by_speaker(Metric(with_own, efficiency.traits), corpus, Options())
    return {score.name: score for score in found}


def test_known_places(tmp_path):
    names = scores(ALL + 1, ALL)
    assert names["complexity"].value == pytest.approx(np.log2(9))
    assert names["semantic_accuracy"].value == pytest.approx(np.log2(9), abs=0.01)
    assert names["efficiency_loss"].value == pytest.approx(0, abs=0.01)
    assert names["optimal_distance"].value == pytest.approx(0, abs=0.01)
    half = scores(ALL[:, :1] + 1, ALL)
    assert half["complexity"].value == pytest.approx(np.log2(3))
    same = scores(np.ones((9, 1), int), ALL)
    assert same["complexity"].value == same["semantic_accuracy"].value == same["efficiency_loss"].value == 0
    # Two that say the opposite tell nothing together.
    both = scores([[1], [2], [2], [1]], [[0], [1], [0], [1]], speaker=[0, 0, 1, 1])
    alone = scores([[1], [2]], [[0], [1]])
    assert (both["complexity"].value, alone["complexity"].value) == pytest.approx((0, 1))
    table = tmp_path / "space.csv"
    table.write_text("m,a,b,c\n0,1,0,0\n1,0,1,0\n2,0,0,1\n")
    found = scores([[1], [2]], [["0"], ["1"]], EfficiencyOptions(space=str(table)))
    assert found["complexity"].value == pytest.approx(2 / 3)
    assert found["efficiency_loss"].details["meanings"] == [2, 3]
    with pytest.raises(ConfigError, match=r"meaning 7 is not in space space\.csv"):
        scores([[1]], [["7"]], EfficiencyOptions(space=str(table)))
    assert "no meanings" in efficiency(Corpus([[1], [2]]), Options())[0].reason
    (tiny,) = {score.value for score in efficiency(Corpus([[1]], meanings=[[0]]), Options())}
    assert tiny == 0
    with pytest.raises(ConfigError, match="World Color Survey"):
        scores([[1]], [[1]], EfficiencyOptions(space="colour"))


def test_words_for_what_is_alike_are_efficient_and_others_are_not():
    alike = EfficiencyOptions(scale=0.7)
    first = scores(ALL[:, :1] + 1, ALL, alike)["efficiency_loss"]
    mixed = scores(np.random.default_rng(0).permutation(np.repeat([[1], [2], [3]], 3, 0)), ALL, alike)
    assert first.value < mixed["efficiency_loss"].value and first.chance.level > first.value
    assert first.chance.p_value(first.value)[0] < 0.05


def test_order_and_names_of_symbols_change_nothing():
    rng = np.random.default_rng(1)
    messages, meanings, order = rng.integers(1, 4, (40, 2)), ALL[rng.integers(0, 9, 40)], rng.permutation(40)
    one, other = scores(messages, meanings), scores(4 - messages[order], meanings[order])
    for name, score in one.items():
        assert other[name].value == pytest.approx(score.value, abs=1e-9)


def test_intervals_hold_the_value_and_more_speakers_are_surer():
    rng = np.random.default_rng(2)

    def language(number):
        meanings = np.tile(ALL, (number, 1))
        words = np.where(rng.random(9 * number) < 0.8, meanings[:, 0], rng.integers(0, 3, 9 * number))
        return scores(words[:, None] + 1, meanings, speaker=np.repeat(np.arange(number), 9))["complexity"]

    few, many = language(4), language(40)
    for score in (few, many):
        assert score.ci95[0] <= score.value <= score.ci95[1]
    assert np.ptp(many.ci95) < np.ptp(few.ci95)


def test_of_three_speakers_interval_and_bias_are_those_of_the_jackknife():
    speaker, meanings = np.repeat(np.arange(3), 9), np.tile(ALL, (3, 1))
    rng = np.random.default_rng(4)
    words = 1 + np.where(rng.random((27, 1)) < 0.8, meanings[:, :1], rng.integers(0, 3, (27, 1)))
    parts = [scores(words[speaker != s], meanings[speaker != s])["complexity"].value for s in range(3)]
    whole = scores(words, meanings, speaker=speaker)["complexity"]
    width = t.ppf(0.975, 2) * np.sqrt(2 / 3 * ((parts - np.mean(parts)) ** 2).sum())
    assert whole.ci95 == pytest.approx((max(0, whole.value - width), whole.value + width))
    assert whole.details["corrected"] == pytest.approx(3 * whole.value - 2 * np.mean(parts))
    alone = scores(words, meanings)["complexity"]  # of half of the messages it is still larger
    assert 0 < alone.details["corrected"] < alone.value


def test_messages_of_nobody_known_are_no_further_speaker():
    """Two speakers, and others of whom it is not known who said it, have the interval of messages."""
    words, meanings = np.random.default_rng(3).integers(1, 3, (27, 1)), np.tile(ALL, (3, 1))
    speaker = np.array([0] * 9 + [1] * 9 + [None] * 9, dtype=object)
    known, alone = (scores(words, meanings, **of)["complexity"] for of in ({"speaker": speaker}, {}))
    assert known.ci95 == alone.ci95


@pytest.mark.slow
def test_random_languages_are_as_by_chance():
    """Of 40 languages that have nothing to do with meanings, about 2 differ."""
    rng, p_values = np.random.default_rng(3), []
    for _ in range(40):
        score = scores(rng.integers(1, 4, (9, 1)), ALL, EfficiencyOptions(scale=0.7))["efficiency_loss"]
        p_values.append(score.chance.p_value(score.value)[0])
    assert sum(p is not None and p < 0.05 for p in p_values) <= 6


def test_a_run_is_asked_and_its_corpus_is_counted():
    """The same meanings and space, and what is said of the probabilities."""
    folder = Path(__file__).parents[2] / "fixtures" / "small" / "finished"
    asked = ecsuite.score(ecsuite.load_run(folder), ["efficiency"])["efficiency_loss"]
    counted = ecsuite.score(folder / "corpus.jsonl", ["efficiency"])["efficiency_loss"]
    assert "|sender:exact|" in asked.signature and "|n:" not in asked.signature
    assert "|n:" in counted.signature and "sender" not in counted.signature
    assert asked.details["shares"] == "of the sender's own probabilities, exact"
    assert counted.details["shares"] == "of counts of the corpus"
    assert asked.details["words"] > counted.details["words"]
    assert asked.ci95 is None and counted.ci95 is not None


@pytest.mark.parametrize(
    ("need", "times", "without"),
    [
        ("uniform", (1, 5), 0),
        ("corpus", (2, 2), 0),  # each meaning as often: the need is equal
        ("corpus", (1, 5), 4),
        ("capacity", (2, 2), 4),
        ("power_law", (2, 2), 0),
        ("power_law", (2, 4), 1),  # complexity, which is most sensitive to it
        ("power_law", (1, 5), 4),
    ],
)
def test_no_chance_level_where_meanings_cannot_be_exchanged(need, times, without):
    """Of random messages, p is below .05 in 13 to 59 % of corpora if shares of many messages move to rare meanings."""
    often = np.repeat(ALL, np.where(np.arange(9) < 4, *times), axis=0)
    messages = np.random.default_rng(3).integers(1, 4, (len(often), 2))
    found = scores(messages, often, EfficiencyOptions(need=need))
    lacking = [name for name, score in found.items() if score.chance is None]
    assert len(lacking) == without and (without != 1 or lacking == ["complexity"])
    assert ("note" in found["efficiency_loss"].details) == (without == 4)
    assert all(np.isfinite(score.value) for score in found.values())
