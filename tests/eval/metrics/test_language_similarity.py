"""Similarity of speakers and over time: equal languages, renamed and unrelated ones, and what cannot be compared."""

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.computing import by_speaker
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.language_similarity import drift, joined, language_similarity, pseudo_dyads
from ecsuite.eval.metrics.score import Options
from ecsuite.games.config.experiment import load_experiment
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.ragged import Ragged

MEANINGS = [[a, b] for a in range(4) for b in range(4)]
WORDS = [[a, 4 + b] for a, b in MEANINGS]


def scores_of(*languages, meanings=MEANINGS):
    """The three scores of speakers who say the same meanings."""
    corpus = Corpus(
        [message for language in languages for message in language],
        meanings=[meaning for _ in languages for meaning in meanings],
        columns={"speaker": np.repeat(range(len(languages)), len(meanings))},
    )
    return language_similarity(corpus, Options())


def test_known_similarities():
    similarity, ami, topsim = scores_of(WORDS, WORDS, WORDS)
    assert similarity.value == 1
    # A correlation is a quotient of sums over pairs of meanings, whose order depends on the processor: each of the
    # three sums, the one above and the two below the root, is off by at most `pairs` roundings of its size.
    pairs = len(WORDS) * (len(WORDS) - 1) / 2
    assert topsim.value == pytest.approx(1, abs=3 * pairs * np.finfo(float).eps)
    assert ami.value is None  # no message recurs
    assert set(similarity.details["by_pair"]) == {"0-1", "0-2", "1-2"} and similarity.chance.level < 0.5
    assert max(p_value(similarity), p_value(topsim)) < 1e-6
    similarity, _, topsim = scores_of(WORDS, [[90 - each for each in row] for row in WORDS])
    assert similarity.value == 0 and topsim.value == pytest.approx(1)
    merged = [[a] for a, _ in MEANINGS]
    _, same, _ = scores_of(merged, [[9 - a] for a, _ in MEANINGS])
    _, other, _ = scores_of(merged, [[b] for _, b in MEANINGS])
    assert same.value == pytest.approx(1) and other.value < 0.01
    often = [[1, 1]] * 3 + [[2, 2]], [[1, 1]] * 2 + [[3, 3]] * 2
    messages = [row for speaker in often for _ in range(3) for row in speaker]
    meanings = [[value] for _ in often for value in range(3) for _ in range(4)]
    corpus = Corpus(messages, meanings=meanings, columns={"speaker": [0] * 12 + [1] * 12})
    assert language_similarity(corpus, Options())[0].value == 1


def test_symbols_beyond_the_characters_of_a_text():
    """Symbols are numbers: those from 1,114,112 on are no Unicode characters."""
    small, large = (scores_of(WORDS, [[symbol + add for symbol in row] for row in WORDS]) for add in (0, 7))
    for first in (0x110000, 2**31 - 60):
        moved = scores_of(*([[symbol + first for symbol in row] for row in WORDS] for _ in range(2)))
        assert [each.value for each in moved] == [each.value for each in small]
    assert large[0].value < small[0].value


def test_random_messages_are_at_chance():
    rng = np.random.default_rng(0)
    for score in scores_of(rng.integers(0, 5, (16, 2)).tolist(), rng.integers(0, 5, (16, 2)).tolist()):
        assert p_value(score) > 0.01 and abs(score.value - score.chance.level) < 0.3


def test_neither_the_order_of_messages_nor_names_of_symbols_matter():
    rng = np.random.default_rng(3)
    messages, meanings, speaker = rng.integers(0, 3, (32, 2)), np.array(MEANINGS * 2), np.repeat([0, 1], 16)
    values = []
    for rows, order in ((messages, np.arange(32)), (50 - 7 * messages, rng.permutation(32))):
        columns = {"speaker": speaker[order]}
        corpus = Corpus(rows[order].tolist(), meanings=meanings[order], columns=columns)
        values.append([score.value for score in language_similarity(corpus, Options())])
    assert values[0] == values[1]


@pytest.mark.parametrize(
    ("metric", "corpus", "reason"),
    [
        (language_similarity, Corpus(WORDS, meanings=MEANINGS), "fewer than two speakers"),
        (language_similarity, Corpus([[1], [2]], columns={"speaker": [0, 1]}), "neither meanings nor concepts"),
        (language_similarity, Corpus([[1], [2]], meanings=[[0], [1]], columns={"speaker": [0, 1]}),
         "share three meanings"),
        (drift, Corpus(WORDS, meanings=MEANINGS), "fewer than two evaluations"),
        (drift, Corpus([[1]] * 2, columns={"step": [1, 2]}), "no meanings"),
        (drift, Corpus([[1]] * 2, meanings=[[0], [0]], columns={"step": [1, 1]}), "fewer than two evaluations"),
        (drift, Corpus([[1]] * 2, meanings=[[0], [1]], columns={"step": [1, 2]}), "no meaning has messages at all"),
    ],
)  # fmt: skip
def test_it_is_undefined_with_a_reason(metric, corpus, reason):
    assert all(score.value is None and reason in score.reason for score in metric(corpus, Options()))


def test_two_corpora_are_joined_by_their_meanings():
    whole = joined(
        Corpus.from_strings(["a b", "a c", "d c"], [[0, 0], [0, 1], [1, 1]]),
        Corpus.from_strings(["d c", "a b", "a c"], [[1, 1], [0, 0], [0, 1]]),
    )
    assert language_similarity(whole, Options())[0].value == 1
    with pytest.raises(CorpusError, match="names of symbols"):
        joined(Corpus([[1]], meanings=[[0]]), Corpus.from_strings(["a"], [[0]]))
    with pytest.raises(CorpusError, match="neither meanings nor concepts"):
        joined(Corpus([[1]]), Corpus([[1]], meanings=[[0]]))


def rounds(said, answers):
    number = len(said)
    return Corpus(
        messages=Ragged.from_rows([[ord(each)] for each in said]),
        columns={
            "said": np.array(said), "answer": np.array(answers), "listener": np.ones(number, dtype=np.int64),
            "success": np.array(said) == np.array(answers),
        },
    )  # fmt: skip


def test_agreement_over_time_is_held_against_answers_that_were_exchanged():
    """Agents with a preference succeed often without having agreed; agents that agree do so beyond that."""
    rng = np.random.default_rng(0)
    drawn = [list(rng.choice(list("abc"), 400, p=(0.8, 0.1, 0.1))) for _ in range(2)]
    end, beginning = find_metric("agreement")(rounds(*drawn))
    assert end.value == pytest.approx(0.66, abs=0.1) and abs(end.value - end.chance.level) < 0.1
    assert list(end.details["by_quarter"]) == ["1", "2", "3", "4"]
    assert end.details["by_quarter"]["1"] == beginning.value
    agreed = list(rng.choice(list("abc"), 100))
    end, beginning = find_metric("agreement")(rounds([*drawn[0][:300], *agreed], [*drawn[1][:300], *agreed]))
    assert end.value == 1 and end.chance.level == pytest.approx(1 / 3, abs=0.05)
    assert end.chance.p_value(1)[0] < 0.05 < beginning.chance.p_value(beginning.value)[0]
    few = find_metric("agreement")(Corpus([[1]]))
    assert few[0].reason.startswith("fewer than four")
    alone = rounds(*[list("abcabc")] * 2)
    alone.columns["listener"][1:4] = -1  # nobody listened: three rounds are left
    assert find_metric("agreement")(alone)[0].reason.startswith("fewer than four")


FEW = [[0, 0], [0, 1], [1, 0], [1, 1]]
ISLAND = [[1, 1], [1, 2], [2, 1], [2, 2]]
OTHER = [[5, 5], [5, 6], [6, 5], [6, 2]]
"""Alike in half of the message about the last meaning alone: similarity .5 / 4."""


def society_of(languages, **more):
    """The corpus of speakers who say the same four meanings."""
    rows = [message for language in languages for message in language]
    speaker = np.repeat(range(len(languages)), len(FEW))
    columns = {"speaker": speaker} | {name: np.repeat(each, len(FEW)) for name, each in more.items()}
    return Corpus(rows, meanings=FEW * len(languages), columns=columns)


def test_two_islands_are_unlike_but_three_partitions_are_too_few_to_say_so():
    """Of 24 orders of four speakers eight leave the islands as they are: p is 1/3."""
    [score] = pseudo_dyads(society_of([ISLAND, ISLAND, OTHER, OTHER], listener=[1, 0, 3, 2]), Options())
    assert score.value == pytest.approx(1 - 0.125)
    assert score.details == {
        "met": {"similarity": 1.0, "pairs": 2},
        "never_met": {"similarity": pytest.approx(0.125), "pairs": 4},
    }
    assert len(score.chance.draws) == 24 and score.chance.level == pytest.approx(0)
    assert p_value(score) == pytest.approx(1 / 3)
    renamed = [[[90 - each for each in row] for row in rows] for rows in (ISLAND, ISLAND, OTHER, OTHER)]
    [again] = pseudo_dyads(society_of(renamed, listener=[1, 0, 3, 2]), Options())
    assert again.value == pytest.approx(score.value)


def test_partners_in_common_count_as_met_and_opposites_in_a_ring_do_not():
    languages = [ISLAND] * 3 + [OTHER] * 3
    [score] = pseudo_dyads(society_of(languages, listener=[1, 2, 3, 4, 5, 0]), Options())
    assert (score.details["met"]["pairs"], score.details["never_met"]["pairs"]) == (12, 3)
    assert score.value == pytest.approx((6 * 1 + 6 * 0.125) / 12 - 0.125)  # opposites are of two islands
    [score] = pseudo_dyads(society_of([ISLAND] * 4, listener=[1, 2, 3, 0]), Options())
    assert score.value is None and "partner in common" in score.reason


def test_who_met_whom_is_known_from_the_config_of_the_run():
    corpus, found = society_of([ISLAND, ISLAND, OTHER, OTHER]), {}
    for meets in ("groups", "ring", "all"):
        society = f"society={{senders: 4, receivers: 4, meets: {meets}}}"
        corpus.metadata["config"] = load_experiment("disc_tiny", [society]).to_tree()
        [found[meets]] = pseudo_dyads(corpus, Options())
    assert found["groups"].value == pytest.approx(1 - 0.125)
    assert all("partner in common" in found[meets].reason for meets in ("ring", "all"))
    [unknown] = pseudo_dyads(society_of([ISLAND, ISLAND, OTHER, OTHER]), Options())
    assert "who met whom" in unknown.reason


def test_speakers_that_are_no_more_alike_if_they_met_are_at_chance():
    rng = np.random.default_rng(1)
    languages = [rng.integers(0, 4, (4, 2)).tolist() for _ in range(8)]
    listener = [0 if place < 4 else 4 for place in range(8)]
    [score] = pseudo_dyads(society_of(languages, listener=listener), Options())
    assert p_value(score) > 0.05 and score.chance.low < score.value < score.chance.high


CHANGED = [[1, 1], [1, 2], [2, 1], [2, 9]]
"""One of eight symbols is another one than in `ISLAND`: distance .5 / 4."""


def drifting(*languages, began=None):
    """The corpus of a speaker at steps 10, 20, and so on."""
    number = len(languages)
    corpus = society_of(languages, step=10 * np.arange(1, 1 + number), began=began or [0] * number)
    del corpus.columns["speaker"]
    return corpus


def test_known_drift():
    now, replaced, from_first = drift(drifting(ISLAND, CHANGED, OTHER, OTHER), Options())
    assert now.value == pytest.approx((0.125 + 1 + 0) / 3)  # `CHANGED` and `OTHER` have nothing in common
    assert now.details["by_step"] == {"20": 0.125, "30": 1, "40": 0}
    assert replaced.value is None and "never replaced" in replaced.reason
    assert from_first.value == pytest.approx(1 - 0.125)
    assert from_first.details["by_step"] == {"20": 0.125, "30": 0.875, "40": 0.875}
    assert "|every:10|" in now.signature
    corpus = drifting(ISLAND, CHANGED, OTHER, OTHER, began=[0, 0, 25, 25])
    now, replaced, from_first = drift(corpus, Options())
    assert (now.value, replaced.value) == (pytest.approx(0.125 / 2), pytest.approx(1))
    assert from_first.value == pytest.approx(0.875)
    rows = [(0, 10, ISLAND), (0, 20, CHANGED), (1, 10, OTHER), (1, 20, OTHER)]
    corpus = society_of([rows_of for *_, rows_of in rows], step=[step for _, step, _ in rows])
    corpus.columns["speaker"][:] = np.repeat([who for who, *_ in rows], len(FEW))
    now = by_speaker(drift, corpus, Options())[0]
    assert now.value == pytest.approx(0.0625) and now.details["by_speaker"] == {"0": 0.125, "1": 0.0}


def test_drift_of_a_new_language_each_time_is_at_chance_and_of_the_same_far_below():
    rng, found, columns = np.random.default_rng(2), [], {"step": np.repeat([1, 2, 3, 4], 16)}
    new = rng.integers(0, 6, (4 * 16, 3))
    for rows in (new, np.tile(new[:16], (4, 1))):
        score, renamed = (
            drift(Corpus(each.tolist(), meanings=MEANINGS * 4, columns=columns), Options())[0]
            for each in (rows, 77 - rows)
        )
        found.append(score)
        assert renamed.value == pytest.approx(score.value)
    assert p_value(found[0]) > 0.01 and found[1].value == 0 and p_value(found[1]) < 0.01
