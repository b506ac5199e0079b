"""Concept best matching: the authors' sample, constructed languages, chance level, ties, curves, and references."""

import itertools
import json
import time
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import cbm as cbm_module
from ecsuite.eval.metrics.cbm import cbm, cbm_types, paired_score, sensitivity, translate
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.statistics import matching, resampling
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.formats import read_corpus
from ecsuite.runtime.errors import CorpusError
from languages import corpus_of, score_of

SAMPLE = Path(__file__).parents[3].parent / "shared" / "data" / "cbm" / "comm_results.jsonl"
RATES = ("ambiguity", "paraphrase", "unmatched", "precision", "recall")


def score(messages, concepts, eos=None, names=(), metric=cbm, **known):
    return score_of(metric, messages, None, concepts, eos=eos, concept_names=names, **known)


@pytest.fixture(scope="module")
def sample():
    if not SAMPLE.exists():
        pytest.skip("shared/data/cbm/comm_results.jsonl is not there")
    pairs = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    names = sorted({phrase for _, phrase in pairs})
    messages = [[int(word) for word in message.split(".")] for message, _ in pairs]
    return messages, [[names.index(phrase)] for _, phrase in pairs], tuple(names)


def test_known_matchings():
    # If there are fewer words than concepts, some concepts are unmatched in any case.
    result = score([[1], [2], [1], [1]], [[0], [0], [1], [2]])
    assert result.details["unmatched_program"] == 0.25  # three concepts, two words
    result = score([[1], [1], [1], [1], [2]], [[0], [0], [0], [1], [0]])
    assert (result.details["unmatched"], result.details["unmatched_program"]) == (0.2, 0)
    # Word 1 has concept 0 in two of its three samples, and concept 0 has word 1 in two of its four.
    result = score([[1, 1], [1], [1], [2], [3]], [[0], [0], [1], [0], [0]])
    assert result.details["map"][0] == [1, 0, 3]
    assert result.details["map_shares"][0] == pytest.approx([3 / 4, 2 / 4])
    assert score([[1], [2]], [[0, 0], [1]]).details["map_shares"] == [[1, 1], [1, 1]]
    result = score([[1], [0, 5]], [[0], [0]], eos=0)
    assert [result.value, result.details["precision"], result.details["recall"]] == [0.5, 0.5, 0.5]
    result = score([[1], [1], []], [[0], [0], [1]])
    assert result.details["unmatched"] == pytest.approx(1 / 3) and result.details["map"] == [[1, 0, 2]]
    result = score([[1]], [[1]], names=("color=red", "shape=box"), symbol_names=("ba", "gu"))
    assert result.details["map"] == [["gu", "shape=box", 1]]
    result = score([[], []], [[0], [1]])
    assert [result.value, result.details["unmatched"], result.details["map"]] == [0, 1, []]
    assert score([[1], [2]] * 4, [[0], [1]] * 4).ci95 is None
    assert score([[1], [2]] * 5, [[0], [1]] * 5).ci95 == (1, 1)
    result = score([[1], [2]], [[0], [0]])
    assert result.details["tied"] and result.details["tied_pairs"] == 1
    rates = [*RATES[:3], "unmatched_program", *RATES[3:]]
    assert result.details["tie_dependent"] == [*rates, "map", "map_shares"]
    assert score([[1], [2]], [[0, 0], [0, 0]]).details["tie_dependent"][0] == "value"


def test_authors_sample(all_draws, sample):
    """Results of the authors' program (bcarmeli/cbm) on its own sample, EOS removed (its default)."""
    messages, concepts, names = sample
    result = score(messages, concepts, eos=0, names=names)
    assert round(result.value, 3) == 0.127
    assert [round(result.details[rate], 3) for rate in RATES] == [0.873, 0.000, 0.596, 0.038, 0.378]
    assert result.details["counts"] == {
        "good": 1269, "ambiguous": 8731, "paraphrase": 0, "unmatched": 596, "unmatched_program": 596,
        "total_edges": 10000, "total_concepts": 1000, "unique_messages": 913, "unique_words": 15,
        "unique_phrases": 50, "unique_concepts": 50,
    }  # fmt: skip
    assert result.details["map"][:3] == [[8, "14", 181], [15, "25", 174], [3, "45", 123]]
    assert not result.details["tied"] and result.ci95[0] < result.value < result.ci95[1]
    assert result.chance.low <= result.chance.level <= result.chance.high < 0.06 and p_value(result) < 1e-6


def test_authors_sample_with_other_arguments(sample):
    # Results with the two arguments of the program that keep EOS.
    messages, concepts, _ = sample
    result = score(messages, concepts)
    counts = [result.details["counts"][key] for key in ("good", "ambiguous", "total_edges", "unmatched")]
    assert counts == [1299, 9701, 11000, 566] and round(result.details["precision"], 3) == 0.037
    assert round(result.details["recall"], 3) == 0.408
    # In the text of the paper a word counts once per message: 388 of 5,511, as in the Python reference.
    result = score(messages, concepts, eos=0, metric=cbm_types)
    assert (result.name, round(result.value, 4)) == ("cbm_types", 0.0704)
    assert result.signature == "cbm_types|count:types|eos:strip|n:1000|v:3"
    counts = result.details["counts"]
    assert (counts["good"], counts["total_edges"], counts["unique_messages"]) == (388, 5511, 913)
    assert counts["total_edges"] == sum(len(set(message) - {0}) for message in messages)
    # Words and concepts of the file are strings, and the reader detects EOS, "0".
    result = cbm(read_corpus(SAMPLE), Options())[0]
    assert result.value == 0.1269
    assert result.details["map"][:3] == [["8", "14", 181], ["15", "25", 174], ["3", "45", 123]]


@pytest.mark.parametrize("metric", [cbm, cbm_types])
def test_one_sample_is_no_better_than_chance(metric):
    result = score([[1, 2]], [[0, 1]], metric=metric)
    levels = (result.chance.level, result.chance.low, result.chance.high)
    assert (result.value, *levels, p_value(result)) == (1, 1, 1, 1, 1)


def draws(messages, concepts, seed=0):
    corpus = corpus_of(messages, None, concepts)
    rows, rng = np.arange(len(messages)), np.random.default_rng(seed)
    statistics = paired_score(corpus.content(), corpus.concepts, rows, "tokens")
    return statistics((rows, rng.permutation(rows)) for _ in range(100)).ravel()


def test_chance_over_every_order():
    """Two words, two concepts, two samples each: a third of the orders are perfect, the others have half."""
    scores = draws([[1], [1], [2], [2]], [[0], [0], [1], [1]])
    assert set(scores.tolist()) == {0.5, 1.0} and 0.2 < np.mean(scores == 1) < 0.46
    messages, concepts = [[1, 1, 2], [], [3], [2, 1]], [[0, 1], [1], [], [2, 2, 0]]
    orders = itertools.permutations(range(4))
    possible = {round(score(messages, [concepts[i] for i in order]).value, 9) for order in orders}
    drawn = {round(value, 9) for value in draws(messages, concepts).tolist()}
    assert len(drawn) > 1 and drawn <= possible


def test_a_random_language_is_at_chance():
    """Over many random languages the p-value is about uniform: one in ten below a tenth."""
    rng = np.random.default_rng(0)
    p_values = [p_value(score(rng.integers(0, 8, (40, 2)), rng.integers(0, 5, (40, 1)))) for _ in range(40)]
    assert 0.35 < np.mean(p_values) < 0.7 and np.mean(np.array(p_values) <= 0.1) < 0.25


def test_a_large_corpus_gets_fewer_permutations(all_draws, monkeypatch):
    """500 words by 30 concepts are 15,000 cells: 40 times these are 600,000, a hundredth of the usual limit."""
    assert resampling.WORK == 60_000_000
    monkeypatch.setattr(resampling, "WORK", 600_000)
    rows = np.arange(500)[:, None]
    assert len(score(rows, rows % 30).chance.draws) == 39
    assert len(score(rows % 30, rows % 30).chance.draws) == 100


def noisy_corpus(rng, num_rows, noise, num_concepts=10):
    """A word for each concept; a share of the words is random."""
    concepts = rng.integers(0, num_concepts, num_rows)
    words = np.where(rng.random(num_rows) < noise, rng.integers(0, num_concepts, num_rows), concepts)
    return corpus_of(words[:, None], None, concepts[:, None])


def test_many_words_and_concepts_are_scored_as_few_are(monkeypatch):
    """A table of words and concepts of which nearly all entries are 0, as of a table with a column of trial numbers."""
    rng = np.random.default_rng(1)
    concepts = np.stack([rng.integers(0, 4, 60), 4 + rng.permutation(60)], axis=1)
    messages = [rng.integers(0, 40, rng.integers(1, 5)).tolist() for _ in range(60)]
    few = score(messages, concepts)
    for module in (matching, cbm_module):
        monkeypatch.setattr(module, "MAX_TABLE", 0)
    many = score(messages, concepts)
    assert many.value == few.value and many.chance.draws == pytest.approx(few.chance.draws)
    assert many.ci95 == pytest.approx(few.ci95)


def test_a_table_with_a_column_of_trial_numbers_takes_seconds():
    """900 words and 2,700 concepts: with dense tables it took a minute."""
    rows, start = np.arange(1300), time.process_time()
    concepts = np.stack([rows % 24, 24 + rows, 1324 + rows % 900], axis=1)
    score((rows % 900)[:, None], concepts)
    assert time.process_time() - start < 5


def test_a_part_of_a_corpus_is_matched_anew():
    corpus, rows = noisy_corpus(np.random.default_rng(0), 60, 0.7), np.arange(0, 60, 2)
    part = score(*(each.take(rows) for each in (corpus.messages, corpus.concepts)))
    for drawn_from, asked in ((np.arange(60), rows), (rows, np.arange(len(rows)))):
        statistic = paired_score(corpus.content(), corpus.concepts, drawn_from, "tokens")
        assert statistic([(asked, asked)]) == [[part.value]]


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "narrowest", "widest"), [(0.5, 0.8, 1.3), (1.0, 1.0, 1.8)])
def test_the_interval_covers_the_mean_score_of_corpora_of_that_size(all_draws, monkeypatch, noise, narrowest, widest):
    """With the matching of the whole corpus, that of a random language would be more than twice as wide."""
    monkeypatch.setattr(resampling, "NUM_PERMUTATIONS", 1)
    monkeypatch.setattr(resampling, "MIN_DRAWS", 1)
    rng = np.random.default_rng(0)
    scores = [cbm(noisy_corpus(rng, 100, noise), Options())[0] for _ in range(100)]
    values = np.array([score.value for score in scores])
    low, high = np.array([score.ci95 for score in scores]).T
    assert 91 <= ((low <= values.mean()) & (values.mean() <= high)).sum()
    assert narrowest < (high - low).mean() / (3.92 * values.std()) < widest


def recount(messages, concepts):
    """Reference implementation of the authors' counting: exhaustive matching, then a loop over all tokens."""
    cooccurrences = Counter()
    for said, meant in zip(messages, concepts, strict=True):
        for word, concept in itertools.product(said, meant):
            cooccurrences[word, concept] += 1
    words, kinds = sorted({w for w, _ in cooccurrences}), sorted({c for _, c in cooccurrences})
    best, pairing = -1, {}
    for choice in itertools.product([None, *kinds], repeat=len(words)):
        taken = [concept for concept in choice if concept is not None]
        total = sum(cooccurrences[pair] for pair in zip(words, choice, strict=True))
        if len(taken) == len(set(taken)) and total > best:
            best = total
            pairing = {w: c for w, c in zip(words, choice, strict=True) if cooccurrences[w, c]}
    tally, precision, recall = Counter(), [], []
    for said, meant in zip(messages, concepts, strict=True):
        tally["total_edges"] += max(len(said), len(meant))
        hits = set()
        for word in said:
            if word not in pairing:
                tally["paraphrase"] += 1
            elif pairing[word] in meant:
                tally["good"] += 1
                hits.add(word)
            else:
                tally["ambiguous"] += 1
        tally["total_concepts"] += len(meant)
        tally["unmatched"] += sum(concept not in pairing.values() for concept in meant)
        precision.append(len(hits) / len(said))
        recall.append(len(hits) / len(meant))
    return tally, sum(precision) / len(precision), sum(recall) / len(recall)


tokens = st.lists(st.integers(0, 3), min_size=1, max_size=5)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=8), st.booleans())
@few_draws()
def test_counts_against_a_recount(rows, as_sets):
    messages, concepts = [said for said, _ in rows], [meant for _, meant in rows]
    result = score(messages, concepts, metric=cbm_types if as_sets else cbm)
    if as_sets:
        messages, concepts = ([sorted(set(row)) for row in side] for side in (messages, concepts))
    tally, precision, recall = recount(messages, concepts)
    counts = result.details["counts"]
    always = ["total_edges", "total_concepts"]
    always += ["good"] * ("value" not in result.details["tie_dependent"])
    shares = result.value + result.details["ambiguity"] + result.details["paraphrase"]
    assert 0 <= result.value and shares <= 1 + 1e-12
    untied = [] if result.details["tied"] else ["good", "ambiguous", "paraphrase", "unmatched"]
    assert [counts[key] for key in always + untied] == [tally[key] for key in always + untied]
    if not result.details["tied"]:
        assert result.details["precision"] == pytest.approx(precision)
        assert result.details["recall"] == pytest.approx(recall)


def translation_of(messages, concepts, count="tokens", **more):
    return translate(corpus_of(messages, None, concepts, **more), count)


def test_known_tables():
    # Word 7 twice in a message with concept 5 twice: four co-occurrences, two occurrences of the word.
    graph = translation_of([[7, 7, 9, 0], [9, 0]], [[5, 5], [3]], eos=0)
    assert graph.samples.word_ids.tolist() == [7, 9] and graph.samples.phrases.ids.tolist() == [3, 5]
    assert graph.weights.tolist() == [[0, 4], [1, 2]] and graph.present.tolist() == [[0, 2], [1, 1]]
    assert graph.samples.words_per_row().tolist() == [3, 1]
    assert graph.samples.concepts_per_row().tolist() == [2, 1]
    assert graph.samples.word_totals.tolist() == [2, 2] and graph.samples.concept_totals.tolist() == [1, 2]
    assert (graph.word.tolist(), graph.concept.tolist()) == ([0, 1], [1, 0])
    assert graph.shares().tolist() == [[1, 1], [0.5, 1]]
    graph = translation_of([[7, 7, 9, 0], [9, 0]], [[5, 5], [3]], "types", eos=0)
    assert graph.weights.tolist() == graph.present.tolist() == [[0, 1], [1, 1]]
    assert graph.samples.words_per_row().tolist() == [2, 1]
    assert graph.samples.concepts_per_row().tolist() == [1, 1]
    named = translation_of([[1], [0]], [[1], [0]], symbol_names=("ba", "gu"), concept_names=("red", "blue"))
    assert [named.samples.word_names[0], named.samples.phrases.names[1]] == ["ba", "blue"]
    bare = translation_of([[4]], [[6]])
    assert [bare.samples.word_names[0], bare.samples.phrases.names[0]] == [4, 6]


short_rows = st.lists(st.integers(0, 4), max_size=5)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(short_rows, short_rows), min_size=1, max_size=8), st.booleans())
def test_tables_against_a_plain_count(rows, as_types):
    kept = (lambda row: sorted(set(row))) if as_types else list
    said, meant = zip(*rows, strict=True)
    graph = translation_of(said, meant, "types" if as_types else "tokens")
    if graph is None:
        assert not any(meant for _, meant in rows)
        return
    weights, present = Counter(), Counter()
    for said, meant in rows:
        weights.update(product(kept(said), kept(meant)))
        present.update(product(kept(said), set(meant)))
    for table, expected in ((graph.weights, weights), (graph.present, present)):
        words, concepts = graph.samples.word_ids.tolist(), graph.samples.phrases.ids.tolist()
        cells = product(enumerate(words), enumerate(concepts))
        assert all(table[i, j] == expected[word, concept] for (i, word), (j, concept) in cells)
        assert table.sum() == expected.total()
    assert (np.diff(graph.weights[graph.word, graph.concept]) <= 0).all()


def part_score(messages, concepts, metric):
    return score_of(metric, messages, None, concepts, eos=0).value


samples = st.lists(
    st.tuples(st.lists(st.integers(0, 5), max_size=4), st.sets(st.integers(0, 4), max_size=3)), min_size=1, max_size=14
)


@settings(max_examples=6, deadline=None)
@given(samples, st.integers(1, 6), st.booleans())
@few_draws()
def test_every_point_is_the_metric_of_its_part(pairs, step, as_types):
    messages, concepts = [said for said, _ in pairs], [sorted(meant) for _, meant in pairs]
    if not any(concepts):
        return
    metric, count = (cbm_types, "types") if as_types else (cbm, "tokens")
    curves = sensitivity(corpus_of(messages, None, concepts, eos=0), count=count, step=step)
    assert curves["sizes"] == [*range(step, len(pairs), step), len(pairs)]
    assert len(curves["segmented"]) == len(pairs) // step
    for size, value in zip(curves["sizes"], curves["accumulated"], strict=True):
        if any(concepts[:size]):
            assert value == pytest.approx(part_score(messages[:size], concepts[:size], metric))
    for index, value in enumerate(curves["segmented"]):
        part = slice(index * step, (index + 1) * step)
        if any(concepts[part]):
            assert value == pytest.approx(part_score(messages[part], concepts[part], metric))


def test_known_curves():
    messages, concepts = [[1, 2, 2]] * 3, [[0, 0, 1]] * 3
    curves = sensitivity(corpus_of(messages, None, concepts), step=2)
    value = part_score(messages, concepts, cbm)
    assert curves["accumulated"] == [value, value] and curves["segmented"] == [value]
    concepts = np.arange(1_000)[:, None] % 17
    curves = sensitivity(corpus_of(concepts + 1, None, concepts))
    assert curves == {
        "step": 100, "count": "tokens", "sizes": list(range(100, 1_001, 100)), "accumulated": [1.0] * 10,
        "accumulated_sd": 0.0, "segmented": [1.0] * 10, "segmented_sd": 0.0,
    }  # fmt: skip
    curves = sensitivity(corpus_of([[], [], [1], [1]], None, [[], [], [0], [0]]), step=2)
    assert (curves["accumulated"], curves["segmented"]) == ([None, 1.0], [None, 1.0])
    assert (curves["accumulated_sd"], curves["segmented_sd"]) == (None, None)
    curves = sensitivity(corpus_of([[1], [2]], None, [[0], [1]]))
    assert (curves["sizes"], curves["accumulated"], curves["segmented"]) == ([2], [1.0], [])


def test_curves_of_other_corpora():
    # As in the paper: small evaluation sets are easy to match.
    rng = np.random.default_rng(0)
    curves = sensitivity(corpus_of(rng.integers(0, 60, (1_800, 4)), None, rng.integers(0, 50, (1_800, 1))))
    assert len(curves["segmented"]) == 18 and min(curves["segmented"]) > 2 * curves["accumulated"][-1]
    assert curves["accumulated"][0] == curves["segmented"][0] == max(curves["accumulated"])
    assert curves["segmented_sd"] == pytest.approx(np.std(curves["segmented"], ddof=1))
    json.dumps(curves, allow_nan=False)
    message = "the corpus has no concepts to match words with"
    with pytest.raises(CorpusError, match=message):
        sensitivity(corpus_of([[1]]))
    with pytest.raises(ValueError, match="step 0: expected at least 1 sample per segment"):
        sensitivity(corpus_of([[1]], None, [[0]]), step=0)


def test_long_corpora_have_longer_segments():
    for num_rows, step in ((5_000, 100), (5_001, 200), (23_456, 500)):
        concepts = np.arange(num_rows)[:, None] % 3
        curves = sensitivity(corpus_of(concepts, None, concepts))
        assert curves["step"] == step and len(curves["sizes"]) <= 50


def test_attribute_values_are_concepts():
    """The same matching as of the concepts of each value, also with text values in other orders, and named alike."""
    meanings = np.array([["b", "y"], ["a", "x"], ["b", "x"], ["a", "y"]])
    words = [[2, 5], [1, 4], [2, 4], [1, 5]]
    found, *_ = cbm(Corpus(words, meanings=meanings, attribute_names=("c", "d")), Options())
    names = ("c=a", "c=b", "d=x", "d=y")
    rows = [[names.index(f"c={one}"), names.index(f"d={other}")] for one, other in meanings.tolist()]
    same, *_ = cbm(Corpus(words, concepts=rows, concept_names=names), Options())
    assert found.value == same.value == 1 and found.chance == same.chance
    graph = translate(Corpus(words, meanings=meanings, attribute_names=("c", "d")))
    pairs = {
        (graph.samples.word_names[w], graph.samples.phrases.names[c])
        for w, c in zip(graph.word, graph.concept, strict=True)
    }
    assert pairs == {(1, "c=a"), (2, "c=b"), (4, "d=x"), (5, "d=y")}
