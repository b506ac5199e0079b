"""HCE, residual entropy, attribute information and their corrections: known answers, reference implementations."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import entropies as module
from ecsuite.eval.metrics.associations import word_entropy
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.word_statistics import elcc
from ecsuite.eval.statistics.contingency import chao_shen, entropy
from ecsuite.eval.statistics.resampling import few_draws
from languages import grid, plain_entropy, score_of

GRID = grid(3, 4)
CONCATENATION = np.add(GRID, [10, 20])


def scores(messages, meanings, residual=module.residual_entropy):
    return [score_of(metric, messages, meanings) for metric in (module.hce, residual)]


def values(messages, meanings):
    return [score.value for score in scores(messages, meanings, module.plain_residual_entropy)]


def slow_residuals(messages, meanings, partition, normalised):
    """Reference implementation: residuals of an assignment, from counted Python objects."""
    residuals = []
    for attribute, column in enumerate(meanings.T.tolist()):
        own = [position for position, owner in enumerate(partition) if owner == attribute]
        said = [tuple(row) for row in messages[:, own].tolist()]
        left = plain_entropy(list(zip(said, column, strict=True))) - plain_entropy(said)
        residuals.append(left / plain_entropy(column) if normalised else left)
    return residuals


def slow_residual_entropy(messages, meanings, normalised):
    """Reference implementation: the minimum over all assignments."""
    partitions = itertools.product(range(meanings.shape[1]), repeat=messages.shape[1])
    found = [np.mean(slow_residuals(messages, meanings, each, normalised)) for each in partitions]
    return pytest.approx(min(found), abs=1e-9)


def random_language(seed, num_positions=4):
    rng = np.random.default_rng(seed)
    meanings = grid(3, 2, 2)
    return rng.integers(1, 4, (len(meanings), num_positions)), meanings


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_definitions(seed):
    messages, meanings = random_language(seed)
    greedy, exact = scores(messages, meanings, module.plain_residual_entropy)
    assert exact.value == slow_residual_entropy(messages, meanings, True)
    assert exact.details["residual_bits"] == slow_residual_entropy(messages, meanings, False)
    partition = [0] * 4
    for attribute in range(3):
        for position in greedy.details["positions"][f"attribute{attribute}"]:
            partition[position] = attribute
    shares, bits = (slow_residuals(messages, meanings, partition, normalised) for normalised in (True, False))
    assert greedy.value == pytest.approx(1 - np.mean(shares), abs=1e-9)
    assert list(greedy.details["residual_entropy"].values()) == pytest.approx(shares, abs=1e-9)
    assert greedy.details["residual_bits"] == pytest.approx(np.mean(bits), abs=1e-9)
    entropies = module.EntropyTables(messages.T, meanings.T, ("a", "b", "c"))
    for position, favourite in enumerate(entropies.most_informative()):
        said = messages[:, position].tolist()
        information = [
            plain_entropy(said) + plain_entropy(column) - plain_entropy(list(zip(said, column, strict=True)))
            for column in meanings.T.tolist()
        ]
        assert favourite == int(np.argmax(np.round(information, 9)))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_greedy_search_lies_between_exact_search_and_hce(seed):
    messages, meanings = random_language(seed, num_positions=6)
    entropies = module.EntropyTables(messages.T, meanings.T, ("a", "b", "c"))
    weights = 1 / entropies.attribute_entropies
    partitions = (
        module.exact_search(entropies, weights),
        module.greedy_search(entropies, weights),
        entropies.most_informative(),
    )
    exact, greedy, most_informative = (float(entropies.residuals(each) @ weights) for each in partitions)
    assert exact - 1e-9 <= greedy <= most_informative + 1e-9


def test_concatenation():
    compositional, residual = scores(CONCATENATION, GRID)
    assert (compositional.value, residual.value) == (1, 0)
    explained = {
        "positions": {"attribute0": [0], "attribute1": [1]},
        "residual_entropy": {"attribute0": 0.0, "attribute1": 0.0},
        "residual_bits": 0.0,
    }
    assert {key: compositional.details[key] for key in explained} == explained
    assert compositional.chance.level < 0.7 and p_value(compositional) <= 0.1


def test_known_languages():
    meanings = np.insert(GRID, 1, 5, axis=1)
    score, _ = scores(CONCATENATION, meanings)
    assert score.value == 1 and list(score.details["positions"]) == ["attribute0", "attribute2"]
    assert values([[1], [2], [2]], [[0], [1], [1]]) == [1, 0]
    # Unary numbers: positions after the end are blank.
    assert values([[5] * row[0] for row in GRID], GRID) == pytest.approx([0.5, 0.5])
    # The second position alone has no information; as a tie it is assigned to the first attribute, without effect.
    meanings = grid(4, 4)
    score, _ = scores(np.cumsum(meanings, axis=1) % 4, meanings)
    assert score.value == pytest.approx(0.5)
    assert score.details["positions"] == {"attribute0": [0, 1], "attribute1": []}
    rows = np.tile(GRID, (4, 1))
    result, _ = scores(np.add(rows, [10, 20]), rows)
    assert result.ci95 == (1, 1)


def test_long_and_many_messages_are_searched_greedily(monkeypatch):
    nine = grid(3, 3)
    with monkeypatch.context() as patch:
        patch.setattr(module, "MAX_EXACT_POSITIONS", 1)
        _, residual = scores(CONCATENATION, GRID)
        assert residual.value == 0 and "|search:greedy|" in residual.signature
    monkeypatch.setattr(module, "EXACT_WORK", 2 * 9 << 2)
    assert "|search:exact|" in scores(nine, nine, module.plain_residual_entropy)[1].signature
    assert "|search:greedy|" in scores(np.tile(nine, 2), nine, module.plain_residual_entropy)[1].signature


def test_codes_of_many_symbols_do_not_overflow():
    """70 positions of 12 symbols have more combinations than a 64-bit integer can count."""
    same = np.repeat(np.arange(12), 70).reshape(12, 70)
    other = np.random.default_rng(0).permuted(same, axis=0)
    messages = np.concatenate([same, other], axis=1)
    entropies = module.EntropyTables(messages.T, GRID.T, ("a", "b"))
    assert entropies.conditional_entropy(0, tuple(range(140))) == 0
    assert entropies.conditional_entropy(1, tuple(range(70))) == 0
    assert entropies.conditional_entropy(1, ()) == pytest.approx(2)


def noisy_language(num_rows, num_positions, num_values=3, share=0.5):
    """Two attributes, encoded by the first two positions in a share of the rows; all other symbols are random."""
    rng = np.random.default_rng(0)
    meanings = rng.integers(0, num_values, (num_rows, 2))
    messages = rng.integers(0, num_values, (num_rows, num_positions))
    is_clear = rng.random(num_rows) < share
    messages[is_clear, :2] = meanings[is_clear]
    return messages, meanings


def test_chance_levels_of_long_messages():
    # Messages of six random symbols are unique, so any positions determine any attribute.
    rng = np.random.default_rng(0)
    result, _ = scores(rng.integers(0, 8, (100, 6)), rng.integers(0, 4, (100, 2)))
    assert result.value > 0.8 and result.chance.level > 0.6
    assert result.ci95[0] <= result.value <= result.ci95[1]
    short, long = (scores(*noisy_language(150, length, num_values=5, share=0.8))[1] for length in (2, 5))
    assert long.chance.level < short.chance.level - 0.1
    for result in (short, long):
        assert result.details["null_search"] == "exact" and result.chance.compared is None
        assert result.value < result.chance.low and p_value(result) < 0.05
        assert result.ci95[0] <= result.value <= result.ci95[1]


def test_draws_of_longer_messages_are_greedy(monkeypatch):
    """The value is still exact; another is compared with chance."""
    monkeypatch.setattr(module, "EXACT_WORK_RESAMPLED", 0)
    messages, meanings = noisy_language(40, 5)
    _, result = scores(messages, meanings)
    assert "|search:exact|" in result.signature and result.details["null_search"] == "greedy"
    assert result.chance.distance(result.value) + result.chance.level >= result.value
    assert p_value(result) <= 0.1


@pytest.mark.slow
def test_of_many_rows_some_are_drawn(monkeypatch, all_draws):
    monkeypatch.setattr(module, "MAX_ROWS_RESAMPLED", 100)
    messages, meanings = noisy_language(400, 3, num_values=4)  # intervals need ten meanings
    _, some = scores(messages, meanings)
    monkeypatch.setattr(module, "MAX_ROWS_RESAMPLED", 200)
    _, all_attributes = scores(messages, meanings)
    assert some.value == all_attributes.value and some.chance.num_rows == 100
    assert all_attributes.chance.num_rows is None
    assert some.chance.level < all_attributes.chance.level  # fewer rows tell more by chance
    assert some.chance.compared < some.value
    widths = [score.ci95[1] - score.ci95[0] for score in (some, all_attributes)]
    assert widths[0] == pytest.approx(widths[1], rel=0.4)


def test_long_messages_that_leave_nothing_are_not_searched_further(monkeypatch):
    """Each of two blocks of positions determines its attribute: no move can be better."""
    rng, asked = np.random.default_rng(0), []
    entropies = module.EntropyTables(rng.integers(0, 9, (60, 40)), rng.integers(0, 3, (2, 40)), ("a", "b"))
    plain = entropies.conditional_entropy
    monkeypatch.setattr(entropies, "conditional_entropy", lambda *given: asked.append(given) or plain(*given))
    partition = module.greedy_search(entropies, 1 / entropies.attribute_entropies)
    assert entropies.residuals(partition).tolist() == [0.0, 0.0] and len(asked) < 200


information = partial(score_of, module.attribute_information)
ALL = grid(4, 4)
"""All pairs of two attributes of four values."""


def test_information_by_hand():
    result = information(ALL[:, :1], ALL)
    assert result.details["bits"] == pytest.approx({"attribute0": 2, "attribute1": 0})
    assert result.details["shares"] == pytest.approx({"attribute0": 1, "attribute1": 0})
    assert result.value == pytest.approx(0.5) and result.details["sum_bits"] == pytest.approx(2)
    # The first symbol tells whether the first attribute is below 2; the message as a whole counts, not a symbol.
    result = information(np.stack([ALL[:, 0] // 2, ALL[:, 1] % 2, ALL[:, 1] // 2], -1), ALL)
    assert result.details["bits"] == pytest.approx({"attribute0": 1, "attribute1": 2})
    assert result.value == pytest.approx(0.75)
    result = information(np.arange(16)[:, None], ALL)
    assert result.value == pytest.approx(1) == result.chance.level and information([[0]] * 16, ALL).value == 0


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 80), st.integers(1, 9), st.integers(2, 6))
@few_draws()
def test_scikit_learn_agrees(seed, num_rows, num_messages, num_values):
    rng = np.random.default_rng(seed)
    messages, meanings = rng.integers(0, num_messages, num_rows), rng.integers(0, num_values, (num_rows, 2))
    result = information(messages[:, None], meanings)
    if result.value is None:
        assert (np.ptp(meanings, axis=0) == 0).all()
        return
    for name, bits in result.details["bits"].items():
        expected = mutual_info_score(messages, meanings[:, int(name[-1])]) / np.log(2)
        assert bits == pytest.approx(expected, abs=1e-9)


def test_names_and_order_do_not_matter():
    rng = np.random.default_rng(0)
    messages, meanings, order = rng.integers(0, 3, (60, 2)), rng.integers(0, 3, (60, 2)), rng.permutation(60)
    value = pytest.approx(information(messages, meanings).value)
    named = np.array([7, 3, 5])[messages], np.array([2, 0, 1])[meanings]
    assert information(*named).value == value == information(messages[order], meanings[order]).value


def test_attributes_have_their_names_in_the_details():
    meanings = [[0, 0, 5], [0, 1, 5], [1, 0, 5], [1, 1, 5]] * 3
    corpus = Corpus([[row[0], 2 + row[1]] for row in meanings], meanings=meanings)
    named = Corpus(corpus.messages, meanings=meanings, attribute_names=["color", "shape", "site"])
    for metric, key in ((module.attribute_information, "bits"), (module.hce, "positions")):
        for about, names in ((corpus, ["attribute0", "attribute1"]), (named, ["color", "shape"])):
            assert list(metric(about, Options())[0].details[key]) == names


@pytest.mark.parametrize("number", [30, 100, 500])
def test_less_bias_than_plug_in_of_a_zipfian_distribution(number):
    share = 1 / np.arange(1, 301)
    share /= share.sum()
    true = -share @ np.log2(share)
    rng = np.random.default_rng(0)
    draws = rng.multinomial(number, share, size=200)
    plug_in, corrected = (np.mean([of(each) for each in draws]) - true for of in (entropy, chao_shen))
    assert plug_in < 0 and abs(corrected) < abs(plug_in) / 2


def test_chao_shen_by_hand():
    # Of four draws one value was seen once: C = 3/4.
    seen = np.array([9 / 16, 3 / 16])
    expected = -np.sum(seen * np.log2(seen) / (1 - (1 - seen) ** 4))
    assert chao_shen(np.array([3, 0, 1])) == pytest.approx(expected)
    assert chao_shen(np.array([7])) == chao_shen(np.array([1])) == 0
    assert chao_shen(np.array([1, 1, 1, 1])) > entropy(np.array([1, 1, 1, 1]))
    counts = np.array([50_000, 30_000, 20_000])
    assert chao_shen(counts) == pytest.approx(entropy(counts))


def noisy(num_rows, seed):
    """An attribute named by the first symbol in half of the messages; the second symbol is noise."""
    rng = np.random.default_rng(seed)
    value = rng.integers(0, 4, num_rows)
    named = np.where(rng.random(num_rows) < 0.5, value, rng.integers(0, 10, num_rows))
    return np.stack([named, 10 + rng.integers(0, 10, num_rows)], axis=1), value[:, None]


@pytest.mark.parametrize("metric", [module.hce, module.residual_entropy, module.attribute_information, word_entropy])
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
    ngrams = {"1-gram Entropy", "2-gram Entropy", "2-gram Conditional Entropy"}
    assert corrected.keys() == ngrams | {"Entropy per Line"}
    assert scores["1-gram Entropy"].value < corrected["1-gram Entropy"] == pytest.approx(np.log2(40), abs=0.4)
    assert corrected["Entropy per Line"] == pytest.approx(3 * corrected["1-gram Entropy"])
    assert all(not each.details for each in elcc(Corpus([[]]), Options()))


def test_of_several_attributes_information_is_not_cut_off_one_by_one():
    # Five attributes that messages tell nothing of: each cut off at 0, the mean of 60 corpora would be 0.013.
    with few_draws():
        found = []
        for seed in range(60):
            rng = np.random.default_rng(seed)
            messages, meanings = rng.integers(0, 4, (60, 2)), rng.integers(0, 4, (60, 5))
            score = score_of(module.attribute_information, messages, meanings)
            found.append((score.value, score.details["chao_shen"]))
    plug_in, corrected = np.mean(found, axis=0)
    assert plug_in > 0.3 and 0 <= corrected < 0.005
