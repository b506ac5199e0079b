"""Similarity of speakers: the same languages, renamed ones, unrelated ones, and what cannot be compared."""

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.conclusions import p_value
from ecsuite.eval.metrics.language_similarity import joined, language_similarity
from ecsuite.eval.metrics.score import Options
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


def test_the_same_language_is_alike():
    similarity, ami, topsim = scores_of(WORDS, WORDS, WORDS)
    assert similarity.value == 1
    # A correlation is a quotient of sums over pairs of meanings, whose order depends on the processor: each of the
    # three sums, the one above and the two below the root, is off by at most `pairs` roundings of its size.
    pairs = len(WORDS) * (len(WORDS) - 1) / 2
    assert topsim.value == pytest.approx(1, abs=3 * pairs * np.finfo(float).eps)
    assert ami.value is None  # no message recurs
    assert set(similarity.details["by_pair"]) == {"0-1", "0-2", "1-2"}
    assert similarity.chance.level < 0.5
    assert max(p_value(similarity), p_value(topsim)) < 1e-6


def test_other_symbols_for_the_same_are_alike_in_structure_only():
    similarity, _, topsim = scores_of(WORDS, [[90 - each for each in row] for row in WORDS])
    assert similarity.value == 0
    assert topsim.value == pytest.approx(1)


@pytest.mark.parametrize("first", [0x110000, 2**31 - 60])
def test_symbols_beyond_the_characters_of_a_text(first):
    """Symbols are numbers: those from 1,114,112 on are no Unicode characters."""
    small, large = (scores_of(WORDS, [[symbol + add for symbol in row] for row in WORDS]) for add in (0, 7))
    moved = scores_of(*([[symbol + first for symbol in row] for row in WORDS] for _ in range(2)))
    assert [each.value for each in moved] == [each.value for each in small]
    assert large[0].value < small[0].value


def test_speakers_who_merge_the_same_meanings():
    merged = [[a] for a, _ in MEANINGS]
    _, same, _ = scores_of(merged, [[9 - a] for a, _ in MEANINGS])
    _, other, _ = scores_of(merged, [[b] for _, b in MEANINGS])
    assert same.value == pytest.approx(1)
    assert other.value < 0.01


def test_random_messages_are_at_chance():
    rng = np.random.default_rng(0)
    for score in scores_of(rng.integers(0, 5, (16, 2)).tolist(), rng.integers(0, 5, (16, 2)).tolist()):
        assert p_value(score) > 0.01
        assert abs(score.value - score.chance.level) < 0.3


def test_the_most_used_message_is_compared():
    often = [[1, 1]] * 3 + [[2, 2]], [[1, 1]] * 2 + [[3, 3]] * 2
    messages = [row for speaker in often for _ in range(3) for row in speaker]
    meanings = [[value] for _ in often for value in range(3) for _ in range(4)]
    corpus = Corpus(messages, meanings=meanings, columns={"speaker": [0] * 12 + [1] * 12})
    assert language_similarity(corpus, Options())[0].value == 1


def test_neither_the_order_of_messages_nor_names_of_symbols_matter():
    rng = np.random.default_rng(3)
    messages = rng.integers(0, 3, (32, 2))
    meanings, speaker = np.array(MEANINGS * 2), np.repeat([0, 1], 16)
    order = rng.permutation(32)
    first, second = (
        language_similarity(Corpus(rows.tolist(), meanings=about, columns={"speaker": who}), Options())
        for rows, about, who in (
            (messages, meanings, speaker),
            (50 - 7 * messages[order], meanings[order], speaker[order]),
        )
    )
    assert [score.value for score in first] == [score.value for score in second]


@pytest.mark.parametrize(
    ("corpus", "reason"),
    [
        (Corpus(WORDS, meanings=MEANINGS), "fewer than two speakers"),
        (Corpus([[1], [2]], columns={"speaker": [0, 1]}), "neither meanings nor concepts"),
        (
            Corpus([[1], [2]], meanings=[[0], [1]], columns={"speaker": [0, 1]}),
            "share three meanings",
        ),
    ],
)
def test_it_is_undefined_with_a_reason(corpus, reason):
    for score in language_similarity(corpus, Options()):
        assert score.value is None
        assert reason in score.reason


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
    assert find_metric("agreement")(Corpus(messages=Ragged.from_rows([[1]])))[0].reason.startswith(
        "fewer than four"
    )
    alone = rounds(*[list("abcabc")] * 2)
    alone.columns["listener"][1:4] = -1  # nobody listened: three rounds are left
    assert find_metric("agreement")(alone)[0].reason.startswith("fewer than four")
