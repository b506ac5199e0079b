"""Entropies of small corpora by Chao and Shen, beside plug-in ones: known distributions, and what they are of."""

import numpy as np
import pytest
from languages import score_of

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.associations import word_entropy
from ecsuite.eval.metrics.entropies import attribute_information, hce, residual_entropy
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.word_statistics import elcc
from ecsuite.eval.statistics.contingency import chao_shen, entropy
from ecsuite.eval.statistics.resampling import few_draws


@pytest.mark.parametrize("number", [30, 100, 500])
def test_less_bias_than_plug_in_of_a_zipfian_distribution(number):
    share = 1 / np.arange(1, 301)
    share /= share.sum()
    true = -share @ np.log2(share)
    rng = np.random.default_rng(0)
    draws = rng.multinomial(number, share, size=200)
    plug_in, corrected = (np.mean([of(each) for each in draws]) - true for of in (entropy, chao_shen))
    assert plug_in < 0 and abs(corrected) < abs(plug_in) / 2


def test_by_hand():
    """Of four draws one value was seen once: C = 3/4."""
    seen = np.array([9 / 16, 3 / 16])
    expected = -np.sum(seen * np.log2(seen) / (1 - (1 - seen) ** 4))
    assert chao_shen(np.array([3, 0, 1])) == pytest.approx(expected)


def test_degenerate_counts():
    assert chao_shen(np.array([7])) == chao_shen(np.array([1])) == 0
    assert chao_shen(np.array([1, 1, 1, 1])) > entropy(np.array([1, 1, 1, 1]))


def test_of_many_draws_both_are_the_same():
    counts = np.array([50_000, 30_000, 20_000])
    assert chao_shen(counts) == pytest.approx(entropy(counts))


def noisy(num_rows, seed):
    """An attribute named by the first symbol in half of the messages; the second symbol is noise."""
    rng = np.random.default_rng(seed)
    value = rng.integers(0, 4, num_rows)
    named = np.where(rng.random(num_rows) < 0.5, value, rng.integers(0, 10, num_rows))
    return np.stack([named, 10 + rng.integers(0, 10, num_rows)], axis=1), value[:, None]


@pytest.mark.parametrize("metric", [hce, residual_entropy, attribute_information, word_entropy])
def test_scores_of_small_corpora_come_closer_to_those_of_the_language(metric):
    def mean(num_rows, repetitions):
        with few_draws():
            scores = [score_of(metric, *noisy(num_rows, seed)) for seed in range(repetitions)]
        return np.mean([(each.value, each.details["chao_shen"]) for each in scores], axis=0)

    (language, again), (plug_in, corrected) = mean(20_000, 1), mean(100, 20)
    assert again == pytest.approx(language, abs=0.01)
    assert abs(corrected - language) < 0.75 * abs(plug_in - language)


def test_the_thirteen_of_elcc_have_them_in_their_details():
    rng = np.random.default_rng(0)
    scores = {each.name: each for each in elcc(Corpus(rng.integers(0, 40, (20, 3)).tolist()), Options())}
    assert len(scores) == 13
    corrected = {name: each.details["chao_shen"] for name, each in scores.items() if each.details}
    assert corrected.keys() == {
        "1-gram Entropy", "2-gram Entropy", "2-gram Conditional Entropy", "Entropy per Line",
    }  # fmt: skip
    assert scores["1-gram Entropy"].value < corrected["1-gram Entropy"] == pytest.approx(np.log2(40), abs=0.4)
    assert corrected["Entropy per Line"] == pytest.approx(3 * corrected["1-gram Entropy"])
    assert all(not each.details for each in elcc(Corpus([[]]), Options()))


def test_information_of_several_attributes_is_not_cut_off_one_by_one():
    """Five attributes that messages tell nothing of: each cut off at 0, the mean of 60 corpora would be 0.013."""
    with few_draws():
        found = []
        for seed in range(60):
            rng = np.random.default_rng(seed)
            score = score_of(attribute_information, rng.integers(0, 4, (60, 2)), rng.integers(0, 4, (60, 5)))
            found.append((score.value, score.details["chao_shen"]))
    plug_in, corrected = np.mean(found, axis=0)
    assert plug_in > 0.3 and 0 <= corrected < 0.005
