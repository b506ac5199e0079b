"""Topographic similarity: constructed languages, comparison with SciPy, sampling, distances and other options."""

import itertools
from collections import Counter
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr, rankdata, spearmanr

import ecsuite
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric, traits_of
from ecsuite.eval.metrics import topsim as module
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.metrics.topsim import topsim
from ecsuite.eval.statistics import resampling
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.parts import own_code
from ecsuite.runtime.errors import ConfigError, PartError
from ecsuite.runtime.ragged import Ragged
from languages import corpus_of, grid, score_of

GRID = grid(3, 3)
score = partial(score_of, topsim)


def edits(first, second):
    """Levenshtein distance by its table."""
    row = list(range(len(second) + 1))
    for place, one in enumerate(first, 1):
        before, row = row, [place]
        for number, other in enumerate(second, 1):
            row.append(min(row[-1] + 1, before[number] + 1, before[number - 1] + (one != other)))
    return row[-1]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1))
@few_draws()
def test_definition(seed):
    """Reference implementation of EGG's definition: Levenshtein over mean length, Hamming, Spearman."""
    rng = np.random.default_rng(seed)
    messages = [rng.integers(1, 4, rng.integers(0, 5)).tolist() for _ in range(8)]
    meanings = rng.integers(0, 3, (8, 3))
    result = score(messages, meanings)
    pairs = itertools.combinations(messages, 2)
    between_messages = [edits(a, b) / ((len(a) + len(b)) / 2 or 1) for a, b in pairs]
    between_meanings = pdist(meanings, "hamming")
    if np.ptp(between_messages) == 0 or np.ptp(between_meanings) == 0:
        assert result.value is None
    else:
        assert result.value == pytest.approx(spearmanr(between_messages, between_meanings).statistic)


def test_equal_distances_are_undefined_however_many_ids_there_are():
    every, meanings = np.arange(60_000)[:, None], np.tile(GRID, (600, 1))
    assert score(every, every).reason == "all distances between messages are equal"
    assert score([[1, 2]] * len(meanings), meanings).reason == "all distances between messages are equal"


def test_features_are_compared_by_angle_and_concepts_by_shares():
    angles = np.linspace(0, 1.5, 6)
    features = np.stack([np.cos(angles), np.sin(angles)], axis=1) * np.arange(1, 7)[:, None]
    result = score([[1] * i + [2] * (5 - i) for i in range(6)], features)
    assert result.value == pytest.approx(1) and "|meaning_distance:cosine|" in result.signature
    result = score([[1, 1], [1, 2], [3, 4]], [[1.0, 0.0], [1.0, 0.1], [0.0, 0.0]])
    assert result.value == pytest.approx(1)
    # Of three sets, the first two share one of three members; the third shares none.
    result = score([[1, 2], [1, 3], [4, 5]], concepts=[[0, 1, 1], [2, 1], [3, 4]])
    assert result.value == pytest.approx(1) and "|meaning_distance:jaccard|" in result.signature


def noisy(num_rows, num_noise, seed=3):
    """Meanings of three attributes, and messages of which half of the symbols are one of some others."""
    rng = np.random.default_rng(seed)
    meanings = rng.integers(0, 4, (num_rows, 3))
    noise = rng.integers(90, 90 + num_noise, meanings.shape)
    return np.where(rng.random(meanings.shape) < 0.5, np.add(meanings, [0, 4, 8]), noise), meanings


def test_sampled_pairs(monkeypatch):
    monkeypatch.setattr(module, "NUM_SAMPLED_PAIRS", 40_000)
    monkeypatch.setattr(module, "NUM_ROWS_ALL_PAIRS", 300)
    messages, meanings = noisy(600, num_noise=40)
    first, again, other = (score(messages, meanings, seed=seed) for seed in (1, 1, 2))
    assert first == again and first.value != other.value
    assert first.value == pytest.approx(other.value, abs=0.015)
    assert "pairs:40000|seed:1|v:4" in first.signature and "pairs:40000|seed:2|v:4" in other.signature
    everything = spearmanr(pdist(messages, "hamming"), pdist(meanings, "hamming")).statistic
    assert first.value == pytest.approx(everything, abs=0.015) and first.ci95[0] < everything < first.ci95[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["attributes", "features", "concepts"])
def test_few_different_messages_are_counted_instead_of_drawn(kind, monkeypatch):
    """Comparison with SciPy over all pairs of messages, equal ones among them."""
    monkeypatch.setattr(module, "NUM_ROWS_ALL_PAIRS", 400)
    messages, meanings = noisy(500, num_noise=1)
    vectors = np.reshape([np.eye(4)[row] for row in meanings], (len(meanings), 12))
    given = {
        "attributes": {"meanings": meanings},
        "features": {"meanings": vectors},
        "concepts": {"concepts": np.add(meanings, [0, 4, 8]).tolist()},
    }[kind]
    first, other = (score(messages, **given, seed=seed) for seed in (1, 2))
    between = {"attributes": "hamming", "features": "cosine", "concepts": "jaccard"}[kind]
    known = meanings if kind == "attributes" else vectors
    everything = spearmanr(pdist(messages, "hamming"), pdist(known, between).round(9)).statistic
    assert first.value == pytest.approx(everything, abs=1e-12)
    assert (other.value, other.signature) == (first.value, first.signature)
    assert other.ci95 == pytest.approx(first.ci95, abs=0.01) and "pairs:all|v:4" in first.signature
    assert first.details["num_pairs"] == 500 * 499 // 2


@pytest.mark.slow
@pytest.mark.parametrize("num_noise", [1, 40], ids=["counted", "drawn"])
def test_the_interval_of_many_messages_covers_in_95_percent(num_noise, monkeypatch):
    monkeypatch.setattr(resampling, "NUM_PERMUTATIONS", 1)
    scores = [score(*noisy(2_000, num_noise, seed)) for seed in range(60)]
    mean = np.mean([each.value for each in scores])
    assert 53 <= sum(each.ci95[0] <= mean <= each.ci95[1] for each in scores) <= 59


@pytest.mark.slow
def test_the_interval_covers_the_language_that_was_sampled():
    rng = np.random.default_rng(0)
    meanings = rng.integers(0, 4, (4_000, 3))
    noisy = np.where(rng.random(meanings.shape) < 0.5, np.add(meanings, [0, 4, 8]), 99)
    whole = spearmanr(pdist(noisy[:2_000], "hamming"), pdist(meanings[:2_000], "hamming")).statistic
    intervals = [score(noisy[i : i + 100], meanings[i : i + 100]).ci95 for i in range(0, 4_000, 100)]
    covered = sum(low <= whole <= high for low, high in intervals)
    assert 34 <= covered <= 40


def test_null_of_a_compositional_and_of_a_scrambled_language(all_draws):
    rng = np.random.default_rng(0)
    meanings = rng.permutation(list(itertools.product(range(4), repeat=3)))[:60]
    clear, scrambled = np.add(meanings, [0, 4, 8]), rng.permutation(np.add(meanings, [0, 4, 8]))
    result = score(clear, meanings)
    assert result.chance.level == pytest.approx(0, abs=0.02)
    assert result.chance.low < 0 < result.chance.high < 0.2 and p_value(result) < 1e-6
    assert p_value(score(scrambled, meanings)) > 0.05


@pytest.mark.parametrize("repetitions", [np.ones(9, int), np.full(9, 3), np.arange(1, 10)])
def test_the_null_is_that_of_exchanged_meanings(repetitions, all_draws):
    """Comparison with Spearman's correlation of exchanged meanings, with new ranks."""
    rng = np.random.default_rng(0)
    grid = np.array(list(itertools.product(range(3), repeat=2)))
    meaning = np.repeat(np.arange(9), repetitions)
    meanings, messages = grid[meaning], np.add(grid, [10, 20])[meaning]
    draws = [
        spearmanr(pdist(messages, "hamming"), pdist(grid[rng.permutation(9)][meaning], "hamming")).statistic
        for _ in range(300)
    ]
    nulls = [score(messages, meanings, seed=seed).chance for seed in range(5)]
    assert np.mean([null.level for null in nulls]) == pytest.approx(np.mean(draws), abs=0.02)
    found = np.concatenate([null.draws for null in nulls])
    assert found.std() == pytest.approx(np.std(draws), rel=0.15)


def test_the_null_of_many_different_messages_is_drawn_on_a_thousand():
    rng = np.random.default_rng(3)
    meanings = rng.integers(0, 4, (1_200, 3))
    result = score(np.add(meanings, [0, 4, 8]), meanings)
    assert result.value == pytest.approx(1)
    assert (result.chance.num_rows, result.chance.compared, result.chance.num_meanings) == (None, None, 64)
    meanings = rng.integers(0, 15, (1_500, 3))
    result = score(np.add(meanings, [0, 15, 30]), meanings)
    assert result.value == pytest.approx(1) and abs(result.chance.level) < 0.005
    assert result.chance.num_rows == 1_000
    assert 600 < result.chance.num_meanings < len(np.unique(meanings, axis=0))


def test_wide_sets_of_concepts_are_compared_some_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    sets = Ragged.from_rows([np.flatnonzero(rng.random(50) < 0.4).tolist() for _ in range(30)])
    members = [set(row.tolist()) for row in sets]
    monkeypatch.setattr(module, "_MOST_MEMBERS", 100)
    for left, right in (np.triu_indices(30, 1), rng.integers(0, 30, (2, 40))):
        found = module.jaccard_distance(sets)(left, right)
        pairs = [(members[one], members[other]) for one, other in zip(left, right, strict=True)]
        assert found == pytest.approx([1 - len(a & b) / len(a | b) for a, b in pairs])


RNG = np.random.default_rng(0)
MEANINGS = RNG.integers(0, 4, (40, 3))
ROWS = [[int(a) for a in row[: 1 + int(row.sum()) % 3]] + [9] for row in MEANINGS]
CORPUS = corpus_of(ROWS, MEANINGS)


def scores(options, corpus=CORPUS):
    return find_metric(f"topsim{options}")(corpus, Options())


def value(options, corpus=CORPUS):
    (score,) = scores(options, corpus)
    return score.value


def between(rows, distance):
    return [distance(*pair) for pair in combinations(rows, 2)]


def jaccard(first, second):
    together = set(first) | set(second)
    return 1 - len(set(first) & set(second)) / len(together) if together else 0


def positions(first, second):
    return sum(a != b for a, b in zip(first, second, strict=False)) + abs(len(first) - len(second))


OF_MESSAGES = {
    "edit": edits, "edit/mean": lambda a, b: edits(a, b) / ((len(a) + len(b)) / 2),
    "edit/max": lambda a, b: edits(a, b) / max(len(a), len(b)), "hamming": positions, "jaccard": jaccard,
}  # fmt: skip
OF_MEANINGS = {
    "hamming": lambda a, b: (a != b).sum(),
    "euclidean": lambda a, b: np.round(np.linalg.norm(a - b), 9),
    "jaccard": lambda a, b: jaccard(list(enumerate(a)), list(enumerate(b))),
    "levenshtein": lambda a, b: edits(a.tolist(), b.tolist()),
    "cosine": lambda a, b: (
        np.round(1 - (a @ b) / (np.linalg.norm(a) * np.linalg.norm(b)), 9) if a.any() and b.any() else 1
    ),
}


@pytest.mark.sample(12)
@pytest.mark.parametrize("messages", OF_MESSAGES)
@pytest.mark.parametrize("meanings", OF_MEANINGS)
def test_distances_are_those_of_their_definitions(messages, meanings):
    found = value(f",message_distance={messages},meaning_distance={meanings}")
    pair = between(ROWS, OF_MESSAGES[messages]), between(MEANINGS, OF_MEANINGS[meanings])
    assert found == pytest.approx(spearmanr(*pair).statistic, abs=1e-9)
    found = value(f",message_distance={messages},meaning_distance={meanings},correlation=pearson")
    assert found == pytest.approx(pearsonr(*pair).statistic, abs=1e-7)


@pytest.mark.parametrize("name", ["hamming", "euclidean", "cosine", "jaccard", "levenshtein"])
def test_distances_of_concepts(name):
    rows = [sorted(RNG.choice(6, 1 + place % 4, replace=False).tolist()) for place in range(30)]
    corpus = corpus_of([[row[0], row[0] + 1] for row in rows], None, rows, concept_names=tuple("abcdef"))
    vectors = np.array([np.isin(np.arange(6), row) for row in rows]) * 1.0
    expected = {
        "hamming": lambda: 6 * pdist(vectors, "hamming"), "euclidean": lambda: pdist(vectors),
        "cosine": lambda: np.round(pdist(vectors, "cosine"), 9), "jaccard": lambda: between(rows, jaccard),
        "levenshtein": lambda: between(rows, edits),
    }[name]()  # fmt: skip
    messages = between(corpus.messages, lambda a, b: edits(a.tolist(), b.tolist()) / 2)
    known = pytest.approx(spearmanr(messages, expected).statistic, abs=1e-9)
    assert value(f",meaning_distance={name}", corpus) == known


def test_names_and_signatures_have_what_is_unusual():
    (usual,) = scores(",message_distance=edit/mean,correlation=spearman")
    assert (usual.name, usual.signature) == ("topsim", scores("")[0].signature)
    (score,) = scores(",correlation=pearson,message_distance=edit")
    assert score.name == "topsim,message_distance=edit,correlation=pearson"
    assert (
        score.signature
        == "topsim|message_distance:edit|meaning_distance:hamming|correlation:pearson|eos:strip|pairs:all|v:4"
    )
    assert traits_of(score).direction == traits_of("topsim").direction == "higher"


def test_a_language_about_one_attribute():
    """Messages name the first attribute only: its distances are theirs, and others have nothing to do with them."""
    meanings = grid(4, 4)
    corpus = corpus_of((meanings[:, :1] + 1).tolist(), meanings)
    first, second = scores(",attribute=each", corpus)
    assert (first.name, second.name) == ("topsim,attribute=0", "topsim,attribute=1")
    assert first.value == pytest.approx(1) and second.value < 0.1
    assert value(",attribute=1", corpus) == second.value
    assert scores(",attribute=2", corpus)[0].reason == "there is no attribute 2"


def partial_correlation(x, y, z):
    """Partial correlation from the three correlations."""
    xy, xz, yz = (np.corrcoef(rankdata(a), rankdata(b))[0, 1] for a, b in ((x, y), (x, z), (y, z)))
    return (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))


def test_partial_correlations():
    messages, meanings = between(ROWS, OF_MESSAGES["edit/mean"]), pdist(MEANINGS, "hamming")
    lengths = between(ROWS, lambda a, b: abs(len(a) - len(b)))
    assert value(",given=length") == pytest.approx(partial_correlation(messages, meanings, lengths))
    own, others = pdist(MEANINGS[:, :1], "hamming"), pdist(MEANINGS[:, 1:], "hamming")
    assert value(",attribute=0,given=attributes") == pytest.approx(partial_correlation(messages, own, others))
    # More than 1,000 messages of few kinds: each pair of kinds is counted, with the same result as all pairs.
    large = corpus_of(ROWS * 30, np.tile(MEANINGS, (30, 1)))
    rows, meanings = [row for row in ROWS for _ in range(30)], np.repeat(MEANINGS, 30, 0)
    few = [OF_MESSAGES["edit/mean"](a, b) for a in ROWS for b in ROWS]
    lengths = [abs(len(a) - len(b)) for a in ROWS for b in ROWS]
    hamming = [(a != b).sum() for a in MEANINGS for b in MEANINGS]
    # Of 40 kinds 30 times each, ordered pairs of different rows: 900 of each two kinds, 870 of one with itself.
    times = np.where(np.eye(40, dtype=bool).ravel(), 870, 900)
    expected = partial_correlation(*(np.repeat(each, times) for each in (few, hamming, lengths)))
    assert len(rows) == len(meanings) == 1200
    with few_draws():
        assert value(",given=length", large) == pytest.approx(expected)


def test_degenerate_corpora_have_values_or_reasons():
    equal = corpus_of((MEANINGS + 1).tolist(), MEANINGS)
    assert value(",given=length", equal) == pytest.approx(value("", equal))  # nothing to hold fixed
    same = corpus_of([[1] * (1 + int(row[0])) for row in MEANINGS], MEANINGS)
    reason = "the covariates determine the distances"
    assert scores(",given=length,message_distance=edit", same)[0].reason == reason
    features = corpus_of(ROWS, RNG.normal(size=(40, 3)))
    for name in ("jaccard", "levenshtein"):
        assert "not features" in scores(f",meaning_distance={name}", features)[0].reason
    concepts = Corpus([[1], [2], [1]], concepts=Ragged.from_rows([[0], [1], [0, 1]]))
    assert scores(",attribute=0", concepts)[0].reason == "the corpus has no attributes"
    [score] = scores(",attribute=each", Corpus([[1], [2]]))
    assert score.reason == "the corpus has no attributes"
    silent = scores(",message_distance=jaccard", corpus_of([[], [], []], [[0], [0], [1]]))
    assert silent[0].reason == "all distances between messages are equal"
    empty = corpus_of([[], [], [1]], [[0], [1], [2]])
    for name in OF_MESSAGES:
        [score] = scores(f",message_distance={name}", empty)
        assert score.reason == "all distances between meanings are equal"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (",meaning_distance=cosin", "topsim.meaning_distance: unknown distance 'cosin'; did you mean 'cosine'?"),
        (",mesage_distance=edit", "did you mean 'message_distance'?"),
        (",correlation=kendall", "topsim.correlation: unknown value 'kendall'"),
        (",given=attributes", "topsim.given: attributes needs attribute=0, or attribute=each"),
        (",attribute=-1", "topsim.attribute: expected"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_one_line(options, message):
    with pytest.raises(ConfigError) as raised:
        find_metric(f"topsim{options}")
    assert message in str(raised.value) and "\n" not in str(raised.value)


OWN = """
def longest(first, second):
    return abs(len(first) - len(second))
def nothing(first, second):
    return None
def overlap(first, second):
    return sum(a != b for a, b in zip(first, second))
"""


def test_distances_of_a_users_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    with pytest.raises(own_code.UntrustedError):
        find_metric(f"topsim,message_distance={file}:longest")
    card = ecsuite.score(CORPUS, f"topsim,message_distance={file}:longest,meaning_distance={file}:overlap")
    (score,) = card.scores
    pair = between(ROWS, lambda a, b: abs(len(a) - len(b))), pdist(MEANINGS, "hamming")
    assert score.value == pytest.approx(spearmanr(*pair).statistic)
    assert score.signature.startswith("topsim|message_distance:longest|meaning_distance:overlap|code:")
    with pytest.raises(PartError, match=r"mine.py:4: nothing: expected a finite number; got None"):
        ecsuite.score(CORPUS, f"topsim,message_distance={file}:nothing")
    with pytest.raises(PartError, match="has no absent"):
        ecsuite.score(CORPUS, f"topsim,message_distance={file}:absent")


def test_thresholds_and_correlations_of_segments():
    rows = [RNG.integers(1, 4, 12).tolist() for _ in range(60)]
    corpus = Corpus(rows)
    low, usual = (find_metric(f"has,threshold={bits}")(corpus, Options())[0] for bits in (0.0, 0.8))
    assert low.value == dict(usual.details["by_threshold"])[0.0] > usual.value
    assert (low.name, usual.name) == ("has,threshold=0.0", "has")
    varied = Corpus([row[: 2 + place % 5 // 2] for place, row in enumerate(rows)])
    found = find_metric("zla,correlation=pearson")(varied, Options())[1]
    kinds = Counter(tuple(row.tolist()) for row in varied.messages)
    expected = pearsonr(list(kinds.values()), [len(each) for each in kinds]).statistic
    assert found.value == pytest.approx(expected) and "|correlation:pearson|" in found.signature
