"""posdis, bosdis, MIG, DCI, conflict count and variation: languages, references, other programs."""

import itertools
from collections import Counter, defaultdict
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import CategoricalNB

from ecsuite.eval.counts.counting import row_of
from ecsuite.eval.metrics import disentanglement, find_metric
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.runtime.ragged import Ragged
from languages import corpus_of, grid, plain_entropy, score_of, scores_of

GRID = grid(3, 4)
PERFECT = np.add(GRID, [10, 20])


def scores(*rows, **known):
    return [score_of(metric, *rows, **known) for metric in (disentanglement.posdis, disentanglement.bosdis)]


def values(*rows, **known):
    return [score.value for score in scores(*rows, **known)]


def slow_disentanglement(variables, meanings):
    """Reference implementation: mean gap over the non-constant variables, entropies from counted Python objects."""
    gaps = []
    for variable in variables:
        information = sorted(
            plain_entropy(variable) + plain_entropy(list(column)) - plain_entropy(list(zip(variable, column)))  # noqa: B905
            for column in meanings.T.tolist()
        )
        if len(set(variable)) > 1:
            gaps.append((information[-1] - information[-2]) / plain_entropy(variable))
    varies = any(len(set(column)) > 1 for column in meanings.T.tolist())
    return sum(gaps) / len(gaps) if gaps and varies else None


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
@example(59953, False)  # two messages with equal meanings
@few_draws()
def test_definitions(seed, fixed_length):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 15))
    lengths = np.full(num_rows, 3) if fixed_length else rng.integers(0, 4, num_rows)
    messages = [rng.integers(1, 5, length).tolist() for length in lengths]
    meanings = rng.integers(0, 3, (num_rows, 3))
    blanks = [row + ["blank"] * (3 - len(row)) for row in messages]
    bags = [[row.count(symbol) for row in messages] for symbol in range(1, 5)]
    variables = list(zip(*blanks, strict=True)), bags
    expected = [slow_disentanglement(each, meanings) for each in variables]
    assert values(messages, meanings) == [None if v is None else pytest.approx(v) for v in expected]


def test_known_languages():
    # The same symbols in varying order: counts of symbols have information that positions do not have.
    messages = [row[:: 1 if i % 2 else -1] for i, row in enumerate(PERFECT.tolist())]
    positional, bag = values(messages, GRID)
    assert bag == pytest.approx(1) and positional < 0.6
    assert values([[7, *row] for row in PERFECT.tolist()], GRID)[0] == pytest.approx(1)
    # Unary numbers: the message length encodes only the first attribute.
    assert values([[5] * row[0] for row in GRID], GRID) == pytest.approx([1, 1])
    positional, bag = scores([[1, 2], [2, 1]], [[0, 0], [1, 0]])
    assert positional.value == 1 and bag.reason == "every symbol is constant over all messages"


def test_some_rows_of_observations_are_those_of_the_corpus_of_these_rows():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 4, rng.integers(0, 4)).tolist() for _ in range(30)]
    meanings = rng.integers(0, 3, (30, 2))
    chosen = np.array([1, 4, 5, 9, 20, 29])
    content = Ragged.from_rows(rows)
    position = np.concatenate([np.arange(len(row)) for row in rows]).astype(np.int64)
    whole = disentanglement.Observations.of((position, row_of(content), content.values), 30)
    for most in (0, 9):  # each attribute alone, and both as one
        known = disentanglement.merged(meanings.T, most)
        [(part,)] = whole.figures([(chosen, chosen)], known, disentanglement.gaps_of_variables)
        assert part == pytest.approx(values([rows[i] for i in chosen], meanings[chosen])[0])


def test_mig_by_hand():
    """The first position tells both values of the first attribute, the second one bit of the two of the other."""
    meanings = grid(2, 4)
    score = score_of(disentanglement.mig, np.stack([meanings[:, 0], meanings[:, 1] // 2], axis=1), meanings)
    assert score.value == pytest.approx((1 / 1 + 1 / 2) / 2)
    assert score.signature == "mig|past_end:blank|eos:strip|n:8|v:1"
    for messages, about, expected in (
        (PERFECT, GRID, 1),
        (np.concatenate([PERFECT, PERFECT[:, ::-1]]), np.tile(GRID, (2, 1)), 0),  # free order
        (np.arange(12)[:, None], GRID, 1),  # a name of the whole meaning
        (np.repeat(GRID, 2, axis=1), GRID, 0),  # all is said twice
    ):
        assert score_of(disentanglement.mig, messages, about).value == pytest.approx(expected)


def dci_values(*rows):
    return [score.value for score in scores_of(disentanglement.dci, *rows)]


def test_dci_by_hand():
    """The first position tells 1 bit of the first attribute, the second 1 bit of each, the third nothing."""
    meanings = grid(2, 2)
    names = 2 * meanings[:, :1] + meanings[:, 1:]
    messages = np.concatenate([meanings[:, :1], names, np.full((4, 1), 7)], axis=1)
    # 1 of the first, which has a third of the bits, 0 of the second; 0 of the first attribute, 1 of the second
    assert dci_values(messages, meanings)[:2] == pytest.approx([1 / 3, 1 / 2])
    # The four symbols of the second position are names: of a new meaning they tell nothing.
    assert dci_values(messages[:, :2], meanings)[2] == pytest.approx(1 / 2)
    assert dci_values(names, meanings) == [None, None, pytest.approx(1 / 2)]
    assert dci_values(np.add(meanings, [0, 2]), meanings) == pytest.approx([1, 1, 1])
    assert dci_values(np.add(GRID, [0, 3])[:, ::-1], GRID) == pytest.approx([1, 1, 1])
    both = np.concatenate([np.add(SQUARE, [10, 20]), np.add(SQUARE, [10, 20])[:, ::-1]])
    assert dci_values(both, np.tile(SQUARE, (2, 1))) == pytest.approx([0, 0, 1])  # free order
    assert dci_values(np.repeat(GRID, 2, axis=1), GRID)[:2] == pytest.approx([1, 1 / 2])  # all is said twice
    assert dci_values([[7, 7]] * 12, GRID) == [None, None, pytest.approx((1 / 3 + 1 / 4) / 2)]


@pytest.mark.parametrize("seed", range(3))
def test_accuracy_is_that_of_scikit_learn(seed):
    """Where each symbol is seen with each value, its classifier is the same but for the smallest probabilities."""
    rng = np.random.default_rng(seed)
    meanings = rng.integers(0, 3, (300, 2))
    messages = np.where(rng.random((300, 3)) < 0.4, meanings[:, [0, 1, 0]], rng.integers(0, 4, (300, 3)))
    unit = meanings @ [3, 1]
    shares = []
    for column in meanings.T:
        for left_out in range(9):
            asked = unit == left_out
            model = CategoricalNB(alpha=1e-10, force_alpha=True, fit_prior=False, min_categories=4)
            model.fit(messages[~asked], column[~asked])
            shares.append((model.predict(messages[asked]) == column[asked]).sum())
    assert disentanglement.accuracy(messages.T, meanings.T, unit) == pytest.approx(sum(shares) / 600)


conflicts = partial(score_of, disentanglement.conflict_count)


def slow_count(messages, meanings):
    """Reference implementation: minimum over all permutations of the rows outside the majority."""
    counts = []
    for attributes in itertools.permutations(range(meanings.shape[1])):
        votes = defaultdict(Counter)
        for said, meant in zip(messages.tolist(), meanings.tolist(), strict=True):
            for position, attribute in enumerate(attributes):
                votes[position, said[position]][meant[attribute]] += 1
        counts.append(sum(vote.total() - max(vote.values()) for vote in votes.values()))
    return min(counts)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
@few_draws()
def test_definition_of_conflict_count(seed, width):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(1, 20))
    messages, meanings = rng.integers(0, 4, (num_rows, width)), rng.integers(0, 3, (num_rows, width))
    assert conflicts(messages, meanings).value == slow_count(messages, meanings)


def test_known_conflict_counts():
    # 36, by measuring-non-trivial-compositionality, commit 2b365626, `metrics/conflict_count.py`, run on this.
    messages = np.random.default_rng(0).integers(0, 4, (27, 3))
    assert conflicts(messages, grid(3, 3, 3)).value == 36
    # Twelve positions are 479,001,600 permutations.
    meanings = np.random.default_rng(0).integers(0, 5, (50, 12))
    order = np.random.default_rng(1).permutation(12)
    assert conflicts(meanings[:, order], meanings).value == 0


SQUARE = grid(4, 4)
CONCAT = np.add(SQUARE, [0, 4])
CONSTANT = np.full_like(SQUARE, 3)
IRREGULAR = np.array([[a, 4 + b] if (a + b) % 3 else [4 + b, 4 + a] for a, b in SQUARE.tolist()])


def variations(messages, meanings, options=""):
    return find_metric(f"variation{options}")(corpus_of(messages, meanings))


def variation_values(*rows):
    """Synonymy, homonymy, freedom, entanglement."""
    return [score.value for score in variations(*rows)]


def slow_variation(messages, meanings, program):
    """Each measure from lists of symbols and values, spelled out."""
    length = max(map(len, messages))
    messages = [[*row, *["blank"] * (length - len(row))] for row in messages]
    symbols = sorted({symbol for row in messages for symbol in row}, key=str)
    most = np.log2(max(2, len(symbols)))
    synonymy, homonymy, freedom, profiles = [], [], [], []
    for column in np.transpose(meanings).tolist():
        present = sorted(set(column))
        if len(present) < 2:
            continue
        said = {
            (value, j): [row[j] for row, own in zip(messages, column, strict=True) if own == value]
            for value in present
            for j in range(length)
        }
        bits = {key: plain_entropy(some) for key, some in said.items()}
        synonymy.append(np.mean([min(bits[value, j] for j in range(length)) for value in present]) / most)
        profiles.append([np.mean([bits[value, j] for value in present]) for j in range(length)])
        freedom.append(min(profiles[-1]) / most)
        spread = {}
        for j in range(length):
            for symbol in symbols:
                shares = np.array([Counter(said[v, j])[symbol] / len(said[v, j]) for v in present])
                if shares.sum():
                    shares = shares[shares > 0] / shares.sum()
                    spread[symbol, j] = -(shares * np.log2(shares)).sum() / np.log2(len(present))
        if program == "celebi":
            least = [min(spread.get((symbol, j), 0) for j in range(length)) for symbol in symbols]
            homonymy.append(np.mean(least))
        else:
            at = [[each for (_, k), each in spread.items() if k == j] for j in range(length)]
            homonymy.append(min(map(np.mean, at)))
    pairs = [
        1 - max(abs(a - b) for a, b in zip(one, other, strict=True)) / max(one + other) if max(one + other)
        else 1 for one, other in combinations(profiles, 2)
    ]  # fmt: skip
    return [np.mean(each) if each else None for each in (synonymy, homonymy, freedom, pairs)]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["conklin", "celebi"]))
@few_draws()
def test_definitions_of_variation(seed, program):
    rng = np.random.default_rng(seed)
    num_rows = int(rng.integers(2, 15))
    messages = [rng.integers(0, 3, rng.integers(0, 4)).tolist() for _ in range(num_rows)] + [[1]]
    meanings = rng.integers(0, 3, (num_rows + 1, 3))
    expected = slow_variation(messages, meanings, program)
    if expected[0] is not None:
        found = [score.value for score in variations(messages, meanings, f",program={program}")]
        assert found == [None if each is None else pytest.approx(each, abs=1e-9) for each in expected]


def test_known_languages_of_variation():
    # A value of the first attribute has two symbols; two values of the second share one.
    meanings = np.tile(grid(2, 2), (2, 1))
    messages = np.stack([meanings[:, 0], np.full(8, 2)], axis=1)
    messages[4:6, 0] = 3  # half of the messages about the first value
    synonymy, homonymy, freedom, entanglement = variation_values(messages, meanings)
    assert synonymy == 0  # at the second position each value has one symbol
    assert homonymy == pytest.approx((0 + 1) / 2) and freedom == 0
    half, both = 0.5, (1.5 + 1.5) / 2  # bits at the first position, given an attribute
    assert entanglement == pytest.approx(1 - (both - half) / both)
    assert variation_values(CONCAT, SQUARE) == pytest.approx([0, 0, 0, 0])
    assert variation_values(CONCAT[:, ::-1], SQUARE) == pytest.approx([0, 0, 0, 0])
    assert variation_values(CONSTANT, SQUARE) == pytest.approx([0, 1, 0, 1])
    free = np.concatenate([CONCAT, CONCAT[:, ::-1]]), np.tile(SQUARE, (2, 1))
    assert variation_values(*free) == pytest.approx([2 / 3, 1 / 2, 2 / 3, 1])
    reasons = [score.reason for score in variations(CONCAT, SQUARE, ",characters=7")]
    assert reasons == ["expected at least 8 characters, the number of different symbols, got 7"] * 4
    one = variations(CONCAT, SQUARE * [1, 0])
    assert [score.reason for score in one] == [None, None, None, "fewer than two attributes vary"]
    assert [score.value for score in one[:3]] == [0, 0, 0]


@pytest.mark.parametrize(
    ("messages", "conklin", "celebi"),
    [
        (CONCAT, [0, 0, 0, 0], [0, 0, 0, 0]),
        (CONSTANT, [0, 1, 0, 1], [0, 1 / 9, 0, 1]),
        (IRREGULAR, [0.3102466, 0.2240602, 0.3102466, 0.6064446], [0.3102466, 0.0555556, 0.3102466, 0.6064446]),
    ],
    ids=["concat", "constant", "irregular"],
)  # fmt: skip
def test_figures_of_both_programs(messages, conklin, celebi):
    """Of hcoxec/variable_compositionality, 4bfa78f, and SugarFreeManatee/CELEBI, 11f26c0, with nine characters.

    The latter adds 1e-8 to probabilities and sums.
    """
    for program, expected in (("conklin", conklin), ("celebi", celebi)):
        found = variations(messages, SQUARE, f",program={program},characters=9")
        assert [score.value for score in found] == pytest.approx(expected, abs=1e-6)
    assert found[1].name == "variation_homonymy,program=celebi,characters=9"
