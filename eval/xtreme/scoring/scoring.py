"""Scores what was predicted for one language of a task, 0 to 100, and what a guess that looks at nothing scores.

Labels are plain values, by the kind of the task: of pairs a label each, of tagging the tags of each sentence, of
questions the name and the right answers of each, of Tatoeba the row of each sentence's translation, of BUCC the set of
the names of sentences that translate each other.
"""

from collections import Counter
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any

from ecsuite.config import look_up
from ecsuite.eval.xtreme.scoring.answer_f1 import answer_scores, mlqa_words, squad_words
from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.span_f1 import span_scores
from ecsuite.eval.xtreme.scoring.tasks import TASKS

MINED = "bucc2018"
"""The task of retrieval where most sentences have no translation, so that pairs are mined."""


def score_predictions(task: str, language: str, predictions: Any, gold: Any) -> dict[str, float]:
    """Score predictions against examples, as `read_examples` gives them.

    Args:
        task: The task's name.
        language: The language's code.
        predictions: A sequence of labels (pairs) or of tag sequences (tagging), answers by question (questions), a
            sequence with the row of the target for each source (Tatoeba), or a set of pairs of names (BUCC).
        gold: The examples, with their labels.

    Returns:
        The task's metrics, 0 to 100; for tagging also `accuracy`, the share of right tags.

    Raises:
        ConfigError: If there is no such task, or MLQA has no such language.
        ValueError: If labels are held back, there is nothing to score, or the numbers of predictions differ.
    """
    return score_labels(task, language, predictions, labels_of(task, gold))


def labels_of(task: str, gold: Any) -> Any:
    """The labels of examples.

    Raises:
        ConfigError: If there is no such task.
        ValueError: If an example has none.
    """
    kind = look_up("task", task, TASKS).kind
    if kind == "retrieval":
        return _translations(task, gold)
    if kind == "questions":
        return [(question.id, [answer.text for answer in question.answers]) for question in gold]
    labels = [example.tags if kind == "tagging" else example.label for example in gold]
    if None in labels:
        raise ValueError(f"{TASKS[task].title}: example {labels.index(None)} has no label to compare with")
    return labels


def score_labels(task: str, language: str, predictions: Any, labels: Any) -> dict[str, float]:
    """Score predictions against labels; the rest is as for `score_predictions`."""
    kind = look_up("task", task, TASKS).kind
    if not labels:
        raise ValueError(f"{TASKS[task].title}: there is no label to compare with")
    if kind == "questions":
        return answer_scores(predictions, labels, mlqa_words(language) if task == "mlqa" else squad_words)
    if task == MINED:
        return _pair_scores(set(predictions), set(labels))
    if len(predictions) != len(labels):
        raise ValueError(
            f"{TASKS[task].title}: expected a prediction for each of {len(labels)} labels, got {len(predictions)}"
        )
    if kind == "tagging":
        return span_scores(predictions, labels)
    num_right = sum(map(_is_equal, predictions, labels))
    return {"accuracy": num_right / len(labels) * 100}


def chance(task: str, language: str, labels: Any) -> dict[str, float]:
    """What the best guess scores that is the same for every example.

    That is the most frequent label or tag, and for Tatoeba any one row. To questions and to BUCC there is no such
    guess: 0.
    """
    kind = look_up("task", task, TASKS).kind
    if kind == "pairs":
        guesses: Any = [_most_frequent(labels)] * len(labels)
    elif kind == "tagging":
        tag = _most_frequent(chain.from_iterable(labels))
        guesses = [[tag] * len(tags) for tags in labels]
    elif task == MINED or kind == "questions":
        return dict.fromkeys(TASKS[task].metrics, 0.0)
    else:
        guesses = [labels[0]] * len(labels)
    return score_labels(task, language, guesses, labels)


def _translations(task: str, bitext: Bitext) -> Any:
    if bitext.gold is None:
        raise ValueError(f"{TASKS[task].title}: which sentences translate each other is held back")
    if task == MINED:
        return bitext.gold
    row_of = {name: row for row, name in enumerate(bitext.target_ids)}
    target_of = dict(bitext.gold)
    return [row_of[target_of[source]] for source in bitext.source_ids]


def _pair_scores(
    predicted: AbstractSet[tuple[str, str]], gold: AbstractSet[tuple[str, str]]
) -> dict[str, float]:
    """Precision, recall and F1 of a set of pairs (Zweigenbaum et al. 2017)."""
    num_right = len(predicted & gold)
    precision = num_right / len(predicted) if num_right else 0.0
    recall = num_right / len(gold)
    f1 = 2 * precision * recall / (precision + recall) if num_right else 0.0
    return {"f1": f1 * 100, "precision": precision * 100, "recall": recall * 100}


def _most_frequent(labels: Any) -> Any:
    return Counter(labels).most_common(1)[0][0]


def _is_equal(predicted: object, label: object) -> bool:
    return bool(predicted == label)
