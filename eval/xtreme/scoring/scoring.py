"""Scores predictions for one language of a task, 0 to 100, and computes chance level.

Labels by kind of task: pairs, one label each; tagging, the tags of each sentence; questions, id and correct answers;
Tatoeba, the row of the translation of each sentence; BUCC, the set of pairs of names of translations.
"""

import operator
from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any

from ecsuite.eval.xtreme.scoring.answer_f1 import answer_scores, mlqa_words, squad_words
from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.span_f1 import span_scores
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import look_up

MINED = "bucc2018"
"""The retrieval task in which most sentences have no translation, so pairs are mined."""


def score_predictions(task: str, language: str, predictions: Any, gold: Any) -> dict[str, float]:
    """Score predictions against examples from `read_examples`.

    Args:
        task: Name of the task.
        language: Code of the language.
        predictions: A sequence of labels (pairs) or of tag sequences (tagging), answers by question (questions), a
            sequence with the row of the target for each source (Tatoeba), or a set of pairs of names (BUCC).
        gold: The examples, with their labels.

    Returns:
        The task's metrics, 0 to 100; for tagging also `accuracy`, the share of correct tags.

    Raises:
        ConfigError: If there is no such task, or MLQA has no such language.
        ValueError: If labels are withheld or empty, or the number of predictions differs from that of labels.
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
        return _gold_translations(task, gold)
    if kind == "questions":
        return [(question.id, [answer.text for answer in question.answers]) for question in gold]
    labels = [example.tags if kind == "tagging" else example.label for example in gold]
    if None in labels:
        raise ValueError(f"{TASKS[task].title}: example {labels.index(None)} has no label")
    return labels


def score_labels(task: str, language: str, predictions: Any, labels: Any) -> dict[str, float]:
    """Score predictions against labels; otherwise as `score_predictions`."""
    kind = TASKS[task].kind
    if not labels:
        raise ValueError(f"{TASKS[task].title}: expected labels, found none")
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
    num_right = sum(map(operator.eq, predictions, labels))
    return {"accuracy": num_right / len(labels) * 100}


def chance(task: str, language: str, labels: Any) -> dict[str, float]:
    """Chance level: metrics of the best constant prediction.

    This is the most frequent label or tag, and for Tatoeba any fixed row. Questions and BUCC have no constant
    prediction: 0.
    """
    kind = TASKS[task].kind
    if kind == "pairs":
        constant: Any = [most_frequent(labels)] * len(labels)
    elif kind == "tagging":
        tag = most_frequent(chain.from_iterable(labels))
        constant = [[tag] * len(tags) for tags in labels]
    elif task == MINED or kind == "questions":
        return dict.fromkeys(TASKS[task].metrics, 0.0)
    else:
        constant = [labels[0]] * len(labels)
    return score_labels(task, language, constant, labels)


def _gold_translations(task: str, bitext: Bitext) -> Any:
    if bitext.gold is None:
        raise ValueError(f"{TASKS[task].title}: expected gold translations, found none")
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


def most_frequent(labels: Iterable[str]) -> str:
    """The most frequent label; the first of equals."""
    return Counter(labels).most_common(1)[0][0]
