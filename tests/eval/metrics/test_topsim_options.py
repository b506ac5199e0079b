"""Options of topsim: distances, correlation, one attribute, and partial correlations."""

from itertools import combinations

import numpy as np
import pytest
from languages import corpus_of, grid
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr, rankdata, spearmanr

import ecsuite
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric, traits_of
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.parts import own_code
from ecsuite.runtime.errors import ConfigError, PartError
from ecsuite.runtime.ragged import Ragged

RNG = np.random.default_rng(0)
MEANINGS = RNG.integers(0, 4, (40, 3))
ROWS = [[int(a) for a in row[: 1 + int(row.sum()) % 3]] + [9] for row in MEANINGS]
CORPUS = corpus_of(ROWS, MEANINGS)


def scores(options, corpus=CORPUS):
    return find_metric(f"topsim{options}")(corpus, Options())


def value(options, corpus=CORPUS):
    (score,) = scores(options, corpus)
    return score.value


def edits(first, second):
    """Levenshtein distance by its table."""
    row = list(range(len(second) + 1))
    for place, one in enumerate(first, 1):
        before, row = row, [place]
        for number, other in enumerate(second, 1):
            row.append(min(row[-1] + 1, before[number] + 1, before[number - 1] + (one != other)))
    return row[-1]


def between(rows, distance):
    return [distance(*pair) for pair in combinations(rows, 2)]


def jaccard(first, second):
    together = set(first) | set(second)
    return 1 - len(set(first) & set(second)) / len(together) if together else 0


def positions(first, second):
    return sum(a != b for a, b in zip(first, second, strict=False)) + abs(len(first) - len(second))


OF_MESSAGES = {
    "edit": edits,
    "edit/mean": lambda a, b: edits(a, b) / ((len(a) + len(b)) / 2),
    "edit/max": lambda a, b: edits(a, b) / max(len(a), len(b)),
    "hamming": positions,
    "jaccard": jaccard,
}
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
    corpus = Corpus(
        [[each, each + 1] for row in rows for each in row[:1]],
        concepts=Ragged.from_rows(rows),
        concept_names=tuple("abcdef"),
    )
    vectors = np.zeros((30, 6))
    for place, row in enumerate(rows):
        vectors[place, row] = 1
    expected = {
        "hamming": lambda: 6 * pdist(vectors, "hamming"),
        "euclidean": lambda: pdist(vectors),
        "cosine": lambda: np.round(pdist(vectors, "cosine"), 9),
        "jaccard": lambda: between(rows, jaccard),
        "levenshtein": lambda: between(rows, edits),
    }[name]()
    messages = between(corpus.messages, lambda a, b: edits(a.tolist(), b.tolist()) / 2)
    assert value(f",meaning_distance={name}", corpus) == pytest.approx(
        spearmanr(messages, expected).statistic, abs=1e-9
    )


def test_names_and_signatures_have_what_is_unusual():
    (usual,) = scores(",message_distance=edit/mean,correlation=spearman")
    assert (usual.name, usual.signature) == ("topsim", scores("")[0].signature)
    (score,) = scores(",correlation=pearson,message_distance=edit")
    assert score.name == "topsim,message_distance=edit,correlation=pearson"
    assert score.signature == "topsim|dist:lev|mdist:hamming|corr:pearson|eos:strip|pairs:all|v:4"
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


def partial(x, y, z):
    """Partial correlation from the three correlations."""
    xy, xz, yz = (np.corrcoef(rankdata(a), rankdata(b))[0, 1] for a, b in ((x, y), (x, z), (y, z)))
    return (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))


def test_partial_correlations():
    messages, meanings = between(ROWS, OF_MESSAGES["edit/mean"]), pdist(MEANINGS, "hamming")
    lengths = between(ROWS, lambda a, b: abs(len(a) - len(b)))
    assert value(",given=length") == pytest.approx(partial(messages, meanings, lengths))
    own, others = pdist(MEANINGS[:, :1], "hamming"), pdist(MEANINGS[:, 1:], "hamming")
    assert value(",attribute=0,given=attributes") == pytest.approx(partial(messages, own, others))


def test_partial_correlations_count_equal_messages_as_often_as_they_occur():
    """More than 1,000 messages of few kinds: each pair of kinds is counted, with the same result as all pairs."""
    large = corpus_of(ROWS * 30, np.tile(MEANINGS, (30, 1)))
    rows, meanings = [row for row in ROWS for _ in range(30)], np.repeat(MEANINGS, 30, 0)
    few = [OF_MESSAGES["edit/mean"](a, b) for a in ROWS for b in ROWS]
    lengths = [abs(len(a) - len(b)) for a in ROWS for b in ROWS]
    hamming = [(a != b).sum() for a in MEANINGS for b in MEANINGS]
    # Of 40 kinds 30 times each, ordered pairs of different rows: 900 of each two kinds, 870 of one with itself.
    times = np.where(np.eye(40, dtype=bool).ravel(), 870, 900)
    expected = partial(*(np.repeat(each, times) for each in (few, hamming, lengths)))
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
    assert [score.reason for score in scores(",attribute=each", Corpus([[1], [2]]))] == [
        "the corpus has no attributes"
    ]
    silent = scores(",message_distance=jaccard", corpus_of([[], [], []], [[0], [0], [1]]))
    assert silent[0].reason == "all distances between messages are equal"
    empty = corpus_of([[], [], [1]], [[0], [1], [2]])
    for name in OF_MESSAGES:
        assert (
            scores(f",message_distance={name}", empty)[0].reason == "all distances between meanings are equal"
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ",meaning_distance=cosin",
            "topsim.meaning_distance: unknown distance 'cosin'; did you mean 'cosine'?",
        ),
        (",mesage_distance=edit", "did you mean 'message_distance'?"),
        (",correlation=kendall", "topsim.correlation: unknown value 'kendall'"),
        (",given=attributes", "topsim.given: attributes needs attribute=0, or attribute=each"),
        (",attribute=-1", "topsim.attribute: expected"),
    ],
)
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
    assert score.signature.startswith("topsim|dist:longest|mdist:overlap|code:")
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
    kinds: dict[tuple[int, ...], int] = {}
    for row in varied.messages:
        kinds[tuple(row.tolist())] = kinds.get(tuple(row.tolist()), 0) + 1
    expected = pearsonr(list(kinds.values()), [len(each) for each in kinds]).statistic
    assert found.value == pytest.approx(expected) and "|corr:pearson|" in found.signature
