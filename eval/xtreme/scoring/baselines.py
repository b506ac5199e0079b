"""Predictions that need no model: what a score must beat to mean anything.

A lexicon of English words tags other languages by the words, numbers and punctuation marks that they share with
English; sentences that share characters are found without knowing a language; a sentence of the context with words of
the question answers it. What such a baseline scores, no learning is needed for.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ecsuite.config import ConfigError, look_up
from ecsuite.eval.xtreme.scoring.examples import Bitext, Question, TaggedSentence, TextPair
from ecsuite.eval.xtreme.scoring.reading import find_file, read_examples, scored_split
from ecsuite.eval.xtreme.scoring.scoring import score_predictions
from ecsuite.eval.xtreme.scoring.tasks import TASKS

LEARNT_IN = "en"
"""The language whose labels baselines may know."""

Predict = Callable[[Any], Any]
"""From examples to the predictions that `score_predictions` takes."""
Fit = Callable[[Path, str], Predict]
"""From the data's folder and a task to a baseline."""

_END_OF_SENTENCE = re.compile("(?<=[.!?\u061f\u0964])\\s+|(?<=[\u3002\uff01\uff1f])")
_LONGEST_CHARACTER_SEQUENCE = 4


def fit_baseline(folder: Path, task: str, baseline: str | None = None) -> Predict:
    """A function from examples to predictions; the arguments are as for `baseline_predictions`."""
    look_up("task", task, TASKS)
    return look_up("baseline", baseline or next(iter(BASELINES[task])), BASELINES[task])(folder, task)


def baseline_predictions(folder: Path, task: str, language: str, baseline: str | None = None) -> Any:
    """Predict for the split of a language that can be scored.

    Args:
        folder: The data, as for `read_examples`; of pairs and tagging there must be labels in English, too.
        task: A name in `TASKS`.
        language: Its code.
        baseline: A name in `BASELINES[task]`; None for the first.

    Raises:
        ConfigError: If there is no such baseline, there are no data, or none have labels.
    """
    return fit_baseline(folder, task, baseline)(
        read_examples(folder, task, language, _split(folder, task, language))
    )


def score_baseline(
    folder: Path, task: str, languages: Iterable[str] | None = None, baseline: str | None = None
) -> dict[str, dict[str, float]]:
    """The metrics of a baseline, 0 to 100, by language.

    Args:
        folder: As for `baseline_predictions`.
        task: A name in `TASKS`.
        languages: Their codes; None for those of the task that have a split to score on.
        baseline: As for `baseline_predictions`.

    Raises:
        ConfigError: As of `baseline_predictions`.
    """
    if languages is None:
        spoken = look_up("task", task, TASKS).languages
        languages = [language for language in spoken if scored_split(folder, task, language)]
    predict = fit_baseline(folder, task, baseline)
    scores = {}
    for language in languages:
        examples = read_examples(folder, task, language, _split(folder, task, language))
        scores[language] = score_predictions(task, language, predict(examples), examples)
    return scores


def _split(folder: Path, task: str, language: str) -> str:
    split = scored_split(folder, task, language)
    if split is None:
        raise ConfigError(f"{folder}: neither test nor dev of {task} in '{language}' has labels")
    return split


def _learnt_from(folder: Path, task: str) -> Any:
    """Labelled examples in English: the training data, else dev."""
    split = "train" if find_file(folder, task, LEARNT_IN, "train") else "dev"
    return read_examples(folder, task, LEARNT_IN, split)


def _majority_of_pairs(folder: Path, task: str) -> Predict:
    """The most frequent label of English."""
    pairs: list[TextPair] = _learnt_from(folder, task)
    label = _most_frequent(pair.label for pair in pairs if pair.label is not None)
    return lambda examples: [label] * len(examples)


def _majority_of_tags(folder: Path, task: str) -> Predict:
    """The most frequent tag of English."""
    tag = _most_frequent(chain.from_iterable(_tags(sentence) for sentence in _learnt_from(folder, task)))
    return lambda examples: [(tag,) * len(sentence.words) for sentence in examples]


def _lexicon(folder: Path, task: str) -> Predict:
    """The most frequent tag of each English word, whether capital or small.

    A word that is not among them has the most frequent tag of the numbers if it consists of digits, else of all words.
    """
    tags_of: defaultdict[str, list[str]] = defaultdict(list)
    for sentence in _learnt_from(folder, task):
        for word, tag in zip(sentence.words, _tags(sentence), strict=True):
            tags_of[word.lower()].append(tag)
    everywhere = _most_frequent(chain.from_iterable(tags_of.values()))
    numbers = [tag for word, tags in tags_of.items() if word.isdigit() for tag in tags]
    of_numbers = _most_frequent(numbers) if numbers else everywhere
    tag_of = {word: _most_frequent(tags) for word, tags in tags_of.items()}

    def tagged(word: str) -> str:
        return tag_of.get(word.lower()) or (of_numbers if word.isdigit() else everywhere)

    return lambda examples: [tuple(map(tagged, sentence.words)) for sentence in examples]


def _overlap(folder: Path, task: str) -> Predict:
    """The sentence of the context that has most of the question's words; the first of equals."""

    def answer(question: Question) -> str:
        asked = set(_words(question.question))
        sentences = _END_OF_SENTENCE.split(question.context)
        return max(sentences, key=lambda sentence: len(asked.intersection(_words(sentence)))).strip()

    return lambda questions: {question.id: answer(question) for question in questions}


def _first_sentence(folder: Path, task: str) -> Predict:
    """The first sentence of the context."""
    return lambda questions: {
        question.id: _END_OF_SENTENCE.split(question.context)[0].strip() for question in questions
    }


def _characters(folder: Path, task: str) -> Predict:
    """The sentence with the most similar sequences of one to four characters, the rarer the more they count."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def rows(bitext: Bitext) -> list[int]:
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, _LONGEST_CHARACTER_SEQUENCE))
        vectorizer.fit((*bitext.sources, *bitext.targets))
        similarities = vectorizer.transform(bitext.sources) @ vectorizer.transform(bitext.targets).T
        return [int(row) for row in similarities.toarray().argmax(1)]

    return rows


def _first_row(folder: Path, task: str) -> Predict:
    """Always the first sentence: right once, as guessing is on average."""
    return lambda bitext: [0] * len(bitext.sources)


def _nothing(folder: Path, task: str) -> Predict:
    """No pair at all."""
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
    "bucc2018": {"nothing": _nothing},
    "tatoeba": {"characters": _characters, "first row": _first_row},
}
"""By task and name; the first of a task is the strongest."""


def _tags(sentence: TaggedSentence) -> Sequence[str]:
    if sentence.tags is None:
        raise ConfigError(f"the English words of {' '.join(sentence.words[:5])} … have no tags to learn from")
    return sentence.tags


def _most_frequent(labels: Iterable[str]) -> str:
    """The first of equals."""
    return Counter(labels).most_common(1)[0][0]


def _words(text: str) -> list[str]:
    """Small words, without punctuation."""
    return re.findall(r"\w+", text.lower())
