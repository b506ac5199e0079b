"""Scores by hand: span F1 (also by seqeval 0.0.12), answers, retrieval, tasks, and the paper's averages."""

import numpy as np
import pytest

from ecsuite.eval.xtreme.scoring import bitexts
from ecsuite.eval.xtreme.scoring.bitexts import mine_pairs, nearest, pairs_above, tune_threshold
from ecsuite.eval.xtreme.scoring.labels import span_scores
from ecsuite.eval.xtreme.scoring.questions import answer_scores, mlqa_words, squad_words
from ecsuite.eval.xtreme.scoring.task import Answer, Bitext, ExtractiveQuestion, TaggedSentence, TextPair
from ecsuite.eval.xtreme.scoring.tasks import TASKS, EnglishVsOthers, average_gap, group_scores, sides, task_score


def f1(predicted, gold):
    return span_scores([predicted.split()], [gold.split()])["f1"]


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ("B-PER I-PER O B-LOC", "B-PER I-PER O B-LOC", 100),
        ("B-PER I-PER O O", "B-PER I-PER O B-LOC", 200 / 3),
        ("B-PER B-PER", "B-PER I-PER", 0),  # two spans of one word
        ("I-PER I-PER", "B-PER I-PER", 100),  # a span may begin with I
        ("B-PER I-LOC", "B-PER B-LOC", 100),  # another type begins another span
        ("B-PER", "B-LOC", 0),
        ("S-PER S-PER E-PER", "B-PER B-PER B-PER", 100),
        ("B-PER E-PER I-PER", "B-PER I-PER B-PER", 100),  # a span ends after E
        ("SCONJ SCONJ", "SYM SYM", 0),
        ("CCONJ NOUN", "SCONJ NOUN", 50),  # seqeval from 1.0 on: 100
        ("SYM SYM NOUN", "SYM SYM SYM", 200 / 3),  # S is a span of its own
        ("INTJ INTJ NOUN", "INTJ INTJ INTJ", 0),
        ("NOUN NOUN NOUN", "NOUN NOUN VERB", 0),
        (". . .", "NOUN NOUN VERB", 0),  # as seqeval has it, `.` is outside
        ("B-a-X I-b-X", "B-X I-X", 100),  # a type is what follows the last hyphen
    ],
)
def test_known_answers(predicted, gold, expected):
    assert f1(predicted, gold) == pytest.approx(expected)


def test_spans_of_bare_tags_end_with_the_sentence():
    """DET is right; NOUN is 1-1 for 1-2, VERB 2-3 for 3-3."""
    found = span_scores([["DET", "NOUN", "VERB", "VERB"]], [["DET", "NOUN", "NOUN", "VERB"]])
    assert found == pytest.approx({"f1": 100 / 3, "precision": 100 / 3, "recall": 100 / 3, "accuracy": 75})
    assert span_scores([["O", "O"]], [["O", "O"]]) == {"f1": 0, "precision": 0, "recall": 0, "accuracy": 100}
    apart = span_scores([["NOUN"], ["VERB"]], [["NOUN"], ["NOUN"]])
    assert (apart["precision"], apart["recall"]) == (50, 50)  # 0 if it were one span of two words


def test_sizes_must_agree():
    for predicted in ([["NOUN"]], [["NOUN"], ["NOUN", "NOUN"]]):
        with pytest.raises(ValueError, match="the same number of predicted and gold tags in every sentence"):
            span_scores(predicted, [["NOUN"], ["VERB"]])
    with pytest.raises(ValueError, match="got an empty tag"):
        span_scores([[""]], [["NOUN"]])


def em_f1(predicted, *right, words=squad_words):
    found = answer_scores({"q": predicted}, [("q", list(right))], words)
    return found["exact_match"], found["f1"]


@pytest.mark.parametrize(
    ("predicted", "right", "expected"),
    [
        ("the Blue House!", ["blue house"], (100, 100)),
        ("big red car", ["red car"], (0, 80)),  # precision 2/3, recall 1
        ("red red", ["red"], (0, 200 / 3)),
        ("北京市", ["北京"], (0, 0)),  # one word each
        ("red car", ["blue", "red car", "car"], (100, 100)),
        ("red car", ["car park", "a red"], (0, 200 / 3)),
        ("the", ["a"], (100, 0)),  # equal without words in common
        ("", ["car"], (0, 0)),
    ],
)
def test_answers_by_the_rules_of_squad(predicted, right, expected):
    assert em_f1(predicted, *right) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("language", "answer", "words"),
    [
        ("en", "An «apple» — the theatre", ["apple", "theatre"]),
        ("es", "¿El río, la ella?", ["río", "ella"]),
        ("de", "Der Bär, dessen Honig", ["bär", "dessen", "honig"]),
        ("vi", "Những con mèo là của", ["con", "mèo"]),
        ("ar", "الكتاب العالمي", ["كتاب", "ع", "مي"]),  # inside of words, too
        ("hi", "भारत। का", ["भारत", "का"]),
        ("zh", "北京、abc 12座the", ["北", "京", "abc", "12", "座", "the"]),
    ],
)
def test_words_by_the_rules_of_mlqa(language, answer, words):
    assert mlqa_words(language)(answer) == words
    assert em_f1("北京市", "北京", words=mlqa_words("zh")) == pytest.approx((0, 80))


def test_a_question_without_an_answer_is_wrong():
    gold = [("1", ["red"]), ("2", ["blue"]), ("3", ["red"]), ("4", ["red"])]
    assert answer_scores({"1": "red", "2": "red"}, gold, squad_words) == {"exact_match": 25, "f1": 25}
    with pytest.raises(ValueError, match="expected questions, found none"):
        answer_scores({}, [], squad_words)
    with pytest.raises(ValueError, match="question q: expected a correct answer, found none"):
        answer_scores({"q": "red"}, [("q", [])], squad_words)


def at(*degrees):
    """Unit vectors at these angles."""
    angles = np.radians(degrees)
    return np.stack((np.cos(angles), np.sin(angles)), axis=1)


def test_the_nearest_is_by_angle():
    assert nearest(at(10, 80, 40), at(0, 50, 90) * [[1], [100], [0.01]]).tolist() == [0, 2, 1]
    assert nearest(at(0), np.concatenate((at(90), at(0, 0)))).tolist() == [1]
    assert nearest(np.zeros((1, 2)), at(0, 90)).tolist() == [0]
    with pytest.raises(ValueError, match=r"at least one sentence, got shape \(0, 2\)"):
        nearest(at(0), np.zeros((0, 2)))
    with pytest.raises(ValueError, match="expected equal widths, got 2 and 3"):
        mine_pairs(at(0), np.ones((1, 3)))


def test_margin_with_two_neighbours():
    def cosine(degrees):
        return np.cos(np.radians(degrees))

    rows, columns, found = mine_pairs(at(0, 60), at(10, 40))
    near, far = (cosine(10) + cosine(40)) / 2, (cosine(50) + cosine(20)) / 2  # of the sources
    first, second = (cosine(10) + cosine(50)) / 2, (cosine(40) + cosine(20)) / 2  # of the targets
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [0, 1])
    assert found == pytest.approx([cosine(10) / ((near + first) / 2), cosine(20) / ((far + second) / 2)])


def test_the_threshold_has_the_highest_f1_and_equal_scores_are_accepted_together():
    found = {("a", "x"): 1.5, ("b", "y"): 1.2, ("c", "z"): 1.0, ("d", "w"): 0.8}
    gold = {("a", "x"), ("b", "y")}
    assert tune_threshold(found, gold) == tune_threshold(dict(reversed(found.items())), gold) == pytest.approx(1.1)
    assert pairs_above(found, 1.1) == gold
    assert tune_threshold(found, gold | {("d", "w")}) == pytest.approx(0.8)  # the last one: its own score
    equal = {("a", "x"): 1.0, ("b", "y"): 1.0, ("d", "w"): 0.5}
    assert pairs_above(equal, tune_threshold(equal, {("a", "x")})) == {("a", "x"), ("b", "y")}
    assert tune_threshold({("a", "x"): 1.0}, {("b", "y")}) == tune_threshold({}, {("b", "y")}) == 0


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    sources, targets = rng.normal(size=(23, 5)) + 1, rng.normal(size=(31, 5)) + 1
    whole, near = mine_pairs(sources, targets), nearest(sources, targets)
    monkeypatch.setattr(bitexts, "_ROWS", 4)
    assert nearest(sources, targets).tolist() == near.tolist()
    for one, other in zip(mine_pairs(sources, targets), whole, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


PAIRS = [TextPair(first="a", second="b", label=label) for label in ("1", "0", "0", "0")]
TAGGED = [
    TaggedSentence(words=("the", "old", "man", "sat"), tags=("DET", "NOUN", "NOUN", "VERB")),
    TaggedSentence(words=("no",), tags=("INTJ",)),
]
QUESTIONS = [
    ExtractiveQuestion(id=name, question="?", context="a red car", answers=(Answer(text=text, start=2),))
    for name, text in (("q", "red car"), ("r", "red"))
]
SENTENCES = Bitext(source_ids=("0", "1", "2"), sources=("A", "B", "C"), target_ids=("0", "1", "2"),
                   targets=("c", "a", "b"), gold=frozenset({("0", "1"), ("1", "2"), ("2", "0")}))  # fmt: skip
ANSWERED = {"q": "die red car", "r": "red"}


@pytest.mark.parametrize(
    ("task", "predicted", "examples", "expected"),
    [
        ("pawsx", ["1", "0", "0", "1"], PAIRS, {"accuracy": 75}),
        ("udpos", [["DET", "NOUN", "VERB", "VERB"], ["INTJ"]], TAGGED,
         {"f1": 50, "precision": 50, "recall": 50, "accuracy": 80}),
        ("mlqa", ANSWERED, QUESTIONS, {"exact_match": 100, "f1": 100}),  # German articles
        ("xquad", ANSWERED, QUESTIONS, {"exact_match": 50, "f1": 90}),
        ("tatoeba", [1, 2, 1], SENTENCES, {"accuracy": 200 / 3}),
        ("bucc2018", {("0", "1"), ("1", "0")}, SENTENCES, {"f1": 40, "precision": 50, "recall": 100 / 3}),
        ("bucc2018", set(), SENTENCES, {"f1": 0, "precision": 0, "recall": 0}),
    ],
)  # fmt: skip
def test_scores_of_predictions(task, predicted, examples, expected):
    labels = TASKS[task].labels(examples)
    assert TASKS[task].score("de", predicted, labels) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("task", "examples", "expected"),
    [
        ("pawsx", PAIRS, {"accuracy": 75}),
        ("tatoeba", SENTENCES, {"accuracy": 100 / 3}),
        ("udpos", TAGGED, {"f1": 0, "precision": 0, "recall": 0, "accuracy": 40}),
        ("xquad", QUESTIONS, {"exact_match": 0, "f1": 0}),
        ("bucc2018", SENTENCES, {"f1": 0, "precision": 0, "recall": 0}),
    ],
)
def test_chance_is_the_best_constant_prediction(task, examples, expected):
    assert TASKS[task].chance("de", TASKS[task].labels(examples)) == pytest.approx(expected)


def test_numbers_of_predictions_and_withheld_labels():
    with pytest.raises(ValueError, match="PAWS-X: expected a prediction for each of 4 labels, got 1"):
        TASKS["pawsx"].score("de", ["1"], TASKS["pawsx"].labels(PAIRS))
    with pytest.raises(ValueError, match="XNLI: expected labels, found none"):
        TASKS["xnli"].score("de", [], [])
    with pytest.raises(ValueError, match="PAWS-X: example 4 has no label"):
        TASKS["pawsx"].labels([*PAIRS, TextPair(first="a", second="b", label=None)])


BY_LANGUAGE = {
    "en": {"exact_match": 70, "f1": 80},
    "de": {"exact_match": 40, "f1": 60},
    "zh": {"exact_match": 20, "f1": 40},
}
MBERT = {
    "xnli": 65.4, "pawsx": 81.9, "udpos": 71.5, "panx": 62.2, "xquad": (64.5 + 49.4) / 2, "mlqa": (61.4 + 44.2) / 2,
    "tydiqa": (59.7 + 43.9) / 2, "bucc2018": 56.7, "tatoeba": 38.7,
}  # fmt: skip


def test_averages_include_english_as_in_table_2():
    assert task_score("xquad", BY_LANGUAGE) == (60 + 130 / 3) / 2
    assert task_score("xnli", {"en": {"accuracy": 80}, "de": {"accuracy": 60}}) == 70
    assert task_score("panx", {"de": {"f1": 60, "precision": 1, "recall": 2, "accuracy": 3}}) == 60
    assert sides("tatoeba", {"de": {"accuracy": 60.0}}) == EnglishVsOthers(english=None, others=60)
    assert group_scores({task: score for task, score in MBERT.items() if task != "mlqa"}).keys() == {
        "classification", "tagging", "retrieval",
    }  # fmt: skip
    assert sides("xquad", BY_LANGUAGE) == EnglishVsOthers(english=70, others=30)
    assert sides("xquad", BY_LANGUAGE).gap == 40
    groups = group_scores(MBERT)
    assert round(groups["all_task"], 1) == 59.8  # Table 2 for mBERT; of the four groups it would be 60.3
    assert groups["retrieval"] == pytest.approx(47.7)
    assert list(groups) == ["all_task", "classification", "tagging", "qa", "retrieval"]


def test_average_gap_as_in_table_3():
    gaps = {"xnli": 16.5, "pawsx": 14.1, "xquad": 25.0, "mlqa": 27.5, "tydiqa": 22.2, "udpos": 25.5, "panx": 23.6}
    assert round(average_gap(gaps), 1) == 21.1
    assert average_gap({**gaps, "mlqa": None}) is None
    assert average_gap({"xnli": 16.5}) is None
