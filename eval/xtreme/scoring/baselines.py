"""Baselines without a model: scores below them show no learning.

Tagging: a lexicon of English words tags the words, numbers and punctuation marks that other languages share with
English. Retrieval: sentences are matched by shared characters. Questions: the answer is the sentence of the context
that shares most words with the question.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from ecsuite.eval.xtreme.scoring.examples import Bitext, Question
from ecsuite.eval.xtreme.scoring.reading import find_file, read_examples
from ecsuite.eval.xtreme.scoring.scoring import labels_of, most_frequent
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError, look_up

TRAIN_LANGUAGE = "en"
"""The language whose labels baselines may use."""

Predict = Callable[[Any], Any]
"""From examples to predictions for `score_predictions`."""
Fit = Callable[[Path, str], Predict]
"""From the data's folder and a task to a baseline."""

_END_OF_SENTENCE = re.compile("(?<=[.!?\u061f\u0964])\\s+|(?<=[\u3002\uff01\uff1f])")
_LONGEST_CHARACTER_SEQUENCE = 4


def fit_baseline(folder: Path, task: str, baseline: str | None = None) -> Predict:
    """A function from examples to predictions.

    Args:
        folder: The data folder, as for `read_examples`; pairs and tagging need labels in English.
        task: A name in `TASKS`.
        baseline: A name in `BASELINES[task]`; None for the first.

    Raises:
        ConfigError: If the baseline is unknown, or data or labels are missing.
    """
    look_up("task", task, TASKS)
    return look_up("baseline", baseline or next(iter(BASELINES[task])), BASELINES[task])(folder, task)


def _training_examples(folder: Path, task: str) -> tuple[Any, Any]:
    """Examples in English, and their labels: train, else dev."""
    split = "train" if find_file(folder, task, TRAIN_LANGUAGE, "train") else "dev"
    examples = read_examples(folder, task, TRAIN_LANGUAGE, split)
    try:
        return examples, labels_of(task, examples)
    except ValueError:
        raise ConfigError(
            f"{folder}: expected labels of {task} in '{TRAIN_LANGUAGE}' ({split}), found none"
        ) from None


def _majority_of_pairs(folder: Path, task: str) -> Predict:
    """The most frequent label in English."""
    _, labels = _training_examples(folder, task)
    label = most_frequent(labels)
    return lambda examples: [label] * len(examples)


def _majority_of_tags(folder: Path, task: str) -> Predict:
    """The most frequent tag in English."""
    _, labels = _training_examples(folder, task)
    tag = most_frequent(chain.from_iterable(labels))
    return lambda examples: [(tag,) * len(sentence.words) for sentence in examples]


def _lexicon(folder: Path, task: str) -> Predict:
    """The most frequent tag of each English word, ignoring case.

    An unknown word gets the most frequent tag of numbers if it consists of digits, else the most frequent tag.
    """
    tags_of: defaultdict[str, list[str]] = defaultdict(list)
    for sentence, tags in zip(*_training_examples(folder, task), strict=True):
        for word, tag in zip(sentence.words, tags, strict=True):
            tags_of[word.lower()].append(tag)
    default_tag = most_frequent(chain.from_iterable(tags_of.values()))
    numbers = [tag for word, tags in tags_of.items() if word.isdigit() for tag in tags]
    number_tag = most_frequent(numbers) if numbers else default_tag
    tag_of = {word: most_frequent(tags) for word, tags in tags_of.items()}

    def predict_tag(word: str) -> str:
        return tag_of.get(word.lower()) or (number_tag if word.isdigit() else default_tag)

    return lambda examples: [tuple(map(predict_tag, sentence.words)) for sentence in examples]


def _overlap(folder: Path, task: str) -> Predict:
    """The sentence of the context that shares most words with the question; the first of equals."""

    def answer(question: Question) -> str:
        question_words = set(_words(question.question))
        sentences = _END_OF_SENTENCE.split(question.context)
        return max(sentences, key=lambda sentence: len(question_words.intersection(_words(sentence)))).strip()

    return lambda questions: {question.id: answer(question) for question in questions}


def _first_sentence(folder: Path, task: str) -> Predict:
    """The first sentence of the context."""
    return lambda questions: {
        question.id: _END_OF_SENTENCE.split(question.context)[0].strip() for question in questions
    }


def _characters(folder: Path, task: str) -> Predict:
    """The most similar sentence by tf-idf of character n-grams of length 1 to 4."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def rows(bitext: Bitext) -> list[int]:
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, _LONGEST_CHARACTER_SEQUENCE))
        vectorizer.fit((*bitext.sources, *bitext.targets))
        similarities = vectorizer.transform(bitext.sources) @ vectorizer.transform(bitext.targets).T
        return [int(row) for row in similarities.toarray().argmax(1)]

    return rows


def _constant_row(folder: Path, task: str) -> Predict:
    """Always the first sentence: one is correct, as many as at random on average."""
    return lambda bitext: [0] * len(bitext.sources)


def _no_pairs(folder: Path, task: str) -> Predict:
    """No pairs."""
    return lambda bitext: set()


_OF_PAIRS: dict[str, Fit] = {"majority": _majority_of_pairs}
_OF_TAGGING: dict[str, Fit] = {"lexicon": _lexicon, "majority": _majority_of_tags}
_OF_QUESTIONS: dict[str, Fit] = {"overlap": _overlap, "first sentence": _first_sentence}

BASELINES: dict[str, dict[str, Fit]] = {
    "xnli": _OF_PAIRS,
    "pawsx": _OF_PAIRS,
    "udpos": _OF_TAGGING,
    "panx": _OF_TAGGING,
    "xquad": _OF_QUESTIONS,
    "mlqa": _OF_QUESTIONS,
    "tydiqa": _OF_QUESTIONS,
    "bucc2018": {"nothing": _no_pairs},
    "tatoeba": {"characters": _characters, "first row": _constant_row},
}
"""Baselines by task and name; the first of a task is the strongest."""


def _words(text: str) -> list[str]:
    """Words in lower case, without punctuation."""
    return re.findall(r"\w+", text.lower())
