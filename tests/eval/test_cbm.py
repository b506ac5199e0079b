"""Concept best matching: the authors' sample, hand-made languages, ties against exhaustive search."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.cbm import best_match, cbm, is_tied
from ecsuite.eval.score import Options
from ecsuite.formats import read_corpus

SAMPLE = Path(__file__).parents[2].parent / "shared" / "data" / "cbm" / "comm_results.jsonl"
RATES = ("ambiguity", "paraphrase", "unmatched", "precision", "recall")


def score(messages, concepts, eos=None, names=()):
    corpus = Corpus(
        messages=Ragged.from_rows(messages),
        concepts=Ragged.from_rows(concepts),
        concept_names=names,
        eos=eos,
    )
    return cbm(corpus, Options())[0]


@pytest.fixture(scope="module")
def sample():
    if not SAMPLE.exists():
        pytest.skip("shared/data/cbm/comm_results.jsonl is not there")
    pairs = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    names = sorted({phrase for _, phrase in pairs})
    messages = [[int(word) for word in message.split(".")] for message, _ in pairs]
    return messages, [[names.index(phrase)] for _, phrase in pairs], tuple(names)


def test_authors_sample(sample):
    """Figures of the authors' program (bcarmeli/cbm) on its own sample, EOS cut as by default."""
    messages, concepts, names = sample
    result = score(messages, concepts, eos=0, names=names)
    assert round(result.value, 3) == 0.127
    assert [round(result.details[rate], 3) for rate in RATES] == [0.873, 0.000, 0.596, 0.038, 0.378]
    assert result.details["counts"] == {
        "good": 1269,
        "ambiguous": 8731,
        "paraphrase": 0,
        "unmatched": 596,
        "total_edges": 10000,
        "total_concepts": 1000,
        "unique_messages": 913,
        "unique_words": 15,
        "unique_phrases": 50,
        "unique_concepts": 50,
    }
    assert result.details["map"][:3] == [[8, "14", 181], [15, "25", 174], [3, "45", 123]]
    assert not result.details["tied"]
    assert result.ci95[0] < result.value < result.ci95[1]


def test_authors_sample_with_eos_kept_as_a_word(sample):
    """The same with the program's two arguments, which keep EOS."""
    messages, concepts, _ = sample
    result = score(messages, concepts)
    assert [result.details["counts"][key] for key in ("good", "ambiguous", "total_edges", "unmatched")] == [
        1299,
        9701,
        11000,
        566,
    ]
    assert round(result.details["precision"], 3) == 0.037
    assert round(result.details["recall"], 3) == 0.408


def test_authors_sample_read_from_its_file(sample):
    """Words and concepts are strings there, and the reader finds EOS, "0", by itself."""
    result = cbm(read_corpus(SAMPLE), Options())[0]
    assert result.value == 0.1269
    assert result.details["map"][:3] == [["8", "14", 181], ["15", "25", 174], ["3", "45", 123]]


def test_sample_in_any_order(sample):
    messages, concepts, names = sample
    forward = score(messages, concepts, eos=0, names=names)
    backward = score(messages[::-1], concepts[::-1], eos=0, names=names)
    assert (backward.value, backward.details["map"]) == (forward.value, forward.details["map"])


def test_perfect_language():
    result = score([[4, 7], [4, 8], [5, 7], [5, 8]], [[0, 2], [0, 3], [1, 2], [1, 3]], names=tuple("abcd"))
    assert result.value == 1
    assert [result.details[rate] for rate in RATES] == [0, 0, 0, 1, 1]
    assert result.details["map"] == [[4, "a", 2], [5, "b", 2], [7, "c", 2], [8, "d", 2]]


def test_ambiguous_word():
    """One word for two concepts: half of it is ambiguous, and one concept has no word."""
    result = score([[1], [1], [1]], [[0], [0], [1]])
    assert result.value == pytest.approx(2 / 3)
    assert [result.details[rate] for rate in RATES] == pytest.approx([1 / 3, 0, 1 / 3, 2 / 3, 2 / 3])


def test_paraphrase():
    """Two words for one concept: the rarer one is a paraphrase."""
    result = score([[1], [1], [2]], [[0], [0], [0]])
    assert [result.value, result.details["paraphrase"]] == pytest.approx([2 / 3, 1 / 3])


def test_repeated_words_count_each_time_but_once_for_precision():
    result = score([[1, 1, 1]], [[0]])
    assert [result.value, result.details["precision"], result.details["recall"]] == pytest.approx(
        [1, 1 / 3, 1]
    )


def test_empty_message_is_all_loss():
    result = score([[1], [0, 5]], [[0], [0]], eos=0)
    assert [result.value, result.details["precision"], result.details["recall"]] == [0.5, 0.5, 0.5]


def test_nothing_said_at_all():
    result = score([[], []], [[0], [1]])
    assert [result.value, result.details["unmatched"], result.details["map"]] == [0, 1, []]


def test_a_pair_that_never_meets_is_no_pair():
    result = score([[1], [1], []], [[0], [0], [1]])
    assert result.details["unmatched"] == pytest.approx(1 / 3)
    assert result.details["map"] == [[1, 0, 2]]


def test_symbols_keep_their_names():
    corpus = Corpus(
        messages=Ragged.from_rows([[1]]),
        symbol_names=("ba", "gu"),
        concepts=Ragged.from_rows([[1]]),
        concept_names=("color=red", "shape=box"),
    )
    assert cbm(corpus, Options())[0].details["map"] == [["gu", "shape=box", 1]]


@pytest.mark.parametrize("concepts", [None, Ragged.from_rows([[], []])])
def test_no_concepts(concepts):
    (result,) = cbm(Corpus(messages=Ragged.from_rows([[1], [2]]), concepts=concepts), Options())
    assert (result.value, result.reason) == (None, "the corpus names no concepts")


def pairings(weights):
    """Every pairing of positive weights, as (total, set of pairs)."""
    num_words, num_concepts = weights.shape
    for choice in itertools.product(range(-1, num_concepts), repeat=num_words):
        taken = [concept for concept in choice if concept >= 0]
        pairs = {(word, concept) for word, concept in enumerate(choice) if concept >= 0}
        if len(set(taken)) == len(taken) and all(weights[pair] > 0 for pair in pairs):
            yield sum(int(weights[pair]) for pair in pairs), pairs


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_best_match_and_ties_against_exhaustive_search(num_words, num_concepts, highest, seed):
    weights = np.random.default_rng(seed).integers(0, highest, (num_words, num_concepts), endpoint=True)
    best = max(total for total, _ in pairings(weights))
    optima = [pairs for total, pairs in pairings(weights) if total == best]
    word, concept = best_match(weights)
    assert set(zip(word.tolist(), concept.tolist(), strict=True)) in optima
    assert is_tied(weights, word, concept) == (len(optima) > 1)


def test_tied_figures_are_named():
    result = score([[1], [2]], [[0], [0]])
    assert result.details["tied"]
    assert result.details["tie_dependent"] == [*RATES, "map"]
    assert score([[1], [2]], [[0, 0], [0, 0]]).details["tie_dependent"][0] == "value"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 4), max_size=4), st.sets(st.integers(0, 3), max_size=3)),
        min_size=1,
        max_size=10,
    ),
    st.randoms(use_true_random=False),
)
def test_renaming_and_reordering_keep_the_score(rows, random):
    if not any(concepts for _, concepts in rows):
        return
    words = random.sample([0, 3, 99, 2**20, 2**31 - 2, 2**31 - 1], 5)
    ids = random.sample(range(50), 4)
    renamed = [([words[w] for w in said], sorted(ids[c] for c in meant)) for said, meant in rows]
    random.shuffle(renamed)
    before = score([said for said, _ in rows], [sorted(meant) for _, meant in rows])
    after = score([said for said, _ in renamed], [meant for _, meant in renamed])
    assert after.value == before.value
    assert after.details["tied"] == before.details["tied"]
    if not before.details["tied"]:
        assert [after.details[rate] for rate in RATES] == pytest.approx(
            [before.details[rate] for rate in RATES]
        )
    shares = before.value + before.details["ambiguity"] + before.details["paraphrase"]
    assert 0 <= before.value and shares <= 1 + 1e-12


def test_the_interval_depends_on_the_seed_alone():
    corpus = Corpus(
        messages=Ragged.from_rows([[1], [2], [1], [2], [2]] * 9),
        concepts=Ragged.from_rows([[0], [1], [1], [1], [0]] * 9),
    )
    first, again, other = (cbm(corpus, Options(seed=seed))[0] for seed in (0, 0, 1))
    assert first == again
    assert first.value == other.value and first.ci95 != other.ci95
    assert first.signature == other.signature
